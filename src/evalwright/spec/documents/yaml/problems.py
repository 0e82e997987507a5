"""Problems in documents, and the places where values were written.

    Fault    what is wrong, at a path of the data: rules yield these
    Issue    the same with file, line and column: what is reported (see `types`)
    Marks    the place of every value and key of a document

Nothing here raises for what an author wrote: all problems of a document are reported at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from evalwright.nearest import suggest
from evalwright.types import Issue

FieldPath = tuple[str | int, ...]
"""The way to a value of a document: keys of mappings and numbers of list items."""
_LONGEST = 300


def format_path(path: Iterable[str | int]) -> str:
    """A path as people write it: `definition.scorers[0].ground_truth`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else str(step)
    return to_one_line(text)


def to_one_line(text: str) -> str:
    """A text that holds an author's words, fit for a message: no line ends, no endless length."""
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


class Fault(NamedTuple):
    """One thing that is wrong, at a path of the data."""

    path: FieldPath
    rule: str
    detail: str
    """One line: what was expected, and what came."""
    hint: str = ""
    level: Literal["error", "warning"] = "error"
    at_key: bool = False
    """It is about the key, not about what stands behind it."""
    line: int = 0
    """Of the file that the value's text stands in, where the fault knows better; else 0."""
    column: int | None = None
    """In that line, where it is known."""


def locate_fault(fault: Fault, place: "Place", field: str = "") -> Issue:
    """Make an issue of a fault; `field` is the dotted path, where it is not that of the fault."""
    file, line, column = place
    return Issue(
        file=file,
        line=line,
        column=column,
        rule=fault.rule,
        field=field or format_path(fault.path) or None,
        detail=fault.detail,
        hint=fault.hint,
        level=fault.level,
    )


def did_you_mean(word: str, known: list[str] | tuple[str, ...]) -> str:
    """The hint for a misspelt name; empty when none is close."""
    return suggest(word, known)


def quote_names(names: Sequence[str], most: int = 0) -> str:
    """Names as a message lists them; with `most`, the first ones and how many more there are."""
    rest = len(names) - most if most else 0
    return ", ".join(f"`{name}`" for name in (names[:most] if most else names)) + (
        f" and {rest} more" if rest > 0 else ""
    )


def get_list(data: Any, key: str) -> list[Any]:
    """The list under a key of unchecked data; empty if there is none."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, list) else []


def get_mapping(data: Any, key: str) -> dict[str, Any]:
    """The mapping under a key of unchecked data; empty if there is none."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def find_duplicate_keys(parts: list[Any], path: FieldPath, what: str) -> Iterator[Fault]:
    """A fault for each part of a list, such as a rule or a scorer, whose key is already used."""
    first: dict[str, int] = {}
    for number, part in enumerate(parts):
        key = part.get("key") if isinstance(part, dict) else None
        if isinstance(key, str) and first.setdefault(key, number) != number:
            detail = f"the key `{key}` is taken by {what} {first[key] + 1} of this list"
            hint = "give one of them another key"
            yield Fault((*path, number, "key"), "duplicate_key", detail, hint)


def type_name(value: Any) -> str:
    """What a value is, in the words of the messages."""
    if value is None:
        return "null"
    for kind in (bool, int, float, str, list, dict):
        if isinstance(value, kind):
            return kind.__name__
    return type(value).__name__


class Place(NamedTuple):
    """A character of a file. Lines and columns count from 1."""

    file: str
    line: int
    column: int | None = None


class Marks:
    """Where a value, its key, and all that is in it were written."""

    __slots__ = ("children", "key", "value")

    def __init__(
        self,
        value: Place,
        key: Place | None = None,
        children: "dict[str | int, Marks] | None" = None,
    ) -> None:
        self.value = value
        self.key = key
        self.children = {} if children is None else children

    def under(self, key: Place | None, *, value: Place | None = None) -> "Marks":
        """The same value, as it is reached by another key or from another place."""
        return Marks(self.value if value is None else value, key, self.children)

    def place(self, path: FieldPath = ()) -> Place:
        """Where the value at a path stands; of what is not there, what it would be in."""
        return self.below(path).value

    def key_place(self, path: FieldPath) -> Place:
        """Where the key of the value stands; of a list's item, the item itself."""
        marks, exists = self._find(path)
        return marks.key if exists and marks.key is not None else marks.value

    def below(self, path: FieldPath) -> "Marks":
        """The marks of one part of the document, for paths that begin there."""
        return self._find(path)[0]

    def has(self, path: FieldPath) -> bool:
        """Whether there was a value at exactly this path."""
        return self._find(path)[1]

    def _find(self, path: FieldPath) -> tuple["Marks", bool]:
        marks = self
        for step in path:
            child = marks.children.get(step)
            if child is None:
                return marks, False
            marks = child
        return marks, True
