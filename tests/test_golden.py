"""Three tiny runs, whole reports, compared with files.

`make golden` writes the files anew. A change that moves a number shows here first: look at the
diff, and if a score has moved, the component it comes from needs a new `version`.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import evalwright as ew
from evalwright.spec.records.fixtures import TASKS

GOLDEN = Path(__file__).parent / "golden"
WRITE = os.environ.get("EVALWRIGHT_GOLDEN") == "write"
# Sums may differ in their last digits from one processor to the next.
DIGITS = 9

MIXED = """\
{"task_id": "a1", "category": "arithmetic", "prompt": "2 + 2", "targets": ["4"], "metric_name": "exact_match", "post_process": "strip_whitespace"}
{"task_id": "a2", "category": "arithmetic", "prompt": "2 + 3", "targets": ["5"], "metric_name": "exact_match", "post_process": "strip_whitespace"}
{"task_id": "a3", "category": "arithmetic", "prompt": "2 + 4", "targets": ["6"], "metric_name": "exact_mach", "post_process": "none"}
{"task_id": "s1", "category": "summary", "prompt": "Shorten: a b c d", "targets": ["a b"], "metric_name": "f1", "post_process": "none"}
not a record
{"task_id": "s2", "category": "summary", "prompt": "Shorten: e f g h", "targets": ["e f"], "metric_name": "rouge_l", "post_process": "none"}
{"task_id": "c1", "category": "code_exec", "prompt": "def one():", "targets": ["one() == 1", "one() +"], "metric_name": "code_exec", "post_process": "none"}
{"task_id": "a1", "category": "arithmetic", "prompt": "3 + 3", "targets": ["6"], "metric_name": "exact_match", "post_process": "none"}
"""  # noqa: E501 - a record is a line
GOOD = """\
{"id": "a1", "output": " 4 ", "logprobs": [-0.25]}
{"id": "a2", "output": "5", "logprobs": [-0.5]}
{"id": "s1", "output": "a b c", "logprobs": [-0.5, -0.25, -0.125]}
{"id": "s2", "output": "f e", "logprobs": [-1.5, -2]}
{"id": "c1", "output": "def one(): return 1"}
"""
POOR = """\
{"id": "a1", "output": "5"}
{"id": "s1", "output": "d"}
{"id": "s2", "output": "e f"}
"""
TRIALS = """\
{"task_id": "t1", "category": "arithmetic", "prompt": "2 + 2", "targets": ["4"], "metric_name": "exact_match", "post_process": "none", "metadata": {"samples": 10}}
{"task_id": "t2", "category": "arithmetic", "prompt": "2 + 3", "targets": ["5"], "metric_name": "exact_match", "post_process": "none", "metadata": {"samples": 5}}
{"task_id": "t3", "category": "mcq", "prompt": "Pick B.", "targets": ["B"], "metric_name": "exact_match", "post_process": "extract_letter", "metadata": {"samples": 5}}
{"task_id": "t4", "category": "code_exec", "prompt": "def one():", "targets": ["one() == 1"], "metric_name": "code_exec", "post_process": "extract_code_block", "metadata": {"samples": 4, "solution": "def one():\\n    return 1"}}
{"task_id": "t5", "category": "mcq", "prompt": "Pick C.", "targets": ["C"], "metric_name": "exact_match", "post_process": "extract_letter"}
"""  # noqa: E501 - a record is a line


def fixtures() -> ew.Report:
    models = ["scripted/oracle", "scripted/noisy", "scripted/biased"]
    return ew.run(TASKS, models)


def failures() -> ew.Report:
    Path("mixed.jsonl").write_text(MIXED, encoding="utf-8")
    Path("good.jsonl").write_text(GOOD, encoding="utf-8")
    Path("poor.jsonl").write_text(POOR, encoding="utf-8")
    models = ["replay/good.jsonl", "replay/poor.jsonl", "scripted/echo"]
    return ew.run("mixed.jsonl", models, allow_bad_tasks=True)


def trials() -> ew.Report:
    Path("trials.jsonl").write_text(TRIALS, encoding="utf-8")
    models = ["scripted/biased", "scripted/noisy"]
    return ew.run("trials.jsonl", models, bins=15)


def comparable(report: ew.Report) -> dict[str, Any]:
    """A report without what no two runs share."""
    found: dict[str, Any] = _rounded(report.to_dict())
    found["run_id"] = found["version"] = "-"
    found["code_execution"]["tier"] = "-"  # the machine's; whether it is verified is ours
    found["summary"]["wall_seconds"] = 0.0
    return found


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("make", [fixtures, failures, trials], ids=lambda make: make.__name__)
def test_a_run_gives_the_report_it_gave_before(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = GOLDEN / f"{make.__name__}.json"
    monkeypatch.chdir(tmp_path)

    found = comparable(make())

    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(path.read_text(encoding="utf-8"))


def test_there_is_no_file_that_no_run_makes() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {
        "failures.json",
        "fixtures.json",
        "trials.json",
    }
