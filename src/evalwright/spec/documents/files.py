"""The files of one document: which are open, which are done, what was wrong in all of them.

A file that is referred to twice is read once. A circle of references is a mistake that shows the
circle; a tower of them, each repeating the next ten times, is stopped by counting.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from evalwright.lines import shown as printable
from evalwright.spec.documents.includes import MOST_REFS, bad_ref, unreadable_ref
from evalwright.spec.documents.marks import Mark, Place
from evalwright.spec.documents.problems import Path, Problem, dotted, one_line
from evalwright.spec.documents.texts import NoText, Text, beside, read_text

MOST_DEEP = 100
"""How many lists and mappings may stand in each other, over all files."""
MOST_PROBLEMS = 1000
"""More help nobody."""
MOST_REPEATED = 100_000
"""How many values aliases and references may repeat, all in all."""
TOO_DEEP = NoText("too_deep", f"more than {MOST_DEEP} lists and mappings in each other")


class Halt(Exception):
    """What ends the reading of a file, or, if `everything`, of all of them."""

    def __init__(self, problem: Problem, *, everything: bool = False) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.everything = everything


class Built(NamedTuple):
    """A value, where it was written, and how large it is."""

    data: Any
    mark: Mark
    size: int = 1
    """Of how many values it is made, those that are repeated counted again."""
    height: int = 0
    """How many lists and mappings in it stand in each other."""


class Reading:
    """What the files of one document share."""

    def __init__(
        self, environment: Mapping[str, str], compose: "Callable[[Text, Reading, Path], Built]"
    ) -> None:
        self.environment = environment
        self._compose = compose
        self.problems: list[Problem] = []
        self.files: list[str] = []
        self.unread: list[Path] = []
        self.variables: set[str] = set()
        self._open: dict[str, str] = {}
        self._done: dict[str, Built | None] = {}
        self._repeated = 0

    def report(self, place: Place, wrong: NoText, path: Path, *, warning: bool = False) -> None:
        """Note what is wrong at a place; Halt if that was said of too many already."""
        if len(self.problems) >= MOST_PROBLEMS:
            wrong = NoText("too_many", f"more than {MOST_PROBLEMS} problems: the rest is not read")
            raise Halt(problem_at(place, wrong, path), everything=True)
        self.problems.append(problem_at(place, wrong, path, warning=warning))

    def repeat(self, built: Built, place: Place, path: Path) -> None:
        """Count what an alias or a reference brings once more; Halt if it is too much."""
        self._repeated += built.size
        if len(path) + built.height > MOST_DEEP:
            raise Halt(problem_at(place, TOO_DEEP, path), everything=True)
        if self._repeated > MOST_REPEATED:
            wrong = NoText(
                "alias_bomb",
                f"aliases and references repeat more than {MOST_REPEATED} values",
                "write what differs, or put data into a dataset file",
            )
            raise Halt(problem_at(place, wrong, path), everything=True)

    def file(self, text: Text, path: Path) -> Built | None:
        """The values of a file; None if it could not be read to its end."""
        real = os.path.realpath(text.path)
        name = printable(text.shown)
        if name not in self.files:
            self.files.append(name)
        self._open[real] = name
        try:
            built = self._compose(text, self, path)
        except Halt as halt:
            if halt.everything:
                raise
            self._halted(halt.problem)
            built = None
        del self._open[real]
        self._done[real] = built
        return built

    def referred(self, written: Any, file: str, place: Place, path: Path) -> Built | None:
        """The values of the file that a `$ref` names; None with a problem if there are none."""
        if (wrong := bad_ref(written)) is None:
            target = beside(file, written.strip())
            real = os.path.realpath(target)
            if real in self._done:
                if (built := self._done[real]) is not None:
                    self.repeat(built, place, path)
                return built
            wrong = self._not_now(real)
            if wrong is None:
                text = read_text(target)
                if isinstance(text, Text):
                    return self.file(text, path)
                wrong = unreadable_ref(written, text)
        self.report(place, wrong, path)
        return None

    def _halted(self, last: Problem) -> None:
        """Note what ended a file, unless the same line was said to be no YAML already."""
        key = (last.file, last.line, last.rule)
        if key not in ((one.file, one.line, one.rule) for one in self.problems):
            self.problems.append(last)

    def _not_now(self, real: str) -> NoText | None:
        if real in self._open:
            chain = list(self._open.values())
            chain = chain[list(self._open).index(real) :]
            shown = " → ".join([*chain, chain[0]])
            return NoText("ref_cycle", f"the files refer to each other in a circle: {shown}")
        if len(self._open) > MOST_REFS:
            return NoText("too_deep", f"more than {MOST_REFS} files refer to each other in a row")
        return None


def problem_at(place: Place, wrong: NoText, path: Path, *, warning: bool = False) -> Problem:
    """What is wrong at a place."""
    return Problem(
        file=place.file,
        line=place.line,
        column=place.column,
        rule=wrong.rule,
        field=dotted(path),
        detail=one_line(wrong.detail),
        hint=one_line(wrong.hint),
        level="warning" if warning else "error",
    )
