"""One workflow command an issue, so that GitHub shows it beside the line."""

from collections.abc import Iterable, Iterator

from evalwright.spec.checking import Checking


def render(checks: Iterable[Checking]) -> Iterator[str]:
    """`::error file=…,line=…,col=…,title=…::detail`."""
    for check in checks:
        for issue in check:
            place = f"file={_property(check.file)},line={issue.line}"
            if issue.column:
                place += f",col={issue.column}"
            yield f"::{check.level} {place},title={_property(issue.rule)}::{_data(issue.detail)}\n"
        if check.unreadable:
            yield f"::error file={_property(check.file)}::{_data(str(check.unreadable))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
