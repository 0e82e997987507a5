"""Several run files in one folder: only the one that is run is read."""

import json
from pathlib import Path

import pytest
from tests.e2e.in_process import evalwright
from tests.e2e.projects import of_rows, write_project, write_rows

RUN = """\
secrets: {{TOKEN: "{value}"}}
models:
  - key: answerer
    display_name: Answerer
    config: {{connection_type: custom_connection, url: "http://{host}.invalid/v1"}}
evaluation:
  key: {name}
  display_name: Whole
  task_specifications:
    - {{key: {name}, task_key: ask}}
"""
OK = "def compute_scores(sample):\n    return {'ok': True}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rows(tmp_path, [{"n": 1}])
    return write_project(
        tmp_path,
        run=RUN.format(name="whole", host="a", value=1),
        nightly=RUN.format(name="nightly", host="b", value=2),
        broken="models: 5\nevaluation: {key: 3}\n",
        tasks__ask=of_rows(OK),
    )


@pytest.mark.parametrize(("file", "task"), [("run.yaml", "whole"), ("nightly.yaml", "nightly")])
def test_only_the_run_file_that_is_run_is_read(folder: Path, file: str, task: str) -> None:
    done = evalwright("run", file, "--json", cwd=folder)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tasks"] == [task]
    assert evalwright("validate", file, cwd=folder).returncode == 0


def test_a_mistake_in_another_run_file_does_not_matter(folder: Path) -> None:
    (folder / "run.yaml").write_text("models: 5\nevaluation: {key: 3}\n", encoding="utf-8")

    done = evalwright("run", "nightly.yaml", "--json", cwd=folder)

    assert done.returncode == 0, done.stderr


def test_a_folder_stands_for_its_run_yaml(folder: Path) -> None:
    done = evalwright("run", ".", "--json", cwd=folder)

    assert json.loads(done.stdout)["tasks"] == ["whole"]
