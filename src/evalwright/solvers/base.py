"""Base classes of the solvers in task documents, including the `postprocessor`.

    solver:
      type: single_turn_solver
      …
      postprocessor:
        type: python
        postprocess_snippet: |
          def postprocess(sample, solver_output):
              return [(sample, solver_output)]

Each returned pair is scored separately, with the new sample. The stored trace is that of the
solver, so changing the function needs no new model calls.
"""

import json
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import SerializeAsAny

from evalwright.components import FOR_KEYS, Component, ComponentUnion, Snippet
from evalwright.objects import read_trace
from evalwright.ports import Case, Snippets
from evalwright.types import Sample, Trace

_PAIR = 2


class PythonPostprocessor(Component):
    """Calls `postprocess(sample, solver_output)`, which may be async."""

    type: Literal["python"]
    """The kind of postprocessor."""
    postprocess_snippet: Snippet
    """Python code that defines `postprocess(sample, solver_output)`. The function returns a list of
    pairs."""

    async def apply(
        self, sample: dict[str, Any], conversation: dict[str, Any], snippets: Snippets | None
    ) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the pairs of sample and conversation to score instead of this pair."""
        if snippets is None:
            raise ValueError("a postprocessor needs snippets, but they are not available")
        snippet = self.postprocess_snippet
        function = snippet.function("postprocess")
        arguments = [sample, conversation]
        returned = await snippets.call(function, arguments, objects=("", "SolverTrace"))
        with snippet.locate_errors("postprocess"):
            if not isinstance(returned, list):
                got = type(returned).__name__
                raise ValueError(f"postprocess must return a list of pairs, got `{got}`")  # noqa: TRY004 - data of the wrong shape
            return [_read_pair(pair, place) for place, pair in enumerate(returned)]


def _read_pair(pair: Any, place: int) -> tuple[dict[str, Any], dict[str, Any]]:
    if not isinstance(pair, list) or len(pair) != _PAIR or not isinstance(pair[0], dict):
        parts = [type(part).__name__ for part in pair] if isinstance(pair, list) else None
        got = type(pair).__name__ if parts is None else parts
        raise ValueError(
            f"postprocess must return pairs of a sample and a solver output, got `{got}`"
            f" - at `$[{place}]`"
        )
    try:
        return pair[0], read_trace(pair[1]).to_json()
    except ValueError as error:
        raise ValueError(f"postprocess: {error} - at `$[{place}][1]`") from error


MessageFormat = Literal["latticeflow", "open_responses"]

_NOT_IN_THE_ANSWER = {"postprocessor", "message_format"}


class SolverSpec(Component):
    """A solver in a document."""

    type: str
    """The kind of solver."""
    postprocessor: SerializeAsAny[PythonPostprocessor] | None = None
    """Step after the solver that can change its output or split one sample into several."""

    version: ClassVar[int] = 1
    """Increase it with every change that could change an answer."""

    @property
    def name(self) -> str:
        """The solver's type."""
        return self.type

    @property
    def model_keys(self) -> tuple[str, ...]:
        """Models that the solver calls in addition to the evaluated model."""
        return ()

    @property
    def calls_model(self) -> bool:
        """Whether the solver calls the evaluated model."""
        return True

    @cached_property
    def settings(self) -> str:
        """All fields that can change an answer, as canonical JSON."""
        fields = self.model_dump(mode="json", exclude=_NOT_IN_THE_ANSWER, context=FOR_KEYS)
        return canonical_json(fields)

    def describe_inputs(self, sample: Sample) -> str:
        """Return the fields and the row, because a template or snippet may read any column."""
        return f"{self.settings}{canonical_json(sample.data)}"

    def reuse(self, sample: Sample, trace: Trace) -> Trace:
        """Return the trace unchanged, because it depends only on `describe_inputs`."""
        del sample
        return trace

    async def solve(self, case: Case) -> Trace:
        """Return a trace for `case.sample`; raise if there is no answer."""
        raise NotImplementedError


AnySolver = Annotated[SolverSpec, ComponentUnion("solvers")]
"""The solver of a task."""


def canonical_json(value: Any) -> str:
    """Return canonical JSON: equal values give equal strings."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
