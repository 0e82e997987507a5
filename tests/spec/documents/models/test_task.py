from pathlib import Path

import pytest
from tests.spec.documents.made import DATASET, TASK, project, told

from evalwright.spec.documents.models.task import BenchmarkTask, SystemTask, TaskDocument
from evalwright.spec.documents.project import read_project
from evalwright.types import Issue

HEAD = "key: t\ndisplay_name: T\ndescription: D\n"
SOLVER = "  solver: {type: pass_through_solver, trace_column: trace}\n"
DATA = "  dataset: {key: countries}\n"

# The three kinds of the format's own examples, in our words.
GENERIC = """
display_name: "One question, as JSON"
key: "question-as-json"
description: "A single question, put by a template that renders the whole request."
config_spec: []
definition:
  dataset:
    key: "countries"
  solver:
    type: "single_turn_solver"
    input_builder:
      type: generic
      template: >
        {
          "messages": [
            {"role": "system", "content": "Answer with one word."},
            {"role": "user", "content": {{ sample.country | tojson }} }
          ]
        }
  scorers:
    - type: "string_equals"
      ground_truth: "{{ sample.capital }}"
"""
UNIQUENESS = """
display_name: "No value twice"
key: "no-value-twice"
description: >
  How many of the values of a column are there only once?
tags: ["Quality of data"]
config_spec:
  - type: "string"
    key: "column"
    display_name: "Column"
definition:
  type: "benchmark_task"
  evaluated_entity_type: "dataset"
  scorers:
    - type: "python_all_samples"
      compute_scores_snippet: !include "once.py"
      metrics:
        - type: "mean"
          field: "is_alone"
          name: "Share of single values"
"""
ONCE = """
def compute_scores(samples):
    values = [sample.get("<< config.column >>") for sample in samples]
    return [{"is_alone": values.count(value) == 1} for value in values]
"""
JUDGED = """
display_name: "Judged answers"
key: "judged-answers"
description: "A second model says whether an answer is right."
config_spec: []
definition:
  evaluated_entity_type: "model"
  dataset:
    key: "countries"
  solver:
    type: "single_turn_solver"
    input_builder:
      type: "chat_completion"
      input_messages:
        - role: "user"
          content: "The capital of {{ sample.country }}?"
  scorers:
    - type: "model_as_a_judge_classifier"
      model_key: "openai$gpt-4-1-nano"
      user_prompt: "Is {{ solver_output.output }} the same as {{ sample.capital }}?"
      correct_labels: ["correct"]
      incorrect_labels: ["incorrect"]
"""
SYSTEM = """
key: tidy
display_name: Tidy
description: Is the machine tidy?
definition:
  type: system_task
  compute_evidence_snippet: |
    def compute_evidence():
        return {"metrics": {"files left": {"value": 0}}}
"""


def problems(folder: Path, text: str, **files: str) -> list[Issue]:
    extra = {f"tasks/{name}.py": content for name, content in files.items()}
    made = project(
        folder, {"tasks/t.yaml": text, "datasets/d.yaml": DATASET, **extra}, "tasks/t.yaml"
    )
    return made.problems


def only(folder: Path, text: str) -> Issue:
    found = problems(folder, text)

    assert len(found) == 1, told(found)
    return found[0]


def document(folder: Path, text: str, **files: str) -> TaskDocument:
    extra = {f"tasks/{name}.py": content for name, content in files.items()}
    files = {"tasks/t.yaml": text, "datasets/d.yaml": DATASET, **extra}
    made = project(folder, files, "tasks/t.yaml")
    (found,) = made.tasks.values()

    assert isinstance(found.document, TaskDocument), made.problems
    return found.document


@pytest.mark.parametrize(
    ("text", "about"),
    [
        pytest.param(TASK, "model", id="a model"),
        pytest.param(GENERIC, "model", id="a model, asked in JSON"),
        pytest.param(JUDGED, "model", id="a model, judged by another"),
        pytest.param(UNIQUENESS, "dataset", id="a dataset"),
        pytest.param(SYSTEM, "system", id="a system"),
    ],
)
def test_a_good_task_has_no_problems(tmp_path: Path, text: str, about: str) -> None:
    assert problems(tmp_path, text, once=ONCE) == []
    assert document(tmp_path, text, once=ONCE).evaluates == about


def test_a_missing_type_is_a_benchmark(tmp_path: Path) -> None:
    assert isinstance(document(tmp_path, TASK).definition, BenchmarkTask)
    assert isinstance(document(tmp_path, SYSTEM).definition, SystemTask)


@pytest.mark.parametrize(
    ("text", "line", "rule", "field", "level"),
    [
        pytest.param(
            HEAD + "definition:\n  type: declarative_task\n" + DATA + SOLVER,
            5,
            "deprecated",
            "definition.type",
            "warning",
            id="the old name of a benchmark",
        ),
        pytest.param(
            HEAD + "evaluated_entity_type: model\ndefinition:\n" + DATA + SOLVER,
            4,
            "deprecated",
            "evaluated_entity_type",
            "warning",
            id="the old place of the entity type",
        ),
        pytest.param(
            HEAD
            + "evaluated_entity_type: dataset\ndefinition:\n  evaluated_entity_type: model\n"
            + DATA
            + SOLVER,
            4,
            "conflict",
            "evaluated_entity_type",
            "error",
            id="two different entity types",
        ),
        pytest.param(
            HEAD + "definition:\n  dataset: {key: countries, fast_subset_size: 3}\n" + SOLVER,
            5,
            "deprecated",
            "definition.dataset.fast_subset_size",
            "warning",
            id="the fast subset",
        ),
        pytest.param(
            HEAD + "definition:\n" + SOLVER,
            5,
            "missing_key",
            "definition.dataset",
            "error",
            id="a solver without a dataset",
        ),
        pytest.param(
            HEAD + "definition:\n  evaluated_entity_type: model\n" + DATA,
            5,
            "missing_key",
            "definition.solver",
            "error",
            id="a model without a solver",
        ),
        pytest.param(
            HEAD + "definition:\n  evaluated_entity_type: dataset\n" + SOLVER,
            6,
            "conflict",
            "definition.solver",
            "error",
            id="a dataset with a solver",
        ),
        pytest.param(
            HEAD + "definition:\n  dataset: {key: countries, keys: [countries]}\n" + SOLVER,
            5,
            "conflict",
            "definition.dataset.keys",
            "error",
            id="one dataset and several",
        ),
        pytest.param(
            HEAD + "definition:\n  dataset: {source: dataset}\n" + SOLVER,
            5,
            "missing_key",
            "definition.dataset.key",
            "error",
            id="no dataset",
        ),
        pytest.param(
            HEAD + "definition:\n  trials: {num_trials: 1}\n" + DATA + SOLVER,
            5,
            "bad_value",
            "definition.trials.num_trials",
            "error",
            id="one trial is none",
        ),
        pytest.param(
            HEAD + "definition:\n  dataset: {key: countris}\n" + SOLVER,
            5,
            "unknown_dataset",
            "definition.dataset.key",
            "error",
            id="a dataset that is not there",
        ),
    ],
)
def test_a_rule_is_told_at_its_place(
    tmp_path: Path, text: str, line: int, rule: str, field: str, level: str
) -> None:
    problem = only(tmp_path, text)

    assert (problem.line, problem.rule, problem.field) == (line, rule, field)
    assert problem.level == level


def test_either_place_of_the_entity_type_counts(tmp_path: Path) -> None:
    old = HEAD + "evaluated_entity_type: dataset\ndefinition: {scorers: []}\n"

    assert document(tmp_path, old).evaluates == "dataset"


def test_without_an_entity_type_the_solver_says_it(tmp_path: Path) -> None:
    new = HEAD + "definition:\n" + DATA

    assert document(tmp_path, TASK).evaluates == "model"
    assert document(tmp_path, new).evaluates == "dataset"


SCORERS = """
  scorers:
    - {type: bleu, ground_truth: a}
    - {type: string_equals, ground_truth: a}
    - {type: string_equals, ground_truth: b}
    - {type: string_equals, ground_truth: c, key: string_equals_1}
    - type: python
      key: graded
      compute_scores_snippet: "def compute_scores(sample): ..."
      metrics:
        - {type: mean, field: bleu_score}
        - {type: mean, field: other}
        - {type: max, field: bleu_score}
        - {type: min, field: x}
        - {type: min, field: x}
        - {type: std_dev, field: x, key: own}
"""


def test_what_has_no_key_is_called_by_its_type(tmp_path: Path) -> None:
    definition = document(tmp_path, HEAD + "definition:\n" + DATA + SOLVER + SCORERS).definition

    assert isinstance(definition, BenchmarkTask)
    keys = [scorer.key for scorer in definition.scorers]
    assert keys == ["bleu", "string_equals_2", "string_equals_3", "string_equals_1", "graded"]
    metrics = [metric.key for metric in definition.scorers[-1].metrics or []]
    assert metrics == ["mean_bleu_score", "mean_other", "max", "min_1", "min_2", "own"]


RULE = """
    - key: r
      action: exclude_from_metrics
      filter: {op: exists, expression: "{{ sample.a }}"}
"""


@pytest.mark.parametrize(
    ("part", "field"),
    [
        pytest.param(
            "  scorers:\n" + 2 * "    - {type: bleu, ground_truth: a, key: x}\n",
            "definition.scorers[1].key",
            id="scorers",
        ),
        pytest.param(
            "  scorers: [{type: bleu, ground_truth: a, metrics: "
            "[{type: mean, field: bleu_score, key: m}, {type: max, field: bleu_score, key: m}]}]",
            "definition.scorers[0].metrics[1].key",
            id="metrics of one scorer",
        ),
        pytest.param(
            "  actions:\n" + 2 * RULE,
            "definition.actions[1].key",
            id="rules",
        ),
        pytest.param(
            "config_spec:\n" + 2 * "  - {type: int, key: n, display_name: N}\n",
            "config_spec[1].key",
            id="parameters",
        ),
    ],
)
def test_a_key_stands_once(tmp_path: Path, part: str, field: str) -> None:
    problem = only(tmp_path, HEAD + "definition:\n" + DATA + SOLVER + part)

    assert (problem.rule, problem.field) == ("duplicate_key", field)


def test_a_rule_about_a_scorer_that_is_not_there_is_suspicious(tmp_path: Path) -> None:
    rules = """
  scorers: [{type: bleu, ground_truth: a, key: fluent}]
  actions:
    - key: r
      action: exclude_from_metrics
      filter: {op: exists, expression: "{{ scores.fluet.bleu_score }}"}
    - key: s
      action: exclude_from_metrics
      filter: {op: exists, expression: "{{ scores['fluent'].bleu_score }}"}
"""
    problem = only(tmp_path, HEAD + "definition:\n" + DATA + SOLVER + rules)

    assert (problem.rule, problem.level) == ("unknown_scorer", "warning")
    assert problem.hint == "did you mean `fluent`?"


@pytest.mark.parametrize(
    ("condition", "level"),
    [
        pytest.param('op: equals, expression: "{{ scores.no.x }}", value: 1', "error", id="equals"),
        pytest.param('op: is_true, expression: "{{ scores.no.x }}"', "error", id="is_true"),
        pytest.param(
            'op: is_true, expression: "{{ scores.no is defined }}"', "warning", id="defined"
        ),
        pytest.param('op: not_exists, expression: "{{ scores.no.x }}"', "warning", id="not_exists"),
    ],
)
def test_a_rule_that_fails_for_every_sample_is_an_error(
    tmp_path: Path, condition: str, level: str
) -> None:
    rule = f"{{key: r, action: exclude_from_metrics, filter: {{{condition}}}}}"
    problem = only(tmp_path, HEAD + "definition:\n" + DATA + SOLVER + f"  actions: [{rule}]\n")

    assert (problem.rule, problem.level) == ("unknown_scorer", level)


def test_a_scorer_whose_key_only_a_run_knows_may_be_the_one_of_a_rule(tmp_path: Path) -> None:
    text = (
        HEAD
        + "config_spec: [{type: string, key: name, display_name: N}]\ndefinition:\n"
        + DATA
        + SOLVER
        + """
  scorers: [{type: bleu, ground_truth: a, key: << config.name >>}]
  actions:
    - key: r
      action: exclude_from_metrics
      filter: {op: less_than, expression: "{{ scores.fluent.bleu_score }}", value: 1}
"""
    )

    assert problems(tmp_path, text) == []


@pytest.mark.parametrize("tasks", ["[custom]", "[embeddings]", "[custom, embeddings]"])
@pytest.mark.parametrize("scorer", ["string_equals", "bleu"])
def test_what_is_no_message_is_not_compared_unless_its_author_says_how(
    tmp_path: Path, tasks: str, scorer: str
) -> None:
    solver = "  solver: {type: single_turn_solver, input_builder: {type: generic, template: '1'}}\n"
    one = f"  scorers: [{{type: {scorer}, ground_truth: a}}]\n"
    text = HEAD + f"tasks: {tasks}\ndefinition:\n" + DATA + solver + one
    problem = only(tmp_path / "a", text)
    said = text.replace("ground_truth: a", 'ground_truth: a, value: "{{ solver_output.output }}"')
    chat = text.replace(tasks, "[chat_completion, custom]")

    assert (problem.rule, problem.field) == ("missing_key", "definition.scorers[0].value")
    assert problem.hint.startswith("set `value` to the text to compare")
    assert problems(tmp_path / "b", said) == problems(tmp_path / "c", chat) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("<< secrets.KEY >>", 5, id="a whole text"),
        pytest.param("my key is <<secrets.KEY>>.", 5, id="a part of one"),
    ],
)
def test_a_task_has_no_secrets(tmp_path: Path, text: str, line: int) -> None:
    builder = f'{{type: generic, template: "{text}"}}'
    solver = f"  solver: {{type: single_turn_solver, input_builder: {builder}}}\n"
    problem = only(tmp_path, HEAD + "definition:\n" + solver + DATA)

    assert (problem.rule, problem.level) == ("secret_not_allowed", "error")
    assert (problem.line, problem.field) == (line, "definition.solver.input_builder.template")


def test_a_secret_in_a_snippet_is_told_at_its_line(tmp_path: Path) -> None:
    snippet = """
  scorers:
    - type: python
      compute_scores_snippet: |
        KEY = "<< secrets.KEY >>"
        def compute_scores(sample): return {}
      metrics: []
"""
    problem = only(tmp_path, HEAD + "definition:\n" + SOLVER + DATA + snippet)

    assert (problem.rule, problem.line) == ("secret_not_allowed", 11)


def test_an_expression_without_braces_is_suspicious(tmp_path: Path) -> None:
    rules = """
  actions:
    - key: r
      action: exclude_from_metrics
      filter: {op: equals, expression: sample.a, value: 1}
"""
    text = HEAD + "definition:\n" + DATA + SOLVER + rules
    problem = only(tmp_path, text)

    assert (problem.rule, problem.level) == ("suspicious_expression", "warning")
    made = read_project(tmp_path / "tasks" / "t.yaml", environment={})
    assert made.specs(models_given=True)[1] == [problem]
