"""Where every value of a document was written.

A tree beside the data, with the same keys. After a `$ref` it leads into the file that was
referred to; after an alias, to where the anchor stands.
"""

from typing import NamedTuple

from evalwright.spec.documents.problems import Path


class Place(NamedTuple):
    """A character of a file. Lines and columns count from 1."""

    file: str
    line: int
    column: int | None = None


class Mark:
    """The places of one value: of itself, of its key, and of what is in it."""

    __slots__ = ("children", "key", "value")

    def __init__(
        self,
        value: Place,
        key: Place | None = None,
        children: "dict[str | int, Mark] | None" = None,
    ) -> None:
        self.value = value
        self.key = key
        self.children = {} if children is None else children

    def under(self, key: Place | None, *, value: Place | None = None) -> "Mark":
        """The same value, as it is reached by another key or from another place."""
        return Mark(self.value if value is None else value, key, self.children)


class Marks:
    """Answers where the value, or the key, at a path of the data was written."""

    __slots__ = ("_root",)

    def __init__(self, root: Mark) -> None:
        self._root = root

    def place(self, path: Path = ()) -> Place:
        """Where the value stands; of what is not there, the nearest that it would be in."""
        return self._reached(path)[0].value

    def key_place(self, path: Path) -> Place:
        """Where the key of the value stands; of a list's item, the item itself."""
        mark, whole = self._reached(path)
        return mark.key if whole and mark.key is not None else mark.value

    def below(self, path: Path) -> "Marks":
        """The marks of one part of the document, for paths that begin there."""
        return Marks(self._reached(path)[0])

    def has(self, path: Path) -> bool:
        """Whether there was a value at exactly this path."""
        return self._reached(path)[1]

    def _reached(self, path: Path) -> tuple[Mark, bool]:
        mark = self._root
        for step in path:
            child = mark.children.get(step)
            if child is None:
                return mark, False
            mark = child
        return mark, True
