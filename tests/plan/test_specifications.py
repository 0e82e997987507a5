"""What a log says of its task is kept with the run, and read back."""

from pathlib import Path

import pytest
from tests.api.results import TASK, write_project

from evalwright.plan.specifications import describe_specification
from evalwright.plan.task_outlines import trial_plan
from evalwright.result_logs.log_outcomes import ScorerFacts, read_task_facts
from evalwright.spec.documents.project import read_project
from evalwright.spec.documents.resolve.specifications import ResolvedSpec

TRIALS = TASK.replace(
    "definition:\n",
    "definition:\n  trials:\n    num_trials: 2\n    score_aggregators:\n"
    "      - {score_name: is_correct, aggregator: {function: pass^k, k: 2}}\n",
)


@pytest.fixture
def spec(tmp_path: Path) -> ResolvedSpec:
    write_project(tmp_path)
    (tmp_path / "tasks" / "capitals.yaml").write_text(TRIALS)
    specs, problems = read_project(tmp_path / "run.yaml", environment={}).specs()
    assert [one for one in problems if one.level == "error"] == []
    return specs[0]


def test_a_task_says_what_it_was_given_and_who_judges(spec: ResolvedSpec) -> None:
    told = describe_specification(spec, trial_plan(spec))

    assert (told["key"], told["task_key"]) == ("first", "capitals")
    assert told["task_config"] == {"word": "capital"}
    assert told["dataset_keys"] == {"": "countries"}
    assert [(one["key"], one["purpose"]) for one in told["scorers"]] == [
        ("string_equals", "score"),
        ("polite", "qa"),
    ]
    assert told["trials"] == {"num_trials": 2}
    assert told["repeatability"] is None


def test_what_was_told_is_enough_to_write_samples_again(spec: ResolvedSpec) -> None:
    facts = read_task_facts(describe_specification(spec, trial_plan(spec)))

    assert facts.scorers == {
        "string_equals": ScorerFacts(name="Exact"),
        "polite": ScorerFacts(purpose="qa"),
    }
    (aggregate,) = facts.trials.aggregates
    assert (aggregate.score, aggregate.function, aggregate.k) == ("is_correct", "pass^k", 2)
