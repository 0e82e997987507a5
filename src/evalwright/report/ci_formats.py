"""What CI systems read: JUnit XML, and the workflow commands of GitHub."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

_NOT_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


class JunitCase(Struct, frozen=True, kw_only=True):
    """A test case: one rule, metric or task."""

    suite: str
    name: str
    failure: str = ""
    """Why it failed; empty if it passed."""
    error: str = ""
    """Why nothing can be said; empty if something can."""


def junit_page(cases: Sequence[JunitCase]) -> Iterator[str]:
    """Yield a JUnit file with a suite per suite name, in the order of the cases."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="evalwright">\n'
    for suite in dict.fromkeys(case.suite for case in cases):
        own = [case for case in cases if case.suite == suite]
        failures, errors = (sum(map(bool, texts)) for texts in _texts(own))
        counts = f'tests="{len(own)}" failures="{failures}" errors="{errors}"'
        yield f"  <testsuite name={xml_attribute(suite)} {counts}>\n"
        yield from map(_junit_case, own)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _texts(cases: Sequence[JunitCase]) -> tuple[list[str], list[str]]:
    return [case.failure for case in cases], [case.error for case in cases]


def _junit_case(case: JunitCase) -> str:
    names = f"classname={xml_attribute(case.suite)} name={xml_attribute(case.name)}"
    for kind, text in (("failure", case.failure), ("error", case.error)):
        if text:
            return f"    <testcase {names}><{kind} message={xml_attribute(text)}/></testcase>\n"
    return f"    <testcase {names}/>\n"


def xml_attribute(value: object) -> str:
    """Return a quoted attribute; characters that XML cannot hold are replaced."""
    from xml.sax.saxutils import quoteattr  # slow to import, and needed here alone

    return quoteattr(clean_xml(str(value)))


def clean_xml(text: str) -> str:
    """Replace characters that XML cannot hold."""
    return re.sub(_NOT_XML, "\N{REPLACEMENT CHARACTER}", text)


def github_command(level: str, text: str, **properties: str) -> str:
    """Return a workflow command such as `::error file=a.jsonl,line=1::message`."""
    listed = ",".join(f"{name}={_github_property(value)}" for name, value in properties.items())
    return f"::{level}{' ' if listed else ''}{listed}::{_github_data(text)}\n"


def _github_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _github_property(text: str) -> str:
    return _github_data(text).replace(":", "%3A").replace(",", "%2C")
