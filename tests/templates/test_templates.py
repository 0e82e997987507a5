import pickle
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from evalwright.components import Authored
from evalwright.objects import variables
from evalwright.templates import Native, NotThere, Template

ROW = {"question": "why?", "items": ["a", "b"], "keys": 3, "n": None, "ok": True}


class Seen:
    """An object of the format, as `objects` has them: attributes and keys."""

    def __init__(self) -> None:
        self.text = "hi"

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def to_json(self) -> dict[str, str]:
        return {"text": self.text}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("Q: {{ sample.question }}", "Q: why?", id="attribute"),
        pytest.param("{{ sample['question'] }}", "why?", id="key"),
        pytest.param("{{ sample.items }}", "['a', 'b']", id="a column named items"),
        pytest.param("{{ sample.keys }}", "3", id="a column named keys"),
        pytest.param("{{ sample.get('ok') }}", "True", id="a method that is no column"),
        pytest.param("{{ sample.values()|list|length }}", "5", id="a method of a row"),
        pytest.param(
            "{{ sample.items()|list|length }}", "5", id="a method that is a column and is called"
        ),
        pytest.param("{{ {}.items is defined }}", "False", id="a method is no column"),
        pytest.param("{{ {}['items'] is defined }}", "False", id="by key neither"),
        pytest.param("{{ rows|map(attribute='items')|list }}", "[1, 2]", id="map by attribute"),
        pytest.param("{{ ' a '.strip() }}{{ 'a-b'.split('-')[1] }}", "ab", id="methods of texts"),
        pytest.param("{{ sample.n }}", "None", id="null is None"),
        pytest.param("{{ seen.text }} {{ seen['text'] }}", "hi hi", id="both ways into an object"),
        pytest.param("{{ seen|tojson }}", '{"text": "hi"}', id="tojson of an object"),
        pytest.param("{{ data }}", "{{ sample.question }}", id="a value is never rendered"),
        pytest.param("a\n", "a", id="one newline at the end is Jinja's"),
        pytest.param("a\n\n", "a\n", id="and only one"),
        pytest.param("{{ '<b>' }}", "<b>", id="nothing is escaped"),
        pytest.param(
            "{% for i in range(9) %}{% if i > 2 %}{% break %}{% endif %}{{ i }}{% endfor %}",
            "012",
            id="break",
        ),
        pytest.param("{% do sample.get('x') %}x", "x", id="do"),
        pytest.param("{{ gone|default('-') }}", "-", id="a default"),
        pytest.param("{{ gone is defined }}", "False", id="is defined"),
        pytest.param(
            "{% for m in messages %}{{ loop.index }}{{ m.role }}{{ loop.last }} {% endfor %}",
            "1aFalse 2bTrue ",
            id="loop",
        ),
        pytest.param("{{ {'a': 1}.items()|list }}", "[('a', 1)]", id="items of a dict without it"),
    ],
)
def test_a_template_renders(source: str, expected: str) -> None:
    given = {
        "sample": ROW,
        "seen": Seen(),
        "rows": [{"items": 1}, {"items": 2}],
        "data": "{{ sample.question }}",
        "messages": [{"role": "a"}, {"role": "b"}],
    }

    assert Template(source).render(**given) == expected


def test_the_objects_of_the_format_have_more_than_their_keys() -> None:
    conversation = {
        "items": [{"type": "message", "role": "assistant", "content": "ho"}],
        "raw_outputs": [{"choices": [{"message": {"role": "assistant", "content": "ho"}}]}],
        "direct_ios": [],
    }
    source = (
        "{{ trace.items[0].text }} {{ trace.items[0]['text'] }} {{ solver_output.output }} "
        "{{ model_output.choices[0].message.refusal }} {{ messages[-1]['content'] }} "
        "{{ solver_output['messages'][0].role }} {{ solver_output.items|length }}"
    )

    rendered = Template(source).render(**variables({}, conversation))

    assert rendered == "ho ho ho None ho assistant 1"


def test_a_column_may_have_the_name_of_an_argument() -> None:
    assert Template("{{ x }}{{ source }}").render(self=1, source=2, x=3) == "32"
    assert Native("{{ x }}").evaluate(self=1, x=3) == 3


@pytest.mark.parametrize(
    ("value", "source", "expected"),
    [
        pytest.param("3", "{{ v }}", 3, id="a string that is a number"),
        pytest.param("True", "{{ v }}", True, id="a string that is a truth value"),
        pytest.param("[1]", "{{ v }}", [1], id="a string that is a list"),
        pytest.param("false", "{{ v }}", "false", id="no literal of Python"),
        pytest.param(" 3", "{{ v }}", " 3", id="leading space"),
        pytest.param("3\n", "{{ v }}\n", 3, id="newlines"),
        pytest.param("it's", "{{ v }}", "it's", id="half a literal"),
        pytest.param(r"'\d'", "{{ v }}", r"\d", id="an escape that Python warns about"),
        pytest.param("(" * 5000, "{{ v }}", "(" * 5000, id="nested too deeply"),
        pytest.param([1, {"a": 2}], "{{ v }}", [1, {"a": 2}], id="an object stays itself"),
        pytest.param(None, "{{ v }}", None, id="null"),
        pytest.param(2.5, "{{ v }}", 2.5, id="a number"),
        pytest.param(1, "{{ v }}{{ v }}", 11, id="mixed text is read again"),
        pytest.param(1, "n{{ v }}", "n1", id="mixed text"),
        pytest.param(1, "v", "v", id="no braces"),
        pytest.param(1, "7", 7, id="a literal without braces"),
        pytest.param(4, "{{ v > 3 }}", True, id="an expression"),
    ],
)
def test_a_native_template_gives(value: Any, source: str, expected: Any) -> None:
    result = Native(source).evaluate(v=value)

    assert result == expected
    assert type(result) is type(expected)


def test_a_native_value_is_the_very_object() -> None:
    value = {"a": [1]}

    assert Native("{{ v }}").evaluate(v=value) is value


@pytest.mark.parametrize("source", ["{{ sample.gone }}", "{{ sample.gone.deeper }}", "{{ gone }}"])
def test_what_is_not_there_is_said_so(source: str) -> None:
    with pytest.raises(NotThere, match="does not exist"):
        Native(source).evaluate(sample={"a": 1})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("a\n{{ 1 + }}", "line 2: expected a value before", id="syntax"),
        pytest.param("{% for x in y %}", "line 1: .*endfor", id="not closed"),
        pytest.param("{{ x|gone }}", "line 1: unknown filter `gone`", id="unknown filter"),
        pytest.param("\n{% include 'a' %}", "line 2: a template cannot load", id="include"),
        pytest.param("{% extends 'a' %}", "line 1: a template cannot load", id="extends"),
        pytest.param("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "nested", id="too deep"),
        pytest.param("{{ " + "9" * 5000 + " }}", "line 1: ", id="a number of 5,000 digits"),
        pytest.param("{% for a in b %}" * 30 + "{% endfor %}" * 30, "nested", id="30 loops deep"),
    ],
)
def test_what_is_no_template_is_refused_with_its_line(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Template(source)


def test_a_text_of_a_document_counts_lines_as_the_document_does() -> None:
    with pytest.raises(ValueError, match="line 12: "):
        Template(Authored("a\n{{ 1 + }}", file="task.yaml", line=11))


class Holder(BaseModel):
    model_config = ConfigDict(frozen=True)
    text: Template
    value: Native


def test_pydantic_makes_and_writes_them() -> None:
    made = Holder.model_validate({"text": "{{ a }}", "value": "{{ b }}"})

    assert made.text.render(a=1) == "1"
    assert made == Holder(text=Template("{{ a }}"), value=Native("{{ b }}"))
    assert made.model_dump(mode="json") == {"text": "{{ a }}", "value": "{{ b }}"}
    assert Holder.model_json_schema()["properties"]["text"]["type"] == "string"


def test_pydantic_collects_what_is_wrong() -> None:
    with pytest.raises(ValidationError) as caught:
        Holder.model_validate({"text": 3, "value": "{{ 1 + }}"})

    messages = [error["msg"] for error in caught.value.errors()]
    assert messages[0] == "Value error, expected text, got `int`"
    assert messages[1].startswith("Value error, line 1: ")


def test_a_template_travels_between_processes() -> None:
    assert pickle.loads(pickle.dumps(Template("{{ a }}"))).render(a=2) == "2"  # noqa: S301


def test_the_same_source_is_compiled_once() -> None:
    assert Template("once {{ a }}")._compiled is Template("once {{ a }}")._compiled


@pytest.mark.parametrize(
    ("source", "values"),
    [
        pytest.param("Say {{ x }}!", "\none\n", id="a value in text"),
        pytest.param("{% if x == 'one' %}Yes {{ x }}{% else %}No{% endif %}", "\none", id="if"),
        pytest.param("{% for y in [x, 2] %}a {{ y }}{% endfor %}", "\none\n2", id="a loop"),
        pytest.param("{% raw %}{{ x }}{% endraw %}", "\n", id="raw"),
        pytest.param("Verdict: correct", "\n", id="no value"),
    ],
)
def test_the_values_in_a_text_are_rendered_without_the_authors_words(
    source: str, values: str
) -> None:
    template = Template(source)

    assert template.render_values(x="one") == values


def test_values_without_a_value_are_the_error_of_the_text() -> None:
    with pytest.raises(ValueError, match="nothing"):
        Template("Say {{ x.nothing }}").render_values(x={})
