"""`examples/ci`: the commands of the jobs, and the comment for a pull request."""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from tests.e2e.in_process import evalwright

EXAMPLE = Path(__file__).parents[2] / "examples" / "ci"
GATE = ("gate", "latest", "--baseline", "baseline:main", "--margin", "0.05")


@pytest.fixture
def branch(tmp_path: Path) -> Path:
    """A folder in which the main branch is blessed, and a branch with a regression was run."""
    folder = tmp_path / "ci"
    shutil.copytree(EXAMPLE, folder)
    for arguments in (
        ("run", "tasks.jsonl", "-m", "replay/answers.jsonl"),
        ("bless", "latest", "main"),
        ("run", "tasks.jsonl", "-m", "replay/answers-of-the-branch.jsonl"),
    ):
        done = evalwright(*arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def without_ids(text: str) -> str:
    return re.sub(r"\d{8}-\d{6}-[0-9a-f]{4}", "RUN", text)


def test_the_comment_of_a_regression_is_the_one_in_the_example(branch: Path) -> None:
    done = evalwright(*GATE, "--format", "markdown", cwd=branch)

    assert done.returncode == 1
    assert without_ids(done.stdout) == (EXAMPLE / "comment.md").read_text()


def test_the_jobs_use_the_commands_of_the_readme(branch: Path) -> None:
    github = yaml.safe_load((EXAMPLE / "github.yml").read_text())
    steps = {step.get("name"): step.get("run") for step in github["jobs"]["eval"]["steps"]}
    gitlab = yaml.safe_load((EXAMPLE / "gitlab.yml").read_text())["eval"]["script"]

    assert steps["run"] == gitlab[0] == 'evalwright run tasks.jsonl -m "$MODEL"'
    assert steps["bless"] == "evalwright bless latest main"
    assert steps["gate"].startswith(f"evalwright {' '.join(GATE)} --format markdown")
    assert f"evalwright {' '.join(GATE)} --format junit > gate.xml" in gitlab[1]
    junit = evalwright(*GATE, "--format", "junit", cwd=branch)
    assert (junit.returncode, junit.stdout.count("<failure")) == (1, 1)
