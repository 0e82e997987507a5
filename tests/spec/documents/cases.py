"""Documents with a mistake, and what is said of it, in files of text.

    === a key stands twice            what is wrong
    --- data.yaml                     a file of the case, and others after it
    key: countries
    key: capitals
    --- said                          every word of it
    data.yaml:2:1: duplicate_key: …

`<SCORERS>` stands for the names of all scorers; so do `<SOLVERS>`, `<METRICS>` and `<DATASETS>`.
`EVALWRIGHT_GOLDEN=write` writes the last part anew: look at the diff.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evalwright.registry import BUILT_IN

WRITE = os.environ.get("EVALWRIGHT_GOLDEN") == "write"
LISTS = {
    f"<{kind.upper()}>": ", ".join(f"`{name}`" for name in sorted(BUILT_IN[kind]))
    for kind in ("scorers", "solvers", "metrics", "datasets")
}
_SAID = "said"


class Case(NamedTuple):
    """A document, or a few that belong together, with one mistake in them."""

    file: Path
    title: str
    files: dict[str, str]
    said: str

    def check(self, said: str) -> None:
        """Compare what was said, or keep it."""
        if WRITE:
            self._keep(_abridge(said))
        else:
            assert _abridge(said) == self.said

    def _keep(self, said: str) -> None:
        text = self.file.read_text(encoding="utf-8")
        before, _, rest = text.partition(f"=== {self.title}\n")
        own, mark, after = rest.partition("\n=== ")
        documents = own.partition(f"--- {_SAID}\n")[0].removesuffix("\n") + "\n"
        made = f"{before}=== {self.title}\n{documents}--- {_SAID}\n{said}"
        self.file.write_text(made + mark.lstrip("\n") + after, encoding="utf-8")


def _abridge(said: str) -> str:
    """Write the name of a list for the list."""
    for name, listed in LISTS.items():
        said = said.replace(listed, name)
    return said


def cases(folder: Path) -> list[Case]:
    """Those of all files of a folder."""
    return [case for file in sorted(folder.glob("*.txt")) for case in _cases(file)]


def names(of: list[Case]) -> list[str]:
    """For pytest."""
    return [f"{case.file.stem}: {case.title}" for case in of]


def _cases(file: Path) -> Iterator[Case]:
    for text in re.split(r"^=== ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, rest = text.partition("\n")
        _, *parts = re.split(r"^--- (\S+)\n", rest, flags=re.MULTILINE)
        files = dict(zip(parts[::2], parts[1::2], strict=True))
        yield Case(file, title, files, files.pop(_SAID, ""))
