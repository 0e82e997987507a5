"""A specification that names a result log needs nothing else."""

from pathlib import Path
from typing import Any

import pytest

from evalwright.spec.documents.project import Project, read_project
from evalwright.spec.documents.resolve.specifications import ResolvedSpec

RUN = """\
evaluation:
  key: geography
  display_name: Geography
  description: ""
  config_spec:
    - {type: string, key: week, display_name: Week}
  task_specifications:
    - key: before
      task_key: gone
      model_key: nobody
      task_config: {style: short}
      task_result_log_path: %s
"""


def project(folder: Path, written: str, **files: str) -> Project:
    path = folder / "run.yaml"
    path.write_text(RUN % written, encoding="utf-8")
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return read_project(path, environment={})


def resolved(folder: Path, written: str, **values: str) -> ResolvedSpec:
    specs, problems = project(folder, written).specs(assignments={"week": "7", **values})
    assert [one for one in problems if one.level == "error"] == []
    (spec,) = specs
    return spec


def test_neither_task_nor_model_are_looked_for(tmp_path: Path) -> None:
    spec = resolved(tmp_path, "log.json")

    assert spec.recording is not None
    assert (spec.key, spec.task.key, spec.model_keys) == ("before", "gone", ("nobody",))
    assert spec.values == {"style": "short"}
    assert spec.dataset_keys == {}
    assert not spec.needs_model


def test_the_log_lies_beside_the_document(tmp_path: Path) -> None:
    spec = resolved(tmp_path, "logs/one.json")

    assert spec.recording is not None
    assert Path(spec.recording.file).absolute() == tmp_path / "logs" / "one.json"
    assert spec.recording.path == ("task_specifications", 0, "task_result_log_path")


def test_an_absolute_path_stays_what_it_is(tmp_path: Path) -> None:
    spec = resolved(tmp_path, str(tmp_path / "elsewhere.json"))

    assert spec.recording is not None
    assert spec.recording.file == str(tmp_path / "elsewhere.json")


def test_a_parameter_may_be_in_the_path(tmp_path: Path) -> None:
    spec = resolved(tmp_path, '"week-<< config.week >>.json"', week="42")

    assert spec.recording is not None
    assert Path(spec.recording.file).name == "week-42.json"


@pytest.mark.parametrize("written", ["7", "[a]", '""'])
def test_a_path_is_a_text(tmp_path: Path, written: str) -> None:
    problems: list[Any] = [
        one
        for one in project(tmp_path, written).problems
        if one.field == "evaluation.task_specifications[0].task_result_log_path"
    ]

    assert problems
    assert problems[0].level == "error"


@pytest.mark.parametrize("more", ["trials: {num_trials: 3}", "repeatability: {num_runs: 2}"])
def test_how_often_it_would_be_tried_is_said_to_have_no_effect(tmp_path: Path, more: str) -> None:
    _, problems = project(tmp_path, f"log.json\n      {more}").specs(assignments={"week": "7"})

    (one,) = [one for one in problems if one.rule == "no_effect"]
    assert one.level == "warning"
    assert f"`{more.partition(':')[0]}` has no effect" in one.detail
