"""What an expression may refer to, where a filter stands, and what it may be compared with."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from tests.objects.conversations import conversation

from evalwright.datasets.reading import LazyRows
from evalwright.datasets.rows import Rows
from evalwright.rules.filters import ActionRule, AnyFilter

FILTER: TypeAdapter[Any] = TypeAdapter(AnyFilter)
FORMS: dict[str, dict[str, Any]] = {
    "unary": {"op": "exists"},
    "comparison": {"op": "equals", "value": "en"},
    "membership": {"op": "in", "values": ["en", "de"]},
}
forms = pytest.mark.parametrize("form", [*FORMS])


@forms
@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("{{ category }}", id="a column by its name"),
        pytest.param("{{ sample.category }}", id="of the sample, with a dot"),
        pytest.param("{{ sample['category'] }}", id="of the sample, in brackets"),
        pytest.param(
            "{{ sample['the language'] }}", id="a name that is none of Jinja, in brackets"
        ),
    ],
)
def test_of_a_dataset_an_expression_sees_the_columns(form: str, expression: str) -> None:
    made = FILTER.validate_python({**FORMS[form], "expression": expression})
    samples = [{"category": word, "the language": word} for word in ("en", "fr")]

    kept = list(Rows(LazyRows(lambda: iter(samples)), name="d", filters=[made]).rows())

    assert kept == (samples if form == "unary" else samples[:1])


@forms
@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("{{ sample.language }}", id="the sample"),
        pytest.param("{{ solver_output.output.choices[0].message.content }}", id="the output"),
        pytest.param("{{ solver_output.messages[-1].content }}", id="the messages"),
        pytest.param("{{ scores.labeller.label }}", id="the values of a scorer, by its key"),
        pytest.param("{{ scores['labeller']['label'] }}", id="the same in brackets"),
    ],
)
def test_of_a_rule_an_expression_sees_sample_solver_output_and_scores(
    form: str, expression: str
) -> None:
    rule = ActionRule.model_validate(
        {
            "key": "r",
            "action": "exclude_from_metrics",
            "filter": {**FORMS[form], "expression": expression},
        }
    )

    def applies(word: str) -> bool:
        talk = conversation([("user", "?"), ("assistant", word)])
        return rule.applies({"language": word}, talk, {"labeller": {"label": word}})

    assert applies("en")
    assert applies("fr") is (form == "unary")


@pytest.mark.parametrize(
    ("field", "given", "legal"),
    [
        pytest.param("value", "text", True, id="a text"),
        pytest.param("value", 3, True, id="a whole number"),
        pytest.param("value", 2.5, True, id="a number"),
        pytest.param("value", True, True, id="a boolean"),
        pytest.param("value", None, False, id="null"),
        pytest.param("value", ["text"], False, id="a list"),
        pytest.param("value", {"a": 1}, False, id="a mapping"),
        pytest.param("values", ["text", 3, 2.5, True], True, id="several of these"),
        pytest.param("values", [], True, id="none"),
        pytest.param("values", "text", False, id="one for several"),
        pytest.param("values", [None], False, id="null among several"),
        pytest.param("values", [["text"]], False, id="a list among several"),
    ],
)
def test_what_an_expression_may_be_compared_with(field: str, given: Any, *, legal: bool) -> None:
    op = {"value": "equals", "values": "in"}[field]
    fields = {"op": op, "expression": "{{ sample.a }}", field: given}

    if legal:
        made = getattr(FILTER.validate_python(fields), field)
        assert made == given
        assert type(made) is type(given)
    else:
        with pytest.raises(ValidationError, match=field):
            FILTER.validate_python(fields)


@pytest.mark.parametrize(
    ("op", "form"),
    [
        *[(op, "FilterUnary") for op in ("exists", "not_exists", "is_true", "is_false")],
        *[
            (op, "FilterComparison")
            for op in (
                *("equals", "not_equals", "greater_than"),
                *("less_than", "greater_or_equal", "less_or_equal"),
            )
        ],
        *[(op, "FilterMembership") for op in ("in", "not_in")],
    ],
)
def test_the_operator_tells_which_form_a_filter_has(op: str, form: str) -> None:
    operands: dict[str, dict[str, Any]] = {
        "FilterUnary": {},
        "FilterComparison": {"value": 1},
        "FilterMembership": {"values": [1]},
    }
    made = FILTER.validate_python({"op": op, "expression": "{{ sample.a }}", **operands[form]})

    assert type(made).__name__ == form
