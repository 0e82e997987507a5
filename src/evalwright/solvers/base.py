"""What all solvers of a task document have in common."""

import json
from functools import cached_property
from typing import Any, ClassVar, Literal

from evalwright.components import FOR_KEYS, Component
from evalwright.solvers.postprocessor import PythonPostprocessor
from evalwright.types import Sample, Trace

MessageFormat = Literal["latticeflow", "open_responses"]

_NOT_IN_THE_ANSWER = {"postprocessor", "message_format"}


class SolverSpec(Component):
    """A solver, as a document writes it."""

    type: str
    """The kind of solver."""
    postprocessor: PythonPostprocessor | None = None
    """Changes what is scored, or makes several samples of one, after the solver is done."""

    version: ClassVar[int] = 1
    """Grows with every change that could move an answer."""

    @property
    def name(self) -> str:
        """Its type."""
        return self.type

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The models that it asks beside the one that is evaluated."""
        return ()

    @property
    def asks(self) -> bool:
        """Whether it asks the evaluated model at all."""
        return True

    @cached_property
    def settings(self) -> str:
        """All of its fields that can move an answer, as canonical JSON."""
        fields = self.model_dump(mode="json", exclude=_NOT_IN_THE_ANSWER, context=FOR_KEYS)
        return canonical(fields)

    def reads(self, sample: Sample) -> str:
        """The solver's own fields, and the row: a template or a snippet may look at any column."""
        return f"{self.settings}{canonical(sample.data)}"

    def revised(self, sample: Sample, trace: Trace) -> Trace:
        """The trace as it is: what these solvers make depends on nothing but what they read."""
        del sample
        return trace


def canonical(value: Any) -> str:
    """JSON in which equal values are equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
