"""What the trials of a task, a dataset, a model and a generator share: error and layout."""

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Any

from msgspec import Struct

from evalwright.report.tables import visible
from evalwright.report.yaml_text import to_yaml


class TrialError(Struct, frozen=True, kw_only=True):
    """What broke, and at which stage."""

    stage: str
    type: str
    message: str
    hint: str


def stopped_error(reason: str, hint: str) -> TrialError:
    """Return the error of a trial that ended for a reason that would end a run."""
    return TrialError(stage="solver", type="Stopped", message=reason, hint=hint)


def indent_yaml(value: Any) -> Iterator[str]:
    """Yield a value as YAML, indented below a heading."""
    yield indent(visible(to_yaml(value)).rstrip("\n"), "  ")


def printed_lines(heading: str, printed: Sequence[str]) -> Iterator[str]:
    """Yield what snippets printed, below a heading; nothing if they printed nothing."""
    if printed:
        yield ""
        yield heading
        yield from (visible(f"  {line}") for line in printed)
