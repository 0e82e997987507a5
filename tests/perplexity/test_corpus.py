import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from evalwright.datasets.texts import Texts
from evalwright.perplexity.measure import TextCorpus
from evalwright.types import Failure, Outcome, Trace, Usage

BROKEN = Failure(stage="solver", type="ValueError", message="no", hint="try")


def corpus_of(folder: Path, texts: Sequence[str], models: Sequence[str] = ("m",)) -> TextCorpus:
    (folder / "a.txt").write_text("\n".join(texts))
    found = Texts([str(folder / "a.txt")], split="lines")
    corpus = TextCorpus(found, found.check().documents, models)
    assert len(list(corpus.read_documents())) == len(texts)
    return corpus


def outcome(
    ordinal: int,
    nll: float = 0.0,
    tokens: int = 1,
    *,
    model: str = "m",
    requests: int = 1,
    failure: Failure | None = None,
) -> Outcome:
    usage = Usage(requests=requests, prompt_tokens=tokens, cost=0.0)
    trace = Trace(input="", output="", post_processed="", nll=nll, nll_tokens=tokens, usage=usage)
    return Outcome(
        task="t",
        model=model,
        sample_id="",
        ordinal=ordinal,
        trace=None if failure else trace,
        failure=failure,
    )


def test_sums_come_first_and_are_divided_once(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["four", "é"])
    corpus.models["m"].add_outcome(outcome(1, nll=1.0, tokens=1))
    corpus.models["m"].add_outcome(outcome(0, nll=6.0, tokens=3))

    found = corpus.summarize_model("m", seed=0)

    assert found.perplexity.value == pytest.approx(math.exp(7 / 4))
    assert found.bits_per_byte.value == pytest.approx(7 / 6 / math.log(2)), "é has two bytes"
    assert found.bits_per_character.value == pytest.approx(7 / 5 / math.log(2))
    assert (found.nll, found.tokens, found.characters, found.bytes) == (7.0, 4, 5, 6)
    assert found.perplexity.n == found.documents == 2
    assert found.perplexity.interval == "student"


def test_the_interval_is_that_of_the_rate(tmp_path: Path) -> None:
    from evalwright.stats.rates import rate_interval

    corpus = corpus_of(tmp_path, ["word " * n for n in range(1, 31)])
    nll = [(3 + n % 4 / 4) * n for n in range(1, 31)]
    for ordinal, one in enumerate(nll):
        corpus.models["m"].add_outcome(outcome(ordinal, nll=one, tokens=ordinal + 1))

    found = corpus.summarize_model("m", seed=3).perplexity
    rate = rate_interval(nll, list(range(1, 31)), seed=3)

    assert rate is not None
    assert (found.ci_low, found.ci_high) == (math.exp(rate.low), math.exp(rate.high))
    assert found.interval == "bootstrap-t"


def test_no_end_lies_below_certainty(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["one", "two"])
    corpus.models["m"].add_outcome(outcome(0, nll=0.1))
    corpus.models["m"].add_outcome(outcome(1, nll=3.0))

    found = corpus.summarize_model("m", seed=0)

    assert (found.perplexity.ci_low, found.bits_per_byte.ci_low) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("nll", "value", "reason"),
    [
        pytest.param([], None, "no document was scored", id="none"),
        pytest.param([2.0], math.exp(2), "there is only one document", id="one"),
        pytest.param([2.0, 2.0], math.exp(2), "all documents have the same value", id="alike"),
        pytest.param([2.0, math.inf], None, "a token has probability 0", id="impossible"),
        pytest.param([2.0, 1e6], None, "too large to represent", id="too large"),
    ],
)
def test_what_is_not_known_is_null_and_says_why(
    tmp_path: Path, nll: list[float], value: float | None, reason: str
) -> None:
    corpus = corpus_of(tmp_path, ["one", "two"])
    for ordinal, one in enumerate(nll):
        corpus.models["m"].add_outcome(outcome(ordinal, nll=one))

    found = corpus.summarize_model("m", seed=0).perplexity

    assert found.value == (value if value is None else pytest.approx(value))
    assert (found.ci_low, found.ci_high) == (None, None)
    assert reason in found.reason


def test_a_failure_is_in_no_figure(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["one", "two", "three"])
    corpus.models["m"].add_outcome(outcome(0, nll=2.0))
    corpus.models["m"].add_outcome(outcome(1, failure=BROKEN))

    found = corpus.summarize_model("m", seed=0)
    kinds = list(corpus.group_failures())
    rows = list(corpus.document_rows())

    assert found.perplexity.value == pytest.approx(math.exp(2))
    assert (found.documents, found.failed) == (1, 1)
    assert [(one.count, one.message, len(one.sample_ids)) for one in kinds] == [(1, "no", 1)]
    assert kinds[0].sample_ids[0].endswith("a.txt:2")
    assert [row.failure is None for row in rows] == [True, False], "what was not reached is no row"
    assert (rows[1].nll, rows[1].perplexity, rows[1].characters) == (None, None, 3)


def test_the_worst_documents_come_first(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [f"line {n}" for n in range(8)])
    for ordinal in range(8):
        corpus.models["m"].add_outcome(
            outcome(ordinal, nll=float(ordinal % 4), tokens=1 + ordinal // 4)
        )

    worst = corpus.summarize_model("m", seed=0).worst

    assert [row.document.rpartition(":")[2] for row in worst] == ["4", "3", "8", "2", "7"]


def test_what_came_from_the_cache_is_counted(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["one", "two"])
    corpus.models["m"].add_outcome(outcome(0, nll=2.0, requests=0))
    corpus.models["m"].add_outcome(outcome(1, nll=3.0))

    found = corpus.summarize_model("m", seed=0)

    assert found.reused == 1
    assert found.usage.requests == 1


def test_models_are_compared_on_the_documents_of_both(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [f"text {n}" for n in range(6)], ["a", "b"])
    for ordinal in range(6):
        corpus.models["a"].add_outcome(outcome(ordinal, nll=5.0 + ordinal, model="a"))
        broken = BROKEN if ordinal == 5 else None
        corpus.models["b"].add_outcome(outcome(ordinal, nll=3.0, model="b", failure=broken))

    (pair,) = corpus.compare_models(seed=0)

    expected = sum(2.0 + n for n in range(5)) / (5 * 6) / math.log(2)
    assert (pair.a, pair.b, pair.n) == ("a", "b", 5)
    assert pair.difference == pytest.approx(expected)
    assert pair.significant
    assert not corpus.has_shared_documents


def test_two_equal_models_have_no_difference_that_could_be_significant(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["one", "two"], ["a", "b"])
    for name in "ab":
        for ordinal in range(2):
            corpus.models[name].add_outcome(outcome(ordinal, nll=2.0 + ordinal, model=name))

    (pair,) = corpus.compare_models(seed=0)

    assert (pair.difference, pair.ci_low, pair.significant) == (0.0, None, False)
    assert corpus.has_shared_documents


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(2.0, id="to one of them"),
        pytest.param(math.inf, id="to both"),
    ],
)
def test_a_text_that_is_impossible_is_not_left_out_of_a_difference(
    tmp_path: Path, other: float
) -> None:
    corpus = corpus_of(tmp_path, ["one", "two", "three"], ["a", "b"])
    for ordinal in range(3):
        last = ordinal == 2
        corpus.models["a"].add_outcome(outcome(ordinal, nll=math.inf if last else 1.0, model="a"))
        corpus.models["b"].add_outcome(
            outcome(ordinal, nll=other if last else 2.0 + ordinal, model="b")
        )

    (pair,) = corpus.compare_models(seed=0)

    assert (pair.difference, pair.ci_low, pair.significant, pair.n) == (None, None, False, 3)
