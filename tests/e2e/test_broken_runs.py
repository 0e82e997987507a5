"""Runs of `broken_runs/`, each with one mistake that only a run can show, and what is said of it.

Each case is a project: the files that it has not are those of `PROJECT`; `options` are those of the
command. What is said is the exit
code, what stands on stderr where nothing was run, and else each failure and each figure without a
value, as the report has them.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spec.documents.cases import Case, cases, names
from tests.spec.documents.made import written

from evalwright.cli import main

ALL = cases(Path(__file__).parent / "broken_runs")
COMMAND = ["evalwright", "run", "run.yaml", "--json"]
PROJECT = {
    "run.yaml": """\
models:
  - key: parrot
    config:
      connection_type: custom_inference
      timeout: 30
      run_inference_snippet: |
        import json

        def run_inference(body, environment):
            text = json.loads(body)["messages"][-1]["content"]
            return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]})
evaluation:
  key: first
  display_name: First
  task_specifications: [{key: caps, task_key: capitals}]
""",
    "tasks/task.yaml": """\
key: capitals
display_name: Capitals
description: Looks at the names.
definition:
  dataset: {key: countries}
  scorers: [{type: string_equals, value: "{{ sample.capital }}", ground_truth: Paris}]
""",
    "datasets/data.yaml": """\
key: countries
display_name: Countries
source:
  type: inline
  samples: [{country: France, capital: Paris}, {country: Spain, capital: Madrid}]
""",
}


def said(code: int, out: str, err: str) -> Iterator[str]:
    """What a person would read of it, one line each."""
    yield f"exit {code}"
    if not out:
        yield from err.splitlines()
        return
    report = json.loads(out)
    for failure in report["failures"]:
        yield from _failure(failure)
    for figure in report["metrics"]:
        if figure["value"] is None:
            yield f"{figure['metric']} of {figure['scorer']}: {figure['reason']}"


def _failure(failure: dict[str, Any]) -> Iterator[str]:
    ids = ", ".join(failure["sample_ids"])
    yield f"{failure['stage']}: {failure['type']}: {failure['message']}"
    if ids:
        yield f"  samples: {ids}"
    if failure["hint"]:
        yield f"  hint: {failure['hint']}"


@pytest.mark.parametrize("case", ALL, ids=names(ALL))
def test_what_is_said_of_a_run(
    case: Case,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = PROJECT | case.files
    options = files.pop("options", "").split()
    if "  solver:" in files["tasks/task.yaml"] and "run.yaml" not in case.files:
        files["run.yaml"] = files["run.yaml"].replace("capitals}", "capitals, model_key: parrot}")
    written(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [*COMMAND, *options])

    with pytest.raises(SystemExit) as ended:
        main()

    out, err = capsys.readouterr()
    assert ended.value.code in {1, 3}
    case.check("".join(f"{line}\n" for line in said(int(ended.value.code or 0), out, err)))
