"""What is done with a task when its last sample is in."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from evalwright.engine.finalize import finalize_task
from evalwright.engine.results import FinalResult, TaskOutcomes
from evalwright.metrics.scores import Measure, Scores
from evalwright.plan.finalization import Finalization, ScorerMetrics
from evalwright.ports import Snippets
from evalwright.stats.interval import UNBOUNDED, Bounds, Interval
from evalwright.templates import Native
from evalwright.types import Action, Failure, Outcome, Part, Score, Trace, Usage


class Sum:
    """A metric that adds up a field."""

    type = value_name = "sum"
    by: Native | None = None
    expressions: tuple[Native, ...] = ()

    def sample_terms(self) -> None:
        return None

    def __init__(self, field: str = "n", name: str = "sum") -> None:
        self.field, self.name = field, name

    def fields(self) -> frozenset[str]:
        return frozenset({self.field})

    def bounds(self, scores: Scores) -> Bounds:
        del scores
        return UNBOUNDED

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        del seed, snippets
        total = float(scores.column(self.field).numbers()[0].sum()) if scores.n else 0.0
        return [Measure(name=self.name, value=total, interval=None, n=scores.n)]


class Broken(Sum):
    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        del scores, seed, snippets
        raise ValueError("no such field")


class Even:
    """A rule: samples whose `n` is even."""

    key = "even"
    action = "exclude_from_metrics"

    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        del conversation, scores
        return bool(sample["n"] % 2 == 0)


class ByScore(Even):
    key = "by-score"

    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        del sample, conversation
        return bool(scores["late"]["rank"] == 0)


class Undecided(Even):
    key = "undecided"

    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        del sample, conversation, scores
        raise TypeError("expected a truth value")


class Ranks:
    """A scorer of all samples: the place of each."""

    version: ClassVar[int] = 1
    settings = "ranks"

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def score_all(
        self,
        samples: Any,
        solver_outputs: Sequence[dict[str, Any]] | None,
        snippets: Snippets | None,
    ) -> list[Score]:
        del solver_outputs, snippets
        self.asked.append(samples)
        first = next(iter(samples.values())) if isinstance(samples, dict) else samples
        return [Score(values={"rank": place}) for place in range(len(first))]


def outcome(n: int, **fields: Any) -> Outcome:
    return Outcome(
        **{
            "task": "t",
            "model": "m",
            "sample_id": str(n),
            "ordinal": n,
            "sample": {"n": n},
            "scores": {"s": Score(values={"n": n})},
            **fields,
        }
    )


class Kept:
    """Outcomes, and those that were written again."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = {one.ordinal: one for one in outcomes}
        self.written: list[Outcome] = []

    def read(self) -> Iterator[Outcome]:
        return iter(list(self.outcomes.values()))

    def write(self, changed: Sequence[Outcome]) -> None:
        self.written += changed
        self.outcomes.update({one.ordinal: one for one in changed})


def finished(kept: Kept, *, complete: bool = True, **parts: Any) -> FinalResult:
    measured = {"s": ScorerMetrics(metrics=(("sum", Sum()),))}
    landed = TaskOutcomes(outcomes=kept.read, write=kept.write, complete=complete)
    return asyncio.run(finalize_task(Finalization(**{"measured": measured, **parts}), landed, None))


def test_metrics_are_over_the_samples_that_could_be_scored() -> None:
    broken = Failure(stage="score", type="ValueError", message="no")
    kept = Kept(outcome(1), outcome(2, scores={}, failure=broken), outcome(3))

    found = finished(kept)

    (figure,) = found.figures
    assert (figure.measure.value, figure.measure.n, figure.failed) == (4.0, 2, 1)
    assert kept.written == []


def test_a_rule_takes_samples_out_of_every_metric_and_keeps_their_scores() -> None:
    kept = Kept(*(outcome(n) for n in range(5)))

    found = finished(kept, rules=(Even(),))

    assert found.figures[0].measure.value == 4.0
    assert (found.excluded, found.left_out) == ({"even": 3}, 3)
    assert [one.ordinal for one in kept.written] == [0, 2, 4]
    assert kept.outcomes[2].actions == (Action(action="exclude_from_metrics", rule_key="even"),)
    assert kept.outcomes[2].scores["s"].values == {"n": 2}


def test_a_second_time_changes_nothing() -> None:
    kept = Kept(*(outcome(n) for n in range(5)))
    first = finished(kept, rules=(Even(),))
    kept.written.clear()

    assert finished(kept, rules=(Even(),)) == first
    assert kept.written == []


def test_a_sample_that_two_rules_take_out_is_left_out_once() -> None:
    kept = Kept(outcome(0, scores={"late": Score(values={"rank": 0})}), outcome(1))

    found = finished(kept, rules=(Even(), ByScore()), measured={})

    assert found.excluded == {"even": 1, "by-score": 1}
    assert found.left_out == 1


def test_a_rule_that_cannot_say_fails_its_sample_which_is_in_no_metric() -> None:
    kept = Kept(outcome(1))

    found = finished(kept, rules=(Undecided(),))

    failure = kept.outcomes[1].failure
    assert failure is not None
    assert (failure.stage, failure.type) == ("action", "TypeError")
    assert failure.message == "`undecided`: expected a truth value"
    assert found.figures[0].measure.n == 0
    assert kept.outcomes[1].scores != {}


def test_a_rule_that_cannot_say_does_so_beside_a_scorer_that_broke_first() -> None:
    broken = Failure(stage="score", type="ValueError", message="`other`: no")
    kept = Kept(outcome(1, failure=broken), outcome(3))

    class OnlyFirst(Undecided):
        def applies(self, sample: dict[str, Any], *_: Any) -> bool:
            return sample["n"] == 1 and bool(super().applies(sample, None, {}))

    first = finished(kept, rules=(OnlyFirst(),))

    figure = first.figures[0]
    assert (figure.measure.value, figure.measure.n, figure.failed) == (3.0, 1, 1)
    assert kept.outcomes[1].failure == broken
    assert finished(kept, rules=(OnlyFirst(),)) == first


def test_a_rule_does_not_look_at_a_sample_that_was_never_solved() -> None:
    gone = Failure(stage="solver", type="timeout", message="no answer")
    kept = Kept(outcome(0, scores={}, failure=gone))

    assert finished(kept, rules=(Undecided(),)).excluded == {"undecided": 0}
    assert kept.outcomes[0].failure == gone


def test_a_scorer_of_all_samples_is_asked_once_and_its_scores_are_kept() -> None:
    kept = Kept(*(outcome(n) for n in range(3)))
    ranks = Ranks()
    parts: dict[str, Any] = {
        "run_scorers": {"late": ranks},
        "measured": {"late": ScorerMetrics(metrics=(("sum", Sum("rank")),))},
    }

    first = finished(kept, **parts)
    again = finished(kept, **parts)

    assert ranks.asked == [[{"n": 0}, {"n": 1}, {"n": 2}]]
    assert first.figures[0].measure.value == again.figures[0].measure.value == 3.0
    assert kept.outcomes[2].scores["late"].values == {"rank": 2}


def test_it_is_asked_again_when_a_sample_has_come_since() -> None:
    kept = Kept(outcome(0))
    ranks = Ranks()
    finished(kept, run_scorers={"late": ranks})
    kept.outcomes[1] = outcome(1)

    finished(kept, run_scorers={"late": ranks})

    assert len(ranks.asked) == 2


def test_it_is_not_asked_about_some_of_the_samples() -> None:
    ranks = Ranks()

    found = finished(
        Kept(outcome(0), outcome(1)),
        run_scorers={"late": ranks},
        measured={"late": ScorerMetrics(metrics=(("sum", Sum("rank")),))},
        complete=False,
    )

    assert ranks.asked == []
    (figure,) = found.figures
    assert figure.measure == Measure("sum", None, None, 0, "not computed: samples are missing")
    assert (figure.failed, found.broken) == (0, [])


def test_it_does_not_see_what_was_never_solved() -> None:
    gone = Failure(stage="solver", type="timeout", message="no answer")
    kept = Kept(outcome(0, scores={}, failure=gone), outcome(1))
    ranks = Ranks()

    finished(kept, run_scorers={"late": ranks})

    assert ranks.asked == [[{"n": 1}]]
    assert "late" not in kept.outcomes[0].scores


@pytest.mark.parametrize("stage", ["score", "action"])
def test_it_sees_a_sample_that_another_scorer_could_not_judge(stage: Any) -> None:
    broken = Failure(stage=stage, type="ValueError", message="no")
    kept = Kept(outcome(0, scores={}, failure=broken), outcome(1))
    ranks = Ranks()

    finished(kept, run_scorers={"late": ranks})
    finished(kept, run_scorers={"late": ranks})

    assert ranks.asked == [[{"n": 0}, {"n": 1}]]
    assert kept.outcomes[0].scores["late"].values == {"rank": 0}


def test_it_is_not_asked_again_for_a_sample_whose_answer_could_not_be_used() -> None:
    broken = Failure(stage="solver", type="KeyError", message="the postprocessor broke")
    trace = Trace(input="", output="", post_processed="")
    kept = Kept(outcome(0, scores={}, trace=trace, failure=broken), parted(1, 3))
    ranks = Ranks()

    for _ in range(2):
        finished(kept, run_scorers={"late": ranks}, fans_out=True)

    assert ranks.asked == [[{"n": 3}]]


def test_it_is_not_asked_again_for_a_sample_of_which_nothing_was_made() -> None:
    kept = Kept(parted(0), parted(1, 3))
    ranks = Ranks()

    for _ in range(2):
        finished(kept, run_scorers={"late": ranks}, fans_out=True)

    assert ranks.asked == [[{"n": 3}]]
    assert kept.outcomes[0].scores == {}


def test_a_rule_may_look_at_a_score_that_came_late() -> None:
    kept = Kept(*(outcome(n) for n in range(3)))

    found = finished(kept, run_scorers={"late": Ranks()}, rules=(ByScore(),))

    assert found.excluded == {"by-score": 1}
    assert found.figures[0].measure.value == 3.0


def test_several_datasets_are_given_apart_of_the_samples_that_were_solved() -> None:
    gone = Failure(stage="solver", type="timeout", message="no answer")
    kept = Kept(outcome(0), outcome(1, scores={}, failure=gone), outcome(2))
    ranks = Ranks()

    def together(asked: Sequence[int]) -> dict[str, list[dict[str, Any]]]:
        return {"a": [{"n": one} for one in asked], "b": [{"m": 1}]}

    finished(kept, run_scorers={"late": ranks}, together=together)

    assert ranks.asked == [{"a": [{"n": 0}, {"n": 2}], "b": [{"m": 1}]}]
    assert kept.outcomes[2].scores["late"].values == {"rank": 1}


def test_another_number_of_scores_than_of_samples_breaks_the_scorer() -> None:
    rows = {"a": [{"n": 0}, {"n": 1}]}

    found = finished(Kept(outcome(0)), run_scorers={"late": Ranks()}, together=lambda _: rows)

    (broken,) = found.broken
    assert (broken.stage, broken.what) == ("score", "late")
    assert broken.failure.message == "expected one score per sample: 1, got 2"


@pytest.mark.parametrize("where", ["scorer", "metric"])
def test_what_breaks_for_the_whole_task_is_said_once(where: str) -> None:
    class BrokenRanks(Ranks):
        async def score_all(self, *_: Any) -> list[Score]:
            raise ValueError("too few")

    parts: dict[str, Any] = (
        {"run_scorers": {"late": BrokenRanks()}}
        if where == "scorer"
        else {"measured": {"s": ScorerMetrics(metrics=(("a", Broken()), ("b", Sum())))}}
    )

    found = finished(Kept(outcome(0)), **parts)

    assert [(one.stage, one.what) for one in found.broken] == [
        ("score", "late") if where == "scorer" else ("metric", "s.a")
    ]
    assert found.figures[-1].measure.value == 0.0
    if where == "metric":  # it stands among the results, without a value
        assert found.figures[0].measure == Measure("a", None, None, 0, "no such field")


def test_what_a_postprocessor_made_is_scored_part_by_part() -> None:
    trace = Trace(input="", output="", post_processed="")
    parts = tuple(
        Part(sample={"n": n}, trace=trace, scores={"s": Score(values={"n": n})}) for n in (10, 20)
    )

    found = finished(Kept(outcome(0, scores={}, parts=parts)))

    assert (found.figures[0].measure.value, found.figures[0].measure.n) == (30.0, 2)


def parted(ordinal: int, *numbers: int) -> Outcome:
    """A sample of which a postprocessor made several."""
    trace = Trace(input="", output="", post_processed="", conversation={"items": []})
    parts = tuple(
        Part(sample={"n": n}, trace=trace, scores={"s": Score(values={"n": n})}) for n in numbers
    )
    return outcome(ordinal, scores={}, parts=parts, trace=trace)


def test_a_rule_looks_at_what_a_postprocessor_made_one_by_one() -> None:
    kept = Kept(parted(0, 1, 2, 3), parted(1, 4))

    found = finished(kept, rules=(Even(),))

    assert (found.figures[0].measure.value, found.figures[0].measure.n) == (4.0, 2)
    assert (found.excluded, found.left_out, found.figures[0].failed) == ({"even": 2}, 2, 0)
    assert [len(part.actions) for part in kept.outcomes[0].parts] == [0, 1, 0]
    assert finished(kept, rules=(Even(),)) == found


def test_a_scorer_of_all_samples_sees_what_a_postprocessor_made() -> None:
    kept = Kept(parted(0, 1, 2), parted(1, 3))
    ranks = Ranks()

    found = finished(
        kept,
        run_scorers={"late": ranks},
        rules=(ByScore(),),
        measured={"late": ScorerMetrics(metrics=(("sum", Sum("rank")),))},
    )

    assert ranks.asked == [[{"n": 1}, {"n": 2}, {"n": 3}]]
    assert kept.outcomes[0].parts[1].scores["late"].values == {"rank": 1}
    assert (found.figures[0].measure.value, found.excluded) == (3.0, {"by-score": 1})


def test_a_sample_of_which_nothing_was_made_is_not_scored_and_has_not_failed() -> None:
    broken = Failure(stage="solver", type="KeyError", message="the postprocessor broke")
    trace = Trace(input="", output="", post_processed="")
    failed = outcome(2, scores={}, trace=trace, failure=broken)
    ranks = Ranks()

    found = finished(
        Kept(parted(0), parted(1, 3), failed),
        run_scorers={"late": ranks},
        rules=(Even(),),
        fans_out=True,
    )

    assert ranks.asked == [[{"n": 3}]]
    assert (found.figures[0].measure.n, found.figures[0].failed, found.left_out) == (1, 1, 0)


def test_a_sample_that_failed_is_one_however_many_parts_the_others_have() -> None:
    gone = Failure(stage="solver", type="timeout", message="no answer")

    found = finished(Kept(parted(0, 1, 2), outcome(1, scores={}, failure=gone)))

    assert (found.figures[0].measure.n, found.figures[0].failed) == (2, 1)


def test_parts_of_one_sample_have_no_interval_because_they_go_together() -> None:
    class Sure(Sum):
        async def measure(self, *_: Any, **__: Any) -> list[Measure]:
            return [Measure("sure", 1.0, Interval(0.9, 1.0, "wilson"), 2)]

    measured = {"s": ScorerMetrics(metrics=(("sure", Sure()),))}
    parts = tuple(Part(sample={}, scores={"s": Score(values={"n": 1})}) for _ in range(2))

    together = finished(Kept(outcome(0, scores={}, parts=parts)), measured=measured)
    single = finished(Kept(outcome(0, scores={}, parts=parts[:1])), measured=measured)

    assert together.figures[0].measure.interval is None
    assert "not independent" in together.figures[0].measure.reason
    assert single.figures[0].measure.interval is not None


def test_rows_that_depend_on_each_other_have_no_interval() -> None:
    class Sure(Sum):
        async def measure(self, *_: Any, **__: Any) -> list[Measure]:
            return [
                Measure("sure", 1.0, Interval(0.9, 1.0, "wilson"), 2),
                Measure("most", 1.0, None, 2, reason="of one sample"),
            ]

    measured = {"s": ScorerMetrics(metrics=(("sure", Sure()),))}

    found = finished(Kept(outcome(0)), measured=measured, has_dependent_rows=True)

    assert [figure.measure.interval for figure in found.figures] == [None, None]
    first, second = (figure.measure.reason for figure in found.figures)
    assert "on the same samples" in first
    assert second == "of one sample", "its own reason stays"


def test_what_other_models_took_is_summed() -> None:
    took = {"judge": Usage(requests=1, prompt_tokens=2, completion_tokens=3, cost=0.5)}

    found = finished(Kept(outcome(0, others=took), outcome(1, others=took)))

    assert found.others == {
        "judge": Usage(requests=2, prompt_tokens=4, completion_tokens=6, cost=1.0)
    }


def test_scores_without_a_value_are_counted_beside_the_figure() -> None:
    class Few(Sum):
        async def measure(self, *_: Any, **__: Any) -> list[Measure]:
            return [Measure("few", 1.0, None, 1), Measure("none", None, None, 0)]

    class Unknown(Few):
        def fields(self) -> Any:
            return None

    metrics = (("few", Few()), ("unknown", Unknown()))
    measured = {"s": ScorerMetrics(metrics=metrics, own_keys=frozenset({"few"}))}
    found = finished(Kept(outcome(1), outcome(2), outcome(3)), measured=measured)

    assert [(one.absent, one.own_key) for one in found.figures] == [
        (2, True),
        (0, True),
        (0, False),
        (0, False),
    ]


def test_what_broke_has_its_scorer_and_its_metric() -> None:
    measured = {"s": ScorerMetrics(metrics=(("a", Broken()),))}
    (broken,) = finished(Kept(outcome(1)), measured=measured).broken

    assert (broken.scorer, broken.metric) == ("s", "a")
