from typing import Any

from msgspec import structs

from evalwright.report.layout import lay_out_blocks
from evalwright.report.runs import ListedRun, ShownRun, list_table, run_facts

TASK = {
    "name": "tasks",
    "path": "data/tasks.jsonl",
    "records": 10,
    "code_exec": 2,
    "trial_counts": [[8, 1], [2, 2]],
    "digest": "bd80",
    "issues": [{"line": 3, "rule": "bad_json", "field": None, "detail": "cut"}],
}


def shown(**manifest: Any) -> ShownRun:
    return ShownRun(
        id="20261115-120000-abcd",
        created="2026-11-15T12:00:00+00:00",
        updated="2026-11-15T12:05:00+00:00",
        status="stopped",
        parent=None,
        tasks=["tasks"],
        models=["scripted/oracle"],
        done=5,
        total=12,
        failed=1,
        plan_key="feed",
        manifest={"plan": {"tasks": [TASK], "models": [], "limit": None}, **manifest},
    )


def test_a_row_of_the_list_is_cells_of_text() -> None:
    run: ListedRun = shown()

    assert list_table([run]).rows == [
        (
            "20261115-120000-abcd",
            "2026-11-15 12:00:00",
            "stopped",
            "tasks",
            "scripted/oracle",
            "5/12",
            "1",
        )
    ]


def test_a_run_whose_results_were_made_elsewhere_is_marked() -> None:
    assert list_table([structs.replace(shown(), imported=True)]).rows[0][2] == "stopped, imported"


def test_a_task_is_told_with_its_counts_and_its_content() -> None:
    (task,) = (fact for name, fact in run_facts(shown()).rows if name == "task")

    assert task == (
        "data/tasks.jsonl: 10 records, 2 of them code_exec, 12 trials per model, "
        "1 invalid record excluded; content bd80"
    )


def test_every_key_of_a_manifest_is_told_also_one_nobody_knew() -> None:
    facts = run_facts(
        shown(models={"a/b": "1", "a/c": "2"}, git=None, notes=[], seed=0, later={"x": [1, 2]})
    )

    told = [list(row) for row in facts.rows]
    assert ["models", "a/b: 1"] in told
    assert ["models", "a/c: 2"] in told
    assert ["git", "none"] in told
    assert ["notes", "none"] in told
    assert ["seed", "0"] in told
    assert ["later", "x: [1,2]"] in told
    assert ["outcomes", "5 of 12, 1 failed"] in told


def test_a_name_cannot_act_on_the_terminal() -> None:
    assert "\x1b" not in "".join(lay_out_blocks([run_facts(shown(models={"a/\x1b[31m": "1"}))], 80))
