from pathlib import Path

import pytest
from tests.spec.documents.made import DATASET, MODEL, TASK, project, told

from evalwright.spec.documents.models.evaluation import RunConfig
from evalwright.spec.documents.models.trials import TrialsNumber
from evalwright.spec.documents.project import GivenConfig, Project
from evalwright.spec.documents.resolve.specifications import ResolvedSpec
from evalwright.types import Issue

FILES = {"tasks/t.yaml": TASK, "datasets/d.yaml": DATASET, "models/m.yaml": MODEL}
OLD = """key: weekly
display_name: Weekly
num_samples: 20
subsampling: random
cache_policy: no-cache
task_specifications:
  - {key: a, task_key: capitals, model_key: bot}
  - {key: b, task_key: capitals, model_key: bot, num_samples: 3, subsampling: head}
"""
NEW = """key: weekly
display_name: Weekly
description: What we look at on Mondays.
config_spec:
  - {type: model, key: model, display_name: Model}
  - {type: int, key: many, display_name: Many, default_value: 5}
task_specifications:
  - {key: a, task_key: capitals, model_key: << config.model >>, num_samples: << config.many >>}
"""


def read(folder: Path, text: str, **more: str) -> Project:
    files = {**FILES, "evaluations/e.yaml": text}
    files.update({f"tasks/{name}.yaml": content for name, content in more.items()})
    return project(folder, files, "evaluations/e.yaml")


def specs(folder: Path, text: str, **assignments: str) -> list[ResolvedSpec]:
    made = read(folder, text)
    found, problems = made.specs(assignments=assignments)

    assert [one for one in problems if one.level == "error"] == []
    return found


def only(folder: Path, text: str, **more: str) -> Issue:
    found = read(folder, text, **more).problems

    assert len(found) == 1, told(found)
    return found[0]


def test_the_older_form_says_itself_how_many_samples(tmp_path: Path) -> None:
    first, second = specs(tmp_path, OLD)

    assert (first.num_samples, first.subsampling, first.cache_policy) == (20, "random", "no-cache")
    assert (second.num_samples, second.subsampling) == (3, "head")
    assert first.model_keys == ("bot",)
    assert first.dataset_keys == {"": "countries"}
    assert first.evaluation_key == "weekly"


def test_the_newer_form_gets_its_values_from_the_run(tmp_path: Path) -> None:
    (default,) = specs(tmp_path, NEW, model="bot")
    (given,) = specs(tmp_path, NEW, model="openai/gpt-4o", many="7")

    assert (default.model_keys, default.num_samples) == (("bot",), 5)
    assert (given.model_keys, given.num_samples) == (("openai/gpt-4o",), 7)


def test_a_run_file_that_leaves_a_value_open_is_warned_of(tmp_path: Path) -> None:
    task = "config_spec: [{type: int, key: turns, display_name: T}]\ndefinition:"
    asked = NEW.replace("model_key:", "task_config: {}, model_key:")
    run = f"evaluation:\n{asked}".replace("\n", "\n  ")
    files = {**FILES, "tasks/t.yaml": TASK.replace("definition:", task), "run.yaml": run}
    made = project(tmp_path / "a", files, "run.yaml")
    given = {**files, "run.yaml": f"config: {{model: bot, turns: 2}}\n{run}"}

    assert [(one.line, one.level, one.field, one.detail, one.hint) for one in made.problems] == [
        (
            6,
            "warning",
            "evaluation.config_spec[0]",
            "parameter `model` of evaluation `weekly` has no value",
            "set it in `config`, or with `--set model=…`",
        ),
        (
            9,
            "warning",
            "evaluation.task_specifications[0].task_config.turns",
            "parameter `turns` of task `capitals` has no value",
            "set it in `task_config` or `config`, or with `--set turns=…`",
        ),
    ]
    assert {one.rule for one in made.problems} == {"no_value"}
    assert {one.rule for one in made.specs()[1]} == {"missing_value"}
    assert project(tmp_path / "b", given, "run.yaml").problems == []


def test_so_is_one_that_only_has_tasks(tmp_path: Path) -> None:
    task = "config_spec: [{type: int, key: turns, display_name: T}]\ndefinition:"
    files = {**FILES, "tasks/t.yaml": TASK.replace("definition:", task)}
    run = "models: []\ntasks: [{$ref: tasks/t.yaml}]\n"
    made = project(tmp_path / "a", {**files, "run.yaml": run}, "run.yaml")
    given = {**files, "run.yaml": f"config: {{turns: 2}}\n{run}"}

    assert [(one.rule, one.hint) for one in made.problems] == [
        ("no_value", "set it in `config`, or with `--set turns=…`")
    ]
    assert project(tmp_path / "b", given, "run.yaml").problems == []
    assert project(tmp_path / "c", files, "tasks/t.yaml").problems == []


def test_values_that_only_a_run_knows_are_no_problem_before(tmp_path: Path) -> None:
    made = read(tmp_path, NEW)

    assert made.problems == []
    (problem,) = made.specs()[1]
    assert (problem.rule, problem.field) == ("missing_value", "config_spec[0]")


@pytest.mark.parametrize(
    ("assignments", "rule", "detail"),
    [
        (
            {"model": "bto"},
            "unknown_model",
            "the project has no model `bto`; it has `bot`",
        ),
        (
            {"model": "bot", "many": "x"},
            "bad_value",
            "parameter `many` of evaluation `weekly`: expected `int`, got `x`",
        ),
        (
            {"model": "bot", "mny": "3"},
            "undeclared_parameter",
            "evaluation `weekly` has no parameter `mny`; expected `model`, `many`",
        ),
    ],
    ids=["no such model", "no such value", "no such parameter"],
)
def test_a_bad_assignment_is_a_problem(
    tmp_path: Path, assignments: dict[str, str], rule: str, detail: str
) -> None:
    _, (problem,) = read(tmp_path, NEW).specs(assignments=assignments)

    assert (problem.rule, problem.detail) == (rule, detail)


def test_debug_takes_ten_samples(tmp_path: Path) -> None:
    text = OLD.replace("num_samples: 20", "mode: debug")
    (first, second), problems = read(tmp_path, text).specs()

    assert (first.num_samples, second.num_samples) == (10, 3)
    assert [one.rule for one in problems] == ["deprecated"]


def test_a_specification_without_a_key_gets_the_name_of_its_task(tmp_path: Path) -> None:
    text = """key: e
display_name: E
task_specifications:
  - {task_key: capitals, model_key: bot}
  - {task_key: capitals, model_key: bot}
"""
    found, problems = read(tmp_path, text).specs()

    assert [one.key for one in found] == ["capitals_1", "capitals_2"]
    assert [(one.rule, one.level) for one in problems] == [("auto_key", "warning")] * 2


@pytest.mark.parametrize(
    ("line", "rule", "field"),
    [
        ("{key: a, task_key: capital, model_key: bot}", "unknown_task", "task_key"),
        ("{key: a, task_key: capitals, model_key: bto}", "unknown_model", "model_key"),
        ("{key: a, task_key: capitals, model_key: opnai/gpt}", "unknown_model", "model_key"),
        ("{key: a, task_key: capitals}", "no_model", "model_key"),
        (
            "{key: a, task_key: capitals, model_key: bot, dataset_key: countries}",
            "conflict",
            "dataset_key",
        ),
        (
            "{key: a, task_key: capitals, model_key: bot, task_config: {x: 1}}",
            "undeclared_parameter",
            "task_config.x",
        ),
        (
            "{key: a, task_key: capitals, model_key: bot, trials: {num_trials: 1}}",
            "bad_value",
            "trials.num_trials",
        ),
        (
            "{key: a, task_key: capitals, model_key: bot, repeatability: {num_runs: 1}}",
            "bad_value",
            "repeatability.num_runs",
        ),
        (
            "{key: a, task_key: capitals, model_key: bot, num_samples: 0}",
            "bad_value",
            "num_samples",
        ),
        ("{key: a, task_key: capitals, model_key: bot, modl: x}", "unknown_key", "modl"),
        ("{key: a, task_key: capitals, model_key: bot, type: special}", "unknown_type", "type"),
    ],
)
def test_a_mistake_in_a_specification_is_told_at_its_field(
    tmp_path: Path, line: str, rule: str, field: str
) -> None:
    problem = only(tmp_path, f"key: e\ndisplay_name: E\ntask_specifications:\n  - {line}\n")

    assert (problem.rule, problem.field) == (rule, f"task_specifications[0].{field}")
    assert problem.line == 4


@pytest.mark.parametrize(
    "model_key", ["openai/gpt-4o", "openai:gpt-4o", "openai$gpt-4o", "latticeflow$placeholder"]
)
def test_a_model_of_a_provider_needs_no_document(tmp_path: Path, model_key: str) -> None:
    text = OLD.replace("model_key: bot", f"model_key: {model_key}")

    assert {one.model_keys for one in specs(tmp_path, text)} == {(model_key,)}


def test_a_model_must_be_one_for_the_task(tmp_path: Path) -> None:
    embedding = TASK.replace("key: capitals", "key: vectors\ntasks: [embeddings]", 1)
    embedding = embedding.replace("string_equals, ", 'string_equals, value: "{{ sample.a }}", ')
    text = """key: e
display_name: E
task_specifications: [{key: a, task_key: vectors, model_key: bot}]
"""
    problem = only(tmp_path, text, vectors=embedding)

    assert problem.rule == "wrong_model"
    assert problem.detail == (
        "task `vectors` needs a model for `embeddings`, but `bot` is for `chat_completion`"
    )


SYSTEM = """
key: tidy
display_name: Tidy
description: D
definition: {type: system_task, compute_evidence_snippet: "def compute_evidence(): return {}"}
"""


def test_a_system_task_takes_neither_model_nor_dataset(tmp_path: Path) -> None:
    text = """key: e
display_name: E
task_specifications: [{key: a, task_key: tidy, model_key: bot, dataset_key: countries}]
"""
    found = read(tmp_path, text, tidy=SYSTEM).problems

    assert [one.rule for one in found] == ["conflict", "conflict"]


LEGACY = """
key: filled
display_name: Filled
description: D
config_spec: [{type: string, key: column, display_name: Column}]
definition:
  evaluated_entity_type: dataset
  scorers:
    - type: python
      compute_scores_snippet: |
        def compute_scores(sample):
            return {"filled": bool(sample.get("<< config.column >>"))}
      metrics: []
"""


@pytest.mark.parametrize(
    "named", ["dataset_key: countries", "task_config: {dataset_key: countries, column: capital}"]
)
def test_a_task_that_leaves_its_dataset_open_gets_it_from_the_specification(
    tmp_path: Path, named: str
) -> None:
    config = "" if "task_config" in named else ", task_config: {column: capital}"
    text = f"""key: e
display_name: E
task_specifications: [{{key: a, task_key: filled, {named}{config}}}]
"""
    made = read(tmp_path, text, filled=LEGACY)
    (spec,), problems = made.specs()

    assert problems == []
    assert spec.dataset_keys == {"": "countries"}
    assert spec.values == {"column": "capital", "dataset_key": "countries"}
    assert spec.model_keys == ()


def test_a_task_that_leaves_its_dataset_open_needs_one(tmp_path: Path) -> None:
    text = """key: e
display_name: E
task_specifications: [{key: a, task_key: filled, task_config: {column: x}}]
"""
    _, (problem,) = read(tmp_path, text, filled=LEGACY).specs()

    assert (problem.rule, problem.field) == ("missing_value", "task_specifications[0].dataset_key")


ALIGNED = """
key: side-by-side
display_name: Side by side
description: D
config_spec:
  - {type: dataset, key: left, display_name: L}
  - {type: dataset, key: right, display_name: R}
definition:
  dataset: {keys: [<< config.left >>, << config.right >>]}
  scorers:
    - type: bleu
      value: '{{ sample["<< config.left >>"].a }}'
      ground_truth: "{{ sample.right.a }}"
"""


def test_several_datasets_are_called_by_their_parameters(tmp_path: Path) -> None:
    text = """key: e
display_name: E
task_specifications:
  - {key: a, task_key: side-by-side, task_config: {left: countries, right: countries}}
"""
    (spec,), problems = read(tmp_path, text, aligned=ALIGNED).specs()

    assert problems == []
    assert spec.dataset_keys == {"left": "countries", "right": "countries"}
    scorer = spec.task.model_dump(mode="json")["definition"]["scorers"][0]
    assert scorer["value"] == '{{ sample["left"].a }}'


def test_a_dataset_that_a_value_names_must_be_there(tmp_path: Path) -> None:
    text = """key: e
display_name: E
task_specifications:
  - {key: a, task_key: side-by-side, task_config: {left: countries, right: contries}}
"""
    problem = only(tmp_path, text, aligned=ALIGNED)

    assert (problem.rule, problem.field) == (
        "unknown_dataset",
        "task_specifications[0].task_config.right",
    )
    assert problem.hint == "did you mean `countries`?"


def test_a_key_of_a_specification_stands_once(tmp_path: Path) -> None:
    problem = only(tmp_path, OLD.replace("{key: b,", "{key: a,"))

    assert (problem.rule, problem.field) == ("duplicate_key", "task_specifications[1].key")


def test_a_run_and_a_specification_say_how_often_a_sample_is_tried(tmp_path: Path) -> None:
    text = OLD.replace("num_samples: 3", "trials: {num_trials: 7}")
    made = read(tmp_path, text)
    config = GivenConfig(run_config=RunConfig(trials_config=TrialsNumber(num_trials=4)))

    found, _ = made.specs(config=config)

    assert [one.num_trials for one in found] == [4, 7]
    assert [one.num_trials for one in made.specs()[0]] == [1, 7]


def test_a_specification_may_be_run_several_times(tmp_path: Path) -> None:
    text = OLD.replace("num_samples: 3", "repeatability: {num_runs: 3}")

    assert [one.repeats for one in specs(tmp_path, text)] == [1, 3]


def repeated(inputs: str, more: str = "repeatability_config: {num_runs: 4}, ") -> str:
    return f"{OLD}  - {{key: c, type: repeatability, {more}inputs: {inputs}}}\n"


def test_a_repeatability_runs_a_specification_of_its_own_evaluation(tmp_path: Path) -> None:
    text = repeated("[{evaluation_key: weekly, task_specification_key: b}]")

    *_, made = specs(tmp_path, text)

    assert (made.key, made.repeats, made.num_samples) == ("c", 4, 3)
    assert made.task.key == "capitals"


def test_a_repeatability_without_a_specification_runs_all_under_names_of_its_own(
    tmp_path: Path,
) -> None:
    text = repeated("[{evaluation_key: weekly}]", "config: {num_runs: 2}, num_samples: 9, ")

    *_, first, second = specs(tmp_path, text)

    assert (first.key, first.repeats, first.num_samples) == ("c-a", 2, 9)
    assert (second.key, second.repeats, second.num_samples) == ("c-b", 2, 9)


def test_a_repeatability_may_run_another_evaluation(tmp_path: Path) -> None:
    other = """key: monthly
display_name: Monthly
task_specifications:
  - key: c
    type: repeatability
    repeatability_config: {num_runs: 2}
    inputs: [{evaluation_key: weekly, task_specification_key: a}]
"""
    files = {**FILES, "evaluations/e.yaml": OLD, "evaluations/m.yaml": other}
    found, problems = project(tmp_path, files, "evaluations/m.yaml").specs()

    assert problems == []
    assert [(one.key, one.repeats, one.evaluation_key) for one in found] == [("c", 2, "monthly")]


CHAIN = """key: whole
display_name: Whole
task_specifications:
  - {key: a, task_key: capitals, model_key: bot}
  - {key: r, task_key: review}
"""
REVIEW = """key: review
display_name: Review
description: D
definition:
  evaluated_entity_type: dataset
  dataset: {key: a, source: task_result}
  scorers:
    - type: python
      compute_scores_snippet: "def compute_scores(sample): return {'n': 1}"
      metrics: [{type: mean, field: n}]
"""
THROUGH_A_DATASET = REVIEW.replace("{key: a, source: task_result}", "{key: answers}")
ANSWERS = "key: answers\ndisplay_name: A\nsource: {type: task_result, key: a}\n"
FILTERED = ANSWERS.replace(
    "key: a}", 'key: a, filters: [{op: exists, expression: "{{ sample.sample }}"}]}'
)


def chained(folder: Path, inputs: str, review: str = REVIEW, answers: str = ANSWERS) -> Project:
    """An evaluation that repeats another, in which one task reads the result of the other."""
    again = (
        "key: again\ndisplay_name: Again\ntask_specifications:\n  - {key: st, "
        f"type: repeatability, repeatability_config: {{num_runs: 2}}, inputs: {inputs}}}\n"
    )
    files = {
        **FILES,
        "tasks/r.yaml": review,
        "datasets/a.yaml": answers,
        "evaluations/w.yaml": CHAIN,
        "evaluations/a.yaml": again,
    }
    return project(folder, files, "evaluations/a.yaml")


@pytest.mark.parametrize(
    "review",
    [
        pytest.param(REVIEW, id="its result"),
        pytest.param(THROUGH_A_DATASET, id="a dataset that is its result"),
    ],
)
def test_a_repetition_of_a_chain_reads_the_results_of_the_repetition(
    tmp_path: Path, review: str
) -> None:
    found, problems = chained(tmp_path, "[{evaluation_key: whole}]", review).specs()

    assert problems == []
    sources = {one.key: (one.source, one.dataset_keys) for one in found}
    assert sources["st-r"] == ("task_result", {"": "st-a"})
    assert sources["st-a"] == ("dataset", {"": "countries"})


def test_a_repetition_that_would_read_the_results_of_an_earlier_run_is_refused(
    tmp_path: Path,
) -> None:
    inputs = "[{evaluation_key: whole, task_specification_key: r}]"

    _, (problem,) = chained(tmp_path, inputs).specs()

    assert (problem.rule, problem.field) == ("conflict", "task_specifications[0].inputs[0]")
    assert problem.detail == (
        "`r` reads the result of `a`, which is not repeated: the result of an earlier run "
        "would be read"
    )
    assert problem.hint == "add `a` as an input"


def test_a_repetition_of_a_chain_through_a_filter_is_refused(tmp_path: Path) -> None:
    made = chained(tmp_path, "[{evaluation_key: whole}]", THROUGH_A_DATASET, FILTERED)

    _, (problem,) = made.specs()

    assert problem.detail.startswith("`r` reads the result of `a` through dataset `answers`")


def test_a_repetition_beside_the_task_whose_result_it_reads_reads_that(tmp_path: Path) -> None:
    text = f"{CHAIN}  - {{key: st, type: repeatability, config: {{num_runs: 2}}, inputs: "
    text += "[{evaluation_key: whole, task_specification_key: r}]}\n"

    *_, made = read(tmp_path, text, r=REVIEW).specs()[0]

    assert (made.key, made.dataset_keys) == ("st", {"": "a"})


def test_a_repetition_of_an_evaluation_that_has_nothing_else_is_refused(tmp_path: Path) -> None:
    text = OLD[: OLD.index("  - {key: a")] + (
        "  - {key: c, type: repeatability, config: {num_runs: 2}, "
        "inputs: [{evaluation_key: weekly}]}\n"
    )

    problem = only(tmp_path, text)

    assert problem.field == "task_specifications[0].inputs[0].evaluation_key"
    assert problem.detail == ("evaluation `weekly` has no task specification that can be repeated")


@pytest.mark.parametrize(
    ("inputs", "more", "rule", "field"),
    [
        pytest.param(
            "[{evaluation_key: wekly}]",
            "config: {num_runs: 2}, ",
            "unknown_evaluation",
            "inputs[0].evaluation_key",
            id="an evaluation that is not there",
        ),
        pytest.param(
            "[{evaluation_key: weekly, task_specification_key: bb}]",
            "config: {num_runs: 2}, ",
            "unknown_specification",
            "inputs[0].task_specification_key",
            id="a specification that is not there",
        ),
        pytest.param(
            "[{evaluation_key: weekly, task_specification_key: c}]",
            "config: {num_runs: 2}, ",
            "conflict",
            "inputs[0].task_specification_key",
            id="itself",
        ),
        pytest.param(
            "[{evaluation_key: weekly}]",
            "",
            "missing_key",
            "repeatability_config",
            id="no number of runs",
        ),
        pytest.param(
            "[{evaluation_key: weekly}]",
            "config: {num_runs: 2}, repeatability_config: {num_runs: 2}, ",
            "conflict",
            "config",
            id="two numbers of runs",
        ),
        pytest.param(
            "[{evaluation_key: weekly}, {evaluation_key: weekly, task_specification_key: a}]",
            "config: {num_runs: 2}, ",
            "duplicate_key",
            "inputs[1]",
            id="the same twice",
        ),
        pytest.param("[]", "config: {num_runs: 2}, ", "bad_value", "inputs", id="nothing to run"),
        pytest.param(
            "[{evaluation_key: weekly}]}\n  - {key: c-b, task_key: capitals, model_key: bot",
            "config: {num_runs: 2}, ",
            "duplicate_key",
            "inputs[0]",
            id="a name that is taken",
        ),
    ],
)
def test_a_mistake_in_a_repeatability_is_told_at_its_place(
    tmp_path: Path, inputs: str, more: str, rule: str, field: str
) -> None:
    problem = only(tmp_path, repeated(inputs, more))

    assert (problem.rule, problem.field) == (rule, f"task_specifications[2].{field}")


@pytest.mark.parametrize("name", ["trials: {num_trials: 2}", "repeatability: {num_runs: 2}"])
def test_a_system_task_is_not_tried_several_times(tmp_path: Path, name: str) -> None:
    text = f"key: e\ndisplay_name: E\ntask_specifications: [{{key: a, task_key: tidy, {name}}}]\n"

    problem = only(tmp_path, text, tidy=SYSTEM)

    assert problem.rule == "conflict"
    assert problem.detail.startswith("task `tidy` is a system task, which has no samples")


def test_what_else_an_evaluation_may_say_is_taken(tmp_path: Path) -> None:
    text = OLD + "use_cases: any\ndomains: [banking]\nproviders: any\ntags: [weekly]\n"

    assert read(tmp_path, text).problems == []


def test_what_a_run_says_of_trials_is_for_tasks_that_ask_a_model(tmp_path: Path) -> None:
    rows = """
key: rows
display_name: Rows
description: D
definition:
  dataset: {key: countries}
  scorers: [{type: string_equals, value: a, ground_truth: a}]
  TRIALS
"""
    own = rows.replace("key: rows", "key: own").replace("TRIALS", "trials: {num_trials: 5}")
    text = "key: e\ndisplay_name: E\ntask_specifications:\n" + "".join(
        f"  - {{key: {key}, task_key: {task}{more}}}\n"
        for key, task, more in (
            ("asks", "capitals", ", model_key: bot"),
            ("looks", "rows", ""),
            ("told", "rows", ", trials: {num_trials: 3}"),
            ("says", "own", ""),
        )
    )
    made = read(tmp_path, text, rows=rows.replace("TRIALS", ""), own=own)
    config = GivenConfig(run_config=RunConfig(trials_config=TrialsNumber(num_trials=2)))

    found, problems = made.specs(config=config)

    assert [one for one in problems if one.level == "error"] == []
    assert {one.key: one.num_trials for one in found} == {
        "asks": 2,
        "looks": 1,
        "told": 3,
        "says": 2,
    }
