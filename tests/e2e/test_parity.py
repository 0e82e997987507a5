"""The same tasks as records and as documents give the same numbers, tables and verdicts."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, outcomes_in, record, report_of, write_tasks
from tests.e2e.projects import DATASET, task, write_project, write_rows
from tests.local_model import BESIDE, MODEL, needs_local_model
from tests.servers.model_server import Asked, ModelServer, chat

from evalwright import api

MODELS = ("-m", "openai/better", "-m", "openai/worse")
RUN = """\
evaluation:
  key: whole
  display_name: Whole
  task_specifications:
    - {key: tasks, task_key: ask}
"""
SOLVER = """\
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "{{ sample.prompt }}"}
  scorers:
"""
EQUAL = '    - {type: string_equals, ground_truth: "{{ sample.target }}"}\n'
CODE = '    - {type: code_exec, targets: "{{ sample.targets }}"}\n'
CHOICE = """\
    - type: string_equals_mcqa
      ground_truth_choice: "{{ sample.target }}"
      choices: "{{ sample.choices }}"
"""


def write_both(folder: Path, records: Sequence[Mapping[str, Any]], scorer: str) -> None:
    """`tasks.jsonl`, and a project whose rows are the same records."""
    write_tasks(folder, records)
    rows = [
        {
            "sample_id": one["task_id"],
            "prompt": one["prompt"],
            "target": one["targets"][0],
            "targets": one["targets"],
            "category": one["category"],
            "choices": ["A", "B", "C", "D", "E"],
        }
        for one in records
    ]
    write_rows(folder, rows)
    write_project(folder, datasets__rows=DATASET, tasks__ask=task(SOLVER + scorer), run=RUN)


def number_in(prompt: str) -> int:
    return int(re.findall(r"\d+", prompt)[0])


def doubled(asked: Asked) -> str:
    """Twice the number; a model has its own prompts that it does not know."""
    if "Proposed answer:" in asked.prompt:
        return str(50 + number_in(asked.prompt) % 50)
    number = number_in(asked.prompt)
    is_better = asked.body["model"] == "better"
    is_known = number % 5 > 0 if is_better else number % 2 == 0
    return str(2 * number if is_known else number)


def programmed(asked: Asked) -> str:
    """A function that doubles; of numbers that a model does not know, only of 0 or never."""
    number = number_in(asked.prompt)
    body = {0: "return 0", 1: "return 2 * x", 2: "return 2 * x"}[number % 3]
    if asked.body["model"] == "worse" and number % 2:
        body = "return x +"
    return f"Sure:\n```python\ndef double(x):\n    {body}\n```"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(chat(doubled)) as running:
        yield running


def sums(count: int = 24) -> list[dict[str, Any]]:
    kinds = ("arithmetic", "classification", "summary")
    return [
        record(f"s{n}", prompt=f"Twice {n}?", targets=[str(2 * n)], category=kinds[n % 3])
        for n in range(1, count + 1)
    ]


def programs(count: int = 12) -> list[dict[str, Any]]:
    return [
        record(
            f"p{n}",
            prompt=f"Write double, number {n}.",
            targets=["double(0) == 0", f"double({n}) == {2 * n}", "assert double('a') == 'aa'"],
            category="code_exec",
            metric_name="code_exec",
            post_process="extract_code_block",
        )
        for n in range(1, count + 1)
    ]


def run_both(
    server: ModelServer, folder: Path, *options: str, models: Sequence[str] = MODELS
) -> tuple[Any, Any]:
    """The reports of the records and of the project, each in a store of its own."""
    reports = []
    for path in ("tasks.jsonl", "run.yaml"):
        store = ("--store", str(folder / f"{path}.db"))
        done = evalwright(
            server, "run", path, *models, *options, *store, "--json", cwd=folder, env=BESIDE
        )
        reports.append(report_of(done))
    return reports[0], reports[1]


def numbers(report: Any) -> dict[tuple[str, str], Any]:
    """The metrics by model and name: value, interval, its method, and counts."""
    parts = ("value", "ci_low", "ci_high", "interval", "n", "failed", "excluded")
    return {
        (row["model"], re.sub("(score|is_correct)_mean", "mean", row["metric"])): [
            row[part] for part in parts
        ]
        for row in report["metrics"]
    }


def ranks(report: Any) -> Any:
    """The leaderboard without what only a project says: which task it is of."""
    return [
        {name: value for name, value in row.items() if name not in {"task", "metric"}}
        for row in report["leaderboard"]
    ]


def differences(report: Any) -> Any:
    return [
        {name: value for name, value in row.items() if name not in {"task", "metric"}}
        for row in report["pairwise"]
    ]


def assert_same(records: Any, project: Any) -> None:
    assert numbers(project) == numbers(records)
    assert ranks(project) == ranks(records)
    assert differences(project) == differences(records)
    assert project["calibration"] == records["calibration"]
    assert project["perplexity"] == records["perplexity"]
    for report in (records, project):
        assert len(report["leaderboard"]) == 2
        assert len(report["pairwise"]) == 1


def test_exact_match_and_string_equals_agree(server: ModelServer, tmp_path: Path) -> None:
    write_both(tmp_path, sums(), EQUAL)

    records, project = run_both(server, tmp_path)

    assert_same(records, project)
    assert numbers(project)["openai/better", "mean"][0] == pytest.approx(20 / 24)
    assert ranks(project)[0]["categories"].keys() == {"arithmetic", "classification", "summary"}
    assert project["pairwise"][0]["significant"]


def test_text_and_markdown_have_the_tables_of_both(server: ModelServer, tmp_path: Path) -> None:
    write_both(tmp_path, sums(), EQUAL)
    tables = []

    for path in ("tasks.jsonl", "run.yaml"):
        written = tmp_path / f"{path}.md"
        done = evalwright(
            server, "run", path, *MODELS, "--markdown", str(written), cwd=tmp_path, env=BESIDE
        )
        assert done.returncode == 0, done.stderr
        tables.append((done.stdout, written.read_text(encoding="utf-8")))

    for text in (*tables[0], *tables[1]):
        assert "Leaderboard" in text
        assert "Differences" in text
    for of_records, of_project in zip(*tables, strict=True):
        for table, name in (
            ("Leaderboard", "openai/better"),
            ("Leaderboard", "openai/worse"),
            ("Differences", "openai/better − openai/worse"),
        ):
            assert _cells(of_records, table, name) == _cells(of_project, table, name)


def _cells(text: str, table: str, name: str) -> list[str]:
    """What stands in the line of a table that has this name; numbers with two digits."""
    after = text[text.index(table) :]
    line = next(line for line in after.splitlines() if name in line)
    cells = line.replace("\\", "").split("|") if "|" in line else re.split("  +", line)
    return [
        re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]) + 1e-9:.2f}", cell.strip())
        for cell in cells
        if cell.strip()
    ]


@pytest.mark.parametrize("spelling", ["--trials", "--samples"])
def test_several_trials_agree(server: ModelServer, tmp_path: Path, spelling: str) -> None:
    write_both(tmp_path, sums(9), EQUAL)

    records, project = run_both(server, tmp_path, spelling, "3")

    assert_same(records, project)
    assert numbers(project)["openai/better", "pass@2"][0] == pytest.approx(8 / 9)
    assert records["leaderboard"][0]["total"] == project["leaderboard"][0]["total"] == 9


def test_code_that_is_executed_agrees(server: ModelServer, tmp_path: Path) -> None:
    server.behave(chat(programmed))
    write_both(tmp_path, programs(), CODE)

    records, project = run_both(server, tmp_path)

    assert_same(records, project)
    assert numbers(project)["openai/better", "pass@1"][0] == pytest.approx(8 / 12)
    assert project["code_execution"] == records["code_execution"]
    of_records, of_project = (_executions(tmp_path, path) for path in ("tasks.jsonl", "run.yaml"))
    assert of_project == of_records
    assert {one["outcome"] for one in of_project} == {"pass", "assertion_fail", "syntax_error"}
    assert of_project[0].keys() == {
        *("outcome", "passed", "total", "targets", "detail", "tier", "verified", "reason")
    }


def _executions(folder: Path, path: str) -> list[dict[str, Any]]:
    """What became of each program."""
    outcomes = api.export("latest", str(folder / f"{path}.db"))
    return [dict(next(iter(outcome.scores.values())).metadata) for outcome in outcomes]


def test_a_target_that_does_not_compile_fails_its_sample(
    server: ModelServer, tmp_path: Path
) -> None:
    server.behave(chat(programmed))
    broken = {**programs(2)[1], "targets": ["double(1 == 2"]}
    write_both(tmp_path, [broken], CODE)

    for path in ("tasks.jsonl", "run.yaml"):
        done = evalwright(server, "run", path, *MODELS, "--json", cwd=tmp_path)
        report = report_of(done, exit_code=3)

        assert report["summary"]["failed"] == 2
        assert all("does not compile" in row["message"] for row in report["failures"])


def test_options_of_the_sandbox_apply_to_both(server: ModelServer, tmp_path: Path) -> None:
    server.behave(chat(programmed))
    write_both(tmp_path, programs(3), CODE)

    records, project = run_both(server, tmp_path, "--in-process-targets")

    assert_same(records, project)
    assert project["code_execution"]["verified"] is False


def test_another_scorer_is_not_asked_again_because_programs_are_run(
    server: ModelServer, tmp_path: Path
) -> None:
    server.behave(chat(programmed))
    judge = (
        "    - {type: model_as_a_judge_scorer, model_key: openai/judge, user_prompt: 'Rate 1', "
        "score_max: 100}\n"
    )
    write_both(tmp_path, programs(2), judge)
    server.behave(chat(lambda asked: "1" if "Rate" in asked.prompt else programmed(asked)))
    run = ("run", "run.yaml", *MODELS, "--json")
    report_of(evalwright(server, *run, cwd=tmp_path))
    asked = len(server.log)

    write_both(tmp_path, programs(2), judge + CODE)
    report = report_of(evalwright(server, *run, cwd=tmp_path))

    assert len(server.log) == asked
    assert {row["scorer"] for row in report["metrics"]} == {"model_as_a_judge_scorer", "code_exec"}


def test_confidences_of_log_probabilities_agree(server: ModelServer, tmp_path: Path) -> None:
    write_both(tmp_path, sums(), EQUAL)
    models = []
    for place, name in enumerate(("better", "worse")):
        lines = [
            {
                "id": f"s{n}",
                "output": str(2 * n if n % (5 - place) else n),
                "logprobs": [-0.1 * (n % 7), -0.2],
            }
            for n in range(1, 25)
        ]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text)
        models += ["-m", f"replay/{name}.jsonl"]

    records, project = run_both(server, tmp_path, "--calibrate", models=models)

    assert_same(_without_halves(records), _without_halves(project))
    assert project["calibration"]["replay/better.jsonl"]["covered"] == 24


def _without_halves(report: Any) -> Any:
    """The report without temperatures: the halves depend on the name of a project's task."""
    rows = report["calibration"].values()
    assert all(row.pop("scaled")["fitted_on"] for row in rows)
    return report


def test_confidences_that_models_report_agree(server: ModelServer, tmp_path: Path) -> None:
    write_both(tmp_path, sums(), EQUAL)

    records, project = run_both(server, tmp_path, "--confidence", "self")

    assert_same(records, project)
    assert project["calibration"]["openai/better"]["covered"] == 24
    assert project["asked_beside"] == records["asked_beside"]
    assert project["asked_beside"]["openai/worse"]["requests"] == 24
    assert project["notes"] == records["notes"]
    assert {row["scorer"] for row in project["metrics"]} == {"string_equals"}


def test_self_reports_are_reused_and_seen_by_no_rule(server: ModelServer, tmp_path: Path) -> None:
    rule = (
        "  actions:\n    - key: sure\n      action: exclude_from_metrics\n      filter: "
        "{expression: '{{ scores | length }}', op: greater_than, value: 1}\n"
    )
    write_both(tmp_path, sums(6), EQUAL + rule)
    run = ("run", "run.yaml", *MODELS, "--confidence", "self", "--trials", "2", "--json")
    first = report_of(evalwright(server, *run, cwd=tmp_path))
    asked = len(server.log)

    again = report_of(evalwright(server, *run, cwd=tmp_path))
    scored = report_of(evalwright(server, "score", "latest", "--json", cwd=tmp_path))

    assert len(server.log) == asked == 6 * 2 * 2 * 2
    assert first["summary"]["excluded"] == 0
    assert again["calibration"] == scored["calibration"] == first["calibration"]
    assert first["calibration"]["openai/worse"]["covered"] == 12
    scores = outcomes_in(tmp_path)[0].scores
    assert [*scores] == ["string_equals", "$confidence"]
    assert scores["$confidence"].values == {"confidence": 0.51}


def choices(count: int) -> list[dict[str, Any]]:
    """The first of these letters is right; a model that repeats them finds both equally likely."""
    return [
        record(
            f"c{n}",
            prompt=f"{'ABCDE'[n % 5]} or {'ABCDE'[n % 3 + 2]}, number {n}",
            targets=["ABCDE"[n % 5]],
            category="mcq",
            post_process="extract_letter",
        )
        for n in range(count)
    ]


WEIGHING = ("--mcq", "loglikelihood")


def test_choices_by_likelihood_agree(server: ModelServer, tmp_path: Path) -> None:
    write_both(tmp_path, choices(12), CHOICE)

    records, project = run_both(server, tmp_path, *WEIGHING, models=("-m", "scripted/echo"))

    assert numbers(project) == numbers(records)
    assert project["calibration"] == records["calibration"]
    assert project["perplexity"] == records["perplexity"]
    assert 0 < numbers(project)["scripted/echo", "mean"][0] < 1
    assert records["notes"][-1].replace("records", "samples") == project["notes"][-1]
    for path, scorer in (("tasks.jsonl", "record"), ("run.yaml", "string_equals_mcqa")):
        first = next(iter(api.export("latest", str(tmp_path / f"{path}.db"))))
        assert first.trace is not None
        assert [*first.trace.options] == [*"ABCDE"]
        options: Any = first.scores[scorer].metadata["options"]
        assert sum(options.values()) == pytest.approx(1)


@needs_local_model
def test_a_real_model_chooses_the_same_in_both(server: ModelServer, tmp_path: Path) -> None:
    write_both(tmp_path, choices(4), CHOICE)

    records, project = run_both(
        server, tmp_path, *WEIGHING, models=("-m", "scripted/echo", "-m", MODEL)
    )

    assert_same(records, project)


def test_choices_are_scored_again_as_they_were_made(server: ModelServer, tmp_path: Path) -> None:
    write_both(tmp_path, choices(5), CHOICE)
    run = ("run", "run.yaml", "-m", "scripted/echo", "--json")
    letter = report_of(evalwright(server, *run, cwd=tmp_path))

    weighed = report_of(evalwright(server, *run, *WEIGHING, cwd=tmp_path))
    scored = report_of(evalwright(server, "score", "latest", "--json", cwd=tmp_path))

    assert letter["run_id"] != weighed["run_id"]
    assert weighed["summary"]["reused"] == 0
    assert numbers(scored) == numbers(weighed)


def test_a_model_that_weighs_nothing_is_refused_before_it_is_asked(
    server: ModelServer, tmp_path: Path
) -> None:
    write_both(tmp_path, choices(2), CHOICE)

    for path in ("tasks.jsonl", "run.yaml"):
        done = evalwright(server, "run", path, "-m", "openai/x", *WEIGHING, cwd=tmp_path)

        assert done.returncode == 2
        assert "openai/x cannot compute the likelihood of given answers" in done.stderr
    write_both(tmp_path, choices(2), EQUAL)
    done = evalwright(server, "run", "run.yaml", "-m", "openai/x", *WEIGHING, cwd=tmp_path)
    assert done.returncode == 0, "no task of it is multiple choice"


def test_choices_of_another_solver_are_refused(server: ModelServer, tmp_path: Path) -> None:
    write_both(tmp_path, choices(2), CHOICE)
    conversation = SOLVER[: SOLVER.index("    type:")] + (
        "    type: multi_turn_solver\n    message_builders:\n"
        '      - {type: chat_message, role: user, content: "{{ sample.prompt }}"}\n'
        "      - {type: generate}\n  scorers:\n"
    )
    write_project(tmp_path, tasks__ask=task(conversation + CHOICE))

    done = evalwright(server, "run", "run.yaml", "-m", "scripted/echo", *WEIGHING, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        "evalwright: tasks: `--mcq loglikelihood` needs a `single_turn_solver`; "
        "the task has a `multi_turn_solver`\n  hint: use `--mcq letter`, or a different solver\n"
    )
