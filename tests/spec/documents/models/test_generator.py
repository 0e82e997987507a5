from pathlib import Path
from typing import Any

import pytest
from tests.spec.documents.made import project, told

from evalwright.spec.documents.models.generator import GeneratorDocument
from evalwright.spec.documents.resolve.layout import detect_kind

GENERATOR = """
key: quiz
display_name: Quiz
description: Questions about things.
config_spec:
  - {type: model, key: writer, display_name: Writer, usage: synthesizer_model}
definition:
  dataset: {type: inline_samples, samples: [{topic: rivers}]}
  synthesizers:
    - type: llm
      model_key: "<< config.writer >>"
      user_prompt_template: "About {{ source.topic }}, {{ index }}"
      sample_properties: {question: {type: string}}
secrets: {KEY: value}
"""
SMALL: dict[str, Any] = {
    "key": "quiz",
    "display_name": "Quiz",
    "definition": {
        "data_source": {"type": "empty", "num_samples": 1},
        "synthesizers": [{"type": "empty"}],
    },
}


def problems(tmp_path: Path, before: str = "", after: str = "") -> list[Any]:
    text = GENERATOR.replace(before, after) if before else GENERATOR
    return project(tmp_path, {"dataset_generators/quiz.yaml": text}).problems


def test_a_generator_of_a_project_is_read(tmp_path: Path) -> None:
    made = project(tmp_path, {"dataset_generators/quiz.yaml": GENERATOR})

    assert made.problems == []
    document = made.generators["quiz"].document
    assert isinstance(document, GeneratorDocument)
    assert document.definition.source.type == "inline_samples"
    assert made.secrets == {"KEY": "value"}


def test_a_generator_is_told_from_a_task_by_its_definition() -> None:
    assert detect_kind(SMALL) == "generator"
    assert detect_kind({**SMALL, "definition": {"data_source": {}}}) == "generator"
    assert detect_kind({**SMALL, "definition": {"scorers": []}}) == "task"
    assert detect_kind({**SMALL, "definition": {}}, "dataset_generators") == "generator"


def test_the_source_may_be_called_dataset() -> None:
    definition = {**SMALL["definition"], "dataset": SMALL["definition"]["data_source"]}
    del definition["data_source"]

    made = GeneratorDocument.model_validate({**SMALL, "definition": definition})

    assert made.definition.source.type == "empty"


@pytest.mark.parametrize("names", [[], ["dataset", "data_source"]], ids=["none", "both"])
def test_there_is_one_source(names: list[str]) -> None:
    source = SMALL["definition"]["data_source"]
    definition = {"synthesizers": [{"type": "empty"}], **dict.fromkeys(names, source)}

    with pytest.raises(ValueError, match=f"got {'both' if names else 'none'}"):
        GeneratorDocument.model_validate({**SMALL, "definition": definition})


@pytest.mark.parametrize(
    ("before", "after", "line", "rule", "field"),
    [
        pytest.param(
            "type: inline_samples",
            "type: inline_sample",
            8,
            "unknown_type",
            "definition.dataset.type",
            id="a source misspelt",
        ),
        pytest.param(
            "definition:\n",
            "definition:\n  type: dataset_generator\n",
            8,
            "bad_value",
            "definition.type",
            id="a type misspelt",
        ),
        pytest.param(
            "sample_properties:",
            "sample_propertys:",
            13,
            "unknown_key",
            "definition.synthesizers[0].sample_propertys",
            id="a field misspelt",
        ),
        pytest.param(
            "source.topic }}",
            "sorce.topic }}",
            12,
            "unknown_variable",
            "definition.synthesizers[0].user_prompt_template",
            id="a variable misspelt",
        ),
        pytest.param(
            "<< config.writer >>",
            "<< config.riter >>",
            11,
            "undeclared_parameter",
            "definition.synthesizers[0].model_key",
            id="a parameter misspelt",
        ),
        pytest.param(
            '"<< config.writer >>"',
            "nobody",
            11,
            "unknown_model",
            "definition.synthesizers[0].model_key",
            id="a model that is not there",
        ),
        pytest.param(
            "{type: inline_samples, samples: [{topic: rivers}]}",
            "{type: dataset_samples, key: nothing}",
            8,
            "unknown_dataset",
            "definition.dataset.key",
            id="a dataset that is not there",
        ),
        pytest.param("key: quiz\n", "key: a b\n", 2, "bad_key", "key", id="no key"),
    ],
)
def test_a_mistake_is_told_where_it_stands(
    tmp_path: Path, before: str, after: str, line: int, rule: str, field: str
) -> None:
    found = [one for one in told(problems(tmp_path, before, after)) if one[2] != "unused"]

    assert ("quiz.yaml", line, rule, field) in found


def test_every_template_of_a_list_is_checked(tmp_path: Path) -> None:
    text = GENERATOR.replace(
        "    - type: llm\n",
        "    - {type: template, template: ['a', '{{ surce.x }}']}\n    - type: llm\n",
    )

    (problem,) = project(tmp_path, {"dataset_generators/quiz.yaml": text}).problems

    assert problem.field == "definition.synthesizers[0].template[1]"
    assert problem.hint == "did you mean `source`?"


def test_a_snippet_must_define_synthesize(tmp_path: Path) -> None:
    text = GENERATOR.replace(
        "    - type: llm\n",
        "    - {type: python, synthesize_snippet: 'def sythesize(source): return {}'}\n"
        "    - type: llm\n",
    )

    (problem,) = project(tmp_path, {"dataset_generators/quiz.yaml": text}).problems

    assert (problem.rule, problem.hint) == ("bad_snippet", "rename `sythesize`")


def test_a_run_file_may_hold_generators(tmp_path: Path) -> None:
    inside = "\n    ".join(GENERATOR.strip().splitlines())
    made = project(tmp_path, {"run.yaml": f"dataset_generators:\n  - {inside}\n"}, "run.yaml")

    assert made.problems == []
    assert list(made.generators) == ["quiz"]
