"""An assessment plan as the task specifications of its evaluations.

The keys of results stay those of the evaluations. Where two evaluations of a plan have a
specification with the same key, the key of the plan's specification comes before it:
`small-capitals`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, structs

from evalwright.spec.documents.checks.build import build_instance
from evalwright.spec.documents.checks.task_rules import assign_keys
from evalwright.spec.documents.models.plan import EvaluationSpecification
from evalwright.spec.documents.resolve.config_values import GivenValue, read_given_values
from evalwright.spec.documents.resolve.entities import Entity, References
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.resolve.resolver import Resolver
from evalwright.spec.documents.resolve.specifications import ResolvedSpec
from evalwright.spec.documents.yaml.problems import (
    Fault,
    did_you_mean,
    get_list,
    get_mapping,
    quote_names,
)
from evalwright.types import Issue

_SPECIFICATIONS = "evaluation_specifications"

MakeResolver = Callable[[Mapping[str, GivenValue]], Resolver]


class ResolvedPlan(Struct, frozen=True):
    """The specifications of all evaluations of a plan, and what is wrong with them."""

    specs: list[ResolvedSpec] = []
    problems: list[Issue] = []
    used: dict[tuple[DocumentKind, str], Entity] = {}


class _PlannedEvaluation(NamedTuple):
    number: int
    key: str
    specification: EvaluationSpecification


def resolve_plan(
    plan: Entity,
    references: References,
    make_resolver: MakeResolver,
    *,
    given: Mapping[str, GivenValue],
    run_config: Mapping[str, Any],
    wanted: str | None = None,
) -> ResolvedPlan:
    """Resolve each evaluation with its values; `given` and `run_config` win over the plan's.

    `wanted` selects one evaluation, by its key in the plan or its own.
    """
    resolved = ResolvedPlan()
    planned = _list_planned(plan)
    if wanted is not None:
        chosen = [each for each in planned if wanted == each.key]
        chosen = chosen or [each for each in planned if wanted == each.specification.evaluation_key]
        if not chosen:
            resolved.problems.extend(plan.part.problems([_unknown_evaluation(wanted, planned)]))
        planned = chosen
    by_evaluation: list[tuple[str, list[ResolvedSpec]]] = []
    for number, key, specification in planned:
        path = (_SPECIFICATIONS, number)
        fault = references.missing(
            "evaluation", specification.evaluation_key, (*path, "evaluation_key")
        )
        evaluation = references.entities["evaluation"].get(specification.evaluation_key)
        if fault is not None or evaluation is None:
            resolved.problems.extend(plan.part.problems([fault] if fault else []))
            continue
        config = get_mapping(get_list(plan.part.data, _SPECIFICATIONS)[number], "evaluation_config")
        values = read_given_values(plan.part, (*path, "evaluation_config"), config)
        resolver = make_resolver({**values, **given})
        own = specification.evaluation_run_config.model_copy(update=dict(run_config))
        by_evaluation.append((key, resolver.evaluation(evaluation, own)))
        resolved.problems.extend([*evaluation.part.raw.problems, *resolver.problems])
        resolved.used.update(resolver.used)
        resolved.used["evaluation", evaluation.key] = evaluation
    resolved.specs.extend(_distinguish_keys(by_evaluation))
    return resolved


def _list_planned(plan: Entity) -> list[_PlannedEvaluation]:
    """The evaluations of a plan that are written correctly, each with a key."""
    written = assign_keys(get_list(plan.part.data, _SPECIFICATIONS), name="evaluation_key")
    planned: list[_PlannedEvaluation] = []
    for number, data in enumerate(written):
        specification, _ = build_instance(EvaluationSpecification, data)
        if specification is not None:
            key = specification.key or specification.evaluation_key
            planned.append(_PlannedEvaluation(number, key, specification))
    return planned


def _unknown_evaluation(wanted: str, planned: Sequence[_PlannedEvaluation]) -> Fault:
    names = [each.key for each in planned]
    detail = f"the plan has no evaluation `{wanted}`; it has {quote_names(names)}"
    return Fault((_SPECIFICATIONS,), "unknown_evaluation", detail, did_you_mean(wanted, names))


def _distinguish_keys(
    by_evaluation: Sequence[tuple[str, list[ResolvedSpec]]],
) -> list[ResolvedSpec]:
    """Put the key of the evaluation before keys that several evaluations use."""
    counts = Counter(spec.key for _, specs in by_evaluation for spec in specs)
    distinct: list[ResolvedSpec] = []
    for prefix, specs in by_evaluation:
        new_keys = {spec.key: f"{prefix}-{spec.key}" for spec in specs if counts[spec.key] > 1}
        for spec in specs:
            keys = spec.dataset_keys
            if spec.source == "task_result":
                keys = {name: new_keys.get(key, key) for name, key in keys.items()}
            distinct.append(
                structs.replace(spec, key=new_keys.get(spec.key, spec.key), dataset_keys=keys)
            )
    return distinct
