"""Problems in documents, and the places of values.

    Fault    a problem at a path of the data, which rules yield
    Issue    a reported problem with file, line and column (see `types`)
    Marks    the places of all values and keys of a document

Authors' errors never raise exceptions here: all problems of a document are reported together.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from evalwright.nearest import suggest
from evalwright.types import Issue

FieldPath = tuple[str | int, ...]
"""Path to a value in a document: keys of mappings and indexes of list items."""
_LONGEST = 300


def format_path(path: Iterable[str | int]) -> str:
    """Format a path: `definition.scorers[0].ground_truth`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else str(step)
    return to_one_line(text)


def to_one_line(text: str) -> str:
    """Format an author's text for messages: on one line, shortened."""
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


class Fault(NamedTuple):
    """A problem at a path of the data."""

    path: FieldPath
    rule: str
    detail: str
    """The expected and the actual value, on one line."""
    hint: str = ""
    level: Literal["error", "warning"] = "error"
    at_key: bool = False
    """Whether the problem concerns the key, not the value."""
    line: int = 0
    """Line in the file of the value's text; 0 if unknown."""
    column: int | None = None
    """Column in that line, if known."""


def locate_fault(fault: Fault, place: "Place", field: str = "") -> Issue:
    """Convert a fault to an issue; `field` overrides the dotted path of the fault."""
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
    """Return a suggestion for a misspelled name; empty if no name is similar."""
    return suggest(word, known)


def quote_names(names: Sequence[str], most: int = 0) -> str:
    """Quote names for a message; with `most`, the first names and the number of others."""
    rest = len(names) - most if most else 0
    return ", ".join(f"`{name}`" for name in (names[:most] if most else names)) + (
        f" and {rest} more" if rest > 0 else ""
    )


def get_list(data: Any, key: str) -> list[Any]:
    """Return the list under a key of unchecked data; empty if there is none."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, list) else []


def get_mapping(data: Any, key: str) -> dict[str, Any]:
    """Return the mapping under a key of unchecked data; empty if there is none."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def find_duplicate_keys(parts: list[Any], path: FieldPath, what: str) -> Iterator[Fault]:
    """Yield a fault for each item of a list, such as a rule or a scorer, with a duplicate key."""
    first: dict[str, int] = {}
    for number, part in enumerate(parts):
        key = part.get("key") if isinstance(part, dict) else None
        if isinstance(key, str) and first.setdefault(key, number) != number:
            detail = f"the key `{key}` is already used by {what} {first[key] + 1} in this list"
            hint = "give one of them a different key"
            yield Fault((*path, number, "key"), "duplicate_key", detail, hint)


def type_name(value: Any) -> str:
    """Return the name of a value's type, for messages."""
    if value is None:
        return "null"
    for kind in (bool, int, float, str, list, dict):
        if isinstance(value, kind):
            return kind.__name__
    return type(value).__name__


class Place(NamedTuple):
    """A position in a file. Lines and columns are counted from 1."""

    file: str
    line: int
    column: int | None = None


class Marks:
    """The places of a value, its key, and all values in it."""

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
        """Return the marks of the same value with a different key or place."""
        return Marks(self.value if value is None else value, key, self.children)

    def place(self, path: FieldPath = ()) -> Place:
        """Return the place of the value at a path or, if it is missing, of its parent."""
        return self.below(path).value

    def key_place(self, path: FieldPath) -> Place:
        """Return the place of the value's key or, for a list item, of the item."""
        marks, exists = self._find(path)
        return marks.key if exists and marks.key is not None else marks.value

    def below(self, path: FieldPath) -> "Marks":
        """Return the marks of a part of the document, for paths relative to it."""
        return self._find(path)[0]

    def has(self, path: FieldPath) -> bool:
        """Whether there is a value at exactly this path."""
        return self._find(path)[1]

    def _find(self, path: FieldPath) -> tuple["Marks", bool]:
        marks = self
        for step in path:
            child = marks.children.get(step)
            if child is None:
                return marks, False
            marks = child
        return marks, True
