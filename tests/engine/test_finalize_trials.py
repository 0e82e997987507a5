"""What is done with a task whose samples were tried several times."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from evalwright.engine.finalize import finalize_task
from evalwright.engine.results import FinalResult, TaskOutcomes
from evalwright.metrics.base import AnyMetric
from evalwright.plan.finalization import Finalization, ScorerMetrics, TrialAggregate, TrialPlan
from evalwright.ports import Snippets
from evalwright.types import Action, Failure, Outcome, Score, Trace

_BROKEN = Failure(stage="solver", type="Timeout", message="no answer")
_PASS_2 = TrialAggregate(score="ok", function="pass^k", k=2, names=("pass^2",))


class Kept:
    """Outcomes in the order of a store, and those that were written again."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = {(one.ordinal, one.trial): one for one in outcomes}
        self.written: list[Outcome] = []

    def read(self) -> Iterator[Outcome]:
        return iter([self.outcomes[place] for place in sorted(self.outcomes)])

    def write(self, changed: Sequence[Outcome]) -> None:
        self.written += changed
        self.outcomes.update({(one.ordinal, one.trial): one for one in changed})


def metric(kind: str, field: str, **more: Any) -> tuple[str, Any]:
    from pydantic import TypeAdapter

    made: Any = TypeAdapter(AnyMetric).validate_python({"type": kind, "field": field, **more})
    return f"{kind}_{field}", made


def tried(*samples: Sequence[Any], name: str = "ok") -> list[Outcome]:
    """Of each sample, what every trial scored; an exception of a trial is a `Failure`."""
    return [
        Outcome(
            task="t",
            model="m",
            sample_id=f"s{ordinal}",
            ordinal=ordinal,
            trial=trial,
            sample={"n": ordinal},
            trace=Trace(input="", output=f"answer {trial}", post_processed=""),
            scores={} if isinstance(value, Failure) else {"judge": Score(values={name: value})},
            failure=value if isinstance(value, Failure) else None,
        )
        for ordinal, values in enumerate(samples)
        for trial, value in enumerate(values)
    ]


def finished(
    outcomes: Sequence[Outcome] | Kept, trials: TrialPlan | None, **parts: Any
) -> FinalResult:
    kept = outcomes if isinstance(outcomes, Kept) else Kept(outcomes)
    measured = {"judge": ScorerMetrics(metrics=(metric("mean", "ok"),))}
    task = Finalization(**{"measured": measured, "trials": trials, **parts})
    return asyncio.run(
        finalize_task(task, TaskOutcomes(outcomes=kept.read, write=kept.write), None)
    )


def values(made: FinalResult) -> dict[str, float | None]:
    return {one.measure.name: one.measure.value for one in made.figures}


def test_a_sample_counts_once_with_the_score_of_all_its_trials() -> None:
    outcomes = tried([True, True, True], [True, False, False], [False, False, False])
    metrics = (metric("mean", "ok"), metric("mean", "pass^2"))
    measured = {"judge": ScorerMetrics(metrics=metrics)}

    made = finished(outcomes, TrialPlan(trials=3, aggregates=(_PASS_2,)), measured=measured)

    assert made.scored == 3
    assert [one.measure.n for one in made.figures] == [3, 3]
    assert values(made) == {
        "ok_mean": pytest.approx((1 + 1 / 3 + 0) / 3),
        "pass^2_mean": pytest.approx((1 + 1 / 9 + 0) / 3),
    }
    interval = made.figures[0].measure.interval
    assert interval is not None, "over samples, each of which is one value"


def test_a_sample_with_a_failed_trial_is_in_no_figure() -> None:
    made = finished(tried([1, 1], [1, _BROKEN], [0, 1]), TrialPlan(trials=2))

    assert values(made) == {"ok_mean": 0.75}
    assert (made.figures[0].measure.n, made.figures[0].failed) == (2, 1)


def test_a_sample_whose_trials_have_not_all_landed_does_not_count() -> None:
    made = finished([*tried([1, 1], [0, 1])][:3], TrialPlan(trials=2))

    assert made.scored == 1
    assert (values(made), made.figures[0].failed) == ({"ok_mean": 1.0}, 0)


def test_a_metric_of_a_text_says_why_it_has_no_value() -> None:
    measured = {"judge": ScorerMetrics(metrics=(metric("frequency", "label"),))}

    made = finished(tried(["a", "b"], name="label"), TrialPlan(trials=2), measured=measured)

    (figure,) = made.figures
    assert figure.measure.value is None
    assert figure.measure.reason.startswith("only numbers and booleans can be combined")
    assert made.broken == []


def test_a_pass_rate_of_what_is_no_pass_or_fail_is_a_failure_that_says_so() -> None:
    measured = {"judge": ScorerMetrics(metrics=(metric("mean", "pass^2"), metric("mean", "ok")))}
    trials = TrialPlan(trials=2, aggregates=(_PASS_2,))

    made = finished(tried([0.4, 1], [1, 1]), trials, measured=measured)

    (broken,) = made.broken
    assert "`judge.pass^2`: `ok` is 0.4 in a trial" in broken.failure.message
    assert values(made) == {"pass^2_mean": 1.0, "ok_mean": 0.85}
    assert made.figures[0].measure.reason == "1 of 2 scores have no value"


class FewPass:
    """A rule: samples that pass in less than half of their trials."""

    key = "few-pass"
    action = "exclude_from_metrics"

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        self.seen.append((sample["n"], conversation, scores["judge"]["ok"]))
        return bool(scores["judge"]["ok"] < 0.5)


class Undecided(FewPass):
    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        del sample, conversation, scores
        raise TypeError("expected a truth value")


def test_a_rule_looks_at_the_score_of_all_trials_and_marks_them_all() -> None:
    kept, rule = Kept(tried([1, 1, 0], [1, 0, 0])), FewPass()

    made = finished(kept, TrialPlan(trials=3), rules=[rule])

    assert [(one, share) for one, _, share in rule.seen] == [
        (0, pytest.approx(2 / 3)),
        (1, pytest.approx(1 / 3)),
    ]
    assert made.excluded == {"few-pass": 1}
    assert made.left_out == 1
    assert values(made) == {"ok_mean": pytest.approx(2 / 3)}
    mark = (Action(action="exclude_from_metrics", rule_key="few-pass"),)
    assert [(one.ordinal, one.trial, one.actions) for one in kept.written] == [
        (1, 0, mark),
        (1, 1, mark),
        (1, 2, mark),
    ]


def test_a_rule_that_cannot_say_is_a_failure_of_the_first_trial_and_only_once() -> None:
    kept = Kept(tried([1, 1], [0, _BROKEN]))

    first = finished(kept, TrialPlan(trials=2), rules=[Undecided()])
    again = finished(kept, TrialPlan(trials=2), rules=[Undecided()])

    assert values(first) == values(again) == {"ok_mean": None}
    failures = [one.failure and one.failure.stage for one in kept.read()]
    assert failures == ["action", None, None, "solver"]


def test_a_rule_that_has_been_mended_takes_its_failure_back() -> None:
    kept = Kept(tried([1, 1]))
    finished(kept, TrialPlan(trials=2), rules=[Undecided()])

    made = finished(kept, TrialPlan(trials=2), rules=[FewPass()])

    assert values(made) == {"ok_mean": 1.0}
    assert [one.failure for one in kept.read()] == [None, None]


def test_a_rule_that_cannot_say_fails_no_trial_of_a_sample_that_has_failed_already() -> None:
    unscored = Failure(stage="score", type="ValueError", message="the scorer broke")
    kept = Kept(tried([1, unscored], [1, 1]))

    finished(kept, TrialPlan(trials=2), rules=[Undecided()])

    failures = [one.failure and one.failure.stage for one in kept.read()]
    assert failures == [None, "score", "action", None]


def test_a_rule_that_cannot_say_tells_what_trials_have_made_of_the_scores() -> None:
    kept = Kept(tried([True, False, True], ["a", "b", "a"]))

    finished(kept, TrialPlan(trials=3), rules=[Undecided()])

    truth, text = (one.failure for one in kept.read() if one.trial == 0)
    assert truth is not None
    assert truth.message.endswith("; over 3 trials `judge.ok` is the mean (0.667)")
    assert truth.hint == "compare the mean, for example with `greater_than` 0.5"
    assert text is not None
    assert text.message.endswith("; over 3 trials `judge.ok` is text and has no value")


class Wrong(FewPass):
    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        del sample, conversation
        return scores["judge"]["ok"] is False


def test_a_rule_sees_the_scores_of_a_single_trial_as_they_are() -> None:
    trials = TrialPlan(trials=1, aggregates=(_PASS_2,))

    made = finished(tried([True], [False]), trials, rules=[Wrong()])

    assert (made.excluded, values(made)) == ({"few-pass": 1}, {"ok_mean": 1.0})


def test_numbers_of_any_size_are_brought_together_over_trials_and_runs() -> None:
    outcomes = tried([1.7e308, 1.5e308, 1.7e308, 1.7e308])

    made = finished(outcomes, TrialPlan(trials=2, repeats=2))

    assert made.figures[0].measure.value == pytest.approx(1.65e308)


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
        self.asked.append([one["n"] for one in samples])
        shift = len(self.asked)
        return [Score(values={"rank": place * shift}) for place in range(len(samples))]


def test_a_scorer_of_all_samples_is_asked_once_for_each_trial() -> None:
    kept, ranks = Kept(tried([1, 1], [1, 1], [1, _BROKEN])), Ranks()
    measured = {"late": ScorerMetrics(metrics=(metric("mean", "rank"),))}
    parts: dict[str, Any] = {"run_scorers": {"late": ranks}, "measured": measured}

    made = finished(kept, TrialPlan(trials=2), **parts)

    assert ranks.asked == [[0, 1, 2], [0, 1]]
    assert values(made) == {"rank_mean": pytest.approx((0 + (1 + 2) / 2) / 2)}

    again = finished(kept, TrialPlan(trials=2), **parts)
    assert len(ranks.asked) == 2, "what is stored is not asked again"
    assert values(again) == values(made)


class OnlyOnce(Ranks):
    """Breaks when it is asked about the second trial."""

    async def score_all(
        self,
        samples: Any,
        solver_outputs: Sequence[dict[str, Any]] | None,
        snippets: Snippets | None,
    ) -> list[Score]:
        if self.asked:
            raise RuntimeError("the machine is tired")
        return await super().score_all(samples, solver_outputs, snippets)


def test_what_a_scorer_of_all_samples_said_of_one_trial_is_kept_if_the_next_breaks() -> None:
    kept = Kept(tried([1, 1], [1, 1]))
    measured = {"late": ScorerMetrics(metrics=(metric("mean", "rank"),))}

    made = finished(kept, TrialPlan(trials=2), run_scorers={"late": OnlyOnce()}, measured=measured)
    ranks = Ranks()
    again = finished(kept, TrialPlan(trials=2), run_scorers={"late": ranks}, measured=measured)

    assert [one.what for one in made.broken] == ["late"]
    assert made.broken[0].failure.message == "trial 2: the machine is tired"
    assert (made.figures[0].measure.value, made.figures[0].failed) == (None, 2)
    assert ranks.asked == [[0, 1]], "the second trial alone"
    assert values(again) == {"rank_mean": 0.5}


def test_the_figure_of_several_runs_is_their_mean_with_the_interval_over_samples() -> None:
    runs = [[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 1]]

    made = finished(tried(*runs), TrialPlan(repeats=4))

    (figure,) = made.figures
    assert list(figure.runs) == pytest.approx([2 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert figure.measure.value == pytest.approx(7 / 12)
    assert figure.measure.n == 3, "four runs on three samples are three samples"
    plain = finished(tried([1.0], [0.5], [0.25]), None)
    assert figure.measure.interval == plain.figures[0].measure.interval


def test_a_sample_counts_in_all_runs_or_in_none() -> None:
    made = finished(tried([1, 1], [0, _BROKEN], [0, 1]), TrialPlan(repeats=2))

    (figure,) = made.figures
    assert figure.runs == (0.5, 1.0)
    assert (figure.measure.value, figure.measure.n, figure.failed) == (0.75, 2, 1)
    assert [(one.n, one.flaky) for one in made.agreements] == [(2, 1)]


def test_agreement_over_rows_that_depend_on_each_other_has_no_interval() -> None:
    runs = tried([1, 1], [0, 1], [0, 1])

    alone = finished(runs, TrialPlan(repeats=2))
    together = finished(runs, TrialPlan(repeats=2), has_dependent_rows=True)

    assert [one.interval is None for one in alone.agreements] == [False]
    assert [one.interval for one in together.agreements] == [None]


def test_a_sample_that_a_rule_takes_out_in_one_run_is_out_in_all() -> None:
    made = finished(tried([1, 0], [1, 1]), TrialPlan(repeats=2), rules=[FewPass()])

    assert made.figures[0].runs == (1.0, 1.0)
    assert (made.left_out, made.excluded) == (1, {"few-pass": 1})


def test_trials_within_runs_are_brought_together_before_the_runs_are_compared() -> None:
    made = finished(tried([1, 0, 0, 1], [1, 1, 1, 0]), TrialPlan(trials=2, repeats=2))

    (figure,) = made.figures
    assert figure.runs == (0.75, 0.5)
    assert [one.sample_id for one in made.flaky] == ["s1"], "both runs of s0 gave 0.5"


def test_labels_are_compared_between_runs_and_a_share_that_never_came_is_0() -> None:
    measured = {"judge": ScorerMetrics(metrics=(metric("frequency", "label"),))}

    made = finished(
        tried(["a", "a"], ["a", "b"], name="label"), TrialPlan(repeats=2), measured=measured
    )

    found = {one.measure.name: (one.runs, one.measure.value) for one in made.figures}
    assert found == {"label_a": ((1.0, 0.5), 0.75), "label_b": ((0.0, 0.5), 0.25)}
    assert made.flaky[0].values == (("a", 1), ("b", 1))


def test_the_share_of_a_label_over_runs_has_an_interval_over_samples() -> None:
    measured = {"judge": ScorerMetrics(metrics=(metric("frequency", "label"),))}
    labels = [["a", "a"], ["a", "b"], ["b", "b"], ["a", "a"]]

    made = finished(tried(*labels, name="label"), TrialPlan(repeats=2), measured=measured)

    first = made.figures[0].measure
    plain = finished(tried([1.0], [0.5], [0.0], [1.0]), None).figures[0].measure
    assert (first.name, first.value, first.n) == ("label_a", 0.625, 4)
    assert first.interval == plain.interval, "each sample is the share of its runs"


def test_the_share_of_a_label_that_is_null_in_a_run_has_no_interval() -> None:
    measured = {"judge": ScorerMetrics(metrics=(metric("frequency", "label"),))}

    made = finished(
        tried(["a", None], ["a", "b"], name="label"), TrialPlan(repeats=2), measured=measured
    )

    assert [one.measure.interval for one in made.figures] == [None, None]
    assert all("not a mean over samples" in one.measure.reason for one in made.figures)


@pytest.mark.parametrize(
    ("kind", "rows", "bounds"),
    [
        pytest.param("mean", [[1, 0], [0.5, 1]], (0, 1), id="scores from 0 to 1"),
        pytest.param("mean", [[1, 0], [1.5, 1]], (None, None), id="any numbers"),
        pytest.param("mean", [[1, 0], [4, 1]], (0, None), id="counts"),
        pytest.param("mean", [[1, 0], [-4, 1]], (None, None), id="whole numbers, one below 0"),
        pytest.param("frequency", [["a", "b"]], (0, 1), id="a share"),
        pytest.param("std_dev", [[1, 0], [0.5, 1]], (0, None), id="a deviation"),
    ],
)
def test_the_range_of_a_metric_is_known(
    kind: str, rows: list[Any], bounds: tuple[float | None, float | None]
) -> None:
    measured = {"judge": ScorerMetrics(metrics=(metric(kind, "ok"),))}

    made = finished(tried(*rows), TrialPlan(repeats=2), measured=measured)

    assert {value.bounds for value in made.figures} == {bounds}


def test_what_is_no_average_over_samples_has_no_interval_over_runs() -> None:
    measured = {"judge": ScorerMetrics(metrics=(metric("std_dev", "ok"),))}
    rows = [[ordinal % 7, (ordinal * 3) % 5] for ordinal in range(30)]

    (figure,) = finished(tried(*rows), TrialPlan(repeats=2), measured=measured).figures

    assert figure.measure.value == pytest.approx(sum(one or 0 for one in figure.runs) / 2)
    assert figure.measure.interval is None
    assert "not a mean over samples" in figure.measure.reason


def test_no_samples_are_no_figures_and_no_agreement() -> None:
    made = finished([], TrialPlan(trials=2, repeats=2))

    assert values(made) == {"ok_mean": None}
    assert (made.agreements, made.flaky, made.all_flaky) == ([], [], 0)
