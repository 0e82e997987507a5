import pytest

from evalwright.templates import Template


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("plain", set(), id="none"),
        pytest.param(
            "{{ sample.a }} {{ sample['b'].c }}", {"sample.a", "sample.b.c"}, id="both ways"
        ),
        pytest.param("{{ sample.a[0].b }}", {"sample.a"}, id="up to a number"),
        pytest.param("{{ sample[name].b }}", {"sample", "name"}, id="up to what is not known"),
        pytest.param("{{ sample.get('a') }}", {"sample"}, id="a method is no column"),
        pytest.param("{{ sample.a.strip() }}", {"sample.a"}, id="a method of a column"),
        pytest.param("{{ sample.a|default('') }}", set(), id="with a default"),
        pytest.param(
            "{% if sample.a is defined %}{{ sample.a }}{% endif %}", set(), id="asked for"
        ),
        pytest.param(
            "{% for m in messages %}{{ m.role }}{% endfor %}", {"messages"}, id="own names"
        ),
        pytest.param("{% set x = sample.a %}{{ x.b }}", {"sample.a"}, id="set"),
        pytest.param(
            "{% macro f(x) %}{{ x.a }}{% endmacro %}{{ f(sample.b) }}", {"sample.b"}, id="macro"
        ),
        pytest.param("{{ sample.a|join(sample.b) }}", {"sample.a", "sample.b"}, id="in filters"),
        pytest.param(
            "{% if sample.a %}{{ loop_index }}{% endif %}",
            {"sample.a", "loop_index"},
            id="in tests",
        ),
        pytest.param("{{ range(3) }}", set(), id="functions"),
    ],
)
def test_the_paths_that_a_template_needs(source: str, expected: set[str]) -> None:
    assert {".".join(path) for path in Template(source).variables()} == expected


def test_the_names_are_all_that_it_mentions() -> None:
    source = "{% if solver_output.x is defined %}{{ sample.a|default(1) }}{% endif %}"

    assert Template(source).names() == {"solver_output", "sample"}
