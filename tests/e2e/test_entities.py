import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.api.demo import demo, files_in
from tests.e2e import in_process
from tests.living import PATIENCE_S

COMMAND = [sys.executable, "-m", "evalwright"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return demo(tmp_path / "project")


def evalwright(*arguments: str, cwd: Path, exit_code: int = 0) -> subprocess.CompletedProcess[str]:
    done = in_process.evalwright(*arguments, cwd=cwd)
    assert done.returncode == exit_code, done.stderr
    return done


def test_init_writes_a_project_that_runs_without_a_network(tmp_path: Path) -> None:
    done = evalwright("init", "demo", cwd=tmp_path)

    assert "  evalwright run run.yaml\n" in done.stderr
    assert done.stdout == ""
    report = json.loads(evalwright("run", "run.yaml", "--json", cwd=tmp_path / "demo").stdout)
    assert report["status"] == "finished"
    evalwright("validate", ".", "tasks.jsonl", cwd=tmp_path / "demo")


def test_the_plural_of_a_kind_lists_it(project: Path) -> None:
    table = evalwright("datasets", cwd=project).stdout.splitlines()
    listed = json.loads(evalwright("dataset", "list", "--json", cwd=project).stdout)

    assert table[0].split() == ["Key", "Name"]
    assert evalwright("list", "datasets", cwd=project).stdout.splitlines() == table
    assert [line.split()[0] for line in table[1:]] == [one["key"] for one in listed]


def test_a_task_goes_from_one_project_to_another(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    added = evalwright("task", "add", "../project/tasks/*.yaml", cwd=other)
    assert "created task `uniqueness`: tasks/uniqueness.yaml, tasks/uniqueness.py" in added.stderr
    evalwright("task", "add", "../project/tasks/sums.yaml", cwd=other)
    changed = project / "tasks" / "sums.yaml"
    changed.write_text(changed.read_text().replace("Sums", "Additions"))
    refused = evalwright("task", "add", str(changed), cwd=other, exit_code=2)
    assert "hint: use `--update` to replace it" in refused.stderr

    updated = evalwright("task", "add", str(changed), "--update", "--json", cwd=other)
    assert json.loads(updated.stdout)[0]["status"] == "updated"


def test_a_bad_document_is_not_added(project: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("key: bad\ndefinition: {scorrers: []}\n")
    before = files_in(project)

    done = evalwright("task", "add", "../bad.yaml", cwd=project, exit_code=1)

    assert "nothing was added" in done.stderr
    assert files_in(project) == before


def test_an_export_can_be_added_elsewhere(project: Path, tmp_path: Path) -> None:
    shown = evalwright("task", "export", "uniqueness", cwd=project).stdout
    evalwright("dataset", "export", "sums", "-o", "../out.yaml", cwd=project)

    (tmp_path / "task.yaml").write_text(shown)
    (tmp_path / "new").mkdir()
    evalwright("task", "add", "../task.yaml", cwd=tmp_path / "new")
    document = json.loads(
        evalwright("dataset", "validate", "../out.yaml", "--json", cwd=project).stdout
    )
    assert document["errors"] == 0


def test_validate_checks_all_of_a_kind_or_one(project: Path) -> None:
    (project / "tasks" / "sums.yaml").write_text("key: sums\ndefinition: {scorrers: []}\n")

    whole = evalwright("task", "validate", cwd=project, exit_code=1)
    assert "tasks/sums.yaml:" in whole.stdout
    assert "7 valid documents" in whole.stderr
    evalwright("task", "validate", "capitals", cwd=project)
    evalwright("dataset", "validate", cwd=project)


def test_delete_asks_for_yes_where_nobody_can_answer(project: Path) -> None:
    before = files_in(project)

    refused = evalwright("task", "delete", "sums", cwd=project, exit_code=2)
    assert "warning: `sums` is used in 2 places:" in refused.stderr
    assert "hint: add --yes to confirm" in refused.stderr
    assert files_in(project) == before

    done = evalwright("task", "delete", "sums", "--yes", "--json", cwd=project)
    assert json.loads(done.stdout)["file"] == "tasks/sums.yaml"
    assert before.keys() - files_in(project).keys() == {"tasks/sums.yaml"}


@pytest.mark.parametrize(("answer", "left"), [(b"n\n", True), (b"y\n", False)], ids=["no", "yes"])
def test_delete_asks_on_a_terminal(answer: bytes, *, left: bool, project: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "dataset", "delete", "customers"],
        cwd=project,
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as asking:
        os.close(theirs)
        os.write(ours, answer)
        code = asking.wait(timeout=PATIENCE_S)
    os.close(ours)

    assert (project / "datasets" / "customers.yaml").exists() is left
    assert code == (130 if left else 0)


def test_what_stands_with_others_is_said_where(project: Path) -> None:
    done = evalwright("eval", "delete", "first-steps", "--yes", cwd=project, exit_code=2)

    assert "is in run.yaml together with other documents" in done.stderr


def test_a_dataset_is_looked_at(project: Path) -> None:
    page = evalwright("dataset", "test", "customers", "-n", "2", cwd=project).stdout
    (project / "datasets" / "customers.csv").write_text("name\n")

    assert "  email: text 4, missing 1\n" in page
    assert page.count("\nRow `") == 2
    evalwright("dataset", "test", "customers", cwd=project, exit_code=1)


def test_a_model_is_asked_once(project: Path) -> None:
    (project / "question.txt").write_text("The capital of Kenya?")

    done = evalwright("model", "test", "responder", "--input", "question.txt", cwd=project)
    assert "  text: Nairobi\n" in done.stdout
    assert done.stderr == "responder answered\n"

    (project / "models" / "responder.py").write_text("def run_inference(body, environment): 1 / 0")
    failed = evalwright("model", "test", "responder", "--json", cwd=project, exit_code=1)
    assert "division by zero" in json.loads(failed.stdout)["error"]["message"]


def test_an_evaluation_is_run_by_its_key(project: Path) -> None:
    (project / "evaluations").mkdir()
    (project / "evaluations" / "small.yaml").write_text(
        "key: small\ndisplay_name: Small\ndescription: One task.\n"
        "config_spec:\n"
        "  - {type: model, key: model, display_name: Model, usage: model_under_test}\n"
        "task_specifications:\n"
        '  - {key: only, task_key: sums, model_key: "<< config.model >>"}\n'
    )
    (project / "config.yaml").write_text(
        "config: {model: responder}\nrun_config: {num_samples: 2}\n"
    )

    done = evalwright(
        "eval", "run", "small", "-c", "config.yaml", "--json", cwd=project, exit_code=0
    )

    report = json.loads(done.stdout)
    assert (report["tasks"], report["summary"]["samples"]) == (["only"], 2)
