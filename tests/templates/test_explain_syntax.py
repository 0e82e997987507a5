import pytest

from evalwright.templates import Template


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param("{{ a }", "expected `}}`, got `}`", id="a brace too few"),
        pytest.param("{{ a", "expected `}}`, but the template ends", id="no braces at the end"),
        pytest.param("{{ a b }}", "expected `}}`, got `b`", id="two names"),
        pytest.param("{{}}", "expected a value, got `}}`", id="nothing"),
        pytest.param("{{ a == }}", "expected a value before `}}`", id="half a comparison"),
        pytest.param("{{ a. }}", "expected a name or a number after `.`", id="half a path"),
        pytest.param("{{ 'a }}", "a quote that is not closed", id="a quote"),
        pytest.param("{{ (a }}", "expected `)`, got `}`", id="a parenthesis"),
        pytest.param("{{ a) }}", "unexpected `)`", id="a parenthesis too many"),
        pytest.param("{# a", "a comment that is not closed: `#}` is missing", id="a comment"),
        pytest.param(
            "{% if a %}b", "the block `if` is not closed: `{% endif %}` is missing", id="no end"
        ),
        pytest.param(
            "{% if a %}{% endfor %}",
            "`endfor` does not belong in the block `if`: `{% endif %}` is missing",
            id="the end of another",
        ),
        pytest.param(
            "{% endif %}", "`endif` is outside the block that it belongs to", id="a lone end"
        ),
        pytest.param("{% fi a %}", "unknown block `fi`; did you mean `if`?", id="a block"),
        pytest.param(
            "{% for a in b %}{% fi %}{% endfor %}",
            "unknown block `fi`; did you mean `if`?",
            id="a block in another",
        ),
        pytest.param(
            "{% for a of b %}{% endfor %}", "expected `in`, got `of`", id="another language"
        ),
        pytest.param(
            "{% if a = 1 %}{% endif %}", "expected `%}`, got `=`; `==` compares", id="one `=`"
        ),
        pytest.param("{{ a && b }}", "unexpected `&`; write `and`", id="and"),
        pytest.param("{{ !a }}", "unexpected `!`; write `not`", id="not"),
        pytest.param("{{ a || b }}", "expected a name, got `|`", id="or"),
        pytest.param(
            "{{ a | uper }}", "unknown filter `uper`; did you mean `upper`?", id="a filter"
        ),
        pytest.param(
            "{% if a %}{{ a | uper }}{% endif %}",
            "unknown filter `uper`; did you mean `upper`?",
            id="a filter that may not be reached",
        ),
        pytest.param("{{ a is eevn }}", "unknown test `eevn`; did you mean `even`?", id="a test"),
        pytest.param(
            "{% break %}", "`break` and `continue` are allowed only in a loop", id="outside a loop"
        ),
    ],
)
def test_what_is_wrong_is_said_in_our_words(source: str, said: str) -> None:
    with pytest.raises(ValueError, match="line") as raised:
        Template(f"a line\n{source}")

    line, _, words = str(raised.value).partition(": ")
    assert words == said
    assert line in {"line 1", "line 2"}  # of what only Python's compiler refuses, the first
