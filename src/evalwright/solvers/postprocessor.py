"""`postprocessor`: an author's function that changes what is scored, or makes several of one.

    solver:
      type: single_turn_solver
      …
      postprocessor:
        type: python
        postprocess_snippet: |
          def postprocess(sample, solver_output):
              return [(sample, solver_output)]

Each pair that it returns is scored by itself, with the new sample. No pair: nothing is scored. It
runs after the solver, and the solver's own trace is what is stored: to change the function costs
no call of the model.
"""

from typing import Any, Literal

from evalwright.components import Component, Snippet
from evalwright.objects import read_trace
from evalwright.ports import Snippets

_PAIR = 2


class PythonPostprocessor(Component):
    """Calls `postprocess(sample, solver_output)`, which may be async."""

    type: Literal["python"]
    """The kind of postprocessor."""
    postprocess_snippet: Snippet
    """Python that defines `postprocess(sample, solver_output)`, which returns a list of pairs."""

    async def apply(
        self, sample: dict[str, Any], conversation: dict[str, Any], snippets: Snippets | None
    ) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The pairs of sample and conversation that are scored in place of this one."""
        if snippets is None:
            raise ValueError("a postprocessor is Python, and nothing here runs it")
        snippet = self.postprocess_snippet
        function = snippet.function("postprocess")
        made = await snippets.call(function, [sample, conversation], objects=("", "SolverTrace"))
        with snippet.blamed("postprocess"):
            return _pairs(made)


def _pairs(made: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    if not isinstance(made, list):
        raise ValueError(f"postprocess must return a list of pairs, got `{_named(made)}`")  # noqa: TRY004 - data of the wrong shape
    return [_pair(place, one) for place, one in enumerate(made)]


def _pair(place: int, pair: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    if not isinstance(pair, list) or len(pair) != _PAIR or not isinstance(pair[0], dict):
        shape = [_named(one) for one in pair] if isinstance(pair, list) else _named(pair)
        raise ValueError(
            f"postprocess must return pairs of a sample and a solver output, got `{shape}`"
            f" - at `$[{place}]`"
        )
    try:
        return pair[0], read_trace(pair[1]).to_json()
    except ValueError as error:
        raise ValueError(f"postprocess: {error} - at `$[{place}][1]`") from error


def _named(value: Any) -> str:
    return type(value).__name__
