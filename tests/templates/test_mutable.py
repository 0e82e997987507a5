from typing import Any

import pytest

from evalwright.objects import make_message, variables
from evalwright.templates import Native, Template


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("{% set xs = [] %}{% do xs.append(1) %}{{ xs }}", "[1]", id="append"),
        pytest.param(
            "{% set d = {'a': 1} %}{% set _ = d.update({'b': 2}) %}{{ d }}",
            "{'a': 1, 'b': 2}",
            id="update by set",
        ),
        pytest.param(
            "{% set d = {} %}{% for w in ['a', 'b', 'a'] %}"
            "{% do d.setdefault(w, []).append(loop.index) %}{% endfor %}{{ d|tojson }}",
            '{"a": [1, 3], "b": [2]}',
            id="setdefault",
        ),
        pytest.param(
            "{% set xs = [3, 1, 2] %}{% do xs.sort(reverse=true) %}{{ xs.pop() }}{{ xs }}",
            "1[3, 2]",
            id="sort and pop",
        ),
        pytest.param(
            "{% set xs = [1] %}{% do xs.insert(0, 5) %}{% do xs.extend(range(2)|map('string')) %}"
            "{% do xs.remove(1) %}{% do xs.reverse() %}{{ xs }}",
            "['1', '0', 5]",
            id="insert, extend, remove, reverse",
        ),
        pytest.param(
            "{% macro add(xs, x) %}{% do xs.append(x) %}{% endmacro %}"
            "{% set xs = [] %}{{ add(xs, 1) }}{{ add(xs, 2) }}{{ xs }}",
            "[1, 2]",
            id="in a macro",
        ),
        pytest.param(
            "{% set kept = [] %}{% for m in messages %}{% if m.role == 'system' %}{% continue %}"
            "{% endif %}{% if kept|length == 1 %}{% break %}{% endif %}{% do kept.append(m) %}"
            "{% endfor %}{{ kept|map(attribute='content')|list }}",
            "['hi']",
            id="with continue and break",
        ),
        pytest.param(
            "{% set d = {'a': 1} %}{% for k in d.keys() %}{% do d.update({k ~ k: 2}) %}{% endfor %}"
            "{{ d }}",
            "{'a': 1, 'aa': 2}",
            id="while a loop runs over its keys",
        ),
    ],
)
def test_a_template_changes_its_own_lists_and_dicts(source: str, expected: str) -> None:
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {"role": "user", "content": "bye"},
    ]

    assert Template(source).render(messages=messages) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("{% do sample.tags.append('x') %}{{ sample.tags }}", "['a', 'x']", id="list"),
        pytest.param("{% do sample.update(q='other') %}{{ sample.q }}", "other", id="row"),
        pytest.param(
            "{% do sample.deep[0].n.clear() %}{{ sample.deep }}", "[{'n': []}]", id="deep"
        ),
        pytest.param(
            "{% set ns = namespace(s=sample) %}{% do ns.s.tags.pop() %}{{ sample.tags }}",
            "[]",
            id="by another name",
        ),
        pytest.param("{% do messages.append(1) %}{{ messages|length }}", "3", id="messages"),
        pytest.param(
            "{% do messages[0].update({'content': 'x'}) %}{{ messages[0].content }}",
            "x",
            id="a message",
        ),
        pytest.param(
            "{% do solver_output.raw_outputs.clear() %}{{ solver_output.raw_outputs }}",
            "[]",
            id="raw outputs",
        ),
        pytest.param(
            "{% do model_output.choices.append(1) %}{{ model_output.choices|length }}",
            "2",
            id="choices",
        ),
        pytest.param("{% do trace.items.pop() %}{{ trace.items|length }}", "1", id="trace"),
    ],
)
def test_a_change_of_what_came_from_outside_is_a_change_of_a_copy(
    source: str, expected: str
) -> None:
    given = outside()
    before = shown(given)

    assert [Template(source).render(**given) for _ in range(2)] == [expected] * 2
    assert shown(given) == before


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("{% do trace.items.append({'role': 'user', 'content': 'x'}) %}", id="items"),
        pytest.param("{% do solver_output.append_user_message('x') %}", id="a message"),
        pytest.param("{{ solver_output.append({}) }}", id="an item"),
        pytest.param("{% set add = solver_output.extend %}{{ add([]) }}", id="by another name"),
        pytest.param("{{ solver_output['append']({}) }}", id="by its key"),
    ],
)
def test_the_objects_of_the_format_refuse_changes(source: str) -> None:
    given = outside()
    before = shown(given)

    with pytest.raises(ValueError, match=r"^`\w+` changes a trace, .* \(line 1\)$"):
        Template(source).render(**given)

    assert shown(given) == before


def test_a_filter_changes_a_copy_too() -> None:
    row = {"tags": ["a"]}

    assert Native("{% do sample.tags.append('b') %}{{ sample.tags }}").evaluate(sample=row) == [
        "a",
        "b",
    ]
    assert row == {"tags": ["a"]}


def test_a_template_that_changes_nothing_sees_the_very_object() -> None:
    row = {"tags": ["a"]}

    assert Native("{{ sample.tags }}").evaluate(sample=row) is row["tags"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("\n{% do xs.append(1) %}", "`xs` does not exist (line 2)", id="nothing there"),
        pytest.param("{% do 'a'.append(1) %}", "no attribute 'append'", id="a text"),
        pytest.param("{% do [].append() %}", "exactly one argument", id="no argument"),
        pytest.param("{% do {}.pop('a') %}", "'a'", id="no such key"),
        pytest.param(
            "{% set d = {'a': 1} %}{% for k in d %}{% do d.update({k ~ k: 2}) %}{% endfor %}",
            "changed size during iteration (line 1)",
            id="a dict that a loop runs over",
        ),
    ],
)
def test_a_change_that_fails_says_where(source: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is checked below
        Template(source).render(sample={})

    assert message in str(caught.value)


def outside() -> dict[str, Any]:
    """Variables of a scorer's template."""
    items = [make_message("user", "hi"), make_message("assistant", "hello")]
    output = {"choices": [{"message": {"role": "assistant", "content": "hello"}}]}
    sample = {"q": "hi", "tags": ["a"], "deep": [{"n": [1]}]}
    return variables(sample, {"items": items, "raw_outputs": [output]})


def shown(given: dict[str, Any]) -> str:
    return repr(
        {name: getattr(one, "to_json", lambda one=one: one)() for name, one in given.items()}
    )
