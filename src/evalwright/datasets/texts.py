"""Documents of plain text, for what is asked of a text as a whole: its perplexity.

    corpus.jsonl        a document a line, in its field `text`; also .ndjson, .gz, .zst
    anything else       one document, all of the file, byte for byte; or one a paragraph, or a line

Promises:  every mistake of every file at once, with its line, before a document is used; no more
           than one document is held; a file that changes between the check and the use is an error.
Does not:  take a document of more than 16 MiB, or read standard input: files are read twice.

A document without any text but white space is left out, and counted.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from stat import S_ISDIR, S_ISREG
from typing import Any, Literal, NamedTuple

import msgspec

from evalwright.datasets.faults import UnreadableLine, UnreadableLines, not_text, not_utf8
from evalwright.datasets.json_files import explain_line
from evalwright.errors import BadDataset, EvalwrightError, Unreadable, UsageError
from evalwright.lines import STDIN, BadLine, read_batches, read_whole, show_path
from evalwright.nearest import nearest
from evalwright.vocabulary import MAX_LINE_BYTES

Split = Literal["paragraphs", "lines"]
_ROWS = (".jsonl", ".ndjson")
_COMPRESSED = (".gz", ".zst")
_MOST_TOLD = 5
_MOST_NAMES = 8
_TOO_LONG = "longer than 16 MiB"


class Document(NamedTuple):
    """One text, and where it is."""

    file: int
    """Which of the files, from 0."""
    line: int
    """Where it begins; 0 for all of a file."""
    text: str


class Counted(NamedTuple):
    """What the check has found."""

    documents: int
    left_out: int
    """Documents without text, among those."""


class Texts:
    """The documents of some files, in their order."""

    def __init__(
        self,
        paths: Iterable[str],
        *,
        field: str | None = None,
        split: Split | None = None,
        limit: int | None = None,
    ) -> None:
        """`field` is of .jsonl files, `split` of the others; `limit` counts documents in all."""
        self.paths = tuple(dict.fromkeys(paths))
        self._split, self._limit = split, limit
        self._field = "text" if field is None else field
        self._signs: dict[str, tuple[int, ...]] = {}
        self._counted = 0
        rows = [_is_rows(path) for path in self.paths]
        if not rows:
            raise UsageError("no FILE was given")
        if field is not None and not any(rows):
            raise UsageError(
                "`--field` is for .jsonl files", hint="other files are text as a whole"
            )
        if not _readable(self._field):
            raise UsageError(
                f"`--field`: {self._field!a} has a character that cannot be looked for",
                hint="another name, without quotes, backslashes and what cannot be printed",
            )
        if split is not None and all(rows):
            raise UsageError(
                "`--split` is for files of plain text", hint="a .jsonl file has a document a line"
            )

    def check(self) -> Counted:
        """Read all of it once; every mistake in one error."""
        errors: list[EvalwrightError] = []
        documents = left_out = 0
        for number, path in enumerate(self.paths):
            here = blank = 0
            try:
                self._signs[path] = _looked_at(path)
                for one in self._read(number, path):
                    here += 1
                    if self._limit is not None and documents >= self._limit:
                        continue
                    is_blank = not one.text.strip()
                    blank += is_blank
                    documents += not is_blank
                if not here:
                    raise BadDataset(f"{show_path(path)}: no documents: there is nothing in it")
            except EvalwrightError as error:
                errors.append(error)
            left_out += blank
        _refuse(errors)
        if not documents:
            raise BadDataset(f"{', '.join(map(show_path, self.paths))}: no document has any text")
        self._counted = documents
        return Counted(documents, left_out)

    def documents(self) -> Iterator[Document]:
        """Those with text, one at a time, as many as `check` has counted."""
        given = 0
        for one in self._every():
            if not one.text.strip():
                continue
            if given == self._counted:
                break
            given += 1
            yield one
        for path in self.paths:
            self._unchanged(path)

    def place(self, file: int, line: int) -> str:
        """`corpus.jsonl:3`, as messages and editors know it."""
        path = show_path(self.paths[file])
        return f"{path}:{line}" if line else path

    def _every(self) -> Iterator[Document]:
        for number, path in enumerate(self.paths):
            self._unchanged(path)
            try:
                yield from self._read(number, path)
            except EvalwrightError:  # it was good when it was checked
                self._unchanged(path)
                raise

    def _unchanged(self, path: str) -> None:
        if _looked_at(path) != self._signs[path]:
            raise BadDataset(
                f"{show_path(path)}: the file has changed while it was in use",
                hint="start again: its documents are no longer those that were checked",
            )

    def _read(self, number: int, path: str) -> Iterator[Document]:
        """All documents of a file, blank ones too; at its end the error, if there was a fault."""
        faults = UnreadableLines(path)
        if _is_rows(path):
            found = _rows(path, faults, self._field)
        elif self._split is None:
            found = _whole(path, faults)
        else:
            found = (
                _paragraphs(path, faults) if self._split == "paragraphs" else _lines(path, faults)
            )
        last = 1
        for line, text in found:
            last = max(last, line)
            if text is not None and not faults.count:
                yield Document(number, line, text)
        if faults.count:
            raise faults.error(last)


Found = Iterator[tuple[int, str | None]]
"""Line and text; None for what is no document."""


def _row(field: str) -> Any:
    """What is decoded of a line: only the one field, for most of a large file is not it."""
    return msgspec.defstruct("Row", [("text", str)], rename={"text": field})


def _readable(field: str) -> bool:
    """Whether a field of that name can be decoded by itself."""
    try:
        _row(field)
    except ValueError:  # a surrogate, too
        return False
    return True


def _rows(path: str, faults: UnreadableLines, field: str) -> Found:
    decode = msgspec.json.Decoder(_row(field)).decode
    for number, line in _numbered(path):
        try:
            yield number, decode(line).text
        except (ValueError, RecursionError):  # a blank line too
            faults.add(_not_a_document(number, line, field))
            yield number, None


def _not_a_document(number: int, line: bytes, field: str) -> UnreadableLine | None:
    try:
        row = msgspec.json.decode(line, type=dict[str, Any])
    except (ValueError, RecursionError):
        return explain_line(number, line)
    if field in row:
        return UnreadableLine(
            number, None, f"expected a text in `{field}`, got {_kind(row[field])}"
        )
    names = list(row)
    has = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES]) or "no field"
    more = "…" if len(names) > _MOST_NAMES else ""
    texts = [name for name, value in row.items() if isinstance(value, str)]
    meant = nearest(field, names) or (texts[0] if len(texts) == 1 else None)
    hint = f"did you mean `--field {meant}`?" if meant else "`--field NAME` says where the text is"
    return UnreadableLine(number, None, f"no field `{field}`; it has {has}{more}", hint)


def _whole(path: str, faults: UnreadableLines) -> Found:
    data = read_whole(path)
    if isinstance(data, BadLine):
        hint = "`--split paragraphs` makes a document of each, or a .jsonl file with one a line"
        long = UnreadableLine(1, None, f"the text is {_TOO_LONG}", hint)
        faults.add(long if data.why == "too_long" else not_text(1, data))
        return
    if not data:
        return
    try:
        yield 0, data.decode()
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        begun = data.rfind(b"\n", 0, error.start) + 1
        faults.add(not_utf8(number, data[begun:].partition(b"\n")[0]))


def _lines(path: str, faults: UnreadableLines) -> Found:
    for number, line in _numbered(path):
        fault = _fault(number, line)
        faults.add(fault)
        yield number, None if fault else line.decode().removesuffix("\r")


def _paragraphs(path: str, faults: UnreadableLines) -> Found:
    """What stands between blank lines."""
    begun, held, size = 0, list[str](), 0
    for number, line in _numbered(path):
        fault = _fault(number, line)
        faults.add(fault)
        text = "" if fault else line.decode().removesuffix("\r")
        if text.strip():
            begun = begun or number
            size += len(line) + 1
            if size > MAX_LINE_BYTES:
                faults.add(UnreadableLine(begun, None, f"the paragraph is {_TOO_LONG}"))
                held.clear()
            else:
                held.append(text)
        elif begun:
            yield begun, "\n".join(held)
            begun, held, size = 0, [], 0
    if begun:
        yield begun, "\n".join(held)


def _fault(number: int, line: bytes) -> UnreadableLine | None:
    return not_text(number, line) if isinstance(line, BadLine) else not_utf8(number, line)


def _numbered(path: str) -> Iterator[tuple[int, bytes]]:
    number = 0
    for batch in read_batches(path):
        for number, line in enumerate(batch, start=number + 1):  # noqa: B020 - it goes on
            yield number, line


def _kind(value: Any) -> str:
    names = {list: "a list", dict: "an object", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def _is_rows(path: str) -> bool:
    name = path.lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return name.endswith(_ROWS)


def _looked_at(path: str) -> tuple[int, ...]:
    """What tells a file from another at the same place; `Unreadable` if it is none."""
    if path == STDIN:
        raise Unreadable("-: documents are read twice, so they cannot come from standard input")
    try:
        found = os.stat(path)  # noqa: PTH116 - a path may hold what pathlib refuses
    except FileNotFoundError as error:
        raise Unreadable(f"{show_path(path)}: no such file") from error
    except (OSError, ValueError) as error:
        why = str(getattr(error, "strerror", None) or error)
        raise Unreadable(f"{show_path(path)}: {why.lower()}") from error
    if S_ISDIR(found.st_mode):
        raise Unreadable(
            f"{show_path(path)}: a directory, not a file", hint=f"its files: `{show_path(path)}/*`"
        )
    if not S_ISREG(found.st_mode):
        raise Unreadable(f"{show_path(path)}: documents are read twice: expected a file")
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _refuse(errors: Sequence[EvalwrightError]) -> None:
    """One error as it is; several as one, with the first few told."""
    if not errors:
        return
    if len(errors) == 1:
        raise errors[0]
    told = "; ".join(map(str, errors[:_MOST_TOLD]))
    more = f"; and {len(errors) - _MOST_TOLD} more" if len(errors) > _MOST_TOLD else ""
    bad = any(isinstance(one, BadDataset) for one in errors)
    kind = BadDataset if bad else Unreadable
    hint = next((one.hint for one in errors if one.hint), "")
    raise kind(f"{len(errors)} files cannot be used: {told}{more}", hint=hint)
