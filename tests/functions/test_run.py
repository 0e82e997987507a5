"""Tasks, models and scorers that are written in Python, through `ew.run`."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.living import PATIENCE_S, wait_until

import evalwright as ew

ROWS = [{"country": "France", "city": "Paris"}, {"country": "Italy", "city": "Rome"}]
PROMPT = "Capital of {country}?"


@ew.scorer
def mentions_city(sample: dict[str, Any], output: str) -> bool:
    return sample["city"] in output


async def answer_paris(prompt: str) -> str:
    return "Paris" if "France" in prompt else "It is Milan"


def answer_chat(messages: list[dict[str, str]]) -> str:
    return f"{len(messages)}: {messages[-1]['content']}"


class Rome:
    """A model object."""

    name = "mine/rome"
    caveat = ""
    fingerprint = "rome 1"

    async def complete(self, request: ew.Request) -> ew.Completion:
        return ew.Completion(text=f"Rome, not {request.messages[-1].content}")

    async def close(self) -> None:
        pass


def capitals(**changes: Any) -> ew.Task:
    scorers: Any = [mentions_city, "string_equals"]
    return ew.Task("capitals", ROWS, **{"prompt": PROMPT, "scorers": scorers, **changes})


def run(tasks: Any, models: Any, **options: Any) -> ew.Report:
    return ew.run(tasks, models, **{"store": "memory:", **options})


def test_functions_objects_and_names_are_compared_on_a_task_in_memory() -> None:
    report = run(capitals(), models=[answer_paris, "scripted/echo", Rome()])

    assert report.models == ["answer_paris", "scripted/echo", "mine/rome"]
    assert report["capitals"].mean == 0.5
    assert report["capitals", "mine/rome"].mean == 0.5
    assert {(row.scorer, row.metric) for row in report} == {
        ("mentions_city", "score_mean"),
        ("string_equals", "is_correct_mean"),
    }
    assert [row.n for row in report.leaderboard] == [2, 2, 2]
    assert len(report.pairwise) == 3


def test_a_running_event_loop_is_not_blocked() -> None:
    async def both() -> tuple[float | None, float | None]:
        report = await ew.arun(capitals(), answer_paris, store="memory:")
        return report["capitals"].mean, run(capitals(), answer_paris)["capitals"].mean

    assert asyncio.run(both()) == (0.5, 0.5)


def test_functions_answer_records_and_projects(tmp_path: Path) -> None:
    record = {
        "task_id": "a",
        "category": "arithmetic",
        "prompt": "2 + 2",
        "targets": ["4"],
        "metric_name": "exact_match",
        "post_process": "none",
    }
    (tmp_path / "tasks.jsonl").write_text(json.dumps(record))
    (tmp_path / "run.yaml").write_text(PROJECT)

    assert (
        run(tmp_path / "tasks.jsonl", [lambda prompt: str(len(prompt) - 1)]).leaderboard[0].mean
        == 1
    )
    assert run(tmp_path / "run.yaml", answer_paris).metrics[0].value == 0.5


def test_a_file_that_changes_during_a_run_stops_it(tmp_path: Path) -> None:
    record = {
        "category": "arithmetic",
        "prompt": "2 + 2",
        "targets": ["4"],
        "metric_name": "exact_match",
        "post_process": "none",
    }
    lines = [json.dumps({"task_id": f"t{number}", **record}) for number in range(40)]
    path, store = tmp_path / "tasks.jsonl", str(tmp_path / "runs.db")
    path.write_text("\n".join(lines))

    def change_the_targets(prompt: str) -> str:
        path.write_text("\n".join(lines).replace('"4"', '"5"'))  # as long as before
        return str(len(prompt) - 1)

    with pytest.raises(ew.EvalwrightError, match="the file changed while it was in use"):
        run(path, change_the_targets, store=store, concurrency=1)

    report = run(path, lambda prompt: str(len(prompt) - 1), store=store)
    assert (report.status, report.leaderboard[0].mean) == ("finished", 0)


PROJECT = """\
datasets:
  - key: capitals
    display_name: Capitals
    source:
      type: inline
      samples: [{ country: France, city: Paris }, { country: Italy, city: Rome }]
tasks:
  - key: capitals
    display_name: Capitals
    description: D
    definition:
      dataset: { key: capitals }
      solver:
        type: single_turn_solver
        input_builder:
          type: chat_completion
          input_messages: [{ role: user, content: "Capital of {{ sample.country }}?" }]
      scorers: [{ type: string_equals, ground_truth: "{{ sample['city'] }}" }]
evaluation:
  key: e
  display_name: E
  task_specifications: [{ key: capitals, task_key: capitals, model_key: scripted/echo }]
"""


def test_a_python_task_gives_the_numbers_and_keys_of_the_same_document(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(PROJECT)

    document = run(tmp_path / "run.yaml", "scripted/echo")
    python = run(capitals(scorers=["string_equals"]), "scripted/echo")

    def rows(report: ew.Report) -> list[tuple[Any, ...]]:
        return [(row.metric, row.value, row.ci_low, row.ci_high, row.n) for row in report]

    def keys(report: ew.Report) -> list[tuple[str, dict[str, str]]]:
        return [(outcome.solve_key, outcome.score_keys) for outcome in report.samples()]

    assert rows(python) == rows(document)
    assert keys(python) == keys(document)


def test_stored_answers_and_scores_are_reused(tmp_path: Path) -> None:
    asked: list[str] = []

    class Counting:
        fingerprint = "counting"
        caveat = ""

        async def complete(self, request: ew.Request) -> ew.Completion:
            asked.append(request.messages[-1].content)
            return ew.Completion(text="Paris")

        async def close(self) -> None:
            pass

    store = str(tmp_path / "runs.db")
    first = run(capitals(), Counting(), store=store)
    again = run(capitals(), Counting(), store=store)
    other = run(capitals(scorers=[mentions_city]), Counting(), store=store)

    assert asked == ["Capital of France?", "Capital of Italy?"]
    assert again.run_id == first.run_id
    assert (other.run_id == first.run_id, other.summary.reused) == (False, 2)


def test_what_cannot_be_hashed_is_asked_again_and_said(tmp_path: Path) -> None:
    connection = object()
    lines: list[str] = []

    def ask(prompt: str) -> str:
        return f"{prompt} {id(connection)}"

    class Lines:
        def __getattr__(self, name: str) -> Any:
            return lambda *values, **_: lines.append(str(values)) if name == "tell" else None

    store = str(tmp_path / "runs.db")
    first = run(capitals(), ask, store=store)
    again = run(capitals(), ask, store=store, progress=Lines())

    assert first.run_id != again.run_id
    assert any("its answers are not reused, because `connection`" in note for note in again.notes)


def test_messages_trials_and_rows_without_a_model() -> None:
    system = {"role": "system", "content": "{{Brief}}"}
    chat = capitals(prompt="", messages=[system, {"role": "user", "content": PROMPT}], trials=2)
    rows = ew.Task("cities", ROWS, scorers=[is_short])

    report = run([chat, rows], answer_chat)

    outputs = [outcome.trace.output for outcome in report.samples(task="capitals") if outcome.trace]
    assert outputs == ["2: Capital of France?"] * 2 + ["2: Capital of Italy?"] * 2
    assert report["cities"].mean == 0.5
    assert {outcome.trial for outcome in report.samples(task="capitals")} == {0, 1}


@ew.scorer
async def is_short(sample: dict[str, Any]) -> bool:
    return len(sample["city"]) < 5


@ew.scorer(name="length", version=3, limit=6)
def count_characters(output: str, *, limit: int) -> dict[str, Any]:
    return {"is_short": len(output) <= limit, "characters": len(output)}


def test_a_scorer_has_a_name_parameters_and_several_scores() -> None:
    report = run(capitals(scorers=[count_characters]), answer_paris)

    values = {row.metric: row.value for row in report if row.scorer == "length"}
    assert values == {"is_short_mean": 0.5, "characters_mean": 8.0}
    assert count_characters("abc", limit=2) == {"is_short": False, "characters": 3}


@pytest.mark.parametrize("kind", ["iterator", "pandas", "arrow", "csv", "jsonl"])
def test_rows_come_from_anything_that_has_rows(kind: str, tmp_path: Path) -> None:
    data: Any = iter(ROWS)
    if kind == "pandas":
        data = pytest.importorskip("pandas").DataFrame(ROWS)
    elif kind == "arrow":
        data = pytest.importorskip("pyarrow").Table.from_pylist(ROWS)
    elif kind == "csv":
        data = tmp_path / "rows.csv"
        data.write_text("country,city\nFrance,Paris\nItaly,Rome\n")
    elif kind == "jsonl":
        data = str(tmp_path / "rows.jsonl")
        Path(data).write_text("\n".join(map(json.dumps, ROWS)))

    report = run(ew.Task("c", data, prompt=PROMPT, scorers=["string_equals"]), answer_paris)

    assert report["c"].mean == 0.5
    assert report.summary.completed == 2


def test_a_report_is_read_from_python() -> None:
    report = run(capitals(), [answer_paris, Rome()])

    assert repr(report).startswith(f"<Report {report.run_id}: finished, 4 of 4 samples completed")
    assert len(report) == 4
    wrong = list(report.samples(wrong=True, model="answer_paris"))
    assert [outcome.sample["country"] for outcome in wrong] == ["Italy"]
    frame = report.to_pandas() if _has("pandas") else None
    assert frame is None or list(frame["value"]) == [row.value for row in report]
    assert not _has("pyarrow") or report.to_arrow().num_rows == 4
    with pytest.raises(KeyError, match="no task `capitls`; it has `capitals`"):
        report["capitls"]
    with pytest.raises(KeyError, match="no model `x`"):
        report["capitals", "x"]


def _has(module: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        return False
    return True


def returns_nothing(sample: dict[str, Any], output: str) -> None:
    pass


def returns_several(output: str):  # type: ignore[no-untyped-def]  # noqa: ANN201 - the mistake
    return {"a": len(output)}


def takes_other(sample: dict[str, Any], answer: str) -> bool:
    return bool(sample) and bool(answer)


def takes_two(prompt: str, temperature: float) -> str:
    return f"{prompt}{temperature}"


MISTAKES: dict[str, tuple[dict[str, Any], Any, str]] = {
    "a model with two arguments": ({}, takes_two, "`takes_two` must take one argument"),
    "no model": ({}, (), "has a prompt, but there is no model"),
    "a number as a model": ({}, 7, "`7` is not a model"),
    "a scorer with another argument": (
        {"scorers": [takes_other]},
        answer_paris,
        "`takes_other` takes `answer`, which it is not given",
    ),
    "an unknown scorer": ({"scorers": ["string_equal"]}, answer_paris, "string_equals"),
    "a wrong field": (
        {"scorers": [{"type": "string_equals", "ignore": 1}]},
        answer_paris,
        "`ignore`",
    ),
    "no scorer": ({"scorers": []}, answer_paris, "has no scorers"),
    "two scorers of a name": (
        {"scorers": [mentions_city, mentions_city]},
        answer_paris,
        "2 scorers named `mentions_city`",
    ),
    "an unknown column": (
        {"prompt": "Capital of {contry}?"},
        answer_paris,
        "uses `{contry}`, but no row has this column",
    ),
    "an unknown target": ({"target": "town"}, answer_paris, "no row has the column `town`"),
    "no obvious target": (
        {"prompt": "A capital?"},
        answer_paris,
        "which column has the right answer? `country`, `city`",
    ),
    "an expression in a prompt": ({"prompt": "{a.b}"}, answer_paris, "is not the name of a column"),
    "a brace in a prompt": ({"prompt": "{"}, answer_paris, "the prompt is not valid"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence_before_the_first_call(name: str) -> None:
    changes, models, message = MISTAKES[name]

    with pytest.raises(ew.EvalwrightError) as caught:
        run(capitals(**changes), models)

    whole = f"{caught.value.message} {caught.value.hint}"
    assert message in whole
    assert "\n" not in whole


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param({"country": "France"}, "is one dict", id="a dict"),
        pytest.param(["France"], "row 0 is `str`, not a dict", id="texts"),
        pytest.param([], "no rows", id="nothing"),
        pytest.param(7, "expected rows, got `int`", id="a number"),
    ],
)
def test_data_without_rows_says_what_rows_are(data: Any, message: str) -> None:
    with pytest.raises(ew.EvalwrightError, match=message):
        ew.Task("t", data, scorers=[mentions_city])


def test_two_tasks_have_two_names() -> None:
    with pytest.raises(ew.EvalwrightError, match="2 tasks are named `capitals`"):
        run([capitals(), capitals()], answer_paris)


def test_paths_and_tasks_are_not_mixed() -> None:
    with pytest.raises(ew.EvalwrightError, match=r"only `ew\.Task` objects, or only paths"):
        run([capitals(), "tasks.jsonl"], answer_paris)


def return_number(prompt: str) -> str:
    return len(prompt)  # type: ignore[return-value] # the mistake


def return_none(prompt: str) -> str:
    return None if prompt else ""  # type: ignore[return-value] # the mistake


@pytest.mark.parametrize(
    ("scorers", "model", "message"),
    [
        pytest.param([returns_nothing], answer_paris, "got None: is a `return` missing?", id="s"),
        pytest.param([returns_several], answer_paris, "annotate it with `-> dict`", id="dict"),
        pytest.param([mentions_city], return_number, "must return text", id="a number"),
        pytest.param([mentions_city], return_none, "is a `return` missing?", id="no text"),
    ],
)
def test_what_a_function_returns_wrongly_is_a_failure(
    scorers: Any, model: Any, message: str
) -> None:
    report = run(capitals(scorers=scorers), model)

    assert report.summary.failed == 2
    assert message in report.failures[0].message


def test_scoring_a_python_run_again_says_what_to_call(tmp_path: Path) -> None:
    store = str(tmp_path / "runs.db")
    report = run(capitals(), answer_paris, store=store)

    with pytest.raises(ew.EvalwrightError) as caught:
        ew.score(report.run_id, store=store)

    assert "are Python objects, not files" in caught.value.message
    assert "call `ew.run` again" in caught.value.hint


SCRIPT = """\
import sys, time
from pathlib import Path
import evalwright as ew

ROWS = [{"n": n} for n in range(20)]

def ask(prompt: str) -> str:
    with Path("asked").open("a") as file:
        file.write(prompt + "\\n")
    while prompt == "n 15" and not Path("go").exists():
        time.sleep(0.01)
    return prompt

@ew.scorer
def ends(sample, output) -> bool:
    return output.endswith(str(sample["n"]))

report = ew.run(
    ew.Task("numbers", ROWS, prompt="n {n}", scorers=[ends]), ask, store="runs.db", concurrency=1
)
print(report.summary.completed, report.summary.reused, report["numbers"].mean)
"""


def test_a_killed_script_resumes_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "script.py"]
    asked = tmp_path / "asked"
    with subprocess.Popen(command, cwd=tmp_path) as process:
        wait_until(lambda: asked.exists() and "n 15" in asked.read_text())
        os.kill(process.pid, signal.SIGKILL)
    (tmp_path / "go").touch()

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    completed, reused, mean = done.stdout.split()
    assert (completed, mean) == ("20", "1.0")
    assert int(reused) >= 14
    lines = asked.read_text().splitlines()
    assert len(lines) == 20 + 20 - int(reused) - 4


def test_a_cancelled_run_stops_and_is_resumed(tmp_path: Path) -> None:
    store = str(tmp_path / "runs.db")
    rows = [{"n": n} for n in range(50)]
    task = ew.Task("numbers", rows, prompt="{n}", scorers=["latency"])
    reached = threading.Event()
    waits = True

    class Waiting:
        fingerprint, caveat = "waiting", ""

        async def complete(self, request: ew.Request) -> ew.Completion:
            if request.messages[-1].content == "10" and waits:
                reached.set()
                await asyncio.sleep(3600)
            return ew.Completion(text="done")

        async def close(self) -> None:
            pass

    async def cancel() -> bool:
        run = asyncio.create_task(ew.arun(task, Waiting(), store=store, concurrency=1))
        await asyncio.to_thread(reached.wait, PATIENCE_S)
        run.cancel()
        await asyncio.wait([run])
        return run.cancelled()

    assert asyncio.run(cancel())
    waits = False
    report = ew.run(task, Waiting(), store=store, concurrency=1)

    assert (report.status, report.summary.completed, report.summary.reused) == ("finished", 50, 10)
    assert len(ew.runs(store)) == 1
