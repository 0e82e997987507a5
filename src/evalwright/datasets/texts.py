"""Plain-text documents for measuring perplexity.

    corpus.jsonl        one document per line, in the field `text`; also .ndjson, .gz, .zst
    any other file      the whole file, unchanged, is one document; or one per paragraph or line

Promises:  reports all errors in all files, with line numbers, before a document is used; keeps at
           most one document in memory; raises an error if a file changes after the check.
Does not:  accept documents larger than 16 MiB, or read standard input, because files are read
           twice.

Documents that contain only whitespace are skipped and counted.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

import msgspec

from evalwright.datasets.faults import (
    MOST_LISTED,
    UnreadableLine,
    UnreadableLines,
    explain_bytes,
    not_text,
    not_utf8,
)
from evalwright.datasets.json_files import describe_type, explain_line
from evalwright.datasets.reading import identify_file, refuse_changes
from evalwright.errors import BadDataset, EvalwrightError, NoInput, Unreadable, UsageError
from evalwright.lines import STDIN, BadLine, read_lines, read_whole, show_path
from evalwright.nearest import nearest
from evalwright.vocabulary import MAX_LINE_BYTES

Split = Literal["paragraphs", "lines"]
_MOST_NAMES = 8
_TOO_LONG = "longer than 16 MiB"


class Document(NamedTuple):
    """A document and its position."""

    file: int
    """Index of the file, from 0."""
    line: int
    """First line; 0 for a whole file."""
    text: str


class DocumentCounts(NamedTuple):
    """Numbers of documents with text and of skipped documents."""

    documents: int
    left_out: int


class Texts:
    """The documents in several files, in order."""

    def __init__(
        self,
        paths: Iterable[str],
        *,
        field: str | None = None,
        split: Split | None = None,
        limit: int | None = None,
    ) -> None:
        """`field` applies to .jsonl files, `split` to other files, `limit` to all documents."""
        self.paths = tuple(dict.fromkeys(paths))
        self._split, self._limit = split, limit
        self._field = "text" if field is None else field
        self._identities: dict[str, tuple[int, ...]] = {}
        self._count = 0
        rows = [_is_rows(path) for path in self.paths]
        if not rows:
            raise NoInput("FILE is missing")
        if field is not None and not any(rows):
            raise UsageError("`--field` is for .jsonl files", hint="other files are plain text")
        try:
            _make_row_type(self._field)
        except ValueError as error:  # includes surrogates
            raise UsageError(
                f"`--field`: {self._field!a} contains a character that is not supported",
                hint="use a name without quotes, backslashes and unprintable characters",
            ) from error
        if split is not None and all(rows):
            raise UsageError(
                "`--split` is for plain text files",
                hint="a .jsonl file has one document per line",
            )

    def check(self) -> DocumentCounts:
        """Read all files once; raise one error that lists all problems."""
        errors: list[EvalwrightError] = []
        documents = left_out = 0
        for number, path in enumerate(self.paths):
            n_documents = blank = 0
            try:
                self._identities[path] = _identify(path)
                for document in self._read(number, path):
                    n_documents += 1
                    if self._limit is not None and documents >= self._limit:
                        continue
                    is_blank = not document.text.strip()
                    blank += is_blank
                    documents += not is_blank
                if not n_documents:
                    raise BadDataset(f"{show_path(path)}: no documents: the file is empty")
            except EvalwrightError as error:
                errors.append(error)
            left_out += blank
        if errors:
            raise _join_errors(errors)
        if not documents:
            raise BadDataset(f"{', '.join(map(show_path, self.paths))}: no document has any text")
        self._count = documents
        return DocumentCounts(documents, left_out)

    def documents(self) -> Iterator[Document]:
        """Yield the documents with text that `check` counted."""
        with_text = (document for document in self._read_all() if document.text.strip())
        yield from islice(with_text, self._count)
        for path in self.paths:
            refuse_changes(path, self._identities[path])

    def place(self, file: int, line: int) -> str:
        """Return the position as `corpus.jsonl:3`, the form that editors recognize."""
        path = show_path(self.paths[file])
        return f"{path}:{line}" if line else path

    def _read_all(self) -> Iterator[Document]:
        for number, path in enumerate(self.paths):
            refuse_changes(path, self._identities[path])
            try:
                yield from self._read(number, path)
            except EvalwrightError:  # it was valid when it was checked
                refuse_changes(path, self._identities[path])
                raise

    def _read(self, number: int, path: str) -> Iterator[Document]:
        """Yield all documents of a file, including blank ones; at the end, raise for bad lines."""
        faults = UnreadableLines(path)
        if _is_rows(path):
            texts = _read_rows(path, faults, self._field)
        elif self._split is None:
            texts = _read_text(path, faults)
        elif self._split == "paragraphs":
            texts = _read_paragraphs(path, faults)
        else:
            texts = _read_lines(path, faults)
        last = 1
        for line, text in texts:
            last = max(last, line)
            if text is not None and not faults.count:
                yield Document(number, line, text)
        if faults.count:
            raise faults.error(last)


LineTexts = Iterator[tuple[int, str | None]]
"""Line number and text; the text is None if the line is not a document."""


def _make_row_type(field: str) -> Any:
    """Return a type with only this field, so that other fields are not decoded."""
    return msgspec.defstruct("Row", [("text", str)], rename={"text": field})


def _read_rows(path: str, faults: UnreadableLines, field: str) -> LineTexts:
    decode = msgspec.json.Decoder(_make_row_type(field)).decode
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield number, decode(line).text
        except (ValueError, RecursionError):  # includes blank lines
            faults.add(_explain_row(number, line, field))
            yield number, None


def _explain_row(number: int, line: bytes, field: str) -> UnreadableLine | None:
    try:
        row = msgspec.json.decode(line, type=dict[str, Any])
    except (ValueError, RecursionError):
        return explain_line(number, line)
    if field in row:
        got = describe_type(row[field])
        return UnreadableLine(number, None, f"expected a string in `{field}`, got {got}")
    names = list(row)
    has = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES]) or "no field"
    more = "…" if len(names) > _MOST_NAMES else ""
    texts = [name for name, value in row.items() if isinstance(value, str)]
    meant = nearest(field, names) or (texts[0] if len(texts) == 1 else None)
    hint = f"did you mean `--field {meant}`?" if meant else "set the text field with `--field NAME`"
    return UnreadableLine(number, None, f"no field `{field}`; it has {has}{more}", hint)


def _read_text(path: str, faults: UnreadableLines) -> LineTexts:
    data = read_whole(path)
    if isinstance(data, BadLine):
        hint = "use `--split paragraphs`, or a .jsonl file with one document per line"
        long = UnreadableLine(1, None, f"the text is {_TOO_LONG}", hint)
        faults.add(long if data.why == "too_long" else not_text(1, data))
        return
    if not data:
        return
    try:
        yield 0, data.decode()
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        start_line = data.rfind(b"\n", 0, error.start) + 1
        faults.add(not_utf8(number, data[start_line:].partition(b"\n")[0]))


def _read_lines(path: str, faults: UnreadableLines) -> LineTexts:
    for number, line in enumerate(read_lines(path), start=1):
        fault = explain_bytes(number, line)
        faults.add(fault)
        yield number, None if fault else line.decode().removesuffix("\r")


def _read_paragraphs(path: str, faults: UnreadableLines) -> LineTexts:
    start_line, paragraph, size = 0, list[str](), 0
    for number, line in _read_lines(path, faults):
        text = line or ""
        if text.strip():
            start_line = start_line or number
            size += len(text.encode()) + 1
            if size > MAX_LINE_BYTES:
                faults.add(UnreadableLine(start_line, None, f"the paragraph is {_TOO_LONG}"))
                paragraph.clear()
            else:
                paragraph.append(text)
        elif start_line:
            yield start_line, "\n".join(paragraph)
            start_line, paragraph, size = 0, [], 0
    if start_line:
        yield start_line, "\n".join(paragraph)


def _is_rows(path: str) -> bool:
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    return name.endswith((".jsonl", ".ndjson"))


def _identify(path: str) -> tuple[int, ...]:
    if path == STDIN:
        raise Unreadable("-: documents are read twice, so they cannot come from standard input")
    return identify_file(
        path, folder_hint=f"name its files: `{show_path(path)}/*`", what="documents"
    )


def _join_errors(errors: Sequence[EvalwrightError]) -> EvalwrightError:
    if len(errors) == 1:
        return errors[0]
    first = "; ".join(map(str, errors[:MOST_LISTED]))
    more = f"; and {len(errors) - MOST_LISTED} more" if len(errors) > MOST_LISTED else ""
    is_bad = any(isinstance(error, BadDataset) for error in errors)
    hint = next((error.hint for error in errors if error.hint), "")
    kind = BadDataset if is_bad else Unreadable
    return kind(f"{len(errors)} files cannot be used: {first}{more}", hint=hint)
