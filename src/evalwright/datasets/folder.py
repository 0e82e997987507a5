"""`folder`: one row per file in a folder.

    source:
      type: folder
      directory_path: articles     # including subfolders
      extension: .md               # default: all files

    sample_id    the SHA-256 digest of the file
    file_name    the path relative to the folder, with `/` as the separator
    content      the text of the file, without the front matter
    …            one column per key in the YAML front matter, except the names above

Rows are sorted by path. PDFs and hidden files (`.git`, `.DS_Store`) are skipped. Symbolic links are
followed, and a folder that links to itself is read only once.
"""

import re
from collections.abc import Hashable, Iterator
from functools import cached_property
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import field_validator

from evalwright.components import Location
from evalwright.datasets.json_files import to_json
from evalwright.datasets.reading import Reader, identify_file
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.errors import BadDataset, Unreadable
from evalwright.lines import show_path
from evalwright.vocabulary import MAX_LINE_BYTES

RESERVED = ("sample_id", "file_name", "content")
_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?P<matter>.*?)(?:^|\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_MOST_MATTER = 64 * 1024


class _FolderRows:
    header: tuple[str, ...] | None = None
    """Unknown in advance, because any file may add a column."""

    def __init__(self, directory: Path, extension: str | None) -> None:
        self._directory, self._extension = directory, extension

    @cached_property
    def digest(self) -> str:
        digest = blake2b(digest_size=16)
        for name in self._names():
            content = read_bytes(self._directory / name)
            digest.update(f"{name}\0{sha256(content).hexdigest()}\n".encode(errors="replace"))
        return f"folder:{digest.hexdigest()}"

    def rows(self) -> Iterator[dict[str, Any]]:
        for name in self._names():
            content = read_bytes(self._directory / name)
            where = show_path(self._directory / name)
            try:
                text = content.removeprefix(b"\xef\xbb\xbf").decode()
            except UnicodeDecodeError as error:
                raise BadDataset(
                    f"{where}: byte 0x{content[error.start]:02x} is not UTF-8",
                    hint="select files with `extension`, or save this one as UTF-8",
                ) from error
            try:
                matter, body = split_front_matter(text)
            except ValueError as error:
                raise BadDataset(f"{where}: front matter: {error}") from error
            row = {"sample_id": sha256(content).hexdigest(), "file_name": name, "content": body}
            yield {**row, **{key: matter[key] for key in matter if key not in RESERVED}}

    def _names(self) -> list[str]:
        if not self._directory.is_dir():
            raise Unreadable(f"{show_path(self._directory)}: no such directory")
        return list_files(self._directory, self._extension)


def read_bytes(path: Path, *, most: int = MAX_LINE_BYTES, hint: str = "") -> bytes:
    """Return the content of a file; `BadDataset` if it has more than `most` bytes."""
    identify_file(path)  # opening a named pipe would block
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise Unreadable(f"{show_path(path)}: {error.strerror or error}") from error
    if len(content) > most:
        raise BadDataset(f"{show_path(path)}: more than {most >> 20} MiB", hint=hint)
    return content


def list_files(directory: Path, extension: str | None = None) -> list[str]:
    """Return the sorted relative paths of its files, without PDFs and hidden files."""
    return sorted(_walk_files(directory, "", frozenset(), extension))


def _walk_files(
    directory: Path, prefix: str, above: frozenset[tuple[int, int]], extension: str | None
) -> Iterator[str]:
    try:
        itself = directory.stat()
        entries = sorted(entry.name for entry in directory.iterdir())
    except OSError as error:
        raise Unreadable(f"{show_path(directory)}: {error.strerror or error}") from error
    mark = (itself.st_dev, itself.st_ino)
    if mark in above:
        return
    for name in entries:
        path, lower = directory / name, name.lower()
        if name.startswith("."):
            continue
        if path.is_dir():
            yield from _walk_files(path, f"{prefix}{name}/", above | {mark}, extension)
        elif not lower.endswith(".pdf") and lower.endswith(extension or ""):
            yield prefix + name


class Folder(SourceSpec):
    """The files in a folder."""

    type: Literal["folder"]
    directory_path: Location
    """Path of the folder, relative to the document."""
    extension: str | None = None
    """Extension of the files to read. `.md`, `md` and `.MD` are equivalent."""

    @field_validator("extension")
    @classmethod
    def _normalize_extension(cls, value: str | None) -> str | None:
        if value is None:
            return None
        plain = value.strip().lower().removeprefix("*")
        if not plain.strip("."):
            raise ValueError("expected an extension such as `.md`, got an empty string")
        if plain.endswith(".pdf") or plain == "pdf":
            raise ValueError("PDFs are skipped: convert them to text first")
        return plain if plain.startswith(".") else f".{plain}"

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader that lists the folder when the first row is read."""
        del surroundings
        return _FolderRows(self.directory_path.path, self.extension)

    def label(self) -> str:
        """Return the path, for messages."""
        return str(self.directory_path.path)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the YAML between two `---` lines and the text after it; ValueError if it is invalid.

    The YAML version is 1.2: `yes` and `2024-01-01` are strings. Only a mapping is front matter.
    """
    match = _FRONT_MATTER.match(text) if text.startswith("---") else None
    if match is None:
        return {}, text
    matter = match["matter"]
    if len(matter) > _MOST_MATTER:
        raise ValueError(f"longer than {_MOST_MATTER >> 10} KiB")
    loaded = _load_yaml(matter)
    if loaded is not None and not isinstance(loaded, dict):
        return {}, text
    return loaded or {}, text[match.end() :]


def _load_yaml(matter: str) -> Any:
    try:
        return to_json(yaml.load(matter, Loader=_FrontMatterLoader))  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        # Counted from the `---` line.
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        raise ValueError(f"line {line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except RecursionError:
        raise ValueError("nested too deeply") from None


class _FrontMatterLoader(yaml.SafeLoader):
    """Loads only JSON types and rejects duplicate keys."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML reads this class attribute

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):  # a few aliases can expand to a million values
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed", mark)
        return super().compose_node(parent, index)

    def construct_mapping(
        self,
        node: yaml.MappingNode,
        deep: bool = False,  # noqa: FBT001, FBT002 - PyYAML's signature
    ) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            wrong = ""
            if not isinstance(key, yaml.ScalarNode):
                wrong = "a key must be a scalar"
            elif key.value in seen:
                wrong = f"duplicate key `{key.value}`"
            if wrong:
                raise yaml.constructor.ConstructorError(None, None, wrong, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


for _kind, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:[0-9]{0,18}\.[0-9]+|[0-9]{1,18}\.?(?=[eE]))(?:[eE][-+]?[0-9]{1,2})?",
        "-+.0123456789",
    ),
):
    _FrontMatterLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(f"(?:{_pattern})$"), list(_first)
    )
