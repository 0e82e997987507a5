import pytest
from tests.spec.records.made import lint_tasks

from evalwright.scorers.record import TEXT_METRICS
from evalwright.types import TaskSpec


def details(metric: str, *targets: str) -> list[str]:
    task = TaskSpec(
        task_id="t",
        category="summary",
        prompt="What is it?",
        targets=targets,
        metric_name=metric,  # type: ignore[arg-type]  # a word of the vocabulary
        post_process="none",
    )
    return [one.detail for one in lint_tasks([(1, task)]) if one.rule == "empty_target"]


@pytest.mark.parametrize("metric", ["exact_match", "f1", "bleu_4", "rouge_l"])
@pytest.mark.parametrize(
    "targets", [("",), ("  \n",), ("?!",), ("👍",), ("yes", ""), ("yes",), ("نعم",), ("是",)]
)
def test_it_is_found_when_an_empty_answer_gets_full_marks(
    metric: str, targets: tuple[str, ...]
) -> None:
    assert bool(details(metric, *targets)) == (TEXT_METRICS[metric]("", targets) == 1)


def test_the_finding_says_which_target() -> None:
    assert details("exact_match", "yes", "") == [
        "`targets[1]` is empty: an empty answer counts as correct; remove it"
    ]
