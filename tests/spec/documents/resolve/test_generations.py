from pathlib import Path

import pytest
from tests.spec.documents.made import TASK, project, told

from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.generations import Generations

GENERATOR = """
key: quiz
display_name: Quiz
config_spec:
  - {type: model, key: writer, display_name: Writer}
  - {type: dataset, key: topics, display_name: Topics}
definition:
  dataset: {type: dataset_samples, key: "<< config.topics >>"}
  synthesizers:
    - type: llm
      model_key: "<< config.writer >>"
      user_prompt_template: "{{ source.topic }}"
      sample_properties: {question: {type: string}}
"""
COPY = """
key: copy
display_name: Copy
config_spec: [{type: dataset, key: of, display_name: Of}]
definition:
  dataset: {type: dataset_samples, key: "<< config.of >>"}
  synthesizers: [{type: empty}]
"""
TOPICS = "key: topics\ndisplay_name: T\nsource: {type: inline, samples: [{topic: x}]}\n"


def made_by(generator: str, config: str, key: str, more: str = "") -> str:
    return (
        f"key: {key}\ndisplay_name: D\ngenerator_specification:\n"
        f"  dataset_generator_key: {generator}\n{more}  dataset_generator_config: {config}\n"
    )


QUIZ = made_by("quiz", "{writer: scripted/echo, topics: topics}", "countries", "  num_samples: 9\n")
FILES = {
    "dataset_generators/quiz.yaml": GENERATOR,
    "dataset_generators/copy.yaml": COPY,
    "datasets/topics.yaml": TOPICS,
    "datasets/countries.yaml": QUIZ,
}


def with_files(tmp_path: Path, **files: str) -> Project:
    named = {f"{name.replace('__', '/')}.yaml": text for name, text in files.items()}
    return project(tmp_path, {**FILES, **named})


def test_a_dataset_says_how_its_rows_are_made(tmp_path: Path) -> None:
    made = with_files(tmp_path)

    generation = made.generations.of("countries")

    assert made.problems == []
    assert generation is not None
    assert generation.num_samples == 9
    assert generation.dataset_keys == ("topics",)
    assert generation.document.definition.model_keys == ("scripted/echo",)
    assert made.generations.of("topics") is None


def test_what_is_needed_first_comes_first(tmp_path: Path) -> None:
    made = with_files(
        tmp_path,
        datasets__b=made_by("copy", "{of: countries}", "b"),
        datasets__a=made_by("copy", "{of: b}", "a"),
    )

    assert made.generations.order(["a", "topics", "b"]) == ["countries", "b", "a"]


def test_layers_that_are_each_made_twice_of_the_one_below_are_looked_at_once(
    tmp_path: Path,
) -> None:
    spec = ", ".join(f"{{type: dataset, key: {key}, display_name: Of}}" for key in ("one", "two"))
    source = '{type: dataset_sample_combinations, keys: ["<< config.one >>", "<< config.two >>"]}'
    both = (
        "key: both\ndisplay_name: Both\n"
        f"config_spec: [{spec}]\n"
        f"definition:\n  dataset: {source}\n  synthesizers: [{{type: empty}}]\n"
    )
    layers = {}
    for number in range(1, 25):
        below = "topics" if number == 1 else f"a{number - 1}"
        other = "topics" if number == 1 else f"b{number - 1}"
        config = f"{{one: {below}, two: {other}}}" if number > 1 else "{of: topics}"
        generator = "both" if number > 1 else "copy"
        for side in "ab":
            layers[f"datasets__{side}{number}"] = made_by(generator, config, f"{side}{number}")

    made = with_files(tmp_path, dataset_generators__both=both, **layers)

    assert made.problems == []
    assert len(made.generations.order(["a24"])) == 47


def test_a_value_that_is_missing_is_asked_for_in_the_dataset(tmp_path: Path) -> None:
    made = with_files(tmp_path, datasets__countries=QUIZ.replace("writer: scripted/echo, ", ""))

    assert [one.hint for one in made.problems] == [
        "set it in the `dataset_generator_config` of the dataset"
    ]


def test_a_dataset_that_is_made_of_itself_is_an_error(tmp_path: Path) -> None:
    made = with_files(
        tmp_path,
        datasets__a=made_by("copy", "{of: b}", "a"),
        datasets__b=made_by("copy", "{of: a}", "b"),
    )

    circles = [one for one in made.problems if one.rule == "circle"]

    assert {(Path(one.file).name, one.line) for one in circles} == {("a.yaml", 4), ("b.yaml", 4)}
    assert "`a`, generated from `b`, generated from `a`" in " ".join(one.detail for one in circles)
    assert made.generations.order(["a"]) is not None


@pytest.mark.parametrize(
    ("before", "after", "rule", "field"),
    [
        pytest.param(
            "key: quiz",
            "key: quizz",
            "unknown_generator",
            "generator_specification.dataset_generator_key",
            id="a generator that is not there",
        ),
        pytest.param(
            "writer: scripted/echo",
            "riter: scripted/echo",
            "undeclared_parameter",
            "generator_specification.dataset_generator_config.riter",
            id="a parameter misspelt",
        ),
        pytest.param(
            "writer: scripted/echo, ",
            "",
            "missing_value",
            "generator_specification.dataset_generator_config",
            id="no value",
        ),
        pytest.param(
            "scripted/echo",
            "nobody",
            "unknown_model",
            "generator_specification.dataset_generator_config.writer",
            id="a model that is not there",
        ),
        pytest.param(
            "topics: topics",
            "topics: tpics",
            "unknown_dataset",
            "generator_specification.dataset_generator_config.topics",
            id="a dataset that is not there",
        ),
        pytest.param(
            "num_samples: 9",
            "num_samples: 0",
            "bad_value",
            "generator_specification.num_samples",
            id="no rows",
        ),
        pytest.param(
            "num_samples: 9",
            "num_sample: 9",
            "unknown_key",
            "generator_specification.num_sample",
            id="a key misspelt",
        ),
    ],
)
def test_a_mistake_is_told_in_the_dataset(
    tmp_path: Path, before: str, after: str, rule: str, field: str
) -> None:
    made = with_files(tmp_path, datasets__countries=QUIZ.replace(before, after))

    found = [(name, rule, field) for name, _, rule, field in told(made.problems)]
    assert ("countries.yaml", rule, field) in found
    assert {name for name, _, _ in found} == {"countries.yaml"}


def test_debug_is_accepted_and_reported_as_without_effect(tmp_path: Path) -> None:
    made = with_files(tmp_path, datasets__countries=f"{QUIZ}  debug: true\n")

    (problem,) = made.problems

    assert (problem.rule, problem.level, problem.line) == ("without_effect", "warning", 7)
    assert problem.field == "generator_specification.debug"


def test_a_run_is_refused_for_what_its_datasets_are_made_of(tmp_path: Path) -> None:
    made = with_files(
        tmp_path, tasks__capitals=TASK, dataset_generators__quiz=GENERATOR.replace("llm", "lm")
    )

    _, problems = made.specs(models_given=True)

    assert "unknown_type" in {one.rule for one in problems if one.level == "error"}


def test_a_broken_generator_that_nobody_uses_stops_no_run(tmp_path: Path) -> None:
    made = with_files(
        tmp_path, tasks__capitals=TASK, dataset_generators__copy=COPY.replace("empty", "emty")
    )

    specs, problems = made.specs(models_given=True)

    assert len(specs) == 1
    assert [one for one in problems if one.level == "error"] == []
    assert not made.ok


def test_generations_are_of_a_project(tmp_path: Path) -> None:
    assert isinstance(with_files(tmp_path).generations, Generations)
