"""A run is exported as result logs, and comes back as the same run."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.api.results import FIRST, ROWS, atlas, figures, log_in, run_here, write_project
from tests.servers.model_server import ModelServer

from evalwright import api
from evalwright.errors import EvalwrightError, UsageError

KEY = "sk-a-key-of-no-use-4711"
TRIALS = """\
models:
  - $provider: openai/atlas
evaluation:
  key: geography
  display_name: Geography
  task_specifications:
    - {key: first, task_key: capitals, model_key: openai$atlas, trials: {num_trials: 3}}
    - {key: often, task_key: capitals, model_key: openai$atlas, repeatability: {num_runs: 2}}
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.chdir(tmp_path)
    with ModelServer(atlas) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield running


def test_an_export_is_a_folder_of_an_evaluation_and_its_logs(server: ModelServer) -> None:
    write_project(Path())
    run_here()

    done = api.export_logs("out")

    assert sorted(str(one) for one in Path("out").rglob("*") if one.is_file()) == [
        "out/geography.yaml",
        f"out/{FIRST}",
    ]
    assert done.evaluation == "out/geography.yaml"
    assert done.logs == [f"out/{FIRST}"]
    assert done.samples == len(ROWS)
    assert "task_result_log_path" not in Path("out/geography.yaml").read_text()
    assert len(server.log) == len(ROWS)


def test_a_log_says_what_the_run_found(server: ModelServer) -> None:
    write_project(Path())
    report = run_here()

    api.export_logs("out")

    assert report.summary.failed == 1
    log = log_in(Path("out", FIRST))
    execution = json.loads(Path("out", FIRST).read_text(encoding="utf-8"))["execution"]
    assert execution["execution_status"] == "finished"
    assert execution["result_status"] == "succeeded"
    assert execution["is_cached"] is False
    assert execution["progress"] == {
        "progress": 1.0,
        "num_total_samples": 5,
        "num_processed_samples": 5,
        "num_samples_with_errors": 1,
    }
    assert log["status"] == "success"
    assert log["specification"]["task_config"] == {"word": "capital"}
    assert log["specification"]["model_key"] == "openai/atlas"
    evidence = log["evidence"]
    assert evidence["failures"] == {"num_errors": 1, "num_total": 5}
    assert [one["sample_id"] for one in evidence["samples"]] == [one["sample_id"] for one in ROWS]
    assert evidence["samples"][3]["action_records"] == [
        {"action": "exclude_from_metrics", "rule_key": "no-island"}
    ]
    assert [one["stage"] for one in evidence["samples"][4]["errors"]] == ["solver"]
    mean = next(one for one in evidence["metrics"] if one["scorer_key"] == "string_equals")
    assert mean["values"] == {"is_correct_mean": pytest.approx(2 / 3)}
    assert mean["scorer_name"] == "Exact"
    assert mean["metric_type"] == "mean"
    assert server.log


@pytest.mark.parametrize("run", ["once", "with trials and runs"])
def test_export_import_export_is_the_same_but_for_when_it_was(
    server: ModelServer, run: str
) -> None:
    write_project(Path(), **({} if run == "once" else {"run": TRIALS}))
    report = run_here()
    api.export_logs("out", link_logs=True)
    asked = len(server.log)

    imported = api.import_results("out", "other.db")
    api.export_logs("again", "latest", "other.db", link_logs=True)

    assert figures(imported) == figures(report)
    for part in ("rules", "usage", "asked_beside", "failures", "repeatability", "flaky"):
        assert getattr(imported, part) == getattr(report, part)
    assert imported.summary.samples == report.summary.samples
    for log in sorted(Path("out").rglob("*.json")):
        assert log_in(Path("again", log.relative_to("out"))) == log_in(log)
    assert len(server.log) == asked, "nobody was asked again"


def test_linked_logs_make_the_folder_a_project_of_its_own(server: ModelServer) -> None:
    write_project(Path())
    report = run_here()
    api.export_logs("out", link_logs=True)
    asked = len(server.log)

    import evalwright as ew

    again = ew.run("out/geography.yaml", store="other.db")
    api.export_logs("again", "latest", "other.db")

    assert figures(again) == figures(report)
    assert len(server.log) == asked
    assert any("`first` was not run" in note for note in again.notes)
    execution = json.loads(Path("again", FIRST).read_text(encoding="utf-8"))["execution"]
    assert execution["is_cached"] is True, "and the log says so"


def test_each_model_of_a_task_has_a_log_of_its_own(server: ModelServer) -> None:
    write_project(Path())
    run_here(models=["openai/atlas", "openai/globe"])

    done = api.export_logs("out", link_logs=True)
    imported = api.import_results("out", "other.db")

    assert done.logs == [
        f"out/task_results/first-openai-{name}/task_result_log.json" for name in ("atlas", "globe")
    ]
    assert imported.models == ["openai/atlas", "openai/globe"]
    assert imported.tasks == ["first-openai-atlas", "first-openai-globe"]
    assert server.log


def test_no_secret_is_in_an_export(server: ModelServer) -> None:
    write_project(Path())
    Path("datasets/countries.jsonl").write_text(
        json.dumps({"country": "France", "capital": f"Paris {KEY}"}) + "\n"
    )
    run_here()

    api.export_logs("out", link_logs=True)

    written = [one.read_text(encoding="utf-8") for one in Path("out").rglob("*") if one.is_file()]
    assert len(written) == 2
    assert all(KEY not in text for text in written)
    assert server.log


def test_a_folder_with_something_in_it_is_left_as_it_is(server: ModelServer) -> None:
    write_project(Path())
    run_here()
    Path("out").mkdir()
    api.export_logs("out")

    with pytest.raises(UsageError, match="already exists") as refused:
        api.export_logs("out")

    assert "new or empty" in refused.value.hint
    assert server.log


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_told(server: ModelServer) -> None:
    write_project(Path())
    run_here()
    Path("closed").mkdir(mode=0o500)

    with pytest.raises(EvalwrightError, match="cannot be written"):
        api.export_logs("closed/out")

    assert server.log


def test_what_breaks_while_it_is_written_leaves_nothing(server: ModelServer) -> None:
    write_project(Path())
    run_here()
    Path("file").write_text("")

    with pytest.raises(EvalwrightError, match="file/out: cannot be written"):
        api.export_logs("file/out")

    assert sorted(one.name for one in Path().iterdir() if "part" in one.name) == []
    assert server.log


def test_a_run_of_task_records_has_no_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    import evalwright as ew
    from evalwright.spec.records.fixtures import TASKS

    ew.run(str(TASKS), "scripted/oracle", limit=2, unsafe_code_exec=True)

    with pytest.raises(UsageError, match="is a run of task records"):
        api.export_logs("out")


def test_a_run_that_did_not_end_has_no_logs(server: ModelServer) -> None:
    from evalwright.session.stores import open_store

    write_project(Path())
    report = run_here()
    store = open_store(None)
    manifest = {key: one for key, one in store.find("latest").manifest.items() if key != "results"}
    store.update(report.run_id, status="running", manifest=manifest)
    store.close()

    with pytest.raises(UsageError, match="has no metrics to export"):
        api.export_logs("out")

    assert not Path("out").exists()
    assert server.log
