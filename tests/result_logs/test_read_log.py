"""A log is looked at to its end before anything of it is taken."""

import asyncio
import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.result_logs.sample_logs import (
    completed,
    failed,
    fanned_out,
    foreign_log,
    make_log,
    old_sample,
    reread_log,
    save_log,
)

from evalwright.engine.results import FinalResult, MetricValue
from evalwright.errors import BadLog, Unreadable
from evalwright.plan.finalization import TrialPlan
from evalwright.result_logs.log_outcomes import MalformedLog, TaskFacts
from evalwright.result_logs.read_log import ResultLog, read_log, stop_reason, task_failures
from evalwright.store.memory import MemoryStore
from evalwright.types import Run

MEAN = {
    "values": {"is_correct_mean": 0.5},
    "metric_key": "mean",
    "metric_type": "mean",
    "scorer_key": "equals",
    "scorer_purpose": "score",
}

ERROR = {"error_type": "X", "message": "boom", "stage": "metric"}
STOPPED = {"error_type": "stopped", "message": "samples are missing", "stage": "solver"}


def end(log: ResultLog) -> FinalResult:
    return asyncio.run(log.end("atlas", seed=0))


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    outcomes = [completed(0), failed(1), fanned_out(2)]
    finished = FinalResult(figures=[], left_out=1, excluded={"odd": 1}, scored=4, fanned=True)

    log = reread_log(tmp_path, make_log(outcomes, finished))

    assert list(log.outcomes("capitals", "atlas")) == outcomes
    assert end(log) == finished
    assert (log.samples, log.landed, log.trials, log.runs) == (3, 3, 1, 1)
    assert log.model == "atlas"


def test_runs_and_trials_are_told_apart(tmp_path: Path) -> None:
    facts = TaskFacts(trials=TrialPlan(trials=2, repeats=3))
    outcomes = [completed(0, trial=number) for number in range(6)]

    log = reread_log(tmp_path, make_log(outcomes, facts=facts))

    assert (log.samples, log.landed, log.trials, log.runs) == (1, 6, 6, 3)
    first, *others = log.outcomes("capitals", "atlas")
    assert first.whole["equals"].values["is_correct"] == 1.0
    assert [structs.replace(first, whole={}), *others] == outcomes


def test_an_older_log_of_another_program_is_read(tmp_path: Path) -> None:
    away = [{"action": "exclude_from_metrics", "rule_key": "short"}]
    broken = [{"error_type": "ValueError", "message": "no", "stage": "metric"}]
    samples = [*map(old_sample, range(4)), old_sample(4, action_records=away)]

    log = reread_log(tmp_path, foreign_log(*samples, metrics=[MEAN], errors=broken))

    finished = end(log)
    (figure,) = finished.figures
    assert figure.measure.value == 0.5
    assert figure.measure.n == 4, "what a rule took out is in no figure"
    assert figure.measure.interval is not None
    assert finished.excluded == {"short": 1}
    assert finished.left_out == 1
    assert [one.failure.message for one in finished.broken] == ["no"]
    assert log.app_version == "3.17.2"


def test_of_several_trials_the_sample_has_the_scores_that_count(tmp_path: Path) -> None:
    def tried(number: int) -> dict[str, Any]:
        sample = old_sample(number)
        trials = [old_sample(number), old_sample(number + 1)]
        mean = {**sample["scores"][0], "values": {"is_correct": 0.5}}
        return {**sample, "scores": [mean], "trials": trials}

    log = reread_log(tmp_path, foreign_log(tried(0), tried(1), metrics=[MEAN]))

    (figure,) = end(log).figures
    assert (figure.measure.value, figure.measure.n) == (0.5, 2)
    assert log.trials == 2


def test_the_order_of_the_names_does_not_matter(tmp_path: Path) -> None:
    whole = json.loads(make_log([completed(0), failed(1)]))
    turned = dict(reversed(whole.items()))
    turned["evidence"] = dict(reversed(whole["evidence"].items()))

    one, other = reread_log(tmp_path, whole), reread_log(tmp_path, turned)

    assert list(one.outcomes("a", "b")) == list(other.outcomes("a", "b"))
    assert end(one) == end(other)


@pytest.mark.parametrize("samples", [[], None])
def test_a_log_without_samples_is_a_log(tmp_path: Path, samples: Any) -> None:
    log = reread_log(tmp_path, foreign_log() | {"evidence": {"samples": samples, "metrics": []}})

    assert log.samples == 0
    assert list(log.outcomes("a", "b")) == []
    assert end(log).figures == []


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    assert reread_log(tmp_path, b"\xef\xbb\xbf" + make_log([completed(0)])).samples == 1


@pytest.mark.parametrize(
    ("log", "said"),
    [
        pytest.param(b"", "not a result log", id="nothing"),
        pytest.param(b"\x00\xff\x13garbage", "not UTF-8", id="bytes"),
        pytest.param(b"<html>", "not a result log", id="another format"),
        pytest.param(b"[]", "not a result log", id="a list"),
        pytest.param(b"{}", "not a result log", id="an empty object"),
        pytest.param(b'{"eval": {}, "samples": []}', "not a result log", id="a log of others"),
        pytest.param({"format_version": "v1", "evidence": {}}, "not a result log", id="no samples"),
        pytest.param({"format_version": "v2"}, "got 'v2'", id="another version"),
        pytest.param({"format_version": "v1", "evidence": []}, "expected an object", id="evidence"),
        pytest.param(
            foreign_log() | {"evidence": {"samples": {}}}, "expected a list", id="samples"
        ),
        pytest.param(foreign_log(metrics=[{}]), "at `$.evidence.metrics[0].values`", id="metrics"),
        pytest.param(foreign_log(errors=[1]), "at `$.evidence.errors[0]`", id="errors"),
        pytest.param(
            foreign_log(evalwright={"left_out": "x"}),
            "at `$.evidence.evalwright.left_out`",
            id="ours",
        ),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, log: Any, said: str) -> None:
    with pytest.raises(BadLog) as refused:
        reread_log(tmp_path, log)

    assert "task_result_log.json" in str(refused.value)
    assert said in str(refused.value)


def test_every_broken_sample_is_named_up_to_a_few(tmp_path: Path) -> None:
    bad = old_sample(scores=[{"values": {}}])
    lines = ",\n".join(json.dumps(bad if number % 2 else old_sample()) for number in range(20))
    log = f'{{"format_version": "v1", "evidence": {{"samples": [\n{lines}]}}}}'

    with pytest.raises(BadLog) as refused:
        reread_log(tmp_path, log.encode())

    said = str(refused.value)
    assert "task_result_log.json:3:1: missing - at `$.evidence.samples[1].scores[0]" in said
    assert said.count("$.evidence.samples[") == 5
    assert refused.value.hint == "there may be more"


def test_a_log_that_is_cut_short_is_refused_wherever_the_cut_is(tmp_path: Path) -> None:
    whole = make_log([completed(0), failed(1)])

    for cut in range(0, len(whole) - 2, 97):
        with pytest.raises(BadLog):
            reread_log(tmp_path, whole[:cut])


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no such file"):
        read_log(tmp_path / "nothing.json")
    with pytest.raises(Unreadable, match="directory"):
        read_log(tmp_path)


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    path = save_log(tmp_path, make_log(completed(number) for number in range(4000)))
    assert path.stat().st_size > 4_000_000

    tracemalloc.start()
    log = read_log(path)
    for _ in log.outcomes("a", "b"):
        pass
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert log.samples == 4000
    assert most < 12_000_000, "a chunk, what is decoded of it, and little else"


def test_a_log_that_changes_while_it_is_read_is_told(tmp_path: Path) -> None:
    log = reread_log(tmp_path, foreign_log(old_sample()))
    save_log(tmp_path, foreign_log(old_sample(scores="x")))

    with pytest.raises(BadLog, match="the file changed"):
        list(log.outcomes("a", "b"))


def test_figures_are_those_of_the_log(tmp_path: Path) -> None:
    log = reread_log(tmp_path, make_log([completed(0)]))

    assert [type(one) for one in end(log).figures] == [MetricValue]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2**70)
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)
OURS = json.loads(make_log([completed(0), failed(1), fanned_out(2)]))
THEIRS = foreign_log(*map(old_sample, range(2)), metrics=[MEAN])


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything in it."""
    if isinstance(value, dict | list):
        for step, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, step)
            yield from paths_in(one, (*path, step))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("log", [OURS, THEIRS], ids=["ours", "theirs"])
@settings(max_examples=200)
@given(data=st.data())
def test_whatever_stands_anywhere_is_read_or_refused(
    tmp_path: Path, log: Any, data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(sorted(paths_in(log), key=str)))
    new = data.draw(JSON)

    try:
        found = reread_log(tmp_path, changed(log, path, new))
    except BadLog:
        return

    taken = list(found.outcomes("capitals", "atlas"))
    assert len(taken) == found.landed
    assert len(end(found).figures) <= 5
    store = MemoryStore()
    store.begin(Run(id="r", created="", updated="", status="running", plan_key=""))
    store.append("r", taken)
    assert len(list(store.rows("r"))) == len(taken)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "log.json"
    os.mkfifo(pipe)

    with pytest.raises(Unreadable, match="not a file: a result log is read more than once"):
        read_log(pipe)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        pytest.param({}, "", id="nothing is said"),
        pytest.param({"status": "success"}, "", id="success"),
        pytest.param({"status": "failure", "errors": [ERROR]}, "", id="failure"),
        pytest.param({"status": "failure", "errors": [STOPPED]}, "samples are missing", id="ours"),
        pytest.param({"status": "cancelled"}, "`status: cancelled`", id="cancelled"),
        pytest.param({"status": "stopped"}, "`status: stopped`", id="stopped"),
        pytest.param(
            {"status": "success", "execution": {"execution_status": "pending"}},
            "`execution_status: pending`",
            id="pending",
        ),
        pytest.param({"status": 7, "execution": [], "errors": {}}, "", id="nonsense"),
    ],
)
def test_whether_it_came_to_its_end(known: dict[str, Any], said: str) -> None:
    assert said in stop_reason(known)
    assert bool(stop_reason(known)) == bool(said)


@pytest.mark.parametrize(
    ("known", "evidence", "said"),
    [
        pytest.param({"errors": [ERROR]}, {}, ["boom"], id="of the whole"),
        pytest.param({}, {"errors": [ERROR]}, ["boom"], id="of the evidence"),
        pytest.param({"errors": [ERROR]}, {"errors": [ERROR]}, ["boom"], id="the same twice"),
        pytest.param({"errors": [STOPPED], "status": "failure"}, {}, [], id="only stopped"),
        pytest.param(
            {"status": "failure"}, {}, ["does not say why the task failed"], id="no reason"
        ),
        pytest.param({"status": "success"}, {}, [], id="whole"),
    ],
)
def test_what_broke(known: dict[str, Any], evidence: dict[str, Any], said: list[str]) -> None:
    broken = task_failures(known, evidence)

    assert len(broken) == len(said)
    assert all(text in one.failure.message for one, text in zip(broken, said, strict=True))


@pytest.mark.parametrize("errors", [7, "x", [1]])
def test_errors_that_are_none_are_refused(errors: Any) -> None:
    with pytest.raises(MalformedLog):
        task_failures({"errors": errors}, {})
