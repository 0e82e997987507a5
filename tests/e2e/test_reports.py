"""What reports and exports tell people: ranges, names, exact numbers, and why answers are wrong."""

import csv
import json
import os
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import in_process
from tests.e2e.projects import SOLVER, of_rows, run_file, task, write_project, write_rows
from tests.e2e.terminal import find_misfits, on_a_terminal, without_colours

from evalwright.report.tables import display_width

OF_ROWS = "{key: ask, task_key: ask}"
WITH_VALUE = 'def compute_scores(sample):\n    return {"ok": sample["value"]}'


def evalwright(*arguments: str, cwd: Path, exit_code: int = 0) -> str:
    done = in_process.evalwright(*arguments, cwd=cwd)
    assert done.returncode == exit_code, done.stderr
    return done.stdout


def report(*arguments: str, cwd: Path, exit_code: int = 0) -> Any:
    return json.loads(evalwright(*arguments, "--json", cwd=cwd, exit_code=exit_code))


def project_of_values(folder: Path, values: Sequence[float]) -> Path:
    """A project that scores each row by its value."""
    write_rows(folder, [{"value": value} for value in values])

    return write_project(folder, run=run_file(OF_ROWS), tasks__ask=of_rows(WITH_VALUE))


def test_the_mean_of_counts_has_no_interval_below_zero_in_the_starter_project(
    tmp_path: Path,
) -> None:
    evalwright("init", "demo", cwd=tmp_path)

    rows = report("run", "run.yaml", cwd=tmp_path / "demo")["metrics"]

    (messages,) = [row for row in rows if row["metric"] == "messages_mean"]
    assert (messages["value"], messages["ci_low"]) == (8, 0)
    assert messages["ci_high"] > 8


@pytest.mark.parametrize(
    ("values", "lowest"),
    [
        pytest.param([6, 10], 0, id="counts cannot be negative"),
        pytest.param([6.0, 10.0], 0, id="nor can they when written as floats"),
        pytest.param([6.5, 10.25], None, id="other numbers may be"),
        pytest.param([-1, 20], None, id="and whole numbers of which one is"),
    ],
)
def test_an_interval_stays_in_the_range_of_the_score(
    tmp_path: Path, values: list[float], lowest: int | None
) -> None:
    project = project_of_values(tmp_path, values)

    (row,) = report("run", "run.yaml", cwd=project)["metrics"]

    assert row["ci_low"] == lowest if lowest is not None else row["ci_low"] < 0


def test_the_interval_of_a_weighted_average_stays_between_its_weights(tmp_path: Path) -> None:
    weighted = "{type: weighted_average, field: ok, weights: {'1': 1, '2': 5}}"
    project = project_of_values(tmp_path, [1, 2, 2])
    path = project / "tasks" / "ask.yaml"
    path.write_text(path.read_text().replace("{type: mean, field: ok}", weighted))

    (row,) = report("run", "run.yaml", cwd=project)["metrics"]

    assert (row["ci_low"], row["ci_high"]) == (1, 5)


def test_the_mean_of_equal_scores_is_that_score(tmp_path: Path) -> None:
    project = project_of_values(tmp_path, [0.95, 0.95, 0.95])

    (row,) = report("run", "run.yaml", cwd=project)["metrics"]

    assert row["value"] == 0.95
    assert " 0.950 " in evalwright("report", cwd=project)


NAMED = """\
key: ask
display_name: World capitals
description: Does it hold?
definition:
  evaluated_entity_type: dataset
  dataset: {key: rows}
  scorers:
    - type: python
      key: judged
      display_name: Answer key
      compute_scores_snippet: |
        def compute_scores(sample):
            return {"ok": sample["value"]}
      metrics:
        - {type: mean, key: share, field: ok, display_name: Share of right answers}
        - {type: frequency, key: values, field: ok, display_name: Values}
"""


def test_reports_show_display_names_and_json_has_the_keys(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"value": value} for value in (1, 1, 0)])
    write_project(tmp_path, run=run_file(OF_ROWS), tasks__ask=NAMED)

    text = evalwright("run", "run.yaml", "--markdown", "report.md", cwd=tmp_path)

    names = ["World capitals", "Answer key", "Share of right answers", "Values: ok_0"]
    assert all(name in text for name in names)
    assert all(name in (tmp_path / "report.md").read_text() for name in ("World", "Answer key"))
    assert "ok_mean" not in text
    keys = evalwright("report", "--keys", cwd=tmp_path)
    assert ("judged" in keys, "ok_mean" in keys, "World capitals" in keys) == (True, True, False)
    body = report("report", cwd=tmp_path)
    assert (body["metrics"][0]["task"], body["metrics"][0]["scorer"]) == ("ask", "judged")
    assert body["display_names"]["tasks"] == {"ask": "World capitals"}
    assert body["display_names"]["scorers"] == {"ask": {"judged": "Answer key"}}


def test_tasks_with_the_same_display_name_are_told_apart_by_their_keys(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"value": 1}])
    both = (OF_ROWS, OF_ROWS.replace("key: ask,", "key: again,"))
    write_project(tmp_path, run=run_file(*both), tasks__ask=NAMED)

    text = evalwright("run", "run.yaml", cwd=tmp_path)

    assert "World capitals (ask)" in text
    assert "World capitals (again)" in text


RECORD = {
    "task_id": "fr",
    "category": "classification",
    "prompt": "What is the capital of France?",
    "targets": ["Paris"],
    "metric_name": "exact_match",
    "post_process": "strip_whitespace",
    "metadata": {"source": "atlas"},
}


def run_records(folder: Path, *records: dict[str, Any]) -> None:
    """Run records with a model that repeats the question."""
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    (folder / "tasks.jsonl").write_text(lines)
    evalwright("run", "tasks.jsonl", "-m", "scripted/echo", cwd=folder)


def test_an_export_of_records_has_the_records_and_the_reasons(tmp_path: Path) -> None:
    run_records(tmp_path, RECORD, {**RECORD, "task_id": "de", "prompt": "Germany?"})

    rows = [json.loads(line) for line in evalwright("export", cwd=tmp_path).splitlines()]

    assert [row["sample"] for row in rows] == [
        RECORD,
        {**RECORD, "task_id": "de", "prompt": "Germany?"},
    ]
    assert rows[1]["reasons"] == {"record": "'Germany?' against 'Paris'"}


def test_an_export_of_records_to_csv_has_a_column_for_each_part_of_the_record(
    tmp_path: Path,
) -> None:
    run_records(tmp_path, RECORD)

    (row,) = csv.DictReader(StringIO(evalwright("export", "--format", "csv", cwd=tmp_path)))

    assert row["sample.prompt"] == RECORD["prompt"]
    assert json.loads(row["sample.targets"]) == ["Paris"]
    assert (row["sample.category"], row["sample.metadata"]) == (
        "classification",
        '{"source":"atlas"}',
    )
    assert "against 'Paris'" in row["record.reason"]


def test_records_that_changed_since_the_run_are_not_exported_and_that_is_said(
    tmp_path: Path,
) -> None:
    run_records(tmp_path, RECORD)
    (tmp_path / "tasks.jsonl").write_text(json.dumps({**RECORD, "targets": ["London"]}))

    done = in_process.evalwright("export", cwd=tmp_path)

    assert "sample" not in json.loads(done.stdout)
    assert "tasks.jsonl has been changed or removed since the run" in done.stderr


def test_an_export_to_a_json_file_is_one_json_list(tmp_path: Path) -> None:
    run_records(tmp_path, RECORD, {**RECORD, "task_id": "de"})

    evalwright("export", "-o", "out.json", cwd=tmp_path)

    rows = json.loads((tmp_path / "out.json").read_text())
    assert [row["sample_id"] for row in rows] == ["fr", "de"]


def test_wrong_answers_that_contain_their_target_are_counted_with_what_to_change(
    tmp_path: Path,
) -> None:
    prompts = ["The capital of France is Paris.", "paris!", "Parisian", "London"]
    records = [
        {**RECORD, "task_id": str(number), "prompt": prompt}
        for number, prompt in enumerate(prompts)
    ]
    run_records(tmp_path, *records)

    notes = report("report", cwd=tmp_path)["notes"]

    (note,) = [note for note in notes if "target" in note]
    assert note == (
        "2 wrong answers of scripted/echo contain their target ('The capital of France is Paris.' "
        "against 'Paris'): ask for the answer alone in the prompt, change `post_process`, or score "
        "with `f1`"
    )
    assert "contain their target" in evalwright("report", cwd=tmp_path)


def test_a_project_says_too_that_answers_contain_their_target(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"question": "It is Paris.", "answer": "Paris"}])
    asks = f"{SOLVER}  scorers: [{{type: string_equals, ground_truth: '{{{{ sample.answer }}}}'}}]"
    run = run_file("{task_key: ask, model_key: scripted/echo}")
    write_project(tmp_path, run=run, tasks__ask=task(asks))

    text = evalwright("run", "run.yaml", cwd=tmp_path)

    assert "1 wrong answer of scripted/echo contains its target ('It is Paris.' against" in text
    assert "set the `value` of the scorer" in text


POLICY = """\
key: release
display_name: Before a release
rules:
  - key: right
    display_name: Nine of ten answers of every task of the starter project are right
    definition: {type: threshold, metric: is_correct_mean, operator: ">=", threshold: 0.9}
  - key: there
    display_name: Something is there
    definition: {type: exists, metric: words_max}
"""


BAD = """\
{"id": "sum", "category": "arithmatic", "prompt": "", "targets": [], "metric_name": "exact_match"}
{"task_id": "\u9996\u90fd", "category": "mcq", "prompt": "Which?\\nA) \u6771\u4eac\\nB) Paris"}
"""


@pytest.fixture(scope="module")
def finished_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter project after a run, with a policy and a file of invalid records."""
    folder = tmp_path_factory.mktemp("starter") / "demo"
    evalwright("init", str(folder), cwd=folder.parent)
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "bad.jsonl").write_text(BAD, encoding="utf-8")
    evalwright("run", "run.yaml", "--store", "runs.db", cwd=folder)
    return folder


@pytest.fixture
def starter(finished_project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVALWRIGHT_STORE", "runs.db")
    return finished_project


PERPLEXITY = "perplexity tasks.jsonl --field prompt -m scripted/oracle -m scripted/echo"


@pytest.mark.parametrize(
    "command",
    [
        "report",
        "list",
        "list models",
        "list scorers",
        "tasks",
        "show",
        "show --wrong",
        "task show completeness",
        "task test capitals",
        "gate --policy policy.yaml",
        "doctor",
        "validate bad.jsonl",
        pytest.param(PERPLEXITY, id="perplexity"),
        "run tasks.jsonl -m scripted/orcle",
        "run tasks.jsonl -m scripted/oracle -p temprature=1",
    ],
)
def test_everything_fits_eighty_columns_without_a_broken_word(starter: Path, command: str) -> None:
    arguments = command.split()

    shown = on_a_terminal(*arguments, cwd=starter)

    piped = in_process.evalwright(*arguments, cwd=starter, merged=True).stdout
    assert find_misfits(shown, piped) == []
    assert "no such file" not in shown


WIDE = "\u4e16\u754c\u306e\u9996\u90fd"


def test_names_in_wide_and_in_arabic_characters_stay_aligned(tmp_path: Path) -> None:
    arabic = "\u0639\u0648\u0627\u0635\u0645"
    for name in (WIDE, arabic):
        record = {**RECORD, "task_id": name, "prompt": f"{name}?"}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(record), encoding="utf-8")
    outputs = tmp_path / f"{WIDE * 4}.jsonl"
    outputs.write_text(
        "".join(json.dumps({"id": i, "output": WIDE * 30}) + "\n" for i in (WIDE, arabic))
    )
    files = [f"{name}.jsonl" for name in (WIDE, arabic)]
    run = ("run", *files, "-m", "scripted/echo", "-m", f"replay/{outputs.name}")

    shown = without_colours(on_a_terminal(*run, cwd=tmp_path))

    assert max(map(display_width, shown.split("\n"))) <= 80
    rows = [line for line in shown.partition("Mean by file")[2].split("\n")[1:7] if "1/1" in line]
    assert len(rows) == 4
    assert {display_width(row) for row in rows} == {display_width(rows[0])}


def test_a_column_that_does_not_fit_moves_under_its_row(starter: Path) -> None:
    shown = without_colours(on_a_terminal("report", cwd=starter))

    assert re.search(r"Capitals .* 0\.800 .*\n    scorer exact, samples 5, excluded 1\n", shown)


def test_verdicts_are_coloured_and_say_the_same_in_words(starter: Path) -> None:
    gate = ("gate", "--policy", "policy.yaml")

    coloured = on_a_terminal(*gate, cwd=starter)
    plain = on_a_terminal(*gate, cwd=starter, env={**os.environ, "NO_COLOR": "1"})

    assert "\x1b[31m\x1b[1mFAILS\x1b[0m" in coloured
    assert "\x1b[32m\x1b[1mholds\x1b[0m" in coloured
    assert "\x1b" not in plain
    assert without_colours(coloured) == plain
