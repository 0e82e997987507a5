import asyncio
import math

import pytest
from tests.solvers.made import Replies

from evalwright.ports import Case
from evalwright.solvers.likelihood import LikelihoodSolver
from evalwright.types import Completion, Sample, Usage


def weighed(*given: tuple[float, ...]) -> Completion:
    return Completion(text="", given=given, usage=Usage(requests=1, prompt_tokens=2, cost=0.0))


def case(model: Replies) -> Case:
    return Case(sample=Sample("a.txt", "some text"), model=model)


def test_the_text_is_all_that_the_model_is_given() -> None:
    model = Replies(weighed((-1.0, -0.5)))

    trace = asyncio.run(LikelihoodSolver().solve(case(model)))

    assert model.requests[0].given == ("some text",)
    assert model.requests[0].messages == ()
    assert (trace.nll, trace.nll_tokens) == (1.5, 2)
    assert trace.usage.prompt_tokens == 2
    assert (trace.input, trace.output) == ("", ""), "a text is not kept"


@pytest.mark.parametrize(
    ("completion", "said"),
    [
        pytest.param(weighed(()), "no token likelihoods", id="no token"),
        pytest.param(weighed(), "expected the likelihood of one text, got 0", id="no text"),
        pytest.param(
            weighed((-1.0,), (-1.0,)), "expected the likelihood of one text, got 2", id="two"
        ),
        pytest.param(weighed((0.5,)), "log-probabilities of 0 or less", id="above 0"),
        pytest.param(weighed((math.nan,)), "log-probabilities of 0 or less", id="NaN"),
    ],
)
def test_what_is_no_likelihood_is_a_failure(completion: Completion, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        asyncio.run(LikelihoodSolver().solve(case(Replies(completion))))
