"""What a result log says of the task that it is of.

    key task_key display_name task_config dataset_keys num_samples subsampling
    trials repeatability            where there are any
    scorers                         each with its key, type, name and purpose
    evalwright                      how several trials become one score

It is plain data and kept with the run: whoever exports the run later need not have the project.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from evalwright.engine.finishing import Aggregate, Trials
from evalwright.report.logs.evidence import OURS, ScorerFacts, TaskFacts

if TYPE_CHECKING:
    from evalwright.api.recorded import Recorded
    from evalwright.plan.documents import PlannedSpec
    from evalwright.spec.documents.specs import ResolvedSpec


def specifications_of(
    specs: "Sequence[ResolvedSpec]", logs: "Mapping[str, Recorded]"
) -> dict[str, dict[str, Any]]:
    """By the keys of the specifications; of a log that is taken, what it says itself."""
    return {
        spec.key: logs[spec.key].specification if spec.key in logs else _specification(spec)
        for spec in specs
    }


def _specification(spec: "ResolvedSpec") -> dict[str, Any]:
    from evalwright.api.crews import trials_of
    from evalwright.spec.documents.task import BenchmarkTask

    definition = spec.task.definition
    scorers = definition.scorers if isinstance(definition, BenchmarkTask) else ()
    made: dict[str, Any] = {
        "key": spec.key,
        "task_key": spec.task.key,
        "display_name": spec.display_name,
        "task_config": spec.values,
        "dataset_keys": spec.dataset_keys,
        "num_samples": spec.num_samples,
        "subsampling": spec.subsampling,
        "scorers": [
            {
                "key": one.key or one.type,
                "type": one.type,
                "display_name": one.display_name,
                "purpose": one.purpose,
            }
            for one in scorers
        ],
    }
    if (trials := trials_of(spec)) is not None:
        made["trials"] = {"num_trials": trials.trials} if trials.trials > 1 else None
        made["repeatability"] = {"num_runs": trials.repeats} if trials.repeats > 1 else None
        made[OURS] = {"aggregates": msgspec.to_builtins(trials.aggregates)}
    return made


def facts_of(specification: Mapping[str, Any], planned: "PlannedSpec") -> TaskFacts:
    """What the samples of a log are written with."""
    scorers = {
        str(one.get("key")): ScorerFacts(
            name=str(one.get("display_name") or ""), purpose=str(one.get("purpose") or "score")
        )
        for one in specification.get("scorers") or ()
        if isinstance(one, dict)
    }
    ours = specification.get(OURS)
    aggregates = ours.get("aggregates", ()) if isinstance(ours, dict) else ()
    trials = Trials(
        trials=planned.trials,
        repeats=planned.repeats,
        aggregates=tuple(msgspec.convert(aggregates, list[Aggregate])),
    )
    return TaskFacts(scorers=scorers, trials=trials)
