"""Each public function says what is missing if its input is empty, or has a value by definition."""

import asyncio
import re
from collections.abc import Callable
from inspect import isfunction
from pathlib import Path
from typing import Any

import pytest
from tests.test_public import public_objects

import evalwright as ew
from evalwright.errors import BadDataset, Unreadable, UsageError

ORACLE = "scripted/oracle"
Call = Callable[[], Any]
REFUSED: list[tuple[str, Call, str]] = [
    ("ew.bootstrap_mean_ci", lambda: ew.bootstrap_mean_ci([]), "`scores` is empty"),
    ("ew.check_dataset", lambda: ew.check_dataset(""), "FILE or KEY is missing"),
    ("ew.execute", lambda: ew.execute("x = 1", []), "`targets` is empty"),
    ("ew.post_process", lambda: ew.post_process("A", ""), "unknown post-process rule ``"),
    ("ew.render", lambda: ew.render({}), "`prompt` is missing"),
    ("ew.score_answer", lambda: ew.score_answer({}, "4"), "`task_id` is missing"),
    ("ew.validate_task", lambda: ew.validate_task({}), "`task_id` is missing"),
    ("ew.validate_task", lambda: ew.validate_task(""), "must be a JSON object"),
    ("ew.perplexity", lambda: ew.perplexity([], ORACLE), "FILE is missing"),
    ("ew.run", lambda: ew.run([], ORACLE), "no task file was given"),
    ("ew.run", lambda: ew.run("empty.jsonl", ORACLE), "empty.jsonl: no tasks"),
    ("ew.run", lambda: ew.run("empty.jsonl", []), "no model was given"),
    *(
        (f"ew.calibration.{name}", lambda call=call: call([], []), "got none: `confidences` is")
        for name, call in {
            "brier_interval": ew.calibration.brier_interval,
            "brier_parts": ew.calibration.brier_parts,
            "ece_interval": ew.calibration.ece_interval,
        }.items()
    ),
    (
        "ew.calibration.answer_confidence",
        lambda: ew.calibration.answer_confidence([]),
        "`logprobs` is empty",
    ),
    (
        "ew.calibration.apply_temperature",
        lambda: ew.calibration.apply_temperature([], 2),
        "`confidences` is empty",
    ),
    (
        "ew.calibration.fit_temperature",
        lambda: ew.calibration.fit_temperature([], []),
        "at least 1 answer, got none",
    ),
    (
        "ew.calibration.fit_temperature",
        lambda: ew.calibration.fit_temperature([0.9, 0.5], [True, False], groups=[]),
        "one group per confidence, got 0 and 2",
    ),
    ("ew.calibration.ece", lambda: ew.calibration.ece([0.5], []), "got 0 and 1"),
    ("ew.calibration.brier_score", lambda: ew.calibration.brier_score([], [True]), "got 1 and 0"),
    (
        "ew.calibration.reliability_bins",
        lambda: ew.calibration.reliability_bins([], [], bins=0),
        "at least 1 bin, got `0`",
    ),
    ("ew.calibration.perplexity", lambda: ew.calibration.perplexity([], [2]), "got 1 and 0"),
    ("ew.arun", lambda: asyncio.run(ew.arun([], ORACLE)), "no task file was given"),
    ("ew.test", ew.test([], models=ORACLE)(print), "no task file was given"),
    ("ew.validate", lambda: ew.validate([]), "no file was given"),
    ("ew.avalidate", lambda: asyncio.run(ew.avalidate([])), "no file was given"),
    ("ew.intervals.bootstrap_mean", lambda: ew.intervals.bootstrap_mean([]), "`scores` is empty"),
    ("ew.intervals.mean", lambda: ew.intervals.mean([]), "`scores` is empty"),
    (
        "ew.intervals.paired_difference",
        lambda: ew.intervals.paired_difference([], []),
        "`a` is empty",
    ),
    ("ew.intervals.pass_at_k", lambda: ew.intervals.pass_at_k([], 1), "`counts` is empty"),
    ("ew.intervals.wilson", lambda: ew.intervals.wilson(0, 0), "at least 1 trial, got `0`"),
    ("ew.leaderboard.rank", lambda: ew.leaderboard.rank({}), "`scores` is empty"),
    ("ew.leaderboard.rank", lambda: ew.leaderboard.rank({"a": []}), "at least 1 sample, got none"),
    ("ew.leaderboard.compare", lambda: ew.leaderboard.compare({}), "`scores` is empty"),
    (
        "ew.leaderboard.compare",
        lambda: ew.leaderboard.compare({"a": {}, "b": {}}),
        "at least 1 sample, got none",
    ),
    ("ew.leaderboard.to_json", lambda: ew.leaderboard.to_json([]), "`rows` is empty"),
    ("ew.leaderboard.to_markdown", lambda: ew.leaderboard.to_markdown([]), "`rows` is empty"),
    ("ew.leaderboard.to_text", lambda: ew.leaderboard.to_text([]), "`rows` is empty"),
    ("ew.metrics.accuracy", lambda: ew.metrics.accuracy("", []), "`targets` is empty"),
    ("ew.metrics.bleu_4", lambda: ew.metrics.bleu_4("", []), "`targets` is empty"),
    ("ew.metrics.code_exec", lambda: ew.metrics.code_exec("", []), "`targets` is empty"),
    ("ew.metrics.exact_match", lambda: ew.metrics.exact_match("", []), "`targets` is empty"),
    ("ew.metrics.f1", lambda: ew.metrics.f1("", []), "`targets` is empty"),
    ("ew.metrics.rouge_l", lambda: ew.metrics.rouge_l("", []), "`targets` is empty"),
    ("ew.metrics.corpus_bleu", lambda: ew.metrics.corpus_bleu([], []), "`predictions` is empty"),
    (
        "ew.metrics.corpus_bleu",
        lambda: ew.metrics.corpus_bleu(["a"], [[]]),
        "`targets[0]` is empty",
    ),
    ("ew.metrics.pass_at_k", lambda: ew.metrics.pass_at_k(0, 0, 1), "at least 1 trial"),
]
"""Function, call, and part of its message."""
NO_FILE: list[tuple[str, Call, type[Exception], str]] = [
    ("ew.lint", lambda: list(ew.lint("")), Unreadable, "'': no such file"),
    ("ew.compare", lambda: ew.compare("", store="none.db"), Unreadable, "none.db: no such file"),
    ("ew.load", lambda: ew.load("", "none.db"), Unreadable, "none.db: no such file"),
    ("ew.score", lambda: ew.score("", store="none.db"), Unreadable, "none.db: no such file"),
    ("ew.gate", lambda: ew.gate("", store="none.db"), Unreadable, "none.db: no such file"),
    (
        "ew.acompare",
        lambda: asyncio.run(ew.acompare("", store="none.db")),
        Unreadable,
        "none.db: no such file",
    ),
    (
        "ew.aload",
        lambda: asyncio.run(ew.aload("", "none.db")),
        Unreadable,
        "none.db: no such file",
    ),
    (
        "ew.ascore",
        lambda: asyncio.run(ew.ascore("", store="none.db")),
        Unreadable,
        "none.db: no such file",
    ),
    (
        "ew.agate",
        lambda: asyncio.run(ew.agate("", store="none.db")),
        Unreadable,
        "none.db: no such file",
    ),
    ("ew.schema", lambda: ew.schema(""), UsageError, "unknown schema ``"),
    ("ew.run", lambda: ew.run("", ORACLE), Unreadable, "'': no such file"),
    ("ew.validate", lambda: ew.validate(""), Unreadable, "'': no such file"),
    ("ew.validate_file", lambda: ew.validate_file(""), Unreadable, "'': no such file"),
    (
        "ew.perplexity",
        lambda: ew.perplexity("empty.jsonl", ORACLE),
        BadDataset,
        "empty.jsonl: no documents: the file is empty",
    ),
]
"""An empty name, or a file where an empty one is not an argument's fault."""
NOTHING_TO_GIVE = {
    *("ew.load_fixtures", "ew.metric", "ew.postprocessor", "ew.scorer", "ew.solver"),
    *("ew.runs", "ew.aruns"),
}
"""Functions without an input."""


@pytest.fixture(autouse=True)
def empty_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").touch()


@pytest.mark.parametrize(("call", "message"), [row[1:] for row in REFUSED])
def test_empty_input_is_a_value_error_that_names_what_is_empty(call: Call, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.parametrize(("call", "error", "message"), [row[1:] for row in NO_FILE])
def test_an_empty_name_and_an_empty_file_are_named(
    call: Call, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_every_public_function_is_called_with_empty_input() -> None:
    functions = {name for name, value in public_objects().items() if isfunction(value)}

    assert {name for name, *_ in [*REFUSED, *NO_FILE]} | NOTHING_TO_GIVE == functions


def test_the_specification_defines_values_for_nothing_measured() -> None:
    assert ew.calibration.ece([], []) == ew.calibration.brier_score([], []) == 0.0
    assert str(ew.calibration.perplexity([], [])) == str(ew.calibration.perplexity(0, 0)) == "nan"
    assert [list(part) for part in ew.validate("empty.jsonl")] == [[], []]
    assert list(ew.lint("empty.jsonl")) == []


def test_a_file_that_cannot_be_read_ends_the_linting() -> None:
    linting = iter(ew.lint("missing.jsonl"))

    with pytest.raises(Unreadable, match=r"missing\.jsonl: no such file"):
        next(linting)
