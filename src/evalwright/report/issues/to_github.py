"""One workflow command an issue, so that GitHub shows it beside the line."""

from collections.abc import Iterable, Iterator

from evalwright.spec.checking import Checking
from evalwright.types import Issue


def render(checks: Iterable[Checking]) -> Iterator[str]:
    """`::error file=…,line=…,col=…,title=…::detail`."""
    for check in checks:
        for issue in check:
            yield _command(check.level, check.file, issue)
        for warning in check.warnings:
            yield _command("warning", check.file, warning)
        if check.unreadable:
            yield f"::error file={_property(check.file)}::{_data(str(check.unreadable))}\n"


def _command(level: str, file: str, issue: Issue) -> str:
    place = f"file={_property(file)},line={issue.line}"
    if issue.column:
        place += f",col={issue.column}"
    return f"::{level} {place},title={_property(issue.rule)}::{_data(issue.message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
