import copy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spec.documents.made import DATASET, MODEL, TASK, project, told, written

from evalwright.api.files import starter_files
from evalwright.spec.documents.project import read_project
from evalwright.spec.documents.resolve import documents, entities
from evalwright.spec.documents.resolve.config_values import GivenValue
from evalwright.spec.documents.resolve.documents import ResolvedDocument
from evalwright.spec.documents.resolve.layout import detect_kind
from evalwright.spec.documents.yaml import compose, text_files
from evalwright.spec.documents.yaml.problems import Place
from evalwright.spec.documents.yaml.text_files import Mistake, TextFile

EVALUATION = """
key: weekly
display_name: Weekly
task_specifications: [{key: a, task_key: capitals, model_key: bot}]
"""
FILES = {
    "tasks/capitals/task.yaml": TASK,
    "datasets/countries.yml": DATASET,
    "models/bot.yaml": MODEL,
    "evaluations/weekly.yaml": EVALUATION,
}
BESIDE = {name: text for name, text in FILES.items() if "evaluations" not in name}
RUN = f"evaluation:{EVALUATION}".replace("\n", "\n  ")


@pytest.mark.parametrize(
    ("keys", "folder", "kind"),
    [
        pytest.param("datasets", "", "run", id="datasets"),
        pytest.param("models tasks", "", "run", id="models and tasks"),
        pytest.param("tasks", "", "run", id="tasks alone"),
        pytest.param("tasks key display_name definition", "", "task", id="ML tasks of a task"),
        pytest.param("evaluation", "", "run", id="an evaluation"),
        pytest.param("key definition", "", "task", id="a definition"),
        pytest.param("key task_specifications", "", "evaluation", id="specifications"),
        pytest.param("key source", "", "dataset", id="a source"),
        pytest.param("key file_path", "", "dataset", id="an old dataset"),
        pytest.param("key process_input", "", "adapter", id="an adapter"),
        pytest.param("key config", "", "model", id="a model"),
        pytest.param("$provider", "", "model", id="a model of a provider"),
        pytest.param("config run_config", "", "run", id="a configuration"),
        pytest.param("key", "datasets", "dataset", id="its folder says it"),
        pytest.param("key", "", None, id="nothing says it"),
    ],
)
def test_the_keys_say_what_a_document_is(keys: str, folder: str, kind: str | None) -> None:
    assert detect_kind(dict.fromkeys(keys.split()), folder) == kind


def test_a_folder_is_a_project(tmp_path: Path) -> None:
    made = project(tmp_path, FILES)
    (spec,), problems = made.specs()

    assert made.problems == problems == []
    assert made.kind is None
    assert [*made.tasks, *made.datasets, *made.models, *made.evaluations] == [
        "capitals",
        "countries",
        "bot",
        "weekly",
    ]
    assert (spec.key, spec.model_keys) == ("a", ("bot",))


def test_any_file_knows_the_project_around_it(tmp_path: Path) -> None:
    made = project(tmp_path, FILES, "tasks/capitals/task.yaml")
    (spec,), problems = made.specs(models_given=True)

    assert made.problems == problems == []
    assert made.kind == "task"
    assert list(made.models) == ["bot"]
    assert (spec.key, spec.model_keys, spec.needs_model) == ("capitals", (), True)


def test_a_task_that_evaluates_a_model_does_not_run_without_one(tmp_path: Path) -> None:
    _, (problem,) = project(tmp_path, FILES, "tasks").specs()

    assert problem.rule == "no_model"


def test_without_an_evaluation_every_task_is_run(tmp_path: Path) -> None:
    files = {**FILES, "tasks/other.yaml": TASK.replace("key: capitals", "key: other", 1)}
    del files["evaluations/weekly.yaml"]
    found, problems = project(tmp_path, files).specs(models_given=True)

    assert problems == []
    assert [one.key for one in found] == ["capitals", "other"]


def test_of_several_evaluations_one_must_be_named(tmp_path: Path) -> None:
    other = EVALUATION.replace("key: weekly", "key: daily", 1)
    made = project(tmp_path, {**FILES, "evaluations/daily.yaml": other})

    assert made.problems == []
    assert [one.rule for one in made.specs()[1]] == ["which_evaluation"]
    assert made.specs(evaluation="daily")[0][0].evaluation_key == "daily"
    assert made.specs(evaluation="dayly")[1][0].hint == "did you mean `daily`?"


def test_two_documents_with_one_key_are_a_problem_that_names_both(tmp_path: Path) -> None:
    (problem,) = project(tmp_path, {**FILES, "tasks/z.yaml": TASK}).problems

    assert (Path(problem.file).name, problem.rule) == ("z.yaml", "duplicate_key")
    assert problem.detail.endswith("task.yaml:2")


def test_one_document_reached_in_two_ways_is_one(tmp_path: Path) -> None:
    run = "tasks: [{$ref: tasks/capitals/task.yaml}]\ndatasets: [{$ref: datasets/countries.yml}]\n"
    files = {**FILES, "run.yaml": run}

    assert project(tmp_path, files).problems == []
    assert project(tmp_path, files, "run.yaml").problems == []


def test_a_run_file_knows_what_lies_beside_it(tmp_path: Path) -> None:
    (spec,), problems = project(tmp_path, {**BESIDE, "run.yaml": RUN}, "run.yaml").specs()

    assert problems == []
    assert spec.task.key == "capitals"


def test_a_mistake_beside_counts_when_something_leads_there(tmp_path: Path) -> None:
    files = {**BESIDE, "tasks/unused.yaml": "key: unused\ndefinition: 3\n", "run.yaml": RUN}
    alone = project(tmp_path / "a", files, "run.yaml")
    broken = {**files, "datasets/countries.yml": DATASET + "surce: 3\n"}
    used = project(tmp_path / "b", broken, "run.yaml")
    whole = project(tmp_path / "c", files)

    assert alone.problems == []
    assert told(used.problems) == [("countries.yml", 5, "unknown_key", "surce")]
    assert {one.field for one in whole.problems} >= {"definition", "display_name"}


def test_a_part_of_a_document_in_a_file_of_its_own_is_no_document(tmp_path: Path) -> None:
    solver = "type: pass_through_solver\ntrace_column: t\n"
    task = TASK.replace("  scorers:", "  # one\n  scorers:").split("  solver:")[0]
    task += "  solver: {$ref: parts/solver.yaml}\n"
    files = {**FILES, "tasks/capitals/task.yaml": task, "tasks/capitals/parts/solver.yaml": solver}

    assert project(tmp_path, files).problems == []


@pytest.mark.parametrize(
    ("files", "path", "rule"),
    [
        pytest.param({"readme.txt": "x"}, "", "no_project", id="an empty folder"),
        pytest.param({"x.yaml": "a: 1"}, "x.yaml", "unknown_kind", id="of no kind"),
        pytest.param({"x.yaml": "- 1"}, "x.yaml", "unknown_kind", id="no mapping"),
    ],
)
def test_what_is_no_project_is_one_problem(
    tmp_path: Path, files: dict[str, str], path: str, rule: str
) -> None:
    (problem,) = project(tmp_path, files, path).problems

    assert problem.rule == rule


PLAN = """\
key: quarterly
display_name: Quarterly
evaluation_specifications:
  - {key: a, evaluation_key: daily, evaluation_config: {n: 3}, evaluation_run_config: {}}
  - {evaluation_key: nightly}
  - {evaluation_key: daily}
"""


@pytest.mark.parametrize("path", ["plan.yaml", "evaluations/plan.yaml", "assessment_plans/q.yaml"])
def test_a_plan_names_evaluations_that_exist(tmp_path: Path, path: str) -> None:
    problems = project(tmp_path, {path: PLAN}, path).problems

    assert [(one.line, one.rule) for one in problems] == [
        (4, "unknown_evaluation"),
        (5, "unknown_evaluation"),
        (6, "unknown_evaluation"),
    ]
    assert problems[0].field == "evaluation_specifications[0].evaluation_key"


@pytest.mark.parametrize(
    ("listed", "rule"),
    [
        pytest.param("[]", "bad_value", id="none"),
        pytest.param("3", "wrong_type", id="no list"),
        pytest.param("[3]", "wrong_type", id="no mapping"),
        pytest.param("[{key: a}]", "missing_key", id="no evaluation"),
        pytest.param("[{evaluation_kee: a, evaluation_key: a}]", "unknown_key", id="misspelt"),
    ],
)
def test_a_plan_is_checked_as_a_document(tmp_path: Path, listed: str, rule: str) -> None:
    text = f"key: q\ndisplay_name: Q\nevaluation_specifications: {listed}\n"

    assert rule in {one.rule for one in project(tmp_path, {"q.yaml": text}, "q.yaml").problems}


def test_a_broken_plan_does_not_stop_the_evaluations_beside_it(tmp_path: Path) -> None:
    made = project(tmp_path, {**BESIDE, "run.yaml": RUN, "evaluations/plan.yaml": PLAN})
    specs, problems = made.specs()

    assert {one.rule for one in made.problems} == {"unknown_evaluation"}
    assert (len(specs), problems) == (1, [])


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    assert not read_project(tmp_path / "none.yaml", environment={}).ok


def test_a_task_alone_may_have_its_dataset_elsewhere(tmp_path: Path) -> None:
    made = project(tmp_path, {"task.yaml": TASK}, "task.yaml")

    assert [(one.rule, one.level) for one in made.problems] == [("unknown_dataset", "warning")]
    assert [one.level for one in made.specs(models_given=True)[1]] == ["error"]


def test_a_task_is_resolved_again_with_other_values(tmp_path: Path) -> None:
    spec = "config_spec: [{type: int, key: n, display_name: N, default_value: 2}]\ndefinition:"
    task = TASK.replace("definition:", spec).replace("country }}?", "country }} << config.n >>?")
    made = project(tmp_path, {**FILES, "tasks/capitals/task.yaml": task})
    entity = made.tasks["capitals"]
    first = entity.resolve({})
    other = entity.resolve({"n": GivenValue(3, Place("config", 1), "n")})
    wrong = entity.resolve({"n": GivenValue("x", Place("config", 1), "n")})

    assert first.values == {"n": 2}
    assert "country }} 2?" in str(first.document.model_dump())
    assert "country }} 3?" in str(other.document.model_dump())
    assert [problem.detail for problem in wrong.problems] == [
        "parameter `n` of task `capitals`: expected `int`, got `str`"
    ]
    assert wrong.document is not None


def test_an_adapter_must_be_there(tmp_path: Path) -> None:
    model = """
key: bot
display_name: Bot
config: {url: "https://bot.example.com", adapter: {key: wrapped}}
"""
    adapter = "key: wraped\ndisplay_name: W\nprocess_input: {language: jinja, source_code: '{}'}\n"
    found = project(tmp_path, {"models/m.yaml": model, "adapters/a.yaml": adapter}).problems

    assert [(one.rule, one.hint) for one in found] == [
        ("unknown_adapter", "did you mean `wraped`?")
    ]


def test_in_a_folder_only_what_is_used_can_stop_a_run(tmp_path: Path) -> None:
    unused = {"tasks/unused.yaml": "key: a\ndefinition: 3\n", "models/n.yaml": "key: n\n"}
    made = project(tmp_path, {**FILES, **unused})

    assert not made.ok
    assert made.specs()[1] == []


@pytest.mark.parametrize("path", ["", "run.yaml"])
@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("key: bot\nconfig: {url: [1\n", (2, "bad_yaml", None), id="a bracket"),
        pytest.param("key: bot\nconfig:\n\turl: a\n", (3, "tab", None), id="a tab"),
        pytest.param("key: !include no.txt\n", (1, "bad_include", "key"), id="no key"),
    ],
)
def test_a_file_without_a_key_that_can_be_read_may_be_the_one_that_is_used(
    tmp_path: Path, text: str, place: tuple[int, str, str], path: str
) -> None:
    made = project(tmp_path, {**BESIDE, "run.yaml": RUN, "models/bot.yaml": text}, path)

    assert ("bot.yaml", *place) in told(made.problems)
    assert ("bot.yaml", *place) in told(made.specs()[1])
    assert {one.file for one in made.specs()[1]} == {str(tmp_path / "models" / "bot.yaml")}


def test_a_task_alone_has_nothing_to_do_with_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    files = {**FILES, "datasets/countries.yml": "a: [\n"}
    made = project(tmp_path, files, "tasks/capitals/task.yaml")

    assert [(one.rule, one.level) for one in made.problems] == [("unknown_dataset", "warning")]
    assert told(made.specs(models_given=True)[1]) == [("countries.yml", 2, "bad_yaml", None)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("run.yaml", RUN + "\nmodls: []\n", id="the run file"),
        pytest.param("run.yaml", "a: [", id="a run file that is no YAML"),
        pytest.param("tasks/capitals/task.yaml", TASK + "tags: ((TODO))\n", id="a task"),
        pytest.param("datasets/countries.yml", DATASET + "tags: ((TODO))\n", id="a dataset"),
        pytest.param("tasks/z.yaml", TASK, id="two tasks of one key"),
    ],
)
@pytest.mark.parametrize("path", ["", "run.yaml"])
def test_what_is_used_stops_a_run(tmp_path: Path, name: str, text: str, path: str) -> None:
    made = project(tmp_path, {**BESIDE, "run.yaml": RUN, name: text}, path)

    assert not made.ok
    assert [one for one in made.specs()[1] if one.level == "error"] != []


def test_a_task_that_is_good_with_its_values_runs(tmp_path: Path) -> None:
    spec = "config_spec: [{type: string, key: s, display_name: S}]\ndefinition:"
    text = TASK.replace("definition:", spec).replace(
        "country }}?", "country }}{% << config.s >> %}"
    )
    made = project(tmp_path, {**FILES, "tasks/capitals/task.yaml": text}, "tasks")
    _, problems = made.specs(assignments={"s": "set a = 1"}, models_given=True)

    assert problems == []


@pytest.mark.parametrize(
    "source", ["source: {type: local, file_path: no.csv}", "file_path: no.csv"]
)
def test_the_file_of_a_dataset_must_be_there(tmp_path: Path, source: str) -> None:
    text = f"key: d\ndisplay_name: D\n{source}\n"
    found = project(tmp_path, {"datasets/d.yaml": text}).problems

    assert [one.line for one in found if one.rule == "missing_file"] == [3]
    (tmp_path / "datasets" / "no.csv").write_text("a\n1\n", encoding="utf-8")
    assert read_project(tmp_path, environment={}).ok


JUNK: Any = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(allow_nan=False),
    st.sampled_from(["", "x y", "<< config.p >>", "{{ a", "python", "type", "dataset", "capitals"]),
    st.lists(st.integers(), max_size=2),
    st.just({}),
    st.just({"type": "python", "key": 3}),
    st.just([{"key": "a"}, {"key": "a"}, 3]),
)
WHOLE = yaml.safe_load("""
secrets: {A: b}
models:
  - {key: bot, display_name: B, config: {connection_type: placeholder}}
  - {$provider: openai/gpt-4o}
  - {key: web, config: {url: "https://a.example", adapter: {key: x}, custom_headers: {a: b}}}
model_adapters: [{key: x, process_input: {source_code: "{}"}}]
datasets:
  - {key: d, display_name: D, source: {type: inline, samples: [{a: 1}]}}
tasks:
  - key: t
    display_name: T
    description: D
    evaluated_entity_type: model
    tasks: [chat_completion]
    config_spec:
      - {type: int, key: p, display_name: P, min: 1}
      - {type: categorical, key: q, display_name: Q, allowed_values: [a], values_mapping: {a: 1}}
      - {type: dataset, key: d, display_name: D, default_value: d}
    definition:
      evaluated_entity_type: model
      dataset: {key: << config.d >>, fast_subset_size: 3}
      solver:
        type: multi_turn_solver
        message_builders: [{type: loop, max_iterations: 2, message_builders: [{type: generate}]}]
      scorers:
        - {type: bleu, ground_truth: "{{ sample.a }}", metrics: [{type: mean, field: bleu_score}]}
        - {type: python, metrics: [], compute_scores_snippet: "def compute_scores(s): return {}"}
      actions:
        - key: r
          action: exclude_from_metrics
          filter: {op: in, expression: "{{ 1 }}", values: [1]}
  - key: u
    display_name: U
    description: D
    config_spec: [{type: dataset, key: a, display_name: A}]
    definition:
      dataset: {keys: [<< config.a >>]}
      scorers: [{type: bleu, value: b, ground_truth: a}]
evaluation:
  key: e
  display_name: E
  mode: debug
  config_spec: [{type: model, key: m, display_name: M}]
  task_specifications:
    - {key: a, task_key: t, model_key: << config.m >>, task_config: {p: 3, q: a}}
    - {task_key: u, task_config: {a: d}, num_samples: 3}
config: {m: bot}
run_config: {num_samples: 3}
""")


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = data.items() if isinstance(data, dict) else enumerate(data)
    found = []
    for key, one in inside:
        found.append((*path, key))
        if isinstance(one, dict | list):
            found += places(one, (*path, key))
    return found


def test_what_the_next_test_breaks_is_good(tmp_path: Path) -> None:
    made = project(tmp_path, {"run.yaml": yaml.safe_dump(WHOLE)}, "run.yaml")

    assert {one.rule for one in made.problems} == {"deprecated", "missing_description"}
    assert len(made.specs()[0]) == 2


@settings(max_examples=60)
@given(changes=st.lists(st.tuples(st.sampled_from(places(WHOLE)), JUNK), min_size=1, max_size=3))
def test_no_document_makes_the_reader_raise(tmp_path: Path, changes: list[Any]) -> None:
    data = copy.deepcopy(WHOLE)
    for path, junk in changes:
        here: Any = data
        for step in path[:-1]:
            here = here[step] if _has(here, step) else {}
        if _has(here, path[-1]):
            here[path[-1]] = junk
    written(tmp_path, {"run.yaml": yaml.safe_dump(data)})
    made = read_project(tmp_path / "run.yaml", environment={})
    _, problems = made.specs(assignments={"p": "3"})

    assert all(one.detail for one in [*made.problems, *problems])


def _has(here: Any, step: Any) -> bool:
    if isinstance(here, dict):
        return step in here
    return isinstance(here, list) and isinstance(step, int) and step < len(here)


def test_what_waits_for_a_value_is_not_settled(tmp_path: Path) -> None:
    waiting = TASK.replace("key: capitals", "key: later") + (
        "config_spec: [{key: style, display_name: Style, type: string}]\n"
    )
    given = "  task_specifications: [{key: a, task_key: later, task_config: {style: %s}}]\n"
    evaluation = "evaluation:\n  key: all\n  display_name: All\n"
    later = "  config_spec: [{key: s, display_name: S, type: string}]\n"
    files = {"tasks/a.yaml": TASK, "tasks/b.yaml": waiting, "datasets/d.yaml": DATASET}

    alone = project(tmp_path / "1", files)
    known = project(tmp_path / "2", {**files, "run.yaml": evaluation + given % "short"})
    still = project(
        tmp_path / "3", {**files, "run.yaml": evaluation + given % '"<< config.s >>"' + later}
    )

    assert [one.key for one in alone.runnable_specs()] == ["capitals"]
    assert [one.key for one in known.runnable_specs()] == ["a", "capitals"]
    assert [one.key for one in still.runnable_specs()] == ["capitals"]


def test_a_document_is_read_and_resolved_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in starter_files():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    read, resolved = Counter[str](), Counter[str]()

    def read_text(path: str, *, takes_pipes: bool) -> TextFile | Mistake:
        read[str(Path(path).resolve())] += 1
        return text_files.read_text(path, takes_pipes=takes_pipes)

    def resolve_document(kind: str, *given: Any, **options: Any) -> ResolvedDocument:
        if kind == "task":
            resolved[str(given[0].data["key"])] += 1
        return documents.resolve_document(kind, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(compose, "read_text", read_text)
    monkeypatch.setattr(entities, "resolve_document", resolve_document)

    project = read_project(tmp_path / "run.yaml", environment={})
    specs, problems = project.specs(models_given=True)

    assert len(specs) == len(resolved) > 5
    assert not [problem for problem in problems if problem.level == "error"]
    assert {*read.values(), *resolved.values()} == {1}


def test_secrets_of_several_documents_must_agree(tmp_path: Path) -> None:
    first = "key: a\ndisplay_name: A\nconfig: {connection_type: placeholder}\n"
    other = first.replace("key: a", "key: b")
    files = {
        "models/a.yaml": f"{first}secrets: {{A: x, B: y}}\n",
        "models/b.yaml": f"{other}secrets:\n  A: x\n  B: other-value\n  C: z\n",
    }
    made = project(tmp_path, files)

    (problem,) = made.problems
    assert made.secrets == {"A": "x", "B": "y", "C": "z"}
    assert (problem.rule, problem.line, problem.field) == ("two_secrets", 6, "secrets.B")
    assert "other-value" not in repr(problem)


def test_a_part_of_another_document_that_is_named_is_no_document(tmp_path: Path) -> None:
    run = f"tasks:\n  -{TASK}".replace("\n", "\n    ")
    files = {"part.yaml": "{role: user}", "run.yaml": f"{run}\n    tags: {{$ref: part.yaml}}\n"}

    (problem,) = project(tmp_path, files, "part.yaml").problems

    assert problem.rule == "unknown_kind"
