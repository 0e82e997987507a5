"""The judged task of the format's own page, with a real model that answers and judges.

The task is run as it is written: its judge is `openai$gpt-4-1-nano`, and a model document of the
project says that this is the model of this machine. Nobody else could be asked: where the
environment says that OpenAI is, nobody listens.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.e2e.commands import COMMAND, SECRET_NAMES, outcomes_in, report_of
from tests.living import PATIENCE_S
from tests.local_model import BESIDE, needs_local_model

pytestmark = needs_local_model

PROJECT = Path(__file__).parent / "seed_tasks"
SCORER = "model_as_a_judge_classifier"
NANO = """\
key: openai$gpt-4-1-nano
display_name: SmolLM2, in the place of a hosted model
config:
  connection_type: provider_connection
  provider_id: local
  model_key: smollm2
"""
RUN = """\
evaluation:
  key: rivers
  display_name: Rivers
  task_specifications:
    - { key: trivia, task_key: hp-trivia, model_key: openai$gpt-4-1-nano }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(PROJECT, tmp_path / "project"))
    (folder / "models").mkdir()
    (folder / "models" / "nano.yaml").write_text(NANO)
    (folder / "run.yaml").write_text(RUN)
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    keyless = {
        name: one
        for name, one in os.environ.items()
        if not name.endswith(SECRET_NAMES) and name != "EVALWRIGHT_STORE"
    }
    return subprocess.run(
        [*COMMAND, "run", "run.yaml", "--json", *arguments],
        cwd=folder,
        env={**keyless, **BESIDE, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


def test_a_local_model_answers_and_judges_in_one_process_and_every_reply_is_a_verdict(
    folder: Path,
) -> None:
    done = run(folder, "-p", "max_tokens=128")

    report = report_of(done)
    (figure,) = report["metrics"]
    assert (figure["n"], figure["failed"]) == (2, 0)
    assert figure["value"] in {0, 0.5, 1}
    assert done.stderr.count(" loaded in ") == 1, "the judge is the model, and in memory once"
    for one in outcomes_in(folder):
        score = one.scores[SCORER]
        assert score.metadata["structured"] is True
        assert score.metadata["judge"] == "openai$gpt-4-1-nano"
        assert score.metadata["prediction"] in {"correct", "incorrect"}
        assert score.values["is_correct"] is (score.metadata["prediction"] == "correct")
    assert [one["requests"] for one in report["asked_beside"].values()] == [2]

    again = run(folder, "-p", "max_tokens=128")

    assert report_of(again)["metrics"] == report["metrics"]
    assert "loaded" not in again.stderr, "nothing is asked twice, so nothing is loaded"


def test_words_of_a_local_judge_that_are_no_verdict_are_a_failure_and_never_a_zero(
    folder: Path,
) -> None:
    task = folder / "tasks" / "trivia.yaml"
    task.write_text(task.read_text().replace("use_structured_outputs: true", ""))

    done = run(folder, "-p", "max_tokens=32")

    outcomes = outcomes_in(folder)
    failed = [one.failure for one in outcomes if one.failure]
    (figure,) = report_of(done, exit_code=3 if failed else 0)["metrics"]
    assert (figure["n"], figure["failed"]) == (2 - len(failed), len(failed))
    assert figure["value"] is not None or not figure["n"]
    for failure in failed:
        assert (failure.stage, failure.type) == ("score", "NoVerdict")
    for one in outcomes:
        if not one.failure:
            assert one.scores[SCORER].metadata["prediction"] in {"correct", "incorrect"}
