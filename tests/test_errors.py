import asyncio
import re

import pytest

from evalwright import errors
from evalwright.errors import (
    BadTasks,
    BudgetSpent,
    EvalwrightError,
    InvalidTask,
    ModelError,
    StageError,
    Stopped,
    UnknownName,
    Unreadable,
    UsageError,
    boundary,
)
from evalwright.types import Issue, Stage


class Mended(ValueError):
    """Of a plugin that says what to do next."""

    hint = "pull the lever"


class Odd(ValueError):
    """Of a library whose words mean something else."""

    hint = 42
    kind = 42
    attempts = "many"


def crossed(cause: BaseException, stage: Stage = "score") -> StageError:
    with pytest.raises(StageError) as caught, boundary(stage):
        raise cause
    return caught.value


@pytest.mark.parametrize(
    ("kind", "parent", "exit_code"),
    [
        pytest.param(UsageError, EvalwrightError, 2, id="used wrongly"),
        pytest.param(Unreadable, UsageError, 2, id="a file that cannot be read"),
        pytest.param(UnknownName, UsageError, 2, id="a name that nothing answers to"),
        pytest.param(InvalidTask, EvalwrightError, 1, id="a record that breaks a rule"),
        pytest.param(BadTasks, EvalwrightError, 1, id="a file that is refused"),
        pytest.param(ModelError, EvalwrightError, 4, id="a call without a usable answer"),
        pytest.param(Stopped, EvalwrightError, 3, id="ended before its end"),
        pytest.param(BudgetSpent, Stopped, 3, id="the cap is reached"),
        pytest.param(StageError, EvalwrightError, 4, id="work that broke"),
        pytest.param(EvalwrightError, Exception, 4, id="could not run"),
    ],
)
def test_the_tree_and_its_exit_codes(
    kind: type[EvalwrightError], parent: type[Exception], exit_code: int
) -> None:
    assert issubclass(kind, parent)
    assert kind.exit_code == exit_code


def test_every_exception_is_drawn_in_the_docstring() -> None:
    family = {
        name
        for name, one in vars(errors).items()
        if isinstance(one, type) and issubclass(one, EvalwrightError)
    }

    drawn = re.findall(r"^ {4}(?:│ {3})*(?:[├└]── )?(\w+)", errors.__doc__ or "", re.MULTILINE)
    assert set(drawn) == family


def test_an_error_has_a_message_and_perhaps_a_hint() -> None:
    assert str(UsageError("no tasks")) == "no tasks"
    assert UsageError("no tasks").hint == ""
    assert UsageError("no tasks", hint="write some").hint == "write some"


def test_an_invalid_task_is_a_value_error_that_knows_its_issue() -> None:
    issue = Issue(line=0, rule="bad_type", field="prompt", detail="expected a string")

    error = InvalidTask(issue)

    assert isinstance(error, ValueError)
    assert str(error) == "bad_type: expected a string"
    assert error.issue is issue


def test_the_text_of_an_exception_contains_its_hint() -> None:
    error = UsageError("no rows", hint="relax a filter")

    assert str(error) == "no rows\n  hint: relax a filter"
    assert (error.message, str(UsageError("no rows"))) == ("no rows", "no rows")


def test_what_escapes_is_attributed_to_its_stage() -> None:
    error = crossed(ZeroDivisionError("division by zero"), "solver")

    assert (error.stage, error.type, error.message) == (
        *("solver", "ZeroDivisionError", "division by zero"),
    )
    assert isinstance(error.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("cause", "message", "hint"),
    [
        pytest.param(ValueError("no"), "no", "", id="its own words"),
        pytest.param(TimeoutError(), "TimeoutError", "", id="without words, its type"),
        pytest.param(Mended("no"), "no", "pull the lever", id="its own hint"),
        pytest.param(Odd("no"), "no", "", id="a hint that is no text is none"),
        pytest.param(UsageError("no", hint="yes"), "no", "yes", id="our own"),
        pytest.param(OSError("x\udcff"), "x?", "", id="without what no report can hold"),
    ],
)
def test_the_words_are_those_of_the_cause(cause: Exception, message: str, hint: str) -> None:
    error = crossed(cause)

    assert (error.message, error.hint) == (message, hint)
    assert (error.type, error.attempts) == (type(cause).__name__, 1)


def test_a_model_error_says_its_kind_and_how_often_it_was_tried() -> None:
    cause = ModelError("rate_limited", "429 from the server", retryable=True)
    cause.attempts = 5

    error = crossed(cause)

    assert (error.type, error.attempts, error.message) == ("rate_limited", 5, "429 from the server")


@pytest.mark.parametrize(
    "cause",
    [
        *(KeyboardInterrupt(), SystemExit(1), asyncio.CancelledError()),
        *(Stopped("enough"), BudgetSpent("the money is gone")),
    ],
    ids=repr,
)
def test_what_ends_the_run_is_not_held_up(cause: BaseException) -> None:
    with pytest.raises(type(cause)), boundary("solver"):
        raise cause


def test_nothing_happens_when_nothing_breaks() -> None:
    with boundary("solver"):
        done = True

    assert done
