"""Convert lines to records and issues: fast for valid lines, thorough for invalid ones.

msgspec decodes a line to typed values, and `_is_sound` checks the rules that types cannot express.
Lines that fail either check are passed to `explain`, which implements all rules and their order.
This module only accepts valid lines faster; a test compares both.

msgspec accepts duplicate keys. When a record is encoded again, each key, and therefore its colon,
occurs once. If the result has fewer colons than the line, or if the line may contain an escaped
colon, the line is passed to `explain`. The colons of all lines in a batch are counted together.

The first bad line may show that the file has a different format. The issue then suggests how to
convert it. If other lines contain valid records, the file is JSON Lines with a bad first line.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from evalwright.errors import FileChanged, InvalidTask
from evalwright.lines import STDIN, BadLine, read_batches, read_lines
from evalwright.spec.records.explain import (
    NOT_READ,
    BrokenRule,
    duplicate_id,
    explain,
    explain_metadata,
    find_broken_rules,
    make_issue,
)
from evalwright.spec.records.few_shot import has_few_shot_block
from evalwright.spec.records.parse import depth
from evalwright.types import Issue, NoMetadata, OtherProblem, TaskSpec
from evalwright.vocabulary import (
    FIELDS,
    LEGAL,
    LETTERS,
    MAX_DEPTH,
    MAX_EXAMPLES,
    MAX_RAW_CHARACTERS,
)

_decode = msgspec.json.Decoder(TaskSpec).decode
_encode = msgspec.json.Encoder().encode
_item = itemgetter(1)
_REFUSALS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_escaped_colon = re.compile(rb"\\u003[aA]").search
_SCALARS = frozenset({str, int, float, bool, type(None)})
_LEGAL = frozenset(
    (category, metric, post_process)
    for category, legal in LEGAL.items()
    for metric in legal.metrics
    for post_process in legal.post_processes
)
_LETTERS = frozenset((letter,) for letter in LETTERS)
_CELL = re.compile(r"[A-Za-z_][\w-]*").fullmatch
_SEPARATORS = ",;\t"
_COLUMNS = frozenset({*FIELDS, "id", "question", "answer", "target", "label", "text", "input"})
_CSV_SUFFIXES = (".csv", ".tsv")
_PACKED = (".gz", ".zst")
_WRITE = 'python3 -c "import {modules}; [print(json.dumps({row})) for r in {rows}]"'
_WITH_TARGETS = (
    "r | {'targets': json.loads(r['targets']) if r['targets'][:1] == '[' else [r['targets']]}"
)
"""Converts cells; a `targets` cell may contain a JSON array."""


class Validated(NamedTuple):
    """The records and errors of a file: `records, errors = validate_file(path)`."""

    records: list[TaskSpec]
    errors: list[Issue]


def validate_file(path: str | Path) -> Validated:
    """Check a whole file; `-` is standard input. Invalid lines are reported in `errors`.

    >>> records, errors = ew.validate_file("tasks_bad.jsonl")
    >>> errors[0].line, errors[0].rule, errors[0].field
    (1, 'bad_encoding', None)
    """
    result = Validated([], [])
    for item in check_file(str(path)):
        if isinstance(item, TaskSpec):
            result.records.append(item)
        else:
            result.errors.append(item)
    return result


def validate_task(record: object) -> TaskSpec:
    """Return a decoded record as a `TaskSpec`, or raise `InvalidTask` with every error in it.

    >>> ew.validate_task({"task_id": "sum", "category": "arithmetic"})
    Traceback (most recent call last):
        ...
    evalwright.errors.InvalidTask: missing_required: `prompt` is missing
    """
    faults = find_broken_rules(record)
    if not faults:
        return msgspec.convert(record, TaskSpec)
    fault, *others = faults
    task_id = record.get("task_id") if isinstance(record, Mapping) else None
    try:
        raw = repr(record)[:MAX_RAW_CHARACTERS]
    except (RecursionError, ValueError):  # nested too deeply, or an integer with too many digits
        raw = ""
    raise InvalidTask(
        Issue(
            line=0,
            rule=fault.rule,
            field=fault.field,
            detail=fault.detail,
            task_id=task_id if isinstance(task_id, str) else None,
            raw=raw,
            also=tuple(
                OtherProblem(rule=other.rule, field=other.field, detail=other.detail)
                for other in others
            ),
        )
    )


def check_file(path: str) -> Iterator[TaskSpec | Issue]:
    """Yield each record or issue of a file; skip blank lines. Only ids are kept in memory."""
    return map(_item, check_batches(read_batches(path), file=path))


def read_valid(path: str, *, bad: Container[int]) -> Iterator[TaskSpec]:
    """Yield the records of a file that was already checked, without the bad lines.

    Nothing is kept in memory. If another line is bad, the file has changed, and `FileChanged` is
    raised.
    """
    for number, line in enumerate(read_lines(path), start=1):
        if number in bad or not line.strip():
            continue
        try:
            yield _decode(line)
        except _REFUSALS as error:
            raise FileChanged(f"{path}:{number}: the file changed while it was in use") from error


def check_batches(
    batches: Iterable[list[bytes]], *, file: str = ""
) -> Iterator[tuple[int, TaskSpec | Issue]]:
    """Yield the number of each line with its record or issue; issues refer to `file`.

    An invalid record also claims its id, because another record with the same id would be an error
    as soon as the first is corrected. If a file has a different format, only its first line is
    read.
    """
    claimed: dict[str, int] = {}
    number = 0
    is_first = True
    for batch in batches:
        tasks = _decode_batch(batch)
        for line, task in zip(batch, tasks, strict=True):
            number += 1
            item = task or _decode_slowly(number, line)
            if isinstance(item, TaskSpec):
                first = claimed.setdefault(item.task_id, number)
                if first != number:
                    issue = duplicate_id(number, line, item.task_id, first)
                    yield number, replace(issue, file=file)
                else:
                    yield number, item
            elif item is not None:
                if is_first and not claimed:
                    item, continues = _explain_format(item, line, batch, tasks, file)
                    if not continues:
                        yield number, replace(item, file=file)
                        return
                is_first = False
                yield number, replace(_claim_id(item, line, claimed), file=file)


def _claim_id(issue: Issue, line: bytes, claimed: dict[str, int]) -> Issue:
    """Claim the id of an invalid record; add a problem if an earlier record has the same id."""
    if issue.task_id is None:
        return issue
    first = claimed.setdefault(issue.task_id, issue.line)
    if first == issue.line or "task_id" in {issue.field, *(other.field for other in issue.also)}:
        return issue
    repeated = duplicate_id(issue.line, line, issue.task_id, first)
    problem = OtherProblem(
        column=repeated.column, rule=repeated.rule, field="task_id", detail=repeated.detail
    )
    return replace(issue, also=(*issue.also, problem))


def _explain_format(
    issue: Issue, line: bytes, batch: list[bytes], tasks: list[TaskSpec | None], file: str
) -> tuple[Issue, bool]:
    """Report at the first bad line that a file is not JSON Lines; return whether to continue."""
    other = _recognize_format(line, file)
    if other is None:
        return issue, True
    detail, hint = f"this is {other.name}, not JSON Lines", f"convert it: `{other.command}`"
    if other.is_whole:
        return replace(issue, detail=detail, hint=hint), True
    last_line = [text for text in map(bytes.strip, batch) if text][-1]
    if sum(task is not None for task in tasks) > (last_line == b"]"):
        return issue, True  # only the last item of an array can look like a record
    return replace(issue, column=None, detail=f"{detail}; {NOT_READ}", hint=hint), False


class _OtherFormat(NamedTuple):
    """The actual format of a file that is not JSON Lines."""

    name: str
    command: str
    is_whole: bool
    """Whether the first line is the whole file; otherwise, the rest is not read."""


def _recognize_format(line: bytes, path: str) -> _OtherFormat | None:
    """Return the format of a file with this first line; None if it is JSON Lines or unknown."""
    text = line.decode(errors="replace").strip()
    if text.startswith("["):
        start, end = text[1:].lstrip()[:1], text[-1]
        if start not in {"{", ""} or end not in "[{,]":
            return None
        command = _convert("r", "json.load(sys.stdin)", path, modules="json, sys")
        return _OtherFormat("a JSON array", command, is_whole=end == "]")
    is_named_csv = path.lower().endswith(_CSV_SUFFIXES) and not text.startswith("{")
    for separator in _SEPARATORS:
        cells = [cell.strip().strip('"') for cell in text.split(separator)]
        has_columns = all(map(_CELL, cells)) and not _COLUMNS.isdisjoint(cells)
        if len(cells) > 1 and (has_columns or is_named_csv):
            return _OtherFormat("CSV", _convert_csv(cells, separator, path), is_whole=False)
    return None


def _convert_csv(cells: Sequence[str], separator: str, path: str) -> str:
    row = _WITH_TARGETS if "targets" in cells else "r"
    delimiter = "" if separator == "," else f", delimiter={separator!r}"
    rows = f"csv.DictReader(sys.stdin{delimiter})"
    return _convert(row, rows, path, modules="csv, json, sys")


def _convert(row: str, rows: str, path: str, *, modules: str) -> str:
    from shlex import quote  # rarely needed, and `validate` starts faster without it

    is_named = path not in {"", STDIN} and path.isprintable() and not path.endswith(_PACKED)
    source = quote(path) if is_named else "FILE"
    target = quote(str(PurePath(path).with_suffix(".jsonl"))) if is_named else "FILE.jsonl"
    if target == source:
        target = quote(f"{path}.jsonl")
    return f"{_WRITE.format(modules=modules, row=row, rows=rows)} < {source} > {target}"


def _decode_batch(batch: list[bytes]) -> list[TaskSpec | None]:
    """Return records that are certainly valid, and None for lines that `explain` must check."""
    try:
        tasks: list[TaskSpec | None] = [_decode(line) for line in batch]
    except _REFUSALS:
        tasks = [_try_decode(line) for line in batch]
        batch = [line if task else b"" for task, line in zip(tasks, batch, strict=True)]
    if not _has_unique_keys(tasks, batch):
        pairs = zip(tasks, batch, strict=True)
        tasks = [task if _has_unique_keys([task], [line]) else None for task, line in pairs]
    return [task if task and _is_sound(task) else None for task in tasks]


def _try_decode(line: bytes) -> TaskSpec | None:
    if not line:  # blank lines must be cheap, because a file may have millions
        return None
    try:
        return _decode(line)
    except _REFUSALS:
        return None


def _decode_slowly(number: int, line: bytes) -> TaskSpec | Issue | None:
    """Return the issue of a line that the fast path rejected, or its record if it is valid."""
    if not line and not isinstance(line, BadLine):
        return None
    issue = explain(number, line)
    if issue is not None or not line.strip():
        return issue
    try:
        return _decode(line)
    except _REFUSALS as error:  # no rule applies, but the decoder fails
        return make_issue(number, BrokenRule("bad_json", None, str(error)), line)


def _has_unique_keys(tasks: list[TaskSpec | None], lines: list[bytes]) -> bool:
    """Whether there are certainly no duplicate keys in these lines.

    A line has at least as many colons as its record, so equal sums mean equal counts for each line.
    """
    try:
        n_colons = _encode(tasks).count(b":")
    except (OverflowError, RecursionError):  # an integer beyond 64 bits, or very deep metadata
        return False
    not_given = sum([task is not None and type(task.metadata) is NoMetadata for task in tasks])
    blob = b"\n".join(lines)
    return blob.count(b":") == n_colons - not_given and not _escaped_colon(blob)


def _is_sound(task: TaskSpec) -> bool:
    """Whether a record certainly breaks no other rule."""
    task_id, prompt, category, metadata = task.task_id, task.prompt, task.category, task.metadata
    return not (
        (category, task.metric_name, task.post_process) not in _LEGAL
        or not prompt
        or prompt[-1].isspace()
        or not task_id
        or " " in task_id
        or not task_id.isprintable()  # all other whitespace characters are unprintable
        or not task.targets
        or len(task.few_shot_examples) > MAX_EXAMPLES
        or (category == "mcq" and task.targets not in _LETTERS)
        or (category != "code_exec" and ":" in prompt and has_few_shot_block(prompt))
        or (("timeout_s" in metadata or "samples" in metadata) and explain_metadata(metadata))
        or (metadata and _is_deep(metadata))
    )


def _is_deep(metadata: dict[str, Any]) -> bool:
    flat = _SCALARS.issuperset(map(type, metadata.values()))
    return not flat and depth(metadata) >= MAX_DEPTH
