"""Programs as data: honest ones, wrong ones and forgeries.

A program is a block: its source, then its targets, each after `> `, continued by indented lines.
Blocks are separated by lines of `---`.
"""

from typing import NamedTuple


class CorpusProgram(NamedTuple):
    """A source and its targets."""

    source: str
    targets: tuple[str, ...]


def read_programs(text: str) -> list[CorpusProgram]:
    """Read blocks."""
    programs = []
    for block in text.strip("\n").split("\n---\n"):
        source: list[str] = []
        targets: list[list[str]] = []
        for line in block.split("\n"):
            if line.startswith("> "):
                targets.append([line[2:]])
            elif targets:
                targets[-1].append(line[2:])
            else:
                source.append(line)
        if not targets:
            raise ValueError(f"no target: {block}")
        joined = tuple("\n".join(lines) for lines in targets)
        programs.append(CorpusProgram("\n".join(source), joined))
    return programs


def read_named_programs(text: str) -> dict[str, CorpusProgram]:
    """Read blocks that begin with `# ` and a name."""
    named = {}
    for program in read_programs(text):
        name, _, source = program.source.partition("\n")
        if not name.startswith("# ") or name[2:] in named:
            raise ValueError(f"no name of its own: {name}")
        named[name[2:]] = CorpusProgram(source, program.targets)
    return named
