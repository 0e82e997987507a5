from typing import Any

import pytest

from evalwright.templates import Template


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("{{ '[1, {\"a\": null}]'|fromjson }}", "[1, {'a': None}]", id="fromjson"),
        pytest.param(
            "{{ {'b': '<i>', 'a': none}|tojson }}",
            '{"b": "<i>", "a": null}',
            id="tojson escapes no HTML, sorts nothing",
        ),
        pytest.param("{{ 'ü'|tojson }}", '"ü"', id="tojson keeps letters"),
        pytest.param("{{ [1]|tojson(indent=2) }}", "[\n  1\n]", id="tojson indents"),
        pytest.param("{{ [1, 2]|map('string')|tojson }}", '["1", "2"]', id="tojson of a generator"),
        pytest.param("{{ {'a': 1}.keys()|list|tojson }}", '["a"]', id="tojson of keys"),
        pytest.param(
            "{{ text|json_escape }}", 'a \\"b\\"\\n\\\\', id="json_escape has no outer quotes"
        ),
        pytest.param("{{ [1, 2]|zip(['a', 'b']) }}", "[(1, 'a'), (2, 'b')]", id="zip"),
        pytest.param(
            "{% for a, b, c in [1]|zip([2], [3]) %}{{ a }}{{ b }}{{ c }}{% endfor %}",
            "123",
            id="zip of three",
        ),
        pytest.param("{{ {'a': 1, 'b': 1}|merge({'b': 2}) }}", "{'a': 1, 'b': 2}", id="merge"),
        pytest.param("{{ 'a1b22'|regex_replace('[0-9]+', '#') }}", "a#b#", id="regex_replace"),
        pytest.param(
            "{{ 'a1b2'|regex_replace('([a-z])([0-9])', '\\\\2\\\\1') }}",
            "1a2b",
            id="regex_replace with groups",
        ),
        pytest.param(
            "{{ 'aXx'|regex_replace('x', '-', ignorecase=true, count=1) }}",
            "a-x",
            id="regex_replace with options",
        ),
        pytest.param(
            "{{ 'a\na'|regex_replace('^a', '-', multiline=true) }}",
            "-\n-",
            id="regex_replace on lines",
        ),
        pytest.param("{{ '%s and %s'|format(1, 2) }}", "1 and 2", id="format"),
        pytest.param("{{ '%(a)s'|format(a=1) }}", "1", id="format by name"),
        pytest.param("{{ 'x'|center(5) }}|", "  x  |", id="center"),
        pytest.param("{{ 'a\nb'|indent(2) }}", "a\n  b", id="indent"),
        pytest.param("{{ [1, 2, 3]|batch(2)|list }}", "[[1, 2], [3]]", id="batch"),
        pytest.param("{{ [1, 2]|sum }} {{ [[1], [2]]|sum(start=[]) }}", "3 [1, 2]", id="sum"),
        pytest.param("{{ 2.345|round(1) }}", "2.3", id="round"),
        pytest.param("{{ rows|map(attribute='a')|join(', ') }}", "1, 2", id="map and join"),
        pytest.param("{{ rows|selectattr('a', 'gt', 1)|list|length }}", "1", id="selectattr"),
        pytest.param("{{ rows|groupby('a')|length }}", "2", id="groupby"),
        pytest.param("{{ 'a b'|replace(' ', '_')|upper }}", "A_B", id="replace"),
        pytest.param("{{ [3, 1]|sort|first }}", "1", id="sort"),
    ],
)
def test_a_filter(source: str, expected: str) -> None:
    variables: dict[str, Any] = {"text": 'a "b"\n\\', "rows": [{"a": 1}, {"a": 2}]}

    assert Template(source).render(**variables) == expected


def test_random_is_the_same_every_time() -> None:
    template = Template("{{ [1, 2, 3, 4, 5]|random }}")

    assert len({template.render() for _ in range(20)}) == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("{{ 'x'|fromjson }}", "`fromjson` expected JSON", id="fromjson"),
        pytest.param("{{ range|tojson }}", "`tojson` has no JSON for `function`", id="tojson"),
        pytest.param("{{ gone|tojson }}", "`gone` does not exist", id="tojson of nothing"),
        pytest.param("{{ sample.gone|json_escape }}", "`sample.gone` does not exist", id="escape"),
        pytest.param(
            "{{ 'x'|regex_replace('(', '') }}", "`regex_replace`: ", id="a broken pattern"
        ),
        pytest.param("{{ []|random }}", "`random` expected a non-empty list", id="random"),
    ],
)
def test_what_a_filter_cannot_do_it_says(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        Template(source).render(sample={})
