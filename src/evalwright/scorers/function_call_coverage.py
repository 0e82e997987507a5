"""`function_call_coverage`: whether the functions that had to be called were called.

    scorers:
      - type: function_call_coverage
        function_calls: "{{ sample.expected_calls | tojson }}"   # ["search", {"name": "book", …}]
        mode: in_order

The list has names, or objects `{"name": …, "arguments": {…}}` whose arguments must be equal as JSON
values are: `1` is `1.0`, but `true` is not `1`, and the order of keys does not count. Each call
that was made answers for one entry at most; entries with arguments choose first. Calls before the
first user message do not count.

`in_order` also wants the list, as it stands, to be found in the calls in its order, with others
between them or not. Then, and only then, `all_required_calls_made` is true; the counts are the same
in both modes.
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
    """A call, made or required. Required without arguments: any will do."""

    name: str
    arguments: Any = None

    def answers(self, required: "Call") -> bool:
        """Whether this one, which was made, is the one that was required."""
        return self.name == required.name and (
            required.arguments is None or same(self.arguments, required.arguments)
        )

    def shown(self) -> Any:
        """As its author would write it."""
        if self.arguments is None:
            return self.name
        return {"name": self.name, "arguments": self.arguments}


class FunctionCallCoverage(ScorerSpec):
    """Scores how many of the required calls were made, and how many others."""

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
    """The required calls: renders to a JSON or Python list of names, or of objects with `name` and
    `arguments`. May refer to `sample`."""
    mode: Mode = "any_order"
    """Whether the calls must also come in the order of the list."""

    async def score(self, case: Case) -> Score:
        """Match what was called with what had to be."""
        if case.answer is None:
            raise ValueError("`function_call_coverage` needs the calls of a solver, there is none")
        rendered = self.function_calls.render(sample=case.sample.data)
        required = [
            _required(entry, index)
            for index, entry in enumerate(read_list(rendered, field="function_calls"))
        ]
        trace = SolverTrace.from_json(case.answer.conversation).trace
        called = [Call(call.name, _arguments(call.arguments)) for call in trace.function_calls]
        return _score(required, called, self.mode)


def met(required: Sequence[Call], called: Sequence[Call]) -> list[bool]:
    """For each required call whether it was made; a call that was made answers for one only.

    Which one takes which does not matter beyond arguments first: entries with the same arguments
    want the same calls, and those with a name alone take any that is left.
    """
    left = list(called)
    found = [False] * len(required)
    for index in sorted(range(len(required)), key=lambda one: required[one].arguments is None):
        for place, call in enumerate(left):
            if call.answers(required[index]):
                found[index] = True
                del left[place]
                break
    return found


def in_order(required: Sequence[Call], called: Sequence[Call]) -> bool:
    """Whether the required calls are a subsequence of those that were made."""
    rest = iter(called)
    return all(any(call.answers(wanted) for call in rest) for wanted in required)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal. Python alone would say that `true` is `1`."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _score(required: list[Call], called: list[Call], mode: Mode) -> Score:
    found = met(required, called)
    made, total = sum(found), len(required)
    ordered = mode == "any_order" or in_order(required, called)
    complete = made == total and ordered
    missing = [call.shown() for call, was in zip(required, found, strict=True) if not was]
    reason = "" if ordered else "the required calls were not made in their order"
    if missing:
        reason = f"not called: {', '.join(map(short, missing))}"
    return Score(
        values={
            "all_required_calls_made": complete,
            "required_calls_coverage": made / total if total else 1.0,
            "num_required_calls_made": made,
            "num_required_calls_not_made": total - made,
            "num_unrequired_calls": len(called) - made,
            "num_required_calls_total": total,
        },
        correct=complete,
        reason=reason,
        metadata={
            "required": [call.shown() for call in required],
            "called": [call.shown() for call in called],
            "matched": [call.shown() for call, was in zip(required, found, strict=True) if was],
            "unmatched": missing,
        },
    )


def _required(entry: Any, index: int) -> Call:
    if isinstance(entry, str) and entry:
        return Call(entry)
    if isinstance(entry, dict) and isinstance(entry.get("name"), str) and entry["name"]:
        if unknown := sorted(map(str, entry.keys() - {"name", "arguments"})):
            raise ValueError(
                f"entry {index} of `function_calls` may have `name` and `arguments`, "
                f"got {', '.join(f'`{one}`' for one in unknown)} too"
            )
        return Call(entry["name"], _wanted(entry.get("arguments"), index))
    raise ValueError(
        f"entry {index} of `function_calls` must be a name or an object with `name` "
        f"and `arguments`, got {short(entry)}"
    )


def _wanted(arguments: Any, index: int) -> Any:
    read = None if arguments is None else _arguments(arguments)
    if read is None or isinstance(read, dict):
        return read
    raise ValueError(
        f"`arguments` in entry {index} of `function_calls` must be an object, "
        f"got {short(arguments)}"
    )


def _arguments(written: Any) -> Any:
    """Calls carry their arguments as JSON in a string; what is none stays the string it is."""
    if written is None:
        return {}
    if not isinstance(written, str):
        return written
    if not written.strip():
        return {}
    try:
        return loads(written)
    except (ValueError, RecursionError):
        return written
