import asyncio
import math
from typing import Any

import pytest
from msgspec import structs

from evalwright.clients.scripted import Answer, Scripted
from evalwright.ports import Case, Model
from evalwright.solvers.record import RecordSolver
from evalwright.types import (
    Completion,
    Example,
    Message,
    Request,
    Sample,
    TaskSpec,
    Trace,
    Usage,
)
from evalwright.vocabulary import PostProcess


class Sure:
    """A model that says `4`, with the log-probabilities it was made with."""

    caveat = fingerprint = ""

    def __init__(self, logprobs: tuple[float, ...] | None) -> None:
        self._logprobs = logprobs

    async def close(self) -> None:
        pass

    async def complete(self, request: Request) -> Completion:
        del request
        return Completion(text="4", logprobs=self._logprobs)


def task(post_process: PostProcess = "none", examples: tuple[Example, ...] = ()) -> TaskSpec:
    return TaskSpec(
        task_id="a",
        category="arithmetic",
        prompt="2 + 2",
        targets=("4",),
        metric_name="exact_match",
        post_process=post_process,
        few_shot_examples=examples,
    )


def solve(what: TaskSpec, model: Model, *, trial: int = 0) -> Trace:
    case = Case(sample=Sample(what.task_id, what), model=model, trial=trial)
    return asyncio.run(RecordSolver().solve(case))


def choice(prompt: str, **changes: Any) -> TaskSpec:
    made: dict[str, Any] = {
        "task_id": "a",
        "category": "mcq",
        "prompt": prompt,
        "targets": ("A",),
        "metric_name": "exact_match",
        "post_process": "none",
        **changes,
    }
    return TaskSpec(**made)


def weigh(what: TaskSpec, model: Model) -> Trace:
    case = Case(sample=Sample(what.task_id, what), model=model)
    return asyncio.run(RecordSolver(weighs=True).solve(case))


def saying(text: str, confidence: float = 0.5) -> Scripted:
    def script(request: Request) -> Answer:
        del request
        return Answer(text, confidence)

    return Scripted("test", script, remember=True)


def test_examples_come_first_and_the_whole_is_one_user_message() -> None:
    model = saying("4")

    trace = solve(task(examples=(Example("1 + 1", "2"), Example("1 + 2", "3"))), model)

    assert trace.input == "1 + 1 2\n\n1 + 2 3\n\n2 + 2"
    assert [call.messages for call in model.calls] == [(Message("user", trace.input),)]


def test_what_the_answer_depends_on_is_what_is_sent() -> None:
    what = task(examples=(Example("1 + 1", "2"),))
    model = saying("4")

    solve(what, model)

    assert RecordSolver().describe_inputs(Sample("a", what)) == model.calls[0].messages[0].content


def test_the_rule_and_the_targets_are_not_sent() -> None:
    same = [
        RecordSolver().describe_inputs(Sample("a", one))
        for one in (task(), task("lower"), structs.replace(task(), targets=("5",)))
    ]

    assert len(set(same)) == 1


@pytest.mark.parametrize(
    ("rule", "post_processed"),
    [
        pytest.param("none", " The\nANSWER ", id="none"),
        pytest.param("strip_whitespace", "The\nANSWER", id="strip_whitespace"),
        pytest.param("lower", " the\nanswer ", id="lower"),
        pytest.param("extract_first_line", "The", id="extract_first_line"),
    ],
)
def test_a_stored_trace_is_revised_as_if_it_had_been_solved_now(
    rule: PostProcess, post_processed: str
) -> None:
    before = solve(task("extract_letter"), saying(" The\nANSWER "))

    after = RecordSolver().reuse(Sample("a", task(rule)), before)

    assert after == structs.replace(before, post_processed=post_processed)
    assert after.post_processed == solve(task(rule), saying(" The\nANSWER ")).post_processed


def test_the_model_is_asked_once_for_each_trial() -> None:
    model = saying("4")

    solve(task(), model, trial=7)

    assert [(call.sample.id, call.trial) for call in model.calls] == [("a", 7)]


@pytest.mark.parametrize(
    ("rule", "post_processed"),
    [
        pytest.param("none", " The\nANSWER ", id="none"),
        pytest.param("strip_whitespace", "The\nANSWER", id="strip_whitespace"),
        pytest.param("lower", " the\nanswer ", id="lower"),
        pytest.param("extract_first_line", "The", id="extract_first_line"),
    ],
)
def test_the_output_is_kept_as_it_came_beside_what_became_of_it(
    rule: PostProcess, post_processed: str
) -> None:
    trace = solve(task(rule), saying(" The\nANSWER "))

    assert trace.output == " The\nANSWER "
    assert trace.post_processed == post_processed


def test_usage_and_time_are_written_down() -> None:
    trace = solve(task(), saying("four words for you"))

    assert trace.usage == Usage(requests=1, prompt_tokens=3, completion_tokens=4, cost=0.0)
    assert 0 <= trace.latency_s < 5


def test_confidence_is_exp_of_the_mean_log_probability() -> None:
    trace = solve(task(), Sure((math.log(0.5), math.log(0.125))))

    assert trace.confidence == pytest.approx(0.25)
    assert trace.nll == pytest.approx(math.log(16))
    assert trace.nll_tokens == 2


@pytest.mark.parametrize(
    "logprobs", [pytest.param(None, id="not given"), pytest.param((), id="of no token")]
)
def test_without_log_probabilities_there_is_no_confidence(
    logprobs: tuple[float, ...] | None,
) -> None:
    trace = solve(task(), Sure(logprobs))

    assert (trace.confidence, trace.nll, trace.nll_tokens) == (None, None, 0)


@pytest.mark.parametrize(
    ("logprobs", "confidence"),
    [
        pytest.param((0.0, 0.0), 1.0, id="certain"),
        pytest.param((1e-9,), 1.0, id="certain, but for rounding"),
        pytest.param((-9999.0,), 0.0, id="as good as impossible"),
        pytest.param((-math.inf,), 0.0, id="impossible"),
    ],
)
def test_confidence_stays_within_0_and_1(logprobs: tuple[float, ...], confidence: float) -> None:
    trace = solve(task(), Sure(logprobs))

    assert trace.confidence == confidence
    assert trace.nll is not None
    assert trace.nll >= 0


@pytest.mark.parametrize(
    "logprobs",
    [
        pytest.param((0.5,), id="a probability above 1"),
        pytest.param((-3.0, 0.5), id="even when others make up for it"),
        pytest.param((math.nan,), id="no number"),
    ],
)
def test_an_impossible_log_probability_breaks_the_contract(logprobs: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="log-probabilities of 0 or less"):
        solve(task(), Sure(logprobs))


class TestMultipleChoiceByLikelihood:
    def test_the_letters_of_the_prompt_are_weighed_and_nothing_is_generated(self) -> None:
        model = saying("B", 0.75)

        trace = weigh(choice("Which?\nA) x\nB) y\nC) z"), model)

        assert [(call.messages, call.given) for call in model.calls] == [
            ((Message("user", "Which?\nA) x\nB) y\nC) z"),), ("A", "B", "C"))
        ]
        assert (trace.output, trace.post_processed) == ("B", "B")
        assert trace.options == pytest.approx(
            {"A": math.log(0.0625), "B": math.log(0.75), "C": math.log(0.0625)}
        )
        assert trace.confidence == pytest.approx(0.75 / 0.875)
        assert trace.nll == pytest.approx(-math.log(0.75))
        assert trace.nll_tokens == 1
        assert trace.usage.requests == 1

    def test_where_the_prompt_has_no_options_every_letter_is_weighed(self) -> None:
        model = saying("D")

        trace = weigh(choice("Which of the four?"), model)

        assert model.calls[0].given == ("A", "B", "C", "D", "E")
        assert trace.output == "D"

    def test_of_equals_the_first_letter_is_the_answer(self) -> None:
        assert weigh(choice("Which?\nA) x\nB) y"), saying("neither")).output == "A"

    def test_an_option_beyond_the_letters_of_targets_is_an_answer_too(self) -> None:
        seven = "Which?\n" + "\n".join(f"{letter}. {letter}" for letter in "ABCDEFG")

        trace = weigh(choice(seven, post_process="extract_letter"), saying("G"))

        assert (trace.output, trace.post_processed) == ("G", "G")

    def test_examples_are_shown_but_offer_nothing(self) -> None:
        shown = Example("Which?\nA) 1\nB) 2\nC) 3\nD) 4", "A")
        model = saying("B")

        weigh(choice("Which?\nA) x\nB) y", few_shot_examples=(shown,)), model)

        assert model.calls[0].given == ("A", "B")
        assert model.calls[0].messages[0].content.startswith("Which?\nA) 1")

    def test_a_target_that_is_not_offered_is_no_wrong_answer(self) -> None:
        model = saying("A")

        with pytest.raises(ValueError, match="the target is E, but the prompt offers A, B: no"):
            weigh(choice("Which?\nA) x\nB) y", targets=("E",)), model)

        assert model.calls == []

    def test_nor_is_one_that_is_not_offered_any_more(self) -> None:
        what = choice("Which?\nA) x\nB) y")
        solver = RecordSolver(weighs=True)
        trace = weigh(what, saying("A"))

        assert solver.reuse(Sample("a", what), trace) == trace
        with pytest.raises(ValueError, match="the target is C"):
            solver.reuse(Sample("a", structs.replace(what, targets=("C",))), trace)

    def test_every_other_category_is_generated(self) -> None:
        model = saying("4")

        trace = weigh(task(), model)

        assert trace == structs.replace(solve(task(), saying("4")), latency_s=trace.latency_s)
        assert model.calls[0].given == ()

    def test_without_being_told_so_nothing_is_weighed(self) -> None:
        model = saying("The answer is B")

        trace = solve(choice("Which?\nA) x\nB) y"), model)

        assert model.calls[0].given == ()
        assert (trace.output, trace.options) == ("The answer is B", {})

    def test_a_choice_is_stored_under_no_key_of_a_generated_answer(self) -> None:
        two, three = (choice(f"Which?\nA) x\nB) y{more}") for more in ("", "\nC) z"))
        generated, weighed = RecordSolver(), RecordSolver(weighs=True)

        keys = [
            one.describe_inputs(Sample("a", what))
            for one in (generated, weighed)
            for what in (two, three)
        ]

        assert keys[:2] == [two.prompt, three.prompt]
        assert len(set(keys)) == 4
        assert weighed.describe_inputs(Sample("a", task())) == generated.describe_inputs(
            Sample("a", task())
        )

    def test_a_mended_target_or_rule_asks_nothing_again(self) -> None:
        what = choice("Which?\nA) x\nB) y")
        others = (
            structs.replace(what, targets=("B",)),
            structs.replace(what, post_process="extract_letter"),
        )
        solver = RecordSolver(weighs=True)

        assert {solver.describe_inputs(Sample("a", one)) for one in (what, *others)} == {
            solver.describe_inputs(Sample("a", what))
        }

    def test_a_reply_that_weighs_something_else_breaks_the_contract(self) -> None:
        with pytest.raises(ValueError, match="expected the log-probabilities of 2 answers, got 0"):
            weigh(choice("Which?\nA) x\nB) y"), Sure(None))
