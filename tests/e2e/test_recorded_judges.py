"""Recorded judges: a verdict belongs to a sample and to the answer that was judged."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.in_process import evalwright
from tests.e2e.projects import SOLVER, run_file, task, write_project, write_rows

JUDGE = "model_key: replay/judge.jsonl"
RUBRIC = f"    - {{type: llm_rubric, {JUDGE}, rubric: It is right.}}\n"
STRICT = f"    - {{type: llm_rubric, key: strict, {JUDGE}, rubric: It is complete.}}\n"
OTHER = 'opponent: "{{ sample.other }}"'
PAIRWISE = f"    - {{type: pairwise_judge, {JUDGE}, {OTHER}, both_orders: true}}\n"
ASK = ["{key: one, task_key: ask, model_key: openai$x}"]


def verdict(word: str, sample_id: Any = 0, **judged: str) -> dict[str, Any]:
    line = {"id": sample_id, "output": json.dumps({"reasoning": "r", "verdict": word})}
    return {**line, "judged": judged} if judged else line


def write(
    folder: Path, verdicts: list[dict[str, Any]], scorers: str = RUBRIC, specs: list[str] = ASK
) -> Path:
    write_rows(folder, [{"question": "2 + 2?", "other": "five"}])
    for name, text in (("a", "four"), ("b", "4")):
        answer = {"id": 0, "output": text, "model": "gpt", "seconds": 0.5}
        (folder / f"{name}.jsonl").write_text(json.dumps(answer) + "\n")
    lines = "".join(f"{json.dumps(each)}\n" for each in verdicts)
    (folder / "judge.jsonl").write_text(lines)
    ask = task(f"{SOLVER}  scorers:\n{scorers}")
    return write_project(folder, tasks__ask=ask, run=run_file(*specs))


def run(folder: Path, *models: str) -> Any:
    options = [option for model in models for option in ("-m", f"replay/{model}.jsonl")]
    return evalwright("run", "run.yaml", *options, "--json", cwd=folder)


def values(done: Any) -> dict[tuple[str, str], float]:
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["metrics"]
    return {
        (row["model"].removeprefix("replay/").removesuffix(".jsonl"), row["scorer"]): row["value"]
        for row in rows
        if row["metric"] in {"is_correct_mean", "score_mean"}
    }


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([{"model": "replay/a.jsonl"}, {"model": "replay/b.jsonl"}], id="model"),
        pytest.param([{"answer": "four"}, {"answer": "4"}], id="answer"),
        pytest.param([{"model": "replay/a.jsonl"}, {}], id="one named, one for the rest"),
    ],
)
def test_two_models_get_their_own_verdicts(tmp_path: Path, keys: list[dict[str, str]]) -> None:
    verdicts = [verdict(word, **key) for word, key in zip(("pass", "fail"), keys, strict=True)]

    done = run(write(tmp_path, verdicts), "a", "b")

    assert values(done) == {("a", "llm_rubric"): 1.0, ("b", "llm_rubric"): 0.0}


def test_a_file_without_keys_serves_one_model(tmp_path: Path) -> None:
    assert values(run(write(tmp_path, [verdict("pass")]), "a")) == {("a", "llm_rubric"): 1.0}


def test_two_scorers_and_both_orders_have_their_own_verdicts(tmp_path: Path) -> None:
    verdicts = [
        verdict("pass", scorer="llm_rubric"),
        verdict("fail", scorer="strict"),
        verdict("A", scorer="pairwise_judge", shown_first="answer"),
        verdict("tie", scorer="pairwise_judge", shown_first="opponent"),
    ]

    done = run(write(tmp_path, verdicts, RUBRIC + STRICT + PAIRWISE), "a")

    assert values(done) == {
        ("a", "llm_rubric"): 1.0,
        ("a", "strict"): 0.0,
        ("a", "pairwise_judge"): 0.75,
    }


def test_recorded_comparisons_give_a_ranking(tmp_path: Path) -> None:
    ranking = 'metrics: [{type: bradley_terry, field: score, opponent: "{{ sample.other }}"}]'
    scorer = PAIRWISE.replace("}\n", f", {ranking}}}\n")
    verdicts = [
        verdict("A", answer="four", shown_first="answer"),
        verdict("A", answer="four", shown_first="opponent"),
    ]

    done = run(write(tmp_path, verdicts, scorer), "a")

    rows = json.loads(done.stdout)["metrics"]
    assert [(row["metric"], row["value"], row["n"]) for row in rows] == [
        ("five_rank", 1, 1),
        ("five_strength", 1, 1),
        ("replay/a.jsonl_rank", 1, 1),
        ("replay/a.jsonl_strength", 1, 1),
    ]


@pytest.mark.parametrize(
    ("verdicts", "scorers", "models", "clash", "key"),
    [
        pytest.param([verdict("pass")], RUBRIC, "ab", "`replay/b.jsonl`", "model", id="models"),
        pytest.param(
            [verdict("pass", scorer="llm_rubric")], RUBRIC, "ab", "on the answer of", "model",
            id="models, with the scorer only",
        ),
        pytest.param([verdict("pass")], RUBRIC + STRICT, "a", "`strict`", "scorer", id="scorers"),
        pytest.param(
            [verdict("pass", answer="four")], RUBRIC + STRICT, "a", "`strict`", "scorer",
            id="scorers of one answer",
        ),
        pytest.param([verdict("A")], PAIRWISE, "a", "opponent first", "shown_first", id="orders"),
    ],
)  # fmt: skip
def test_a_line_that_would_serve_two_questions_is_refused_before_the_run(
    tmp_path: Path, verdicts: list[dict[str, Any]], scorers: str, models: str, clash: str, key: str
) -> None:
    done = run(write(tmp_path, verdicts, scorers), *models)

    assert done.returncode == 2
    assert "judge.jsonl:1: this output for the sample `0` would be used twice" in done.stderr
    assert clash in done.stderr
    assert f'"judged":{{"{key}":' in done.stderr
    assert json.loads(evalwright("list", "--json", cwd=tmp_path).stdout) == []


def test_tasks_share_a_file_if_their_samples_have_other_ids(tmp_path: Path) -> None:
    specs = [*ASK, "{key: two, task_key: ask, model_key: openai$x}"]
    folder = write(tmp_path, [verdict("pass")], specs=specs)

    assert "in `two`" in run(folder, "a").stderr

    (folder / "judge.jsonl").write_text(
        f"{json.dumps(verdict('pass', task='one'))}\n{json.dumps(verdict('fail', task='two'))}\n"
    )
    rows = json.loads(run(folder, "a").stdout)["metrics"]
    assert [(row["task"], row["value"]) for row in rows] == [("one", 1.0), ("two", 0.0)]


def test_a_sample_without_its_verdict_fails_and_names_what_is_missing(tmp_path: Path) -> None:
    done = run(write(tmp_path, [verdict("pass", model="another")]), "a")

    assert done.returncode == 3
    report = json.loads(done.stdout)
    (row,) = report["metrics"]
    assert (row["value"], row["failed"]) == (None, 1)
    assert (
        "no output is recorded for '0', trial 1, judged by `llm_rubric`"
        in (report["failures"][0]["message"])
    )


def test_a_null_output_is_a_failure_and_no_wrong_answer(tmp_path: Path) -> None:
    folder = write(tmp_path, [verdict("pass")])
    (folder / "a.jsonl").write_text('{"id": 0, "output": null, "error": "timeout"}\n')

    report = json.loads(run(folder, "a").stdout)

    assert report["summary"]["failed"] == 1
    assert "the output recorded for '0', trial 1 is null" in report["failures"][0]["message"]
