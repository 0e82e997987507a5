from pathlib import Path
from typing import Any

import pytest
from tests.spec.documents.made import project, told

GENERATOR = """\
key: quiz
display_name: Quiz
definition:
  dataset: {type: inline_samples, samples: [{topic: rivers}]}
  synthesizers:
    - %s
secrets: {API_KEY: value-of-the-key}
"""


def problems(tmp_path: Path, synthesizer: str) -> list[Any]:
    text = GENERATOR % synthesizer
    return project(tmp_path, {"dataset_generators/quiz.yaml": text}).problems


@pytest.mark.parametrize(
    ("synthesizer", "field", "hint"),
    [
        pytest.param(
            "{type: llm, model_key: openai/x, user_prompt: a, sample_properties: {a: {}}}",
            "user_prompt",
            "write `user_prompt_template`",
            id="user_prompt",
        ),
        pytest.param(
            "{type: llm, model_key: openai/x, user_prompt_template: a, output_column: b}",
            "output_column",
            "write `sample_properties: {b: {type: string}}`",
            id="output_column",
        ),
        pytest.param(
            "{type: llm, model_key: openai/x, user_prompt_template: a, output_columns: [b]}",
            "output_columns",
            "write `sample_properties: {b: {type: string}}`",
            id="output_columns",
        ),
        pytest.param(
            "{type: template, columns: {b: c}}", "columns", "write `template`", id="columns"
        ),
        pytest.param(
            "{type: template, template: '{{ sample.topic }}'}",
            "template",
            "write `{{ source.COLUMN }}`",
            id="sample",
        ),
        pytest.param(
            "{type: python, synthesize_snippet: 'def synthesize(sample): return {}'}",
            "synthesize_snippet",
            "write `def synthesize(source)`",
            id="a function of sample",
        ),
        pytest.param(
            "{type: llm, model_key: openai/x, system_prompt_template: b, "
            "user_prompt_template: a, sample_properties: {a: {}}}",
            "system_prompt_template",
            "write `system_prompt`",
            id="a name of an older version",
        ),
    ],
)
def test_an_older_spelling_works_and_a_warning_names_the_new_one(
    tmp_path: Path, synthesizer: str, field: str, hint: str
) -> None:
    (problem,) = problems(tmp_path, synthesizer)

    assert (problem.rule, problem.level, problem.line) == ("deprecated", "warning", 6)
    assert problem.field == f"definition.synthesizers[0].{field}"
    assert problem.hint.startswith(hint)


def test_older_names_around_synthesizers_work_with_a_warning(tmp_path: Path) -> None:
    text = """\
key: quiz
display_name: Quiz
definition:
  data_source: {type: dataset_sample_combinations, dataset_keys: [a, b]}
  synthesizer: {type: empty}
"""
    rows = "key: %s\ndisplay_name: D\nsource: {type: inline, samples: [{%s: 1}]}\n"
    files = {f"datasets/{key}.yaml": rows % (key, key) for key in "ab"}

    made = project(tmp_path, {"dataset_generators/quiz.yaml": text, **files})

    assert [(line, rule) for _, line, rule, _ in told(made.problems)] == [
        (4, "deprecated"),  # `dataset_keys`
        (4, "deprecated"),  # `data_source`
        (5, "deprecated"),
    ]
    source = made.generators["quiz"].document.definition.source
    assert source.dataset_keys == ("a", "b")


def test_fields_and_placeholders_that_do_not_fit_are_warnings(tmp_path: Path) -> None:
    text = "{type: template, template: 'Go {directon}', fields: {direction: [north]}}"

    unknown, unused = problems(tmp_path, text)

    assert (unused.rule, unused.level) == ("unused_field", "warning")
    assert unused.field == "definition.synthesizers[0].fields.direction"
    assert (unknown.rule, unknown.hint) == ("unknown_field", "did you mean `direction`?")


def test_text_in_braces_that_resembles_no_field_is_text(tmp_path: Path) -> None:
    text = "{type: template, template: '{a} {json}', fields: {a: [1]}}"

    assert problems(tmp_path, text) == []


def test_a_snippet_may_use_a_secret(tmp_path: Path) -> None:
    code = "def synthesize(source): return [{'n': len('k << secrets.API_KEY >>')}]"

    assert problems(tmp_path, f'{{type: python, synthesize_snippet: "{code}"}}') == []


def test_an_unknown_secret_is_reported_at_its_line(tmp_path: Path) -> None:
    code = """type: python
      synthesize_snippet: |
        def synthesize(source):
            key = "<< secrets.API_KY >>"
            return [{"n": len(key)}]"""

    (problem,) = problems(tmp_path, code)

    assert (problem.rule, problem.line) == ("unknown_secret", 9)
    assert problem.hint == "did you mean `API_KEY`?"


def test_a_secret_in_a_prompt_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, "{type: template, template: '<< secrets.API_KEY >>'}")

    assert [problem.rule for problem in found] == ["secret_not_allowed"]
