"""Results of elsewhere become a run like any other, or nothing of them is kept."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.result_logs.sample_logs import foreign_log, old_sample

from evalwright import api
from evalwright.errors import BadLog, Unreadable, UsageError
from evalwright.report.report import Report
from evalwright.report.to_text import print_report

MEAN = {
    "values": {"is_correct_mean": 0.5},
    "metric_key": "mean",
    "metric_type": "mean",
    "scorer_key": "equals",
    "scorer_purpose": "score",
}
BROKEN = {"error_type": "Timeout", "message": "too late", "stage": "solver"}
SAMPLES = [*map(old_sample, range(4)), old_sample(4, solver=None, scores=[], errors=[BROKEN])]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def saved(path: str, *samples: dict[str, Any], **changes: Any) -> str:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    log = {**foreign_log(*(samples or SAMPLES), metrics=[MEAN]), **changes}
    file.write_text(json.dumps(log), encoding="utf-8")
    return path


def taken(path: str, **options: Any) -> Report:
    return api.import_results(path, **options)


def test_a_log_of_another_program_becomes_a_run() -> None:
    report = taken(saved("first-pass.json"))

    (row,) = report.metrics
    assert (row.task, row.model, row.scorer, row.metric) == (
        *("first-pass", "atlas", "equals", "is_correct_mean"),
    )
    assert (row.value, row.n, row.failed) == (0.5, 4, 1)
    assert row.ci_low == pytest.approx(0.150, abs=1e-3)
    assert row.ci_high == pytest.approx(0.850, abs=1e-3)
    assert report.summary.samples == 5
    assert report.summary.failed == 1
    assert report.status == "finished_with_failures"
    assert report.failures[0].type == "Timeout"
    assert report.notes == [
        "`first-pass` was not run: its result was read from first-pass.json, written by 3.17.2"
    ]


def test_the_verbs_of_runs_know_it() -> None:
    report = taken(saved("log.json"))

    (listed,) = api.runs()
    assert (listed.id, listed.done, listed.failed) == (report.run_id, 5, 1)
    assert listed.imported
    assert api.load().to_dict() == report.to_dict()
    assert [one.sample_id for one in api.show_samples(failed=True)] == ["s4"]
    assert len(list(api.export())) == 5
    assert api.show_run().manifest["imported"] == "log.json"


def test_a_task_is_called_by_the_key_that_the_log_names() -> None:
    named = {"key": "first", "task_key": "capitals"}

    assert taken(saved("a.json", specification=named)).tasks == ["first"]


def test_a_log_under_its_own_name_is_called_by_its_folder() -> None:
    assert taken(saved("second/task_result_log.json", specification={})).tasks == ["second"]


def test_a_log_that_names_no_model_is_of_none() -> None:
    report = taken(saved("log.json", specification={}))

    assert report.models == []
    assert report.usage == {}


def test_the_same_log_again_is_the_same_run() -> None:
    first = taken(saved("log.json"))
    again = taken("log.json")

    assert again.run_id == first.run_id
    assert again.metrics == first.metrics
    assert len(api.runs()) == 1


def test_another_log_is_another_run() -> None:
    first = taken(saved("log.json"))
    second = taken(saved("log.json", old_sample()))

    assert second.run_id != first.run_id
    assert second.summary.samples == 1


def test_of_a_judge_it_is_said_that_nothing_is_known() -> None:
    scorers = [{"key": "equals", "type": "model_as_a_judge_classifier"}]

    report = taken(saved("log.json", specification={"key": "first", "scorers": scorers}))

    assert report.notes[1:] == [
        "the judges of `first/equals` are unknown, because logs do not describe them"
    ]


def test_a_folder_is_imported_in_the_order_of_its_evaluation() -> None:
    for name in ("a", "b", "c"):
        saved(f"out/task_results/{name}/task_result_log.json")
    specs = [{"key": name, "task_key": "t"} for name in ("c", "a")]
    Path("out/release.yaml").write_text(json.dumps({"evaluation": {"task_specifications": specs}}))

    report = taken("out")

    assert report.tasks == ["c", "a", "b"]
    assert api.show_run().manifest["plan"]["evaluation"] == "release"


def test_a_folder_needs_no_evaluation() -> None:
    saved("out/task_results/b/task_result_log.json")
    saved("out/task_results/a/task_result_log.json")

    report = taken("out")

    assert report.tasks == ["a", "b"]
    assert report.notes == [
        "`a`, `b` were not run: their results were read from 2 logs, written by 3.17.2"
    ]


def test_a_log_without_samples_is_a_run_without_samples() -> None:
    report = taken(saved("log.json", evidence={"samples": [], "metrics": []}))

    assert report.summary.samples == 0
    assert report.status == "finished"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"", "not a result log", id="nothing"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00", "not UTF-8", id="a picture"),
        pytest.param(
            b'{"format_version": "v1", "evidence": {"samples": [{', "truncated", id="half"
        ),
        pytest.param(
            b'{"eval": {"task": "x"}, "samples": []}', "not a result log", id="another log"
        ),
    ],
)
def test_of_a_damaged_log_nothing_is_kept(content: bytes, said: str) -> None:
    Path("log.json").write_bytes(content)

    with pytest.raises(BadLog, match=said) as refused:
        taken("log.json")

    assert "log.json" in refused.value.message
    assert api.runs() == []


def test_a_specification_that_says_nonsense_of_trials_is_refused() -> None:
    nonsense = {"key": "a", "evalwright": {"aggregates": [{"score": 1}]}}

    with pytest.raises(BadLog, match=r"at `\$\.specification\.evalwright`"):
        taken(saved("log.json", specification=nonsense))

    assert api.runs() == []


def test_one_damaged_log_of_a_folder_stops_all() -> None:
    saved("out/task_results/a/task_result_log.json")
    for name in ("b", "c"):
        saved(f"out/task_results/{name}/task_result_log.json", {"scores": 1})

    with pytest.raises(BadLog) as refused:
        taken("out")

    assert "task_results/b/" in refused.value.message
    assert "task_results/c/" in refused.value.message
    assert refused.value.hint == "nothing was imported"
    assert api.runs() == []


def test_a_path_that_leads_nowhere_is_told() -> None:
    with pytest.raises(Unreadable, match="no such file"):
        taken("nothing.json")


def test_a_folder_without_logs_is_told() -> None:
    Path("empty").mkdir()

    with pytest.raises(UsageError, match="no result logs") as refused:
        taken("empty")

    assert "task_results/KEY/task_result_log.json" in refused.value.hint


def test_an_evaluation_is_no_log() -> None:
    Path("run.yaml").write_text("evaluation: {}\n")

    with pytest.raises(UsageError, match="a result log must be JSON") as refused:
        taken("run.yaml")

    assert "evalwright run run.yaml" in refused.value.hint


@pytest.mark.parametrize("name", ["greetings.json", "orders.eval"])
def test_a_log_of_inspect_is_pointed_to_where_it_belongs(name: str) -> None:
    log = Path(__file__).parents[1] / "datasets" / "inspect" / name

    with pytest.raises((BadLog, UsageError), match="not a result log") as told:
        api.import_results(log)

    assert "source: {type: inspect_ai, file_path:" in told.value.hint


def test_a_run_that_was_imported_cannot_be_scored_again() -> None:
    taken(saved("log.json"))

    with pytest.raises(UsageError, match="was imported"):
        api.score("latest")


def test_no_secret_of_the_environment_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-words-1")
    sample = old_sample(sample={"data": {"text": "it is sk-very-secret-words-1"}})

    taken(saved("log.json", sample))

    (outcome,) = api.export()
    assert "sk-very-secret" not in str(outcome.sample["text"])


POLICY = """
key: bar
display_name: Bar
rules:
  - key: right
    definition: {type: threshold, metric: is_correct_mean, operator: ">=", threshold: 0.1}
"""


@pytest.mark.parametrize(
    "told",
    [
        pytest.param({"status": "cancelled"}, id="cancelled"),
        pytest.param({"execution": {"execution_status": "cancelled"}}, id="its execution was"),
        pytest.param(
            {"status": "failure", "errors": [{"error_type": "stopped", "message": "no time"}]},
            id="stopped",
        ),
    ],
)
def test_a_result_that_was_stopped_is_not_finished_here_either(told: dict[str, Any]) -> None:
    report = taken(saved("a.json", *map(old_sample, range(4)), **told))
    Path("policy.yaml").write_text(POLICY)

    judged = api.gate("latest", ["policy.yaml"])
    api.export_logs("out")
    again = taken("out", store="again.db")

    assert (report.status, again.status) == ("stopped", "stopped")
    for each in (report, again):
        assert any("was not finished in its original run" in note for note in each.notes)
    assert not judged.holds
    (log,) = Path("out").rglob("*.json")
    assert json.loads(log.read_text())["status"] == "failure"


def test_of_two_logs_only_the_one_that_was_stopped_is_exported_so() -> None:
    whole = list(map(old_sample, range(4)))
    saved("both/task_results/a/task_result_log.json", *whole)
    saved("both/task_results/b/task_result_log.json", *whole, status="cancelled")

    taken("both")
    api.export_logs("out")

    statuses = {
        one.parent.name: json.loads(one.read_text())["status"]
        for one in Path("out").rglob("*.json")
    }
    assert statuses == {"a": "success", "b": "failure"}


def test_what_broke_for_the_whole_task_is_a_failure_of_the_run() -> None:
    error = {"error_type": "X", "message": "boom"}

    report = taken(saved("a.json", *map(old_sample, range(4)), status="failure", errors=[error]))

    assert report.status == "finished_with_failures"
    assert ["boom" in one.message for one in report.failures] == [True]


def test_a_result_that_was_stopped_is_not_finished_as_part_of_a_project() -> None:
    saved("log.json", *map(old_sample, range(4)), status="cancelled")
    Path("run.yaml").write_text(
        "evaluation:\n  key: e\n  display_name: E\n  task_specifications:\n"
        "    - {key: before, task_key: gone, task_result_log_path: log.json}\n"
    )

    report = api.run("run.yaml")

    assert report.status == "stopped"
    assert any("`before` was not finished" in note for note in report.notes)


def test_the_notes_of_the_run_come_along() -> None:
    report = taken(saved("a.json", execution={"notes": ["the cap was reached", 7]}))

    assert "the cap was reached" in report.notes


@pytest.mark.parametrize(
    "execution",
    [
        {
            "execution_status": "finished",
            "result_status": "succeeded",
            "is_cached": True,
            "progress": {"progress": 1.0, "num_total_samples": 5, "num_processed_samples": 5},
        },
        {"result_status": None, "is_cached": "maybe", "progress": [7]},
    ],
    ids=["as the format has it", "nonsense"],
)
def test_what_a_log_says_of_its_progress_changes_nothing(execution: dict[str, Any]) -> None:
    plain = taken(saved("a.json"), store="plain.db")
    told = taken(saved("a.json", execution=execution))

    assert told.metrics == plain.metrics
    assert (told.status, told.notes) == (plain.status, plain.notes)


def test_how_far_a_result_of_elsewhere_came_is_said_as_far_as_it_is_known() -> None:
    saved("both/task_results/a/task_result_log.json")
    saved("both/task_results/b/task_result_log.json", status="cancelled")

    taken("both")
    api.export_logs("out")

    found = {
        one.parent.name: json.loads(one.read_text())["execution"]
        for one in Path("out").rglob("*.json")
    }
    assert [found[name]["result_status"] for name in "ab"] == ["succeeded", "failed"]
    assert [found[name]["progress"]["progress"] for name in "ab"] == [1.0, None]
    assert all(one["is_cached"] for one in found.values())


def test_samples_that_were_tried_unequally_often_are_counted_as_they_are() -> None:
    def tried(number: int, times: int) -> dict[str, Any]:
        trial = old_sample(number)
        return {**trial, "trials": [{**trial, "index": index} for index in range(times)]}

    report = taken(saved("a.json", tried(0, 2), tried(1, 1), tried(2, 2), tried(3, 3)))

    assert report.status == "finished"
    assert (report.summary.samples, report.summary.trials) == (4, 8)
    assert any("have 1 to 3 trials" in note for note in report.notes)
    assert not any("not finished" in note for note in report.notes)


def test_runs_that_samples_do_not_have_are_not_counted() -> None:
    log = foreign_log(*map(old_sample, range(4)), metrics=[MEAN], runs=[{}, {}, {}])
    Path("a.json").write_text(json.dumps(log))

    report = taken("a.json")

    assert (report.summary.samples, report.summary.trials) == (4, 0)
    assert any("has 3 runs" in note for note in report.notes)


def test_the_scores_of_a_sample_and_the_numbers_of_its_trials_survive() -> None:
    trial = old_sample(0)
    whole = [{"scorer_key": "equals", "values": {"is_correct": True, "best": 0.75}}]
    trials = [{**trial, "index": index} for index in (3, 5)]
    taken(saved("a.json", {**trial, "scores": whole, "trials": trials}))

    api.export_logs("out")
    taken("out", store="again.db")
    api.export_logs("again", "latest", "again.db")

    for folder in ("out", "again"):
        (log,) = Path(folder).rglob("*.json")
        (sample,) = json.loads(log.read_text())["evidence"]["samples"]
        assert [one["index"] for one in sample["trials"]] == [3, 5]
        assert [one["values"] for one in sample["scores"]] == [whole[0]["values"]]


def test_what_models_took_is_told_where_only_the_sum_is_known() -> None:
    unsaid = {"choices": [{"message": {"role": "assistant", "content": "Paris"}}]}
    messages = {"messages": [{"role": "user", "content": "?"}], "output": unsaid}
    samples = [old_sample(0, solver={"output": {**messages, "raw_outputs": []}})]
    usages = [
        {"model_key": "atlas", "num_prompt_tokens": 900, "num_completion_tokens": 100},
        {"model_key": "judge", "num_prompt_tokens": 5, "num_completion_tokens": 1},
    ]
    log = foreign_log(*samples, model_token_usages=usages)
    Path("a.json").write_text(json.dumps(log))

    report = taken("a.json")
    api.export_logs("out")

    answers, beside = report.usage["atlas"], report.asked_beside["judge"]
    assert (beside.prompt_tokens, beside.cost) == (5, None)
    assert (answers.completion_tokens, answers.cost) == (100, None)
    (path,) = Path("out").rglob("*.json")
    told = json.loads(path.read_text())["evidence"]["model_token_usages"]
    assert {one["model_key"]: one["num_prompt_tokens"] for one in told} == {
        "atlas": 900,
        "judge": 5,
    }


def test_a_figure_that_the_samples_do_not_bear_out_is_noted() -> None:
    mean = {**MEAN, "values": {"is_correct_mean": 0.9}}
    log = foreign_log(*map(old_sample, range(4)), metrics=[mean])
    Path("a.json").write_text(json.dumps(log))

    report = taken("a.json")

    said = "`is_correct_mean` of `equals` is 0.9 in the log, but 0.5 from the scores of its samples"
    assert said in report.notes
    (row,) = report.metrics
    assert row.interval is None
    printed = StringIO()
    print_report(report, printed)
    assert "is_correct_mean: no interval: the log has none" in printed.getvalue()
