"""How often the samples of a project are tried, when the command line has spoken too."""

from pathlib import Path

import pytest
from tests.spec.documents.made import DATASET, MODEL, TASK, project

from evalwright.api.tries import tried_once, with_trials
from evalwright.spec.documents.specs import ResolvedSpec

FANS_OUT = TASK.replace(
    "    type: single_turn_solver\n",
    "    type: single_turn_solver\n    postprocessor: {type: python, postprocess_snippet: "
    '"def postprocess(sample, solver_output): return []"}\n',
)
SYSTEM = """
key: capitals
display_name: Capitals
description: D
definition:
  type: system_task
  compute_evidence_snippet: "def compute_evidence(): return {}"
"""
RUN = """evaluation:
  key: whole
  display_name: Whole
  task_specifications: [{key: a, task_key: capitals%s}]
"""


def specs(folder: Path, task: str, more: str = ", model_key: bot") -> list[ResolvedSpec]:
    files = {
        "tasks/t.yaml": task,
        "datasets/d.yaml": DATASET,
        "models/m.yaml": MODEL,
        "run.yaml": RUN % more,
    }
    found, problems = project(folder, files, "run.yaml").specs()
    assert [one for one in problems if one.level == "error"] == []
    return found


def test_the_command_line_is_before_all(tmp_path: Path) -> None:
    found = specs(tmp_path, TASK, ", model_key: bot, trials: {num_trials: 4}")

    assert [one.num_trials for one in with_trials(found, 2)] == [2]
    assert [one.num_trials for one in with_trials(found, None)] == [4]


@pytest.mark.parametrize(
    ("task", "more", "why"),
    [
        pytest.param(FANS_OUT, ", model_key: bot", "has a postprocessor", id="a postprocessor"),
        pytest.param(SYSTEM, "", "is a system task", id="a system task"),
    ],
)
def test_a_task_whose_samples_cannot_be_tried_several_times_is_named(
    tmp_path: Path, task: str, more: str, why: str
) -> None:
    found = with_trials(specs(tmp_path, task, more), 3)

    (note,) = tried_once(found, 3)

    assert note.startswith(f"a: tried once: the task {why}")


def test_nothing_is_said_where_every_sample_is_tried_as_often_as_it_should_be(
    tmp_path: Path,
) -> None:
    assert list(tried_once(with_trials(specs(tmp_path, TASK), 3), 3)) == []
    assert list(tried_once(with_trials(specs(tmp_path, FANS_OUT), 1), 1)) == []
    assert list(tried_once(specs(tmp_path, FANS_OUT), None)) == []
