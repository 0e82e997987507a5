"""Filters select samples. Action rules use filters to exclude samples from metrics.

    filter: {op: exists, expression: "{{ sample.answer }}"}
    filter: {op: equals, expression: "{{ sample.language }}", value: en}
    filter: {op: in, expression: "{{ sample.id }}", values: ["3", "6"]}

An expression is a template whose result keeps its type. A string that looks like a Python literal
(`3`, `True`) is compared as that literal. If the values differ, they are also compared as strings:
`3` matches "3", `3.0` matches "3.0" and "3", and true matches "True" and "true".
`{{ solver_output.output }}` is the text of the answer.

The table shows what each operator does if the expression is undefined, and what it tests otherwise:

    op                     undefined     otherwise
    exists, not_exists     missing       present, including null
    is_true, is_false      error         a boolean; error for any other type
    equals, not_equals     error         equal values, or equal text
    less_than, …           error         two numbers; error for any other type
    in, not_in             error         equal to one of the values, or equal text

In a data source's filter, an empty CSV cell is an empty string, not undefined, except in `exists`
and `not_exists`.

An action rule applies to samples after scoring:

    actions:
      - key: wrong_language
        action: exclude_from_metrics
        filter: {op: not_equals, expression: "{{ scores.language.label }}", value: en}
"""

import operator
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, StrictBool, StrictFloat, StrictInt, StrictStr, Tag

from evalwright.components import Component, UserKey
from evalwright.objects import variables as template_variables
from evalwright.templates import Native, NotThere, read_literal

Scalar = StrictBool | StrictInt | StrictFloat | StrictStr

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "greater_than": operator.gt,
    "less_than": operator.lt,
    "greater_or_equal": operator.ge,
    "less_or_equal": operator.le,
}
_UNARY = {"exists", "not_exists", "is_true", "is_false"}
_COMPARISON = {"equals", "not_equals", *_ORDERS}
_MEMBERSHIP = {"in", "not_in"}


class _Filter(Component):
    expression: Native
    """Expression to test, in `{{ }}`: `{{ sample.language }}`."""

    def warnings(self) -> list[str]:
        """Return warnings about settings that are valid but certainly not intended."""
        text = self.expression.source
        if "{{" in text or "{%" in text:
            return []
        meant = f"{{{{ {text} }}}}"
        return [f"expression has no {{{{ }}}}: it is `{text}` for every sample; write `{meant}`"]


class FilterUnary(_Filter):
    """Tests whether a value exists or is true."""

    op: Literal["exists", "not_exists", "is_true", "is_false"]
    """Condition to test. Null counts as an existing value."""

    def matches(self, variables: Mapping[str, Any]) -> bool:
        """Whether the condition holds; ValueError or TypeError if it cannot be tested."""
        if self.op in {"exists", "not_exists"}:
            return self._is_there(variables) is (self.op == "exists")
        value = self.expression.evaluate(**variables)
        if not isinstance(value, bool):
            raise TypeError(f"`{self.op}` expected true or false, got {_show(value)}")
        return value is (self.op == "is_true")

    def _is_there(self, variables: Mapping[str, Any]) -> bool:
        try:
            self.expression.raw(**variables)
        except NotThere:
            return False
        return True


class FilterComparison(_Filter):
    """Compares an expression with a value."""

    op: Literal[
        "equals", "not_equals", "greater_than", "less_than", "greater_or_equal", "less_or_equal"
    ]
    """Comparison operator."""
    value: Scalar
    """Value to compare with: a string, a number, true or false."""

    def warnings(self) -> list[str]:
        """Return also a warning if `value` cannot be ordered."""
        if self.op not in _ORDERS or not isinstance(self.value, str):
            return super().warnings()
        detail = f"`{self.op}` compares numbers, but the value is text: it fails for every sample"
        return [*super().warnings(), f"{detail}; write `{self.value}` without quotes"]

    def matches(self, variables: Mapping[str, Any]) -> bool:
        """Whether the condition holds; ValueError or TypeError if it cannot be tested."""
        raw = self.expression.raw(**variables)
        value = read_literal(raw)
        if self.op in {"equals", "not_equals"}:
            same = value == self.value or self.value in _texts(raw)
            return same is (self.op == "equals")
        for side, number in (("the value", self.value), ("the expression", value)):
            if not isinstance(number, int | float):
                raise TypeError(f"`{self.op}` compares numbers: {side} is {_show(number)}")
        return _ORDERS[self.op](value, self.value)


class FilterMembership(_Filter):
    """Tests whether an expression is one of several values."""

    op: Literal["in", "not_in"]
    """Whether the expression must be one of the values or none of them."""
    values: list[Scalar]
    """Values to compare with: strings, numbers, true or false."""

    def matches(self, variables: Mapping[str, Any]) -> bool:
        """Whether the condition holds; ValueError if it cannot be tested."""
        raw = self.expression.raw(**variables)
        is_in = any(value in self.values for value in (read_literal(raw), *_texts(raw)))
        return is_in is (self.op == "in")


def _texts(raw: Any) -> tuple[str, ...]:
    """Return the strings that may represent a value in a text file; empty if there are none."""
    if isinstance(raw, bool):
        return str(raw), str(raw).lower()
    if isinstance(raw, float) and raw.is_integer():
        return str(raw), str(int(raw))
    return (str(raw),) if isinstance(raw, str | int | float) else ()


def _show(value: Any) -> str:
    return f"`{value!r}`"[:80]


def _form(value: Any) -> str:
    known = value if isinstance(value, dict) else vars(value) if hasattr(value, "op") else {}
    op = str(known.get("op"))
    if op in _UNARY:
        return "unary"
    if op in _MEMBERSHIP or (op not in _COMPARISON and "values" in known):
        return "membership"
    return "comparison" if op in _COMPARISON or "value" in known else "unary"


AnyFilter = Annotated[
    Annotated[FilterUnary, Tag("unary")]
    | Annotated[FilterComparison, Tag("comparison")]
    | Annotated[FilterMembership, Tag("membership")],
    Discriminator(_form),
]
"""A filter of any of the three types."""


class ActionRule(Component):
    """Excludes samples that match the filter from the metrics. Their scores are still stored."""

    key: UserKey
    """Name of the rule in reports."""
    action: Literal["exclude_from_metrics"]
    """Action to apply to matching samples."""
    filter: AnyFilter
    """Filter for the samples that the rule applies to. The expression may refer to `sample`,
    `solver_output`, and `scores` by scorer key, such as `{{ scores.language.label }}`."""

    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        """Whether the rule excludes this sample; ValueError or TypeError if it cannot be tested."""
        # Parsing a conversation takes longer than evaluating most filters.
        known = {"sample": sample}
        if conversation is not None and not self.filter.expression.names() <= {"sample", "scores"}:
            known = template_variables(sample, conversation)
        return self.filter.matches({**known, "scores": scores})
