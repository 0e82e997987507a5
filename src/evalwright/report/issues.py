"""Issues as text, JSON, GitHub annotations or JUnit XML.

A renderer yields pieces of output while the files are being read, so that a million issues need no
memory. For a person: where, what, and a caret under the place.

    tasks.jsonl:3:50: bad_value: `prompt` is empty
      {"task_id": "a", "prompt": "", "targets": ["4"], …
                                 ^
      also illegal_metric: arithmetic records may not use `bleu_4`, only `exact_match`, `f1`
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from evalwright.report.ci_formats import clean_xml, github_command, xml_attribute
from evalwright.report.layout import wrap_text
from evalwright.report.tables import display_width, take_columns
from evalwright.spec.checking import Checking
from evalwright.types import Issue

_BEFORE, _WIDTH = 40, 88


_Style = Callable[[str, str], str]


def render_text(
    checks: Iterable[Checking],
    *,
    style: _Style = lambda text, _: text,
    width: int | None = None,
) -> Iterator[str]:
    """Yield a paragraph per issue, wrapped at words if there is a width.

    `style(text, kind)` may colour a `place`, `rule` or `caret`.
    """
    for check in checks:
        for issue in check:
            place = f"{_one_line(check.file)}:{issue.line}:"
            if issue.column:
                place += f"{issue.column}:"
            head = _paragraph(place, issue.rule, issue.message, style, width)
            excerpt = "".join(_excerpt(issue, style, width))
            others = (
                _paragraph("  also", other.rule, other.detail, style, width) for other in issue.also
            )
            yield f"{head}{excerpt}{''.join(others)}"


def _paragraph(start: str, rule: str, detail: str, style: _Style, width: int | None) -> str:
    """Return `start rule: detail`. Colours come last, since they take no column."""
    text = "\n".join(wrap_text(f"{start} {rule}: {_one_line(detail)}", width, hanging="    "))
    head, rest = text[: len(start)], text[len(start) :]
    space, colon, rest = rest.partition(f"{rule}:")
    head = head if head.startswith(" ") else style(head, "place")
    return f"{head}{space}{style(colon, 'rule')}{rest}\n"


def _excerpt(issue: Issue, style: _Style, width: int | None) -> Iterator[str]:
    """Yield the place of the mistake in its line; nothing where the cut line no longer has it."""
    at = (issue.column or 0) - 1
    if not 0 <= at <= len(issue.raw):
        return
    head, tail = _one_line(issue.raw[:at]), _one_line(issue.raw[at:])
    room = _WIDTH if width is None else min(_WIDTH, max(width - len("  …  …"), 2))
    more = rest = ""
    if display_width(head) + display_width(tail) > room:
        start = take_columns(head[::-1], min(_BEFORE, room // 2))[::-1]
        more, head = "…" if start != head else "", start
        end = take_columns(tail, room - display_width(head))
        rest, tail = " …" if end != tail else "", end
    yield f"  {more}{head}{tail}{rest}\n"
    yield f"  {' ' * (len(more) + display_width(head))}{style('^', 'caret')}\n"


def _one_line(text: str) -> str:
    """Replace characters that would move the caret, or the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def render_json(checks: Iterable[Checking]) -> Iterator[str]:
    """Yield the object of `evalwright validate --json`, piece by piece.

    {"files": [{"file", "kind", "errors": […], "valid"}], "valid", "errors"}

    An error is counted once per record; its `also` lists the record's other problems. A file of
    documents may also have `warnings`, in the shape of errors.
    """
    encode = msgspec.json.encode
    valid = errors = 0
    yield '{"files":['
    for index, check in enumerate(checks):
        file = check.file.encode(errors="replace")  # a name may hold bytes that are no UTF-8
        head = f'{{"file":{encode(file.decode()).decode()},"kind":"{check.kind}","errors":['
        yield f",{head}" if index else head
        for number, issue in enumerate(check):
            body = encode(issue.to_json()).decode()
            yield f",\n{body}" if number else f"\n{body}"
        yield f'],"valid":{check.valid}'
        if check.warnings:
            warnings = [warning.to_json() for warning in check.warnings]
            yield f',"warnings":{encode(warnings).decode()}'
        if check.unreadable:
            yield f',"unreadable":{encode(check.unreadable.message).decode()}'
        yield "}"
        valid += check.valid
        errors += check.errors
    yield f'],"valid":{valid},"errors":{errors}}}\n'


def render_github(checks: Iterable[Checking]) -> Iterator[str]:
    """Yield one workflow command per issue: `::error file=…,line=…,col=…,title=…::detail`."""
    for check in checks:
        for issue in check:
            yield _github_issue(check.level, check.file, issue)
        for warning in check.warnings:
            yield _github_issue("warning", check.file, warning)
        if check.unreadable:
            yield github_command("error", check.unreadable.message, file=check.file)


def _github_issue(level: str, file: str, issue: Issue) -> str:
    column = {"col": str(issue.column)} if issue.column else {}
    details = "\n".join((issue.message, *_other_problems(issue)))
    return github_command(
        level, details, file=file, line=str(issue.line), **column, title=issue.rule
    )


def _other_problems(issue: Issue) -> Iterator[str]:
    return (f"also {other.rule}: {other.detail}" for other in issue.also)


def render_junit(checks: Iterable[Checking]) -> Iterator[str]:
    """Yield a suite per file: a failed case per issue, and one passed case for all good records.

    Counts stand in a suite's first line, so the cases of one file are held until its end.
    """
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="evalwright">\n'
    for check in checks:
        file = xml_attribute(check.file)
        cases = [_junit_case(check.file, issue) for issue in check]
        failures, errors = len(cases), 0
        if check.valid:
            name = xml_attribute(f"{check.valid} valid")
            cases.insert(0, f"    <testcase classname={file} name={name}/>\n")
        if check.unreadable:
            errors = 1
            error = f"<error message={xml_attribute(check.unreadable.message)}/>"
            cases.append(f'    <testcase classname={file} name="readable">{error}</testcase>\n')
        counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
        yield f"  <testsuite name={file} {counts}>\n"
        yield from cases
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _junit_case(file: str, issue: Issue) -> str:
    from xml.sax.saxutils import escape  # slow to import, and needed here alone

    line, rule, detail = issue.line, issue.rule, issue.message
    text = "\n".join((f"{file}:{line}: {rule}: {detail}", *_other_problems(issue)))
    return (
        f"    <testcase classname={xml_attribute(file)} name={xml_attribute(f'line {line}')}>"
        f"<failure type={xml_attribute(rule)} message={xml_attribute(detail)}>"
        f"{escape(clean_xml(text))}</failure></testcase>\n"
    )


RENDERERS = {
    "text": render_text,
    "json": render_json,
    "github": render_github,
    "junit": render_junit,
}
