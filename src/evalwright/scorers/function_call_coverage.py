"""`function_call_coverage`: whether the model made the required function calls.

    scorers:
      - type: function_call_coverage
        function_calls: "{{ sample.expected_calls | tojson }}"   # ["search", {"name": "book", …}]
        mode: in_order

Each entry in the list is a name or an object `{"name": …, "arguments": {…}}`. Arguments are
compared as JSON values: `1` equals `1.0`, `true` does not equal `1`, and the order of keys does not
matter. Each call matches at most one entry, and entries with arguments are matched first. Calls
before the first user message do not count. With `in_order`, `all_required_calls_made` is true only
if the calls were made in the listed order; other calls may occur between them. The counts are the
same in both modes.
"""

from collections.abc import Sequence
from json import loads
from typing import Any, ClassVar, Literal

from msgspec import Struct

from evalwright.objects import SolverTrace
from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, read_list, short
from evalwright.templates import Template
from evalwright.types import Score

Mode = Literal["any_order", "in_order"]


class Call(Struct, frozen=True):
    """A made or a required call. A required call without arguments matches any arguments."""

    name: str
    arguments: Any = None

    def meets(self, required: "Call") -> bool:
        """Whether this made call matches the required call."""
        return self.name == required.name and (
            required.arguments is None or is_same_json(self.arguments, required.arguments)
        )

    def to_json(self) -> Any:
        """Return the call as an author would write it."""
        if self.arguments is None:
            return self.name
        return {"name": self.name, "arguments": self.arguments}


class FunctionCallCoverage(ScorerSpec):
    """Scores how many of the required calls, and how many other calls, were made."""

    score_names: ClassVar[tuple[str, ...] | None] = (
        *("all_required_calls_made", "required_calls_coverage"),
        *("num_required_calls_made", "num_required_calls_not_made"),
        *("num_unrequired_calls", "num_required_calls_total"),
    )
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (
        ("mean", "all_required_calls_made"),
        ("mean", "required_calls_coverage"),
    )

    type: Literal["function_call_coverage"]
    function_calls: Template
    """Required calls: a template that renders to a JSON or Python list. Each entry is a name, or an
    object with `name` and `arguments`. May refer to `sample`."""
    mode: Mode = "any_order"
    """Whether the calls must be made in the listed order."""

    async def score(self, case: Case) -> Score:
        """Match the made calls with the required calls."""
        if case.answer is None:
            raise ValueError(
                "`function_call_coverage` needs the calls of a solver, but the task has no solver"
            )
        rendered = self.function_calls.render(sample=case.sample.data)
        required = [
            _parse_call(entry, index)
            for index, entry in enumerate(read_list(rendered, field="function_calls"))
        ]
        trace = SolverTrace.from_json(case.answer.conversation).trace
        called = [
            Call(call.name, _parse_arguments(call.arguments)) for call in trace.function_calls
        ]
        return _score(required, called, self.mode)


def match_calls(required: Sequence[Call], called: Sequence[Call]) -> list[bool]:
    """Return for each required call whether it was made. A made call matches at most one.

    Required calls with arguments are matched first. Apart from that, the order does not matter:
    required calls with the same arguments match the same calls, and those with only a name match
    any remaining call.
    """
    unmatched = list(called)
    is_met = [False] * len(required)
    for index in sorted(range(len(required)), key=lambda i: required[i].arguments is None):
        for place, call in enumerate(unmatched):
            if call.meets(required[index]):
                is_met[index] = True
                del unmatched[place]
                break
    return is_met


def in_order(required: Sequence[Call], called: Sequence[Call]) -> bool:
    """Whether the required calls are a subsequence of the made calls."""
    rest = iter(called)
    return all(any(call.meets(entry) for call in rest) for entry in required)


def is_same_json(first: Any, second: Any) -> bool:
    """Whether two JSON values are equal. Unlike in Python, `true` does not equal `1`."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            is_same_json(value, second[key]) for key, value in first.items()
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(is_same_json, first, second))
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


def _score(required: list[Call], called: list[Call], mode: Mode) -> Score:
    is_met = match_calls(required, called)
    n_met, total = sum(is_met), len(required)
    entries = [call.to_json() for call in required]
    missing = [entry for entry, met in zip(entries, is_met, strict=True) if not met]
    is_ordered = mode == "any_order" or in_order(required, called)
    is_complete = not missing and is_ordered
    reason = "" if is_ordered else "the required calls were not made in order"
    if missing:
        reason = f"not called: {', '.join(map(short, missing))}"
    return Score(
        values={
            "all_required_calls_made": is_complete,
            "required_calls_coverage": n_met / total if total else 1.0,
            "num_required_calls_made": n_met,
            "num_required_calls_not_made": total - n_met,
            "num_unrequired_calls": len(called) - n_met,
            "num_required_calls_total": total,
        },
        correct=is_complete,
        reason=reason,
        metadata={
            "required": entries,
            "called": [call.to_json() for call in called],
            "matched": [entry for entry, met in zip(entries, is_met, strict=True) if met],
            "unmatched": missing,
        },
    )


def _parse_call(entry: Any, index: int) -> Call:
    if isinstance(entry, str) and entry:
        return Call(entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise ValueError(
            f"entry {index} of `function_calls` must be a name or an object with `name` "
            f"and `arguments`, got {short(entry)}"
        )
    if unknown := sorted(map(str, entry.keys() - {"name", "arguments"})):
        raise ValueError(
            f"entry {index} of `function_calls` may have only `name` and `arguments`, "
            f"not {', '.join(f'`{key}`' for key in unknown)}"
        )
    arguments_field = entry.get("arguments")
    arguments = None if arguments_field is None else _parse_arguments(arguments_field)
    if arguments is not None and not isinstance(arguments, dict):
        raise ValueError(
            f"`arguments` in entry {index} of `function_calls` must be an object, "
            f"got {short(arguments_field)}"
        )
    return Call(entry["name"], arguments)


def _parse_arguments(arguments_field: Any) -> Any:
    """Parse the arguments of a call as JSON; other text is returned unchanged."""
    if not isinstance(arguments_field, str):
        return {} if arguments_field is None else arguments_field
    try:
        return loads(arguments_field) if arguments_field.strip() else {}
    except (ValueError, RecursionError):
        return arguments_field
