"""JUnit XML: a suite a file, a failed case an issue, and one passed case for all good records."""

import re
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from evalwright.spec.checking import Checking

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(checks: Iterable[Checking]) -> Iterator[str]:
    """Counts stand in a suite's first line, so the cases of one file are held until its end."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="evalwright">\n'
    for check in checks:
        cases = [_case(check.file, issue.line, issue.rule, issue.message) for issue in check]
        good = (
            f"    <testcase classname={_attr(check.file)} name={_attr(f'{check.valid} valid')}/>\n"
        )
        broken = _broken(check)
        tests = len(cases) + bool(check.valid) + bool(broken)
        yield (
            f"  <testsuite name={_attr(check.file)} tests={_attr(tests)} "
            f"failures={_attr(len(cases))} errors={_attr(int(bool(broken)))}>\n"
        )
        if check.valid:
            yield good
        yield from cases
        yield broken
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _case(file: str, line: int, rule: str, detail: str) -> str:
    return (
        f"    <testcase classname={_attr(file)} name={_attr(f'line {line}')}>"
        f"<failure type={_attr(rule)} message={_attr(detail)}>"
        f"{escape(_clean(f'{file}:{line}: {rule}: {detail}'))}</failure></testcase>\n"
    )


def _broken(check: Checking) -> str:
    if not check.unreadable:
        return ""
    name = f"    <testcase classname={_attr(check.file)} name={_attr('readable')}>"
    return f"{name}<error message={_attr(str(check.unreadable))}/></testcase>\n"


def _attr(value: object) -> str:
    return quoteattr(_clean(str(value)))


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
