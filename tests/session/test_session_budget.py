from pathlib import Path

import pytest

import evalwright as ew

TASK = """\
key: nearness
display_name: Nearness
description: Says the model the same?
definition:
  dataset: {key: pairs}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ sample.text }}"}]
  scorers:
    - {type: semantic_similarity, ground_truth: "{{ sample.text }}", model_key: scripted/oracle}
"""
DATASET = """\
key: pairs
display_name: Pairs
source:
  type: inline
  samples: [{text: one a}, {text: two b}, {text: three c}, {text: four d}]
"""


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"tasks/nearness.yaml": TASK, "datasets/pairs.yaml": DATASET}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)


def test_what_other_models_took_counts_against_the_cap_when_a_run_is_gone_on_with() -> None:
    # The two words of a text are four tokens of the model, and four of the scorer's.
    def run() -> ew.Report:
        return ew.run("tasks/nearness.yaml", ["scripted/echo"], max_tokens_total=15, concurrency=1)

    stopped, again = run(), run()

    assert stopped.notes[-1] == again.notes[-1]
    assert "16 of 15 tokens spent): 2 of 4 samples" in again.notes[-1]
    assert stopped.run_id == again.run_id
