from pathlib import Path
from typing import Any

import click
import pytest

from evalwright.cli.run import command
from evalwright.errors import UsageError
from evalwright.plan.options import RunKeywords, RunOptions, parse_options

TRANSLATED = {
    "files",
    "fail_fast",
    "include_root",
    "models",
    "paths",
    "as_json",
    "markdown",
    "samples",
}
"""Options of the command that are translated, are an alias, or are for printing."""


def test_the_keywords_of_functions_are_the_options_and_their_alias() -> None:
    assert set(RunKeywords.__annotations__) == {*RunOptions.__struct_fields__, "samples"}


def test_without_options_everything_is_left_to_us() -> None:
    assert parse_options({}) == RunOptions()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("limti", "did you mean `limit`?", id="misspelt"),
        pytest.param("max_token_total", "did you mean `max_tokens_total`?", id="nearly right"),
        pytest.param("xyzzy", "", id="nothing like it"),
    ],
)
def test_an_unknown_option_says_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"`run` has no option `{name}`") as refused:
        parse_options({name: 1})

    assert refused.value.hint == hint


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        pytest.param("limit", 0, "`limit`: Expected `int` >= 1", id="no record at all"),
        pytest.param("limit", "3", "`limit`: Expected `int | null`, got `str`", id="text"),
        pytest.param("limit", True, "`limit`: Expected `int | null`, got `bool`", id="a boolean"),
        pytest.param("limit", 2.5, "`limit`: Expected `int | null`, got `float`", id="a fraction"),
        pytest.param("limit", 10**30, "`limit`: Expected `int` <=", id="beyond any number of them"),
        pytest.param("trials", 0, "`trials`: Expected `int` >= 1", id="no answer at all"),
        pytest.param("trials", 1001, "`trials`: Expected `int` <= 1000", id="too many answers"),
        pytest.param("samples", 0, "`trials`: Expected `int` >= 1", id="by its other name"),
        pytest.param(
            "sandbox_packages", "numpy", "`sandbox_packages`: Expected `array`", id="one package"
        ),
        pytest.param("concurrency", 0, "`concurrency`: Expected `int` >= 1", id="nobody works"),
        pytest.param("bins", 0, "`bins`: Expected `int` >= 1", id="no bins"),
        pytest.param("bins", 1001, "`bins`: Expected `int` <= 1000", id="too many bins"),
        pytest.param("seed", -1, "`seed`: Expected `int` >= 0", id="a negative seed"),
        pytest.param(
            "seed", 10**30, "`seed`: Expected `int` <=", id="a seed that nothing can keep"
        ),
        pytest.param("retries", -1, "`retries`: Expected `int` >= 0", id="fewer than no retries"),
        pytest.param("max_cost", 0, "`max_cost`: Expected `float` > 0.0", id="for nothing"),
        pytest.param("max_cost", float("nan"), "`max_cost`: Expected `float`", id="no number"),
        pytest.param("max_failures", -1, "`max_failures`: Expected `float` >= 0.0", id="below 0"),
        pytest.param("fresh", 1, "`fresh`: Expected `bool`, got `int`", id="no yes and no no"),
        pytest.param("store", 7, "`store`: Expected `str | null`, got `int`", id="no path"),
        pytest.param("parameters", [], "`parameters`: Expected `object`", id="no parameters"),
        pytest.param(
            "parameters", {1: 2}, "`key` in `parameters`: Expected `str`", id="a name that is none"
        ),
        pytest.param(
            "parameters", {"a": object()}, "`parameters`: not JSON: ", id="what JSON cannot say"
        ),
        pytest.param(
            "parameters", {"a": "\udcff"}, "`parameters`: not JSON: ", id="half a character"
        ),
    ],
)
def test_an_option_that_cannot_be_is_refused(name: str, value: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_options({name: value})

    assert refused.value.message.startswith(said)


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        pytest.param("max_cost", 3, 3.0, id="whole dollars"),
        pytest.param("max_failures", 0, 0.0, id="no failure at all"),
        pytest.param("limit", None, None, id="None is as if it had not been said"),
        pytest.param("store", Path("x") / "runs.db", "x/runs.db", id="a path"),
        pytest.param("parameters", {"stop": ["\n"], "seed": None}, ..., id="JSON"),
    ],
)
def test_an_option_that_can_be_is_taken(name: str, value: Any, kept: Any) -> None:
    assert getattr(parse_options({name: value}), name) == (value if kept is ... else kept)


def test_the_options_of_the_command_are_these() -> None:
    options = [param for param in command.params if isinstance(param, click.Option)]
    theirs = {option.name for option in options if not option.hidden}  # hidden: those of `lf`

    assert theirs - TRANSLATED == set(RunOptions.__struct_fields__)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"trials": 3}, id="trials"),
        pytest.param({"samples": 3}, id="samples"),
        pytest.param({"trials": 3, "samples": 3}, id="both, and equal"),
        pytest.param({"trials": None, "samples": 3}, id="only one has a value"),
        pytest.param({"trials": 3, "samples": None}, id="only the other has"),
    ],
)
def test_samples_is_another_name_of_trials(given: dict[str, Any]) -> None:
    assert parse_options(given) == RunOptions(trials=3)


def test_trials_and_samples_that_differ_are_refused() -> None:
    with pytest.raises(UsageError, match="`--samples` and `--trials` are the same option"):
        parse_options({"trials": 2, "samples": 3})
