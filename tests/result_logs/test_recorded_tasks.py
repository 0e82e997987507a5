"""A specification that names a log is not run: its result is taken from there."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.api.results import FIRST, ROWS, atlas, figures, run_here, write_project
from tests.result_logs.sample_logs import foreign_log, old_sample
from tests.servers.model_server import ModelServer

import evalwright as ew
from evalwright import api
from evalwright.errors import BadDataset, UsageError
from evalwright.report.report import Report
from evalwright.session.progress import SilentProgress

BOTH = """\
models:
  - $provider: openai/atlas
evaluation:
  key: geography
  display_name: Geography
  task_specifications:
    - {key: now, task_key: capitals, model_key: openai$atlas}
    - key: before
      task_key: capitals
      task_result_log_path: out/task_results/first/task_result_log.json
"""
READER = """\
key: reader
display_name: Reader
description: Reads what became of another task.
definition:
  evaluated_entity_type: dataset
  dataset: {source: task_result, key: before}
  scorers:
    - type: string_equals
      value: "{{ sample.solver_output.messages[-1].content }}"
      ground_truth: "{{ sample.sample.capital }}"
"""
CHAIN = """\
evaluation:
  key: chain
  display_name: Chain
  task_specifications:
    - {key: after, task_key: reader}
    - {key: before, task_key: gone, task_result_log_path: log.json}
"""
ONLY = """\
evaluation:
  key: chain
  display_name: Chain
  task_specifications:
    - {key: before, task_key: gone, task_result_log_path: %s}
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.chdir(tmp_path)
    with ModelServer(atlas) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-no-use")
        yield running


def saved(path: str, *samples: Any, **changes: Any) -> None:
    Path(path).write_text(json.dumps({**foreign_log(*samples), **changes}), encoding="utf-8")


def one_run_one_taken() -> Report:
    """A run whose result is exported, and one that has it beside a task that is run."""
    write_project(Path())
    run_here()
    api.export_logs("out")
    assert Path("out", FIRST).exists()
    write_project(Path(), run=BOTH)
    return run_here(fresh=True)


def test_it_stands_in_the_report_among_those_that_were_run(server: ModelServer) -> None:
    report = one_run_one_taken()

    assert report.tasks == ["now", "before"]
    found = figures(report)
    now, before = (found[f"{one}/string_equals/is_correct_mean"] for one in ("now", "before"))
    assert (now.value, now.ci_low, now.n) == (before.value, before.ci_low, before.n)
    assert len(server.log) == 2 * len(ROWS), "only those that were run have asked"
    assert report.summary.samples == 2 * len(ROWS)


def test_a_second_run_takes_it_as_done(server: ModelServer) -> None:
    one_run_one_taken()
    asked = len(server.log)

    again = run_here()

    assert len(server.log) == asked
    assert again.summary.reused == again.summary.samples


def test_another_task_may_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tasks").mkdir()
    Path("tasks/reader.yaml").write_text(READER)
    Path("run.yaml").write_text(CHAIN)
    rows = [{"data": {"capital": "Paris"}}, {"data": {"capital": "Rome"}}]
    saved("log.json", *(old_sample(number, sample=row) for number, row in enumerate(rows)))

    report = ew.run("run.yaml")

    assert figures(report)["after/string_equals/is_correct_mean"].value == 0.5
    assert report.tasks == ["after", "before"]


def test_neither_its_task_nor_its_model_need_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    Path("run.yaml").write_text(ONLY % "logs/one.json")
    saved("logs/one.json", old_sample())

    (checking,) = api.checks(["run.yaml"])

    assert list(checking) == []
    assert ew.run("run.yaml").models == ["atlas"]


def test_the_path_is_relative_to_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path)
    Path("project/run.yaml").write_text(ONLY % "log.json")
    saved("project/log.json", old_sample())

    assert ew.run("project/run.yaml").summary.samples == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(None, "no such file", id="nothing there"),
        pytest.param("{}", "not a result log", id="no log"),
        pytest.param('{"format_version": "v1", "evidence": {"samples": [{"scores": 1}]}}',
                     "expected a list - at `$.evidence.samples[0].scores`", id="damaged"),
    ],
)  # fmt: skip
def test_a_log_that_is_none_is_found_by_validate_at_its_place_and_by_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(ONLY % "log.json")
    if content is not None:
        Path("log.json").write_text(content)

    (problem,) = [one for checking in api.checks(["run.yaml"]) for one in checking]

    assert (problem.line, problem.rule) == (5, "bad_log")
    assert problem.field == "evaluation.task_specifications[0].task_result_log_path"
    assert said in problem.detail
    with pytest.raises(BadDataset) as refused:
        ew.run("run.yaml")
    assert said in refused.value.message
    assert api.runs() == []


def test_it_cannot_be_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(ONLY % "log.json")
    saved("log.json", old_sample())

    with pytest.raises(UsageError, match=r"its result is read from log\.json"):
        api.try_task(api.TaskSelection(path="run.yaml"))


def test_models_of_the_command_line_have_nothing_to_do_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(ONLY % "log.json")
    saved("log.json", old_sample())

    with pytest.raises(UsageError, match="none of its tasks calls a model"):
        ew.run("run.yaml", "scripted/oracle")


def test_a_stop_leaves_it_without_figures_and_the_next_invocation_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(ONLY % "log.json")
    saved("log.json", *map(old_sample, range(5000)), metrics=[])

    class Impatient(SilentProgress):
        patient = False

        def on_commit(self, outcomes: Any) -> None:
            if not self.patient:
                self.patient = bool(outcomes)
                os.kill(os.getpid(), signal.SIGINT)

    stopped = ew.run("run.yaml", progress=Impatient())
    whole = ew.run("run.yaml")

    assert stopped.status == "stopped"
    assert 0 < stopped.summary.samples < 5000
    assert whole.run_id == stopped.run_id
    assert (whole.status, whole.summary.samples) == ("finished", 5000)
