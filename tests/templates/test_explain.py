import pytest

from evalwright.components import Authored
from evalwright.templates import Template

ROW = {"question": "why?", "answer": "so"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            "Q:\n{{ sample.qestion }}",
            "`sample.qestion` does not exist (line 2); the row has: question, answer; "
            "did you mean `question`?",
            id="a column that is misspelt",
        ),
        pytest.param(
            "{{ sample['the question'] }}",
            "`sample['the question']` does not exist (line 1); the row has: question, answer",
            id="by key",
        ),
        pytest.param(
            "{{ sampel.question }}",
            "`sampel` does not exist (line 1); there is: sample, messages; did you mean `sample`?",
            id="a variable",
        ),
        pytest.param(
            "{{ messages[0].contnt }}",
            "`messages[0].contnt` does not exist (line 1); it has: role, content; "
            "did you mean `content`?",
            id="within a list",
        ),
        pytest.param(
            "{{ messages[3] }}",
            "`messages[3]` does not exist (line 1): list object has no element 3",
            id="beyond the end of a list",
        ),
        pytest.param("\n\n{{ 1 / 0 }}", "division by zero (line 3)", id="arithmetic"),
        pytest.param(
            "{{ 1 + 'a' }}",
            "unsupported operand type(s) for +: 'int' and 'str' (line 1)",
            id="types",
        ),
        pytest.param(
            "{% for m in messages %}\n{{ m.x }}\n{% endfor %}",
            "`m.x` does not exist (line 2); it has: role, content",
            id="in a loop",
        ),
    ],
)
def test_a_failure_is_one_line_that_says_where(source: str, message: str) -> None:
    with pytest.raises(ValueError, match="line") as caught:
        Template(source).render(sample=ROW, messages=[{"role": "user", "content": "x"}])

    assert str(caught.value) == message


def test_a_text_of_a_document_counts_lines_as_the_document_does() -> None:
    template = Template(Authored("a\n{{ gone }}", file="task.yaml", line=11))

    with pytest.raises(ValueError, match=r"\(task\.yaml:12\)"):
        template.render()


def test_of_many_columns_some_are_named() -> None:
    with pytest.raises(ValueError, match=r"column_0, .*column_19, …$"):
        Template("{{ sample.x }}").render(sample={f"column_{i}": i for i in range(100)})
