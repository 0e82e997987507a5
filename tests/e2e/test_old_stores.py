"""A store that the version before wrote: its runs are listed, shown, reported, resumed, scored."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import in_process

from evalwright.store.sqlite import SqliteStore
from evalwright.types import Outcome, Run, RunStatus, Score, Trace, Usage

RECORD = (
    '{"task_id": "t%d", "category": "arithmetic", "prompt": "what is %d?", "targets": ["%d"], '
    '"metric_name": "exact_match", "post_process": "none"}\n'
)
TASK = """\
key: caps
display_name: Capitals
description: Says the model the same?
definition:
  dataset: {key: words}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ sample.city }}"}]
  scorers:
    - {type: string_equals, key: exact, ground_truth: "{{ sample.city }}"}
"""
DATASET = """\
key: words
display_name: Words
source: {type: inline, samples: [{city: Rome}, {city: Oslo}, {city: Bonn}]}
"""
COMMON: dict[str, Any] = {
    "sandbox": None,
    "fresh": False,
    "seed": 0,
    "bins": 10,
    "calibrate": False,
    "parameters": {},
    "notes": [],
    "evalwright": "0.1.0",
    "python": "3.11.7",
    "platform": "Linux",
    "git": None,
}
RECORDS: dict[str, Any] = {
    **COMMON,
    "plan": {
        "tasks": [
            {
                "name": "tasks",
                "path": "tasks.jsonl",
                "records": 3,
                "code_exec": 0,
                "trials": 3,
                "tries": [],
                "digest": "705f7462f871daaffe9da772083d7cb5",
                "issues": [],
            }
        ],
        "models": ["scripted/oracle"],
        "limit": None,
        "samples": None,
    },
    "models": {"scripted/oracle": "1"},
    "solver": {"record": 1},
    "scorers": {"record": 2},
    "stopped": {
        "reason": "1 sample failed, more than the 0 allowed",
        "go_on": "the same command goes on",
    },
}
PROJECT: dict[str, Any] = {
    **COMMON,
    "plan": {
        "tasks": [
            {
                "name": "caps",
                "task_key": "caps",
                "display_name": "Capitals",
                "kind": "model",
                "models": ["scripted/echo"],
                "records": 3,
                "trials": 1,
                "repeats": 1,
                "after": "",
                "values": {},
                "digest": "37d74107214c340ec2f6905a6a09ccab",
                "landed": 0,
            }
        ],
        "models": ["scripted/echo"],
        "evaluation": "",
        "path": "tasks/caps.yaml",
        "limit": None,
        "samples": None,
        "kind": "documents",
    },
    "models": {"scripted/echo": "1"},
    "solver": {"single_turn_solver": 1},
    "scorers": {"exact": 1},
    "by_sample": ["scripted/echo"],
    "specifications": {},
    "judges": [],
    "told": {"models": ["scripted/echo"]},
    "stopped": None,
}
RUN_RECORDS = ("run", "tasks.jsonl", "-m", "scripted/oracle")
RUN_PROJECT = ("run", "tasks/caps.yaml", "-m", "scripted/echo")


def answer(output: str, **fields: Any) -> Trace:
    return Trace(
        input="?",
        output=output,
        post_processed=output,
        usage=Usage(requests=1, prompt_tokens=3, completion_tokens=1, cost=0.0),
        **fields,
    )


def record_outcomes() -> list[Outcome]:
    """Of the first two records. The model would not answer so: it was not asked again."""
    keys = ["2e4e42e73261812b5ab6905b1c273652", "e99551febc3ca775f733660bd32d2b5c"]
    return [
        Outcome(
            task="tasks",
            model="scripted/oracle",
            sample_id=f"t{n}",
            ordinal=n,
            group="arithmetic",
            trace=answer(f"stored {n}"),
            scores={"record": Score(values={"score": 0.0}, correct=False)},
            solve_key=key,
            score_keys={"record": f"old {n}"},
        )
        for n, key in enumerate(keys)
    ]


def row_outcomes() -> list[Outcome]:
    """Of the first two rows. The model would not answer so: it was not asked again."""
    keys = ["46ba37d6ef8cba4e97a3749dacabdb63", "b4e5a8899a498c096d8774435abb6776"]
    return [
        Outcome(
            task="caps",
            model="scripted/echo",
            sample_id=str(n),
            ordinal=n,
            group="model",
            sample={"city": ("Rome", "Oslo")[n]},
            trace=answer(
                f"stored {n}",
                conversation={
                    "items": [
                        {
                            "type": "message",
                            "role": "assistant",
                            "content": [{"type": "output_text", "text": f"stored {n}"}],
                        }
                    ],
                    "raw_outputs": [],
                    "direct_ios": [],
                },
            ),
            scores={"exact": Score(values={"is_correct": False}, correct=False)},
            solve_key=key,
            score_keys={"exact": f"old {n}"},
        )
        for n, key in enumerate(keys)
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tasks, and a store with a stopped run of records and a killed run of a project."""
    monkeypatch.setenv("EVALWRIGHT_STORE", "runs.db")
    files = {
        "tasks.jsonl": "".join(RECORD % (n, n, n) for n in range(3)),
        "tasks/caps.yaml": TASK,
        "datasets/words.yaml": DATASET,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    store = SqliteStore(tmp_path / "runs.db")
    begin(store, "20250101-000000-aaaa", "stopped", RECORDS, record_outcomes())
    project = {**PROJECT, "folder": str(tmp_path)}
    begin(store, "20250102-000000-bbbb", "running", project, row_outcomes())
    store.close()
    return tmp_path


def begin(
    store: SqliteStore,
    id_: str,
    status: RunStatus,
    manifest: dict[str, Any],
    outcomes: Sequence[Outcome],
) -> None:
    when = f"{id_[:4]}-{id_[4:6]}-{id_[6:8]}T00:00:00+00:00"
    store.begin(
        Run(
            id=id_,
            created=when,
            updated=when,
            status=status,
            plan_key="of the version before",
            manifest=manifest,
        )
    )
    store.append(id_, outcomes)


def evalwright(folder: Path, *arguments: str, exit_code: int = 0) -> str:
    done = in_process.evalwright(*arguments, cwd=folder)
    assert done.returncode == exit_code, done.stderr
    return done.stdout


def outputs(folder: Path, run: str) -> list[str]:
    lines = evalwright(folder, "export", run, "--format", "jsonl").splitlines()
    return [json.loads(line)["output"] for line in lines]


def test_its_runs_are_listed_and_shown(folder: Path) -> None:
    listed = json.loads(evalwright(folder, "list", "runs", "--json"))

    assert {run["id"][-4:]: (run["status"], run["done"], run["total"]) for run in listed} == {
        "aaaa": ("stopped", 2, 3),
        "bbbb": ("running", 2, 3),
    }
    assert "not finished" in evalwright(folder, "report", "20250101")
    for run in ("20250101", "20250102"):
        assert "2 of 3" in evalwright(folder, "show", run)
        assert "stored 1" in evalwright(folder, "show", run, "--wrong")
        assert outputs(folder, run) == ["stored 0", "stored 1"]


@pytest.mark.parametrize(
    ("command", "run", "last"),
    [
        pytest.param(RUN_RECORDS, "20250101-000000-aaaa", "2", id="records"),
        pytest.param(RUN_PROJECT, "20250102-000000-bbbb", "Bonn", id="a project"),
    ],
)
def test_an_unfinished_run_is_resumed_by_the_same_command(
    folder: Path, command: tuple[str, ...], run: str, last: str
) -> None:
    report = json.loads(evalwright(folder, *command, "--json"))
    again = json.loads(evalwright(folder, *command, "--json"))

    assert (report["run_id"], report["status"]) == (run, "finished")
    assert (report["summary"]["reused"], report["summary"]["completed"]) == (2, 3)
    assert report["metrics"][0]["value"] == pytest.approx(1 / 3)
    assert outputs(folder, run) == ["stored 0", "stored 1", last]
    assert (again["run_id"], again["summary"]["reused"]) == (run, 3), "it stays the same run"
    assert json.loads(evalwright(folder, "report", run, "--json"))["metrics"] == report["metrics"]
    assert len(json.loads(evalwright(folder, "list", "runs", "--json"))) == 2


@pytest.mark.parametrize(
    ("run", "message"),
    [
        pytest.param("20250101-000000-aaaa", "no answer is stored for 't2'", id="records"),
        pytest.param("20250102-000000-bbbb", "no answer is stored for '2'", id="a project"),
    ],
)
def test_stored_answers_are_scored_again(folder: Path, run: str, message: str) -> None:
    report = json.loads(evalwright(folder, "score", run, "--json", exit_code=3))

    assert report["run_id"] != run
    assert (report["summary"]["completed"], report["summary"]["reused"]) == (2, 2)
    assert report["failures"][0]["message"].startswith(message)
    assert outputs(folder, "latest")[:2] == ["stored 0", "stored 1"]


def test_a_run_that_cannot_be_read_does_not_keep_others_from_being_listed_and_run(
    folder: Path,
) -> None:
    store = SqliteStore(folder / "runs.db")
    manifest = {"version": 99, "plan": {"tasks": "none"}}
    begin(store, "20990101-000000-cccc", "running", manifest, [])
    store.close()

    evalwright(folder, "run", "tasks.jsonl", "-m", "scripted/echo", "--json")
    listed = json.loads(evalwright(folder, "list", "--json"))
    evalwright(folder, "report", "20990101", exit_code=2)

    assert "20990101-000000-cccc" in {run["id"] for run in listed}
