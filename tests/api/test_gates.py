"""Policies on stored runs: a small project without a model, judged again and again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.session.made import record, write_records

import evalwright as ew
from evalwright import api
from evalwright.errors import UnknownName, UsageError
from evalwright.session.stores import open_store

TASK = """\
key: routing
display_name: Routing
description: Were tickets sent to the right queue?
definition:
  evaluated_entity_type: dataset
  dataset: {key: tickets}
  scorers:
    - key: queue
      type: string_equals
      value: "{{ sample.sent_to }}"
      ground_truth: "{{ sample.queue }}"
"""
RUN = """\
evaluation:
  key: EVALUATION
  display_name: E
  task_specifications: [{key: routing, task_key: routing}]
"""
POLICY = """\
key: release
rules:
  - key: accurate
    display_name: Most arrive
    definition: {type: threshold, metric: is_correct_mean, operator: ">=", threshold: 0.6}
"""
Project = Callable[..., None]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Writes the project, and goes there: three of four tickets arrive."""
    monkeypatch.chdir(tmp_path)

    def write(*, policy: str = "", right: int = 3, evaluation: str = "nightly") -> None:
        rows = "".join(f"{n},a,{'a' if n < right else 'b'}\n" for n in range(4))
        run = RUN.replace("EVALUATION", evaluation)
        files = {
            "run.yaml": run + ("policies: [{$ref: policy.yaml}]\n" if policy else ""),
            "policy.yaml": policy or POLICY,
            "tasks/routing.yaml": TASK,
            "datasets/tickets.yaml": "key: tickets\ndisplay_name: Tickets\n"
            "source: {type: local, file_path: tickets.csv}\n",
            "datasets/tickets.csv": f"n,queue,sent_to\n{rows}",
        }
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    return write


def test_policies_of_a_run_file_are_judged_when_the_run_ends(project: Project) -> None:
    project(policy=POLICY)

    report = ew.run("run.yaml")
    (row,) = report.policies

    assert (row.policy, row.rule, row.name, row.holds) == (
        "release",
        "accurate",
        "Most arrive",
        True,
    )
    assert row.reason.startswith("0.750 ≥ 0.600, but the interval reaches down to 0.3")
    assert api.load().policies == report.policies
    printed: Any = report.to_dict()
    assert printed["policies"][0]["demand"] == "is_correct_mean >= 0.6"
    assert "| release | Most arrive |" in report.to_markdown()


def test_another_threshold_is_the_same_run_with_another_verdict(project: Project) -> None:
    project(policy=POLICY)
    first = ew.run("run.yaml")
    project(policy=POLICY.replace("0.6", "0.9"))
    second = ew.run("run.yaml")
    project()
    third = ew.run("run.yaml")

    assert first.run_id == second.run_id == third.run_id
    assert second.summary.reused == 4
    assert [one.holds for one in (*first.policies, *second.policies)] == [True, False]
    assert third.policies == []
    assert "policies" not in api.find().manifest


def test_a_gate_judges_by_what_the_run_brought(project: Project) -> None:
    project(policy=POLICY)
    run = ew.run("run.yaml")
    project(policy=POLICY.replace("0.6", "0.9"))

    judged = api.gate()

    assert (judged.run_id, judged.holds, judged.strict) == (run.run_id, True, False)
    assert not api.gate(strict=True).holds
    assert not api.gate(run.run_id[:12], ["policy.yaml"]).holds


def test_a_gate_without_policies_is_used_wrongly(project: Project) -> None:
    project()
    ew.run("run.yaml")

    with pytest.raises(UsageError, match="has no policies"):
        api.gate()
    with pytest.raises(UnknownName):
        api.gate("no-such-run", ["policy.yaml"])


def test_all_mistakes_of_policies_are_told_and_nothing_is_judged(project: Project) -> None:
    project()
    ew.run("run.yaml")
    Path("bad.yaml").write_text("key: p\nrules: [{key: a}, {kye: b}]\n")

    with pytest.raises(UsageError, match=r"bad.yaml:2: `definition` is missing; .*kye"):
        api.gate("latest", ["bad.yaml"])
    (check,) = api.check_policies(["bad.yaml"])
    assert [issue.rule for issue in check] == ["missing_key", "missing_key", "unknown_key"]


def test_all_latest_is_the_newest_of_each_evaluation_and_the_run_itself(project: Project) -> None:
    Path("latest.yaml").write_text(POLICY + "    scope: all_latest\n")
    project(right=1, evaluation="weekly")
    ew.run("run.yaml")
    project(right=4, evaluation="weekly")
    weekly = ew.run("run.yaml").run_id
    project(right=3)
    older = ew.run("run.yaml").run_id
    project(right=0)
    newer = ew.run("run.yaml").run_id

    good, bad = (api.gate(one, ["latest.yaml"]).policies[0] for one in (older, newer))

    assert [(one.run_id, one.value) for one in good.figures] == [(older, 0.75), (weekly, 1.0)]
    assert [(one.run_id, one.value) for one in bad.figures] == [(newer, 0.0), (weekly, 1.0)]
    assert (good.holds, bad.holds) == (True, False)


def test_another_evaluation_counts_when_it_is_finished(project: Project) -> None:
    Path("weekly.yaml").write_text(POLICY + "    scope: {evaluation_keys: [weekly]}\n")
    project(evaluation="weekly")
    weekly = ew.run("run.yaml").run_id
    project()
    own = ew.run("run.yaml").run_id

    assert api.gate(own, ["weekly.yaml"]).holds

    store = open_store(None)
    store.update(weekly, status="stopped", manifest=store.find(weekly).manifest)
    store.close()
    (row,) = api.gate(own, ["weekly.yaml"]).policies
    assert row.reason.startswith("there is no finished run of the evaluation `weekly`")


def test_a_run_that_was_killed_holds_nothing_up(project: Project) -> None:
    project(policy=POLICY)
    run_id = ew.run("run.yaml").run_id
    store = open_store(None)
    manifest = {name: one for name, one in store.find(run_id).manifest.items() if name != "report"}
    store.update(run_id, status="running", manifest=manifest)
    store.close()

    (row,) = api.gate().policies

    assert not row.holds
    assert row.reason == f"run {run_id} is not finished (running; samples done: 4)"


def test_a_run_of_task_records_can_be_judged_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_records(tmp_path / "sums.jsonl", record("a"), record("b"))
    ew.run(path, "scripted/oracle")
    scope = "{task_specification_keys: [sums], scorer_keys: [record], metric_keys: [mean]}"
    rule = '{type: threshold, metric: mean, operator: "=", threshold: 1}'
    text = f"key: p\nrules: [{{key: a, definition: {rule}, scope: {scope}}}]\n"
    Path("p.yaml").write_text(text)

    judged = api.gate("latest", ["p.yaml"])

    assert judged.holds
    assert not api.gate("latest", ["p.yaml"], strict=True).holds


def test_no_secret_is_kept_with_a_policy(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELEASE_TOKEN", "tok-98a7sd98a7sd")
    project(policy=POLICY.replace("Most arrive", "tok-98a7sd98a7sd"))

    report = ew.run("run.yaml")

    assert "98a7sd" not in report.to_json()
    assert "98a7sd" not in str(api.find().manifest)
    assert api.gate().holds


def test_a_bad_policy_stops_a_run_before_it_begins(project: Project) -> None:
    project(policy=POLICY.replace("operator", "operatr"))

    with pytest.raises(ew.EvalwrightError, match=r"policy.yaml:5.*did you mean `operator`"):
        ew.run("run.yaml")
    assert api.runs() == []


def spoilt(run_id: str, **changes: object) -> None:
    """A run as another version might have kept it."""
    store = open_store(None)
    run = store.find(run_id)
    store.update(run_id, status=run.status, manifest={**run.manifest, **changes})
    store.close()


def test_a_report_of_another_version_is_told_and_not_guessed_at(project: Project) -> None:
    project(policy=POLICY)
    run_id = ew.run("run.yaml").run_id
    spoilt(run_id, report={"run_id": run_id, "metrics": "none"})

    for read in (api.gate, api.load):
        with pytest.raises(
            UsageError, match=f"report of run {run_id} was written by a different"
        ) as e:
            read()
        assert e.value.hint.startswith("run it again")


def test_a_report_of_another_run_that_cannot_be_read_fails_its_rules_alone(
    project: Project,
) -> None:
    scoped = POLICY + "    scope: all_latest\n"
    project(evaluation="weekly")
    weekly = ew.run("run.yaml").run_id
    spoilt(weekly, report={"status": 3})
    project(policy=scoped)

    report = ew.run("run.yaml")

    (row,) = report.policies
    assert not row.holds
    assert row.reason.startswith(f"run {weekly} has a report from a different version")
    assert report.status == "finished"
    assert api.load().run_id == report.run_id
    assert api.gate("latest", ["policy.yaml"]).policies[0].reason == row.reason


def test_no_policies_may_be_written_as_null(project: Project) -> None:
    project()
    spoilt(ew.run("run.yaml").run_id, policies=None)

    with pytest.raises(UsageError, match="has no policies"):
        api.gate()


def test_policies_that_were_read_are_not_read_again(project: Project) -> None:
    project()
    ew.run("run.yaml")
    read = api.read_policies(["policy.yaml"])
    Path("policy.yaml").unlink()

    assert [list(one) for one in api.check_policies(read)] == [[]]
    assert api.gate("latest", read).holds


def test_a_run_that_was_limited_says_so(project: Project) -> None:
    project(policy=POLICY)

    (row,) = ew.run("run.yaml", limit=2).policies

    assert row.reason.endswith("; over 2 samples; the run was limited to 2 samples per task")
    assert row.figures[0].n == 2
    assert api.gate().policies[0].reason == row.reason


def test_scores_without_a_value_are_shown_told_and_strictly_missed(project: Project) -> None:
    project(policy=POLICY.replace("is_correct_mean", "found_mean"))
    task = """\
    - key: queue
      type: python
      compute_scores_snippet: |
        def compute_scores(sample):
            return {"found": 1.0 if sample["n"] == 0 else None}
      metrics: [{type: mean, field: found}]
"""
    start = TASK.index("    - key: queue")
    Path("tasks/routing.yaml").write_text(TASK[:start] + task)

    report = ew.run("run.yaml")

    (figure,) = report.metrics
    assert (figure.n, figure.absent) == (1, 3)
    assert "| no value |" in report.to_markdown()
    (row,) = report.policies
    assert row.holds
    assert "; over 1 of 4 samples: 3 scores have no value" in row.reason
    (strict,) = api.gate(strict=True).policies
    assert not strict.holds
    assert "no score may be without a value" in strict.reason


def test_figures_of_one_name_are_judged_by_it_and_by_their_own_keys(project: Project) -> None:
    project(policy=POLICY.replace("is_correct_mean", "share"))
    metrics = """\
      metrics:
        - {type: mean, field: is_correct, name: share, key: a}
        - {type: max, field: is_correct, name: share}
"""
    Path("tasks/routing.yaml").write_text(TASK + metrics)

    (row,) = ew.run("run.yaml").policies

    assert [one.metric for one in row.figures] == ["a_share", "max_share"]
    text = POLICY.replace("is_correct_mean", "KEY")
    for key, holds in (("a", True), ("a_share", True), ("max", False)):
        Path("p.yaml").write_text(text.replace("KEY", key))
        assert api.gate("latest", ["p.yaml"]).holds == holds


def test_a_policy_may_be_a_dict_and_a_run_a_report(project: Project) -> None:
    project()
    report = ew.run("run.yaml")
    rule = {"type": "threshold", "metric": "is_correct_mean", "operator": ">=", "threshold": 0.9}
    policy: dict[str, object] = {
        "key": "own",
        "rules": [{"key": "accurate", "definition": rule}],
    }

    assert ew.gate(report, policy) == ew.gate(report.run_id, [policy])
    verdict = ew.gate(report, [policy, "policy.yaml"])
    assert (verdict.run_id, verdict.holds) == (report.run_id, False)
    assert [row.holds for row in verdict.policies] == [True, False]
    assert "FAILS  own/accurate" in str(verdict)
    with pytest.raises(UsageError, match="`rules`: `rules` is missing"):
        ew.gate(report, {"key": "own"})
