"""How many samples there are, where each may be tried several times."""

from evalwright.plan.documents import DocumentPlan, PlannedSpec
from evalwright.report.counting import Counts
from evalwright.store.scalars import row_of
from evalwright.types import Failure, Outcome, Row

BROKEN = Failure(stage="solver", type="Timeout", message="no")


def rows(*places: tuple[int, int, str], failed: tuple[int, int, str] | None = None) -> list[Row]:
    """Ordinal, trial and model of each."""
    return [
        row_of(
            Outcome(
                task="t",
                model=model,
                sample_id=str(ordinal),
                ordinal=ordinal,
                trial=trial,
                failure=BROKEN if (ordinal, trial, model) == failed else None,
            )
        )
        for ordinal, trial, model in places
    ]


def counts(given: list[Row], *, trials: int = 1, repeats: int = 1) -> Counts:
    spec = PlannedSpec(name="t", task_key="t", records=2, trials=trials, repeats=repeats)
    made = Counts(DocumentPlan(tasks=(spec,), models=("x", "y")))

    assert list(made.seen(given)) == given
    return made


EVERY = [(ordinal, trial, model) for ordinal in (0, 1) for trial in (0, 1) for model in "xy"]


def test_a_sample_is_counted_once_for_each_model_however_often_it_is_tried() -> None:
    made = counts(rows(*EVERY), trials=2)

    assert (made.samples, made.failed, made.trials, made.noun) == (4, 0, 8, "trials")


def test_a_sample_has_failed_if_one_of_its_trials_has() -> None:
    made = counts(rows(*EVERY, failed=(1, 0, "y")), repeats=2)

    assert (made.samples, made.failed) == (4, 1)


def test_a_sample_whose_trials_are_not_all_there_is_not_counted() -> None:
    made = counts(rows(*EVERY[:-1], failed=(1, 0, "y")), trials=2)

    assert (made.samples, made.failed, made.trials) == (3, 0, 7)


def test_where_each_is_tried_once_a_row_is_a_sample() -> None:
    made = counts(rows((0, 0, "x"), (0, 0, "y"), (1, 0, "x"), failed=(1, 0, "x")))

    assert (made.samples, made.failed, made.trials, made.noun) == (3, 1, 0, "samples")


def test_nothing_is_no_sample() -> None:
    assert counts([]).samples == 0
