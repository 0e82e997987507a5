import pytest

from evalwright.spec.documents.checks.fences import MODEL_OUTPUTS, find_unfenced


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("Answer: {{ solver_output.output }}", id="behind a word"),
        pytest.param("{{ solver_output.output }}", id="alone"),
        pytest.param('Answer: "{{ model_output }}"', id="in plain quotes"),
        pytest.param("```\n{{ sample.a }}\n```\n{{ model_output }}", id="behind a closed fence"),
        pytest.param("<a>\n{{ model_output }}", id="a tag that is never closed"),
        pytest.param("</a>{{ model_output }}</a>", id="a tag that is never opened"),
        pytest.param("{{ model_output }}\n---\n", id="a line behind it alone"),
        pytest.param("{% for m in messages %}{{ m.content }}{% endfor %}", id="in a loop"),
        pytest.param("{% set a = model_output %}\nA: {{ a }}", id="by another name"),
        pytest.param("{{ sample.a }} {{ messages[-1].content }}", id="the last message"),
        pytest.param("{{ sample.a }}{{ solver_output['output'] }}", id="by an item"),
        pytest.param("### Answer\n{{ model_output }}\n### Verdict\n", id="below a heading"),
        pytest.param(
            "Let's start.\nAnswer: {{ model_output }}\nIn the end say yes.", id="`start` in prose"
        ),
        pytest.param("<<<{{ sample.a }}>>> {{ model_output }} >>>", id="behind closed angles"),
        pytest.param("{{ 'yes' if model_output else 'no' }} {{ model_output }}", id="as a test"),
    ],
)
def test_an_output_with_no_fence_is_found(source: str) -> None:
    assert [*find_unfenced(source)]


@pytest.mark.parametrize("name", sorted(MODEL_OUTPUTS))
def test_every_variable_that_holds_a_models_words_is_known(name: str) -> None:
    (found,) = find_unfenced(f"Judge this.\nIt is {{{{ {name} }}}}.")

    assert found == (1, f"{{{{ {name} }}}}")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("Answer: <answer>{{ solver_output.output }}</answer>", id="tags on a line"),
        pytest.param("<answer>\n{{ model_output }}\n</answer>\nWhich?", id="tags around lines"),
        pytest.param('<text kind="a">\n{{ model_output }}\n</text>', id="a tag with attributes"),
        pytest.param("[ANSWER]\n{{ model_output }}\n[/ANSWER]", id="tags in brackets"),
        pytest.param("```\n{{ model_output }}\n```", id="backticks"),
        pytest.param("~~~text\n{{ model_output }}\n~~~", id="tildes"),
        pytest.param('"""\n{{ model_output }}\n"""', id="triple quotes"),
        pytest.param("---\n{{ model_output }}\n---\n", id="rules"),
        pytest.param("=== answer ===\n{{ model_output }}\n=== end ===", id="titled rules"),
        pytest.param("BEGIN ANSWER\n{{ model_output }}\nEND ANSWER", id="begin and end"),
        pytest.param("{{ model_output | string | tojson }}", id="as JSON"),
        pytest.param(
            "<log>{% for m in messages %}{{ m.content }}{% endfor %}</log>", id="a loop in tags"
        ),
        pytest.param("{{ sample.answer }}", id="a row is the author's own"),
        pytest.param("{{ sample.messages }}", id="a column by the name of a variable"),
        pytest.param("{{ sample\n . model_output }}", id="an attribute with spaces"),
        pytest.param("<<<\n{{ model_output }}\n>>>", id="angles"),
        pytest.param("### Answer ###\n{{ model_output }}\n######", id="rules of hashes"),
        pytest.param("- - -\n{{ model_output }}\n- - -", id="spaced rules"),
        pytest.param("[The Start of A]\n{{ model_output }}\n[The End of A]", id="start and end"),
        pytest.param("<answer>{{ model_output }}</ANSWER>", id="tags in another case"),
        pytest.param("{{ model_output | length }}", id="how long it is"),
        pytest.param("Say yes or no.", id="no expression"),
        pytest.param("{# {{ model_output }} #}", id="a comment"),
        pytest.param("{% raw %}{{ model_output }}{% endraw %}", id="raw text"),
        pytest.param("{{ model_output", id="no template: `validate` says so"),
    ],
)
def test_nothing_is_said_of(source: str) -> None:
    assert [*find_unfenced(source)] == []


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("Answer: {{ sample.solver_output.output }}", id="by an attribute"),
        pytest.param("{{ sample['solver_output']['output'] }}", id="by an item"),
        pytest.param("{{ sample . get('solver_output', {}) }}", id="by `get`"),
        pytest.param("{{ sample.solver_output.messages[-1].content }}", id="its last message"),
        pytest.param("{{ sample.sample.solver_output.output }}", id="of the task before that"),
        pytest.param("{{ sample.left.solver_output }}", id="of one of several datasets"),
        pytest.param("{{ sample }}", id="the whole row"),
        pytest.param("{% set a = sample.solver_output %}{{ a.output }}", id="by another name"),
        pytest.param("{% set row = sample %}{{ row.solver_output }}", id="the row by another name"),
        pytest.param(
            "{% for m in sample.solver_output.messages %}{{ m.content }}{% endfor %}",
            id="in a loop",
        ),
    ],
)
def test_an_output_in_the_result_of_another_task_is_found_there_alone(source: str) -> None:
    assert [*find_unfenced(source, chained=True)]
    assert [*find_unfenced(source)] == []


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("<a>{{ sample.solver_output.output }}</a>", id="a fenced output"),
        pytest.param("{{ sample.solver_output | tojson }}", id="an output as JSON"),
        pytest.param("{{ sample.sample.question }} {{ sample.scores.right }}", id="other columns"),
        pytest.param("{% set row = sample %}{{ row.sample.question }}", id="a row's other columns"),
        pytest.param("{{ example.solver_output }}", id="a name that ends alike"),
    ],
)
def test_of_a_result_of_another_task_nothing_is_said_of(source: str) -> None:
    assert [*find_unfenced(source, chained=True)] == []


def test_each_is_told_with_its_line() -> None:
    found = find_unfenced("{{ model_output }}\n\nand {{ input_prompt\n | trim }}\n")

    assert [*found] == [(0, "{{ model_output }}"), (2, "{{ input_prompt | trim }}")]
