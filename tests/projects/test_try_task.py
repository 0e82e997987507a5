from pathlib import Path

import pytest
from tests.api.demo import demo, files_in
from tests.local_model import needs_local_model

from evalwright import api
from evalwright.errors import BadTasks, UnknownName, UsageError
from evalwright.projects.task_preview import TaskPreview

BROKEN = """\
key: broken
display_name: Broken
description: Fails on one row.
definition:
  dataset: {key: capitals}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "{{ sample.country }}"}
  scorers:
    - type: python
      key: mine
      compute_scores_snippet: |
        def compute_scores(sample, solver_output):
            print("at", sample["country"])
            if sample["country"] == "Japan":
                raise ValueError("no score for Japan")
            return {"ok": True}
      metrics:
        - {type: mean, field: ok}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(demo(tmp_path))
    return tmp_path


def try_key(name: str, *models: str, **selection: object) -> TaskPreview:
    path, spec = api.locate_task(name)
    return api.try_task(api.TaskSelection(path=path, spec=spec, **selection), models)  # type: ignore[arg-type]


@pytest.mark.usefixtures("project")
def test_a_key_is_tried_as_the_run_file_uses_it() -> None:
    trial = try_key("uniqueness", samples=3)

    assert (trial.task, trial.name) == ("uniqueness", "uniqueness-of-email")
    assert trial.values == {"field": "email", "dataset_key": "customers"}
    assert (trial.file, trial.specification) == ("tasks/uniqueness.yaml", "run.yaml:48")
    assert [one.sample_id for one in trial.samples] == ["c1", "c2", "c3"]
    assert trial.metrics[0].n == 3
    assert trial.ok


@pytest.mark.usefixtures("project")
def test_a_file_is_tried_alone_with_the_model_that_is_given() -> None:
    trial = try_key("tasks/capitals.yaml", "scripted/echo")

    assert trial.specification is None
    (sample,) = trial.samples
    assert sample.model == "scripted/echo"
    assert sample.solver is not None
    assert sample.solver.output == "What is the capital of France?"
    assert sample.scores["exact"].values == {"is_correct": False}


@pytest.mark.usefixtures("project")
def test_a_task_that_needs_a_model_says_so() -> None:
    with pytest.raises(BadTasks, match="evaluates a model, but no model is set"):
        try_key("tasks/capitals.yaml")


@pytest.mark.usefixtures("project")
def test_samples_are_chosen_by_id_whatever_their_places() -> None:
    trial = try_key("capitals", ids=("bo", "au"))

    assert [one.sample_id for one in trial.samples] == ["au", "bo"]
    assert [one.rules[0].action for one in trial.samples] == [None, "exclude_from_metrics"]
    assert (trial.metrics[0].n, trial.metrics[0].excluded) == (1, 1)


@pytest.mark.usefixtures("project")
def test_an_id_that_no_sample_has_is_met_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no sample has the id `smal`") as raised:
        try_key("sums", ids=("smal",))

    assert raised.value.hint == "did you mean `small`?"


def test_nothing_is_kept(project: Path) -> None:
    before = files_in(project)

    try_key("counting")

    assert {name for name in files_in(project) if "__pycache__" not in name} == before.keys()


def test_what_fails_is_shown_with_its_stage_and_its_place(project: Path) -> None:
    (project / "tasks" / "broken.yaml").write_text(BROKEN)

    trial = try_key("broken", "responder", samples=2)

    good, bad = trial.samples
    assert (good.status, good.scores["mine"].values) == ("completed", {"ok": True})
    assert bad.error is not None
    assert bad.error.stage == "score"
    assert bad.error.message == (
        "tasks/broken.yaml:19 in compute_scores: ValueError: no score for Japan"
    )
    assert not trial.ok
    assert sorted(trial.printed) == ["tasks/broken.yaml: at France", "tasks/broken.yaml: at Japan"]


@needs_local_model
def test_what_would_end_a_run_is_shown_too(project: Path) -> None:
    (project / "broken.gguf").write_bytes(b"GGUF")

    trial = try_key("capitals", "local/broken.gguf")

    assert [(one.type, one.hint != "") for one in trial.errors] == [("Stopped", True)]
    assert "local/broken.gguf could not be loaded" in "\n".join(trial.to_lines())
    assert not trial.ok


def test_what_only_all_samples_show_can_fail_too(project: Path) -> None:
    text = BROKEN.replace("field: ok", "field: okk")
    (project / "tasks" / "broken.yaml").write_text(text)

    trial = try_key("broken", "responder")

    assert [one.stage for one in trial.errors] == ["metric"]
    assert "did you mean `ok`?" in trial.errors[0].message
    assert not trial.ok


def test_the_page_has_the_sections_in_their_order(project: Path) -> None:
    (project / "tasks" / "broken.yaml").write_text(BROKEN)

    lines = "\n".join(try_key("broken", "responder", samples=2).to_lines()).splitlines()

    wanted = [
        "Task `broken`",
        "Sample `fr`, model responder: completed",
        "  Dataset sample:",
        "  Solver:",
        "  Scores:",
        "Sample `jp`, model responder: failed",
        "  Error:",
        "Printed by snippets",
        "Metrics over 2 samples",
        "  mine.ok_mean: 1  (n 1, 95 % interval [0.207, 1], 1 failed)",
    ]
    places = [lines.index(line) for line in wanted]
    assert places == sorted(places)


@pytest.mark.usefixtures("project")
def test_bodies_are_shown_when_asked_for() -> None:
    trial = try_key("sums")

    assert "bodies" not in "\n".join(trial.to_lines())
    assert "bodies:" in "\n".join(trial.to_lines(bodies=True))


@pytest.mark.usefixtures("project")
def test_a_task_is_tried_on_another_dataset() -> None:
    values = {"field": "capital"}
    selection = api.TaskSelection(path="run.yaml", spec="uniqueness-of-email", dataset="capitals")

    in_run = api.try_task(selection, settings=values)
    alone = api.TaskSelection(path="tasks/uniqueness.yaml", dataset="capitals")

    assert in_run.samples[0].sample["capital"] == "Paris"
    assert in_run.values["dataset_key"] == "capitals"
    assert api.try_task(alone, settings=values).samples == in_run.samples


def test_an_evaluation_that_the_run_file_refers_to_is_its_own(project: Path) -> None:
    run = project / "run.yaml"
    before, _, evaluation = run.read_text().partition("evaluation:\n")
    (project / "evaluations").mkdir()
    own = "\n".join(line.removeprefix("  ") for line in evaluation.splitlines())
    (project / "evaluations" / "first.yaml").write_text(own)
    run.write_text(f"{before}evaluation:\n  $ref: evaluations/first.yaml\n")

    assert api.locate_task("uniqueness") == ("run.yaml", "uniqueness-of-email")
    assert try_key("uniqueness").ok


def test_what_a_model_is_given_in_secret_is_not_shown(project: Path) -> None:
    model = project / "models" / "responder.yaml"
    model.write_text(model.read_text() + "  environment: {API_KEY: sk-very-secret-1234}\n")
    code = project / "models" / "responder.py"
    told = "print(environment)\n    messages = json"
    code.write_text(code.read_text().replace("messages = json", told))

    trial = try_key("capitals")

    assert trial.printed == ["models/responder.py: {'API_KEY': '[redacted]'}"]


def test_a_secret_that_became_a_parameter_is_not_shown(project: Path) -> None:
    (project / ".env").write_text("SERVICE_TOKEN=tok-very-secret-1234\n")
    who = "{type: string, key: who, display_name: Who, default_value: $SERVICE_TOKEN}"
    spec = f"config_spec:\n  - {who}\n"
    (project / "tasks" / "broken.yaml").write_text(
        BROKEN.replace("definition:", f"{spec}definition:")
    )

    trial = try_key("broken", "responder")

    assert trial.values == {"who": "[redacted]"}
    assert "tok-very-secret" not in "\n".join(trial.to_lines())


CHECK = """\
key: check
display_name: Check
description: Looks at the answers of another task.
definition:
  evaluated_entity_type: dataset
  dataset: {key: sums, source: task_result}
  scorers:
    - type: python
      compute_scores_snippet: |
        def compute_scores(sample):
            return {"right": sample["scores"]["string_equals"]["values"]["is_correct"]}
      metrics: [{type: mean, field: right}]
"""


def test_a_task_that_reads_the_results_of_another_is_tried_after_it(project: Path) -> None:
    (project / "tasks" / "check.yaml").write_text(CHECK)
    run = project / "run.yaml"
    text = run.read_text()
    run.write_text(text + "    - {key: check, task_key: check}\n")

    trial = try_key("check", samples=2)

    assert trial.ok, trial
    assert [one.sample["sample"]["sample_id"] for one in trial.samples] == ["small", "carry"]
    assert trial.metrics[0].value == 1.0

    run.write_text(text)
    api.run("run.yaml")
    earlier = try_key("tasks/check.yaml")

    assert earlier.samples == trial.samples[:1]


AGAIN = """\
key: again
display_name: Again
description: Looks at the results of the look.
definition:
  evaluated_entity_type: dataset
  dataset: {key: check, source: task_result}
  scorers:
    - type: python
      compute_scores_snippet: |
        def compute_scores(sample):
            return {"of": sample["sample"]["sample_id"]}
      metrics: []
"""


def chained(project: Path) -> None:
    """Two specifications more, each on the results of the one before."""
    (project / "tasks" / "check.yaml").write_text(CHECK)
    (project / "tasks" / "again.yaml").write_text(AGAIN)
    with (project / "run.yaml").open("a") as run:
        run.write("    - {key: again, task_key: again}\n    - {key: check, task_key: check}\n")


def test_what_is_planned_is_read_from_the_trial_and_the_rest_from_an_earlier_run(
    project: Path,
) -> None:
    api.run("run.yaml")
    chained(project)
    run = project / "run.yaml"
    before, _, _ = run.read_text().partition("    - key: capitals\n")
    run.write_text(
        f"{before}    - {{key: again, task_key: again}}\n    - {{key: check, task_key: check}}\n"
    )

    trial = try_key("again", samples=2)

    assert trial.ok, trial
    assert [one.scores["python"].values["of"] for one in trial.samples] == ["small", "carry"]


def test_a_sample_is_chosen_by_id_through_a_chain_and_nothing_else_is_done_before(
    project: Path,
) -> None:
    chained(project)

    trial = try_key("again", "scripted/echo", "responder", ids=("responder/carry",))

    assert trial.ok, trial
    assert [one.sample_id for one in trial.samples] == ["responder/carry"]
    with pytest.raises(UnknownName, match="again: no sample has the id `carri`") as raised:
        try_key("again", ids=("carri",))
    assert raised.value.hint == "did you mean `carry`?"


def test_a_trial_of_a_source_is_chosen_by_its_number(project: Path) -> None:
    chained(project)
    run = project / "run.yaml"
    run.write_text(run.read_text() + "run_config: {trials_config: {num_trials: 3}}\n")
    models = ("scripted/echo", "responder")

    trial = try_key("again", *models, ids=("responder/carry#2", "scripted/echo/carry#3"))

    assert trial.ok, trial
    found = [one.sample_id for one in trial.samples]
    assert found == ["scripted/echo/carry#3", "responder/carry#2"]
    assert trial.tries == 1, "a look at rows asks no model"


@pytest.mark.usefixtures("project")
def test_every_trial_of_a_sample_is_shown() -> None:
    path, spec = api.locate_task("sums")
    trial = api.try_task(api.TaskSelection(path=path, spec=spec, samples=2), trials=2)

    assert [(one.sample_id, one.trial) for one in trial.samples] == [
        ("small", 0),
        ("small", 1),
        ("carry", 0),
        ("carry", 1),
    ]
    shown = "\n".join(trial.to_lines())
    assert "Sample `carry`, trial 2 of 2, model responder: completed" in shown
    assert "Metrics over 2 samples, with 2 trials each" in shown


@pytest.mark.usefixtures("project")
def test_a_run_file_needs_the_name_of_a_specification() -> None:
    with pytest.raises(UsageError, match="8 task specifications: capitals, sums"):
        api.try_task(api.TaskSelection(path="run.yaml"))
    with pytest.raises(UnknownName, match="no task specification `sms`"):
        api.try_task(api.TaskSelection(path="run.yaml", spec="sms"))


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("name", "file", "spec", "expected"),
    [
        ("sums", None, None, ("run.yaml", "sums")),
        ("uniqueness", None, None, ("run.yaml", "uniqueness-of-email")),
        ("tasks/sums.yaml", None, None, ("tasks/sums.yaml", None)),
        (None, "run.yaml", "sums", ("run.yaml", "sums")),
        (None, None, "sums", ("run.yaml", "sums")),
    ],
    ids=["key", "key of a task with another specification", "file", "run file", "specification"],
)
def test_what_is_meant_by(
    name: str | None, file: str | None, spec: str | None, expected: tuple[str, str | None]
) -> None:
    assert api.locate_task(name, file=file, spec=spec) == expected
