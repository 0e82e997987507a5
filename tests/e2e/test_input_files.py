"""Files that documents name: regular, where they may lie, and never waited for."""

import os
from pathlib import Path

import pytest
from tests.e2e import in_process
from tests.e2e.projects import task, write_project

SCORER = """\
  evaluated_entity_type: dataset
  dataset: {key: rows}
  scorers:
    - type: python
      key: judged
      metrics: [{type: mean, field: ok}]
      compute_scores_snippet: !include PATH
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = write_project(tmp_path / "project", tasks__ask=task(SCORER.replace("PATH", "x.py")))
    (folder / "datasets" / "rows.jsonl").write_text('{"question": "1"}\n')
    (tmp_path / "outside.py").write_text("def compute_scores(sample):\n    return {'ok': 1}\n")
    return folder


def include(project: Path, path: str) -> Path:
    document = project / "tasks" / "ask.yaml"
    document.write_text(task(SCORER.replace("PATH", path)))
    return document


def special(path: Path, kind: str) -> str:
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"link": "../outside.py", "device": "/dev/zero"}.get(kind, kind))
    return path.name


@pytest.mark.parametrize(
    ("path", "said"),
    [
        pytest.param("../../outside.py", "outside the project", id="a file beside the project"),
        pytest.param("/etc/passwd", "outside the project", id="a file of the machine"),
        pytest.param("/proc/self/environ", "outside the project", id="proc"),
        pytest.param("/dev/zero", "outside the project", id="a device"),
        pytest.param("/dev/stdin", "outside the project", id="standard input"),
        pytest.param("../none.py", "no such file", id="a missing file"),
    ],
)
@pytest.mark.parametrize("written", ["!include", "$ref"])
def test_a_document_includes_nothing_from_outside_its_project(
    project: Path, path: str, said: str, written: str
) -> None:
    document = include(project, path)
    if written == "$ref":
        document.write_text(f"key: ask\nconfig_spec:\n  $ref: {path}\n")

    done = in_process.evalwright("validate", str(project))

    place = f"{document}:3:9: bad_ref" if written == "$ref" else f"{document}:11:31: bad_include"
    assert done.returncode == 1
    assert f"{place}: `{path}`: " in done.stdout
    assert said in done.stdout
    assert ("--include-root DIR" in done.stdout) == (said == "outside the project")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("pipe", "expected a regular file, got a pipe"),
        ("link", "outside the project"),
        ("device", "outside the project"),
        ("/proc/self/status", "outside the project"),
    ],
)
def test_links_are_resolved_and_pipes_are_not_waited_for(
    project: Path, kind: str, said: str
) -> None:
    document = include(project, f"../{special(project / 'x.py', kind)}")

    done = in_process.evalwright("run", str(document))

    assert done.returncode == 1
    assert f"{document}:11: " in done.stderr
    assert said in done.stderr


def test_a_document_that_is_a_pipe_is_an_error(project: Path) -> None:
    include(project, "../x.py")
    pipe = project / "tasks" / "pipe.yaml"
    os.mkfifo(pipe)

    for path in (project, pipe):
        done = in_process.evalwright("validate", str(path))

        assert done.returncode == 2
        assert f"{pipe}: expected a regular file, got a pipe" in done.stderr


@pytest.mark.parametrize("command", [["validate"], ["lint"], ["run", "--limit", "1"]])
def test_include_root_allows_a_folder(project: Path, command: list[str]) -> None:
    document = include(project, "../../outside.py")
    store = ["--store", str(project / "runs.db")] if command[0] == "run" else []

    done = in_process.evalwright(
        *command, str(document), "--include-root", str(project.parent), *store
    )
    again = in_process.evalwright(*command, str(document), *store)

    assert "outside the project" not in done.stdout + done.stderr
    assert done.returncode == 0
    if command[0] != "lint":
        assert "outside the project" in again.stdout + again.stderr, "for one command only"


def test_include_root_is_a_folder(project: Path) -> None:
    done = in_process.evalwright("validate", str(project), "--include-root", "none")

    assert done.returncode == 2
    assert "'none' does not exist" in done.stderr


def test_a_loose_run_file_includes_from_the_project_above_it(project: Path) -> None:
    (project / "runs").mkdir()
    run = project / "runs" / "a.yaml"
    run.write_text("models:\n  - $provider: openai/x\ndatasets:\n  - $ref: ../datasets/rows.yaml\n")

    done = in_process.evalwright("validate", str(run))

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("source", "pipe"),
    [
        ("{type: local, file_path: rows.jsonl}", "rows.jsonl"),
        ("{type: folder, directory_path: texts}", "a.md"),
    ],
)
def test_a_dataset_file_that_is_a_pipe_is_an_error(project: Path, source: str, pipe: str) -> None:
    document = include(project, "../x.py")
    (project / "x.py").write_text((project.parent / "outside.py").read_text())
    datasets = project / "datasets"
    (datasets / "texts").mkdir()
    (datasets / "rows.jsonl").unlink()
    os.mkfifo(datasets / "rows.jsonl")
    os.mkfifo(datasets / "texts" / "a.md")
    (datasets / "rows.yaml").write_text(f"key: rows\ndisplay_name: Rows\nsource: {source}\n")

    checked = in_process.evalwright("validate", str(project))
    run = in_process.evalwright("run", str(document), "--store", str(project / "runs.db"))

    said = f"{pipe}: rows are read more than once, so a regular file is needed"
    assert (checked.returncode, run.returncode) == (1, 1)
    assert said in checked.stdout
    assert said in run.stderr
