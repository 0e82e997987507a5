"""A recorded judge over rows with a column of human labels: every verdict counts as a verdict."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tests.e2e import in_process
from tests.e2e.projects import write_project, write_rows

ROWS, EQUAL = 500, 355
TASK = """\
key: graded
display_name: Graded
description: Does a judge grade as people do?
definition:
  evaluated_entity_type: dataset
  dataset: {key: rows}
  scorers:
    - type: labeler_via_model
      key: grade
      model_key: replay/judge.jsonl
      verdict_position: first_line
      valid_labels: ["0", "1", "2"]
      user_prompt: "Grade the answer `{{ sample.answer }}` to `{{ sample.question }}`: 0, 1 or 2."
"""
RUN = """\
models:
  - $provider: replay/judge.jsonl
evaluation:
  key: whole
  display_name: Whole
  task_specifications:
    - {key: graded, task_key: graded}
"""
REPLY = "{}\n\n### Reason: The answer has 1 fault, not 2.\n\n### Reference: 1. A book\n2. {}"


def make_rows() -> Iterator[tuple[dict[str, Any], str]]:
    """Yield rows with the labels of people, each with the verdict of the judge."""
    dice = Random(7)
    for number in range(ROWS):
        human = dice.choice("012")
        verdict = (
            human if number < EQUAL else dice.choice([each for each in "012" if each != human])
        )
        row = {"sample_id": f"r{number}", "question": f"Why {number}?", "answer": "So."}
        # Columns that the prompt does not contain may well have what the judge replies.
        yield {**row, "human": human, "earlier_reply": REPLY.format(verdict, number)}, verdict


def test_a_judge_that_replies_what_a_label_column_says_agrees_with_it(tmp_path: Path) -> None:
    made = list(make_rows())
    write_project(tmp_path, run=RUN, tasks__graded=TASK)
    write_rows(tmp_path, (row for row, _ in made))
    replies = (
        {"id": row["sample_id"], "output": REPLY.format(verdict, number)}
        for number, (row, verdict) in enumerate(made)
    )
    (tmp_path / "judge.jsonl").write_text("".join(f"{json.dumps(reply)}\n" for reply in replies))

    done = in_process.evalwright("run", "run.yaml", "--json", cwd=tmp_path)
    check = in_process.evalwright(
        "judge", "check", "latest", "--column", "human", "--json", cwd=tmp_path
    )

    assert (done.returncode, check.returncode) == (0, 0), done.stderr + check.stderr
    assert json.loads(done.stdout)["summary"]["failed"] == 0, "no verdict was refused"
    found = json.loads(check.stdout)
    assert found["agreement"]["figures"]["agreement"]["value"] == EQUAL / ROWS
    assert (found["agreement"]["n"], found["agreement"]["no_verdict"]) == (ROWS, 0)
    assert found["unreadable"] == []
