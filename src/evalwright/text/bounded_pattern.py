r"""Regular expressions with a time limit and a maximum length.

    pattern = BoundedPattern(r"Score: (\d+)")
    for match in pattern.find_all(text):  # TimeoutError after 1 s of CPU time
        text[match.group_start : match.group_end]

The time limit applies to the CPU time of this process for all matches in one text, so it does not
depend on the load of the machine. The syntax is that of Python's `re`.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

MAX_SECONDS = 1.0
MAX_CHARACTERS = 1_000


class GroupMatch(NamedTuple):
    """A match and its first group."""

    start: int
    end: int
    group_start: int
    """-1 if the group did not participate in the match; the same holds for `group_end`."""
    group_end: int


class BoundedPattern:
    """A compiled expression; ValueError names the position of an error."""

    __slots__ = ("_compiled", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._compiled = compile_pattern(source)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self._compiled.groups)

    def find_all(self, text: str) -> Iterator[GroupMatch]:
        """Yield the matches from left to right; TimeoutError if matching takes too long."""
        for match in self._compiled.finditer(text, timeout=MAX_SECONDS):
            yield GroupMatch(*match.span(), *match.span(1))


@lru_cache(maxsize=256)
def compile_pattern(source: str, *, ignore_case: bool = False) -> Any:
    """Compile an expression whose methods accept a `timeout`; ValueError if it is invalid."""
    from regex import IGNORECASE  # the import takes 20 ms; most commands do not need it
    from regex import compile as compile_regex
    from regex import error as RegexError  # noqa: N812 - it is a class

    if len(source) > MAX_CHARACTERS:
        length = f"{len(source):,}"
        raise ValueError(f"expected at most {MAX_CHARACTERS:,} characters, got {length}")
    try:
        return compile_regex(source, IGNORECASE if ignore_case else 0)
    except RegexError as error:
        place = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ValueError(f"not a regular expression: {error.msg}{place}") from error
    except (RecursionError, MemoryError, OverflowError) as error:
        raise ValueError("not a regular expression: it is nested too deeply") from error
