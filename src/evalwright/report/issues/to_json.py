"""One JSON object, written piece by piece.

{"files": [{"file", "kind", "errors": […], "valid"}], "valid", "errors"}

A file of documents may also have `warnings`, in the shape of errors.
"""

from collections.abc import Iterable, Iterator

import msgspec

from evalwright.spec.checking import Checking


def render(checks: Iterable[Checking]) -> Iterator[str]:
    """The object of `evalwright validate --json`."""
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
            yield f',"unreadable":{encode(str(check.unreadable)).decode()}'
        yield "}"
        valid += check.valid
        errors += check.errors
    yield f'],"valid":{valid},"errors":{errors}}}\n'
