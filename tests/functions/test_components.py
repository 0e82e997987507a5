"""Solvers, metrics and postprocessors that are Python functions."""

import statistics
from typing import Any

import pytest

import evalwright as ew

ROWS = [{"country": "France", "city": "Paris"}, {"country": "Italy", "city": "Rome"}]
PROMPT = "Capital of {country}?"


@ew.scorer
def mentions_city(sample: dict[str, Any], output: str) -> bool:
    return sample["city"] in output


async def answer_paris(prompt: str) -> str:
    return "Paris" if "France" in prompt else "It is Milan"


def run(models: Any = answer_paris, **changes: Any) -> ew.Report:
    store = changes.pop("store", "memory:")
    fields = {"prompt": PROMPT, "scorers": [mentions_city], **changes}
    return ew.run(ew.Task("capitals", ROWS, **fields), models, store=store)


@ew.solver
async def ask_twice(sample: dict[str, Any], model: ew.AsyncModel) -> str:
    first = await model.ask(f"Capital of {sample['country']}?")
    chat = [{"role": "user", "content": "Is it?"}, {"role": "assistant", "content": first}]
    return await model.ask([*chat, {"role": "user", "content": f"Again: {sample['country']}"}])


@ew.solver(name="shout", mark="!")
def ask_and_shout(sample: dict[str, Any], model: ew.BlockingModel, *, mark: str) -> str:
    return model.ask(f"Capital of {sample['country']}?").upper() + mark


def look_up(sample: dict[str, Any]) -> ew.Completion:
    return ew.Completion(text=sample["city"][::-1], usage=ew.Usage(requests=1, prompt_tokens=3))


@pytest.mark.parametrize(
    ("solver", "outputs", "requests"),
    [
        pytest.param(ask_twice, ["Paris", "It is Milan"], 2, id="async"),
        pytest.param(ask_and_shout, ["PARIS!", "IT IS MILAN!"], 1, id="in a thread"),
        pytest.param(look_up, ["siraP", "emoR"], 1, id="without the model"),
    ],
)
def test_a_function_solves_samples(solver: Any, outputs: list[str], requests: int) -> None:
    models: Any = () if solver is look_up else answer_paris

    report = run(models, prompt="", solver=solver)

    outcomes = list(report.samples())
    assert [outcome.output for outcome in outcomes] == outputs
    assert [outcome.trace.usage.requests for outcome in outcomes if outcome.trace] == [requests] * 2


def test_the_trace_of_a_solver_has_each_message_once() -> None:
    @ew.scorer
    def count_messages(trace: Any) -> int:
        return len(trace.items)

    @ew.solver
    async def insist(sample: dict[str, Any], model: ew.AsyncModel) -> str:
        chat = [{"role": "user", "content": sample["country"]}]
        answer = await model.ask(chat)
        chat += [{"role": "assistant", "content": answer}, {"role": "user", "content": "Sure?"}]
        return await model.ask(chat, temperature=0)

    report = run(prompt="", solver=insist, scorers=[count_messages])

    assert report["capitals"].mean == 4


def test_answers_of_a_solver_are_reused_until_it_changes(tmp_path: Any) -> None:
    asked: list[str] = []

    class Counting:
        fingerprint, caveat = "counting", ""

        async def complete(self, request: ew.Request) -> ew.Completion:
            asked.append(request.messages[-1].content)
            return ew.Completion(text="Paris")

        async def close(self) -> None:
            pass

    def make_solver(suffix: str) -> Any:
        @ew.solver
        async def ask(sample: dict[str, Any], model: ew.AsyncModel) -> str:
            return await model.ask(sample["country"] + suffix)

        return ask

    for suffix in ("?", "?", "!"):
        run(Counting(), prompt="", solver=make_solver(suffix), store=str(tmp_path / "runs.db"))

    assert asked == ["France?", "Italy?", "France!", "Italy!"]


@ew.metric
def median(values: list[float]) -> float:
    return statistics.median(values)


@ew.metric(name="by_city", longest=5)
def compare_cities(scores: list[dict[str, Any]], *, longest: int) -> dict[str, float]:
    return {"all": len(scores), "some": longest}


@pytest.mark.parametrize(
    ("metrics", "names"),
    [
        pytest.param([median], {"score_mean": 0.5, "median": 0.5}, id="of numbers"),
        pytest.param(
            [compare_cities], {"score_mean": 0.5, "all": 2.0, "some": 5.0}, id="of all scores"
        ),
        pytest.param(
            {"mentions_city": [median, "max"]},
            {"score_mean": 0.5, "median": 0.5, "score_max": 1.0},
            id="of one scorer",
        ),
        pytest.param(
            ["mean", {"type": "std_dev", "field": "score", "key": "spread"}],
            {"score_mean": 0.5, "score_std_dev": pytest.approx(0.7071, abs=1e-4)},
            id="built-in",
        ),
    ],
)
def test_metrics_are_added_to_those_of_scorers(metrics: Any, names: dict[str, float]) -> None:
    report = run(metrics=metrics)

    assert {row.metric: row.value for row in report} == names
    assert report["capitals"].mean == 0.5


def test_a_metric_has_a_bootstrap_interval_over_samples() -> None:
    @ew.scorer
    def size(sample: dict[str, Any]) -> float:
        return float(sample["n"])

    task = ew.Task("t", [{"n": n} for n in range(40)], scorers=[size], metrics=[median])

    row = ew.run(task, store="memory:").metrics[1]

    assert row.ci_low is not None
    assert row.ci_high is not None
    assert 5 < row.ci_low < 19.5 < row.ci_high < 35
    assert row.value == 19.5


@ew.postprocessor
def take_last_word(output: str) -> str:
    return output.rsplit(maxsplit=1)[-1]


@ew.postprocessor(name="letters", first=2)
def split_letters(
    sample: dict[str, Any], output: str, *, first: int
) -> list[tuple[dict[str, Any], str]]:
    return [({**sample, "city": letter}, letter) for letter in output[:first]]


def test_a_postprocessor_changes_what_is_scored_and_not_what_is_stored() -> None:
    report = run(postprocessor=take_last_word, scorers=["exact_match"])

    outcomes = list(report.samples())
    assert [outcome.output for outcome in outcomes] == ["Paris", "It is Milan"]
    assert report["capitals"].mean == 0.5


def test_a_postprocessor_may_split_a_sample() -> None:
    report = run(postprocessor=split_letters)

    assert [len(outcome.parts) for outcome in report.samples()] == [2, 2]
    assert (report["capitals"].mean, report.metrics[0].n) == (1.0, 4)


@ew.metric
def lost(values: list[float]) -> None:
    del values


@ew.solver
def silent(sample: dict[str, Any]) -> None:
    del sample


@ew.postprocessor
def count_words(output: str) -> int:
    return len(output.split())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            {"prompt": "", "solver": silent},
            "the solver `silent` must return the text of the answer, got None: is a `return` "
            "missing?",
            id="a solver",
        ),
        pytest.param(
            {"postprocessor": count_words},
            "the postprocessor `count_words` must return text, or a list of pairs of a row and a "
            "text, got `int`",
            id="a postprocessor",
        ),
        pytest.param(
            {"metrics": [lost]},
            "capitals: `mentions_city.lost`: the metric `lost` must return a number, got None: "
            "is a `return` missing?",
            id="a metric",
        ),
    ],
)
def test_what_a_function_returns_wrongly_is_a_failure(
    changes: dict[str, Any], message: str
) -> None:
    report = run(**changes)

    assert report.failures[0].message == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"solver": ask_twice}, "has both a `prompt` and `solver`", id="two ways"),
        pytest.param(
            {"metrics": {"mentions_citty": ["mean"]}},
            "has metrics for `mentions_citty`, which is not one of its scorers",
            id="metrics of an unknown scorer",
        ),
        pytest.param({"metrics": ["meen"]}, "mean", id="an unknown metric"),
        pytest.param(
            {"prompt": "", "postprocessor": take_last_word},
            "has a postprocessor, but no answers that it could change",
            id="a postprocessor of rows",
        ),
        pytest.param(
            {"postprocessor": take_last_word, "trials": 2},
            "trials cannot be compared",
            id="a postprocessor and trials",
        ),
        pytest.param(
            {"prompt": "", "solver": {"type": "single_turn"}},
            "single_turn_solver",
            id="an unknown solver",
        ),
    ],
)
def test_a_mistake_is_found_before_the_first_call(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ew.EvalwrightError) as caught:
        run(**changes)

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("decorator", "message"),
    [
        pytest.param(ew.solver, "the solver `wrong` takes `rows`, which it is not given", id="s"),
        pytest.param(ew.metric, "the metric `wrong` takes `rows`, which it is not given", id="m"),
        pytest.param(
            ew.postprocessor,
            "the postprocessor `wrong` takes `rows`, which it is not given",
            id="p",
        ),
        pytest.param(ew.scorer, "the scorer `wrong` takes `rows`, which it is not given", id="c"),
    ],
)
def test_a_decorator_refuses_other_arguments(decorator: Any, message: str) -> None:
    def wrong(rows: Any) -> str:
        return str(rows)

    with pytest.raises(ew.EvalwrightError) as caught:
        decorator(wrong)

    assert caught.value.message == message
    assert "a " in caught.value.hint
