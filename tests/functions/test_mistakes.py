"""The mistakes of a new user: each is one sentence that says what is wrong, and what to do."""

from collections.abc import Callable
from typing import Any

import pytest

import evalwright as ew

ROWS = [{"country": "France", "city": "Paris"}, {"country": "Italy", "city": "Rome"}]


def answer(prompt: str) -> str:
    return f"{prompt} Paris"


def take_two(prompt: str, temperature: float) -> str:
    return f"{prompt}{temperature}"


def return_list(prompt: str) -> Any:
    return [prompt]


@ew.scorer
def mentions_city(sample: dict[str, Any], output: str) -> bool:
    return sample["city"] in output


def return_nothing(output: str) -> None:
    del output


def return_text(output: str) -> str:
    return output


def read_other_column(sample: dict[str, Any]) -> bool:
    return bool(sample["town"])


def misspell(sampel: dict[str, Any], output: str) -> bool:
    return bool(sampel) and bool(output)


def run(models: Any = answer, **changes: Any) -> ew.Report:
    """Run a task with a mistake in it, and raise the first failure."""
    fields = {"data": ROWS, "prompt": "Capital of {country}?", "scorers": [mentions_city]}
    report = ew.run(ew.Task("capitals", **{**fields, **changes}), models, store="memory:")
    for failure in report.failures:
        raise ValueError(failure.message)
    return report


def frame(*rows: dict[str, str]) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows)


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "a model with two arguments": (
        lambda: run(take_two),
        (
            "the model `take_two` must take one argument, the prompt; it takes `prompt`, "
            "`temperature`"
            "\n  hint: name it `messages` to receive the whole chat"
        ),
    ),
    "a model that was called": (
        lambda: run(answer("Capital of France?")),
        (
            "`Capital of France? Paris` is not a model"
            "\n  hint: write PROVIDER/MODEL, such as `openai/gpt-4.1-mini`, or pass a function"
        ),
    ),
    "a model without a provider": (
        lambda: run("gpt-4.1-mini"),
        (
            "`gpt-4.1-mini` is not a model"
            "\n  hint: write PROVIDER/MODEL, such as `openai/gpt-4.1-mini`, or pass a function"
        ),
    ),
    "no model": (
        lambda: run(()),
        (
            "task `capitals` has a prompt, but there is no model to send it to"
            '\n  hint: `models=[…]`, such as a function or "scripted/oracle"'
        ),
    ),
    "a model that returns a list": (
        lambda: run(return_list),
        "the model `return_list` must return text or a `Completion`, got `list`",
    ),
    "a scorer that returns None": (
        lambda: run(scorers=[return_nothing]),
        (
            "the scorer `return_nothing` must return a number or a boolean, got None: "
            "is a `return` missing?"
        ),
    ),
    "a scorer that returns a text": (
        lambda: run(scorers=[return_text]),
        (
            "the scorer `return_text` must return a number or a boolean, got "
            "'Capital of France? Paris'"
        ),
    ),
    "a scorer with a misspelled argument": (
        lambda: run(scorers=[misspell]),
        (
            "the scorer `misspell` takes `sampel`, which it is not given"
            "\n  hint: a scorer takes `sample`, `output` and, if it needs the conversation, "
            "`trace`; other parameters are set with `@ew.scorer(NAME=VALUE)`"
        ),
    ),
    "a scorer of a missing column": (
        lambda: run(scorers=[read_other_column]),
        "the scorer `read_other_column` found no 'town'; the row has `country`, `city`",
    ),
    "a value that is not a scorer": (
        lambda: run(scorers=[None]),
        (
            "task `capitals`: `None` is not a scorer"
            "\n  hint: a scorer is a function, the type of a built-in scorer, or its fields"
        ),
    ),
    "two scorers of one name": (
        lambda: run(scorers=["exact_match", "exact_match"]),
        (
            "task `capitals` has 2 scorers named `exact_match`"
            '\n  hint: give each its own name: `{"type": …, "key": …}` or `@ew.scorer(name=…)`'
        ),
    ),
    "a data frame without a column of the prompt": (
        lambda: run(data=frame({"land": "France", "city": "Paris"})),
        (
            "task `capitals`: the prompt uses `{country}`, but no row has this column"
            "\n  hint: the columns are `land`, `city`"
        ),
    ),
    "a data frame without the target": (
        lambda: run(
            data=frame({"country": "France", "town": "Paris"}),
            target="city",
            scorers=["exact_match"],
        ),
        "task `capitals`: no row has the column `city`\n  hint: the columns are `country`, `town`",
    ),
    "a data frame without rows": (
        lambda: run(data=frame()),
        "the data of task `capitals`: no rows",
    ),
    "two tasks of one name": (
        lambda: ew.run([ew.Task("a b", ROWS, scorers=[mentions_city]) for _ in range(2)]),
        "2 tasks are named `a-b`\n  hint: give each its own name",
    ),
    "rows instead of a task": (
        lambda: ew.run(ROWS, answer),  # type: ignore[arg-type] # the mistake
        (
            "expected `ew.Task` objects or paths, got `dict`"
            '\n  hint: make a task of rows: `ew.Task("NAME", rows, prompt="…", scorers=[…])`'
        ),
    ),
    "a misspelled option": (
        lambda: ew.run("tasks.jsonl", answer, limt=3),  # type: ignore[call-arg] # the mistake
        "`run` has no option `limt`\n  hint: did you mean `limit`?",
    ),
    "a test that is a model and reads the report": (
        lambda: ew.test("tasks.jsonl")(lambda prompt, report: [prompt, report]),
        (
            "the test `<lambda>` takes a prompt and the report"
            "\n  hint: a test with `prompt` or `messages` is the model; check the report in another"
        ),
    ),
    "a policy without rules": (
        lambda: ew.gate("latest", {"key": "release"}),
        "the policy is not valid: `rules`: `rules` is missing",
    ),
}


def test_each_mistake_is_one_clear_sentence() -> None:
    messages = {}
    for name, (make, _) in MISTAKES.items():
        with pytest.raises((ew.EvalwrightError, ValueError)) as caught:
            make()
        messages[name] = str(caught.value)

    assert messages == {name: message for name, (_, message) in MISTAKES.items()}
