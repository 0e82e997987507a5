"""What an exported result log contains about its task.

    key task_key display_name task_config dataset_keys num_samples subsampling
    given_config                    the values that are not defaults, as they were given
    evaluation_key
    trials repeatability            if there are any
    scorers                         each with its key, type, name and purpose
    metric_display_names            by scorer and metric, if there are any
    evalwright                      how several trials are combined

It is plain data and stored with the run, so that the run can be exported without the project.
"""

import json
from typing import Any

import msgspec

from evalwright.plan.finalization import TrialPlan
from evalwright.plan.outline import METRIC_NAMES
from evalwright.spec.documents.models.task import BenchmarkTask
from evalwright.spec.documents.resolve.specifications import ResolvedSpec

LOG_EXTENSION = "evalwright"
"""The key of a log for what the format has no place for."""


def describe_specification(spec: ResolvedSpec, trials: TrialPlan | None) -> dict[str, Any]:
    """Return one specification as JSON."""
    definition = spec.task.definition
    scorers = definition.scorers if isinstance(definition, BenchmarkTask) else ()
    description: dict[str, Any] = {
        "key": spec.key,
        "task_key": spec.task.key,
        "display_name": spec.display_name,
        "task_config": spec.values,
        "given_config": _list_given_values(spec),
        "evaluation_key": spec.evaluation_key,
        "dataset_keys": spec.dataset_keys,
        "num_samples": spec.num_samples,
        "subsampling": spec.subsampling,
        "scorers": [
            {
                "key": scorer.key or scorer.type,
                "type": scorer.type,
                "display_name": scorer.display_name,
                "purpose": scorer.purpose,
            }
            for scorer in scorers
        ],
    }
    names = {
        scorer.key or scorer.type: {
            str(metric.key or metric.type): metric.display_name
            for metric in scorer.metrics or ()
            if metric.display_name
        }
        for scorer in scorers
    }
    if any(names.values()):
        description[METRIC_NAMES] = names
    if trials is not None:
        description["trials"] = {"num_trials": trials.trials} if trials.trials > 1 else None
        description["repeatability"] = {"num_runs": trials.repeats} if trials.repeats > 1 else None
        description[LOG_EXTENSION] = {"aggregates": msgspec.to_builtins(trials.aggregates)}
    return description


def _list_given_values(spec: ResolvedSpec) -> dict[str, Any]:
    """Return the given values, before the parameters translate them; so they can be given again."""
    parameters = {parameter.key: parameter for parameter in spec.task.config_spec}
    values = {
        name: parameters[name].parse(given.value) if given.text else given.value
        for name, given in spec.given_values.items()
        if name in parameters or not given.text
    }
    plain: dict[str, Any] = json.loads(json.dumps(values))  # texts of documents are `Authored`
    return plain
