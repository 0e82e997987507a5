"""Resolve an assessment plan to the task specifications of its evaluations.

Results keep the keys that they have in the evaluations. If two evaluations of a plan have a
specification with the same key, it is prefixed with the key of the evaluation in the plan:
`small-capitals`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, structs

from evalwright.spec.documents.checks.build import DocumentPart, build_instance
from evalwright.spec.documents.checks.task_rules import assign_keys
from evalwright.spec.documents.models.evaluation import RunConfig
from evalwright.spec.documents.models.plan import EvaluationSpecification
from evalwright.spec.documents.models.run_file import RunFile
from evalwright.spec.documents.resolve.config_values import GivenValue, read_given_values
from evalwright.spec.documents.resolve.entities import Entity, References
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.resolve.resolver import Resolver
from evalwright.spec.documents.resolve.specifications import ResolvedSpec
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    did_you_mean,
    get_list,
    get_mapping,
    quote_names,
)
from evalwright.spec.documents.yaml.reader import YamlDocument
from evalwright.types import Issue

_SPECIFICATIONS = "evaluation_specifications"
_EVALUATIONS = "evaluations"

MakeResolver = Callable[[Mapping[str, GivenValue]], Resolver]


class ResolvedPlan(Struct, frozen=True):
    """The specifications of all evaluations of a plan, and their problems."""

    specs: list[ResolvedSpec] = []
    problems: list[Issue] = []
    used: dict[tuple[DocumentKind, str], Entity] = {}


class _PlannedEvaluation(NamedTuple):
    key: str
    evaluation_key: str
    path: FieldPath
    values: Mapping[str, GivenValue]
    run_config: RunConfig
    evaluation: Entity | None = None
    """The evaluation, if the plan contains its run file."""


def resolve_plan(
    plan: Entity,
    references: References,
    make_resolver: MakeResolver,
    *,
    given: Mapping[str, GivenValue],
    run_config: Mapping[str, Any],
    wanted: str | None = None,
) -> ResolvedPlan:
    """Resolve each evaluation with its values; `given` and `run_config` override the plan's.

    `wanted` selects one evaluation, by its key in the plan or its own key.
    """
    resolved = ResolvedPlan()
    planned = _list_planned_evaluations(plan)
    if wanted is not None:
        chosen = [each for each in planned if wanted == each.key]
        chosen = chosen or [each for each in planned if wanted == each.evaluation_key]
        if not chosen:
            resolved.problems.extend(plan.part.problems([_unknown_evaluation(wanted, planned)]))
        planned = chosen
    by_evaluation: list[tuple[str, list[ResolvedSpec]]] = []
    for each in planned:
        evaluation = each.evaluation or references.entities["evaluation"].get(each.evaluation_key)
        if evaluation is None:
            path = (*each.path, "evaluation_key")
            fault = references.missing("evaluation", each.evaluation_key, path)
            resolved.problems.extend(plan.part.problems([fault] if fault else []))
            continue
        resolver = make_resolver({**each.values, **given})
        own = each.run_config.model_copy(update=dict(run_config))
        by_evaluation.append((each.key, resolver.evaluation(evaluation, own)))
        resolved.problems.extend([*evaluation.part.raw.problems, *resolver.problems])
        resolved.used.update(resolver.used)
        resolved.used["evaluation", each.key] = evaluation
    resolved.problems.extend(plan.part.problems(_check_contents(plan.part)))
    resolved.specs.extend(_distinguish_keys(by_evaluation))
    return resolved


def list_run_parts(plan: YamlDocument) -> list[tuple[int, DocumentPart]]:
    """Return the run files in a plan with their numbers."""
    return [
        (number, DocumentPart.inside(plan, (_EVALUATIONS, number)))
        for number, data in enumerate(get_list(plan.data, _EVALUATIONS))
        if isinstance(data, dict)
    ]


def _list_planned_evaluations(plan: Entity) -> list[_PlannedEvaluation]:
    """Return the valid evaluations of a plan with their keys."""
    part = plan.part
    runs = list_run_parts(part.raw)
    contained = [(run, get_mapping(run.data, "evaluation").get("key")) for _, run in runs]
    listed = get_list(part.data, _SPECIFICATIONS)
    named = assign_keys(
        [*listed, *({"evaluation_key": key} for _, key in contained)], name="evaluation_key"
    )
    planned: list[_PlannedEvaluation] = []
    for number, data in enumerate(named[: len(listed)]):
        specification, _ = build_instance(EvaluationSpecification, data)
        if specification is not None:
            path = (_SPECIFICATIONS, number)
            config = get_mapping(listed[number], "evaluation_config")
            planned.append(
                _PlannedEvaluation(
                    specification.key or specification.evaluation_key,
                    specification.evaluation_key,
                    path,
                    read_given_values(part, (*path, "evaluation_config"), config),
                    specification.evaluation_run_config,
                )
            )
    for data, (number, run), (_, key) in zip(named[len(listed) :], runs, contained, strict=True):
        typed, _ = build_instance(RunFile, run.data)
        if typed is None or not isinstance(key, str):
            continue
        values = read_given_values(run, ("config",), get_mapping(run.data, "config"))
        evaluation = Entity(
            "evaluation", DocumentPart.inside(run.raw, ("evaluation",)), secrets={}, values=values
        )
        own = str(data.get("key") or key)
        path = (_EVALUATIONS, number)
        planned.append(_PlannedEvaluation(own, key, path, {}, typed.run_config, evaluation))
    return planned


def _check_contents(plan: DocumentPart) -> list[Fault]:
    """Return faults for missing parts of a plan and for parts without effect."""
    runs = list_run_parts(plan.raw)
    faults = [
        Fault((_EVALUATIONS, number), "missing_key", "`evaluation` with a `key` is missing")
        for number, run in runs
        if "key" not in get_mapping(run.data, "evaluation")
    ]
    detail = "the policies of a plan's evaluations are not checked"
    hint = "check them with `evalwright gate RUN --policy FILE`"
    faults += [
        Fault((_EVALUATIONS, number, "policies"), "no_effect", detail, hint, level="warning")
        for number, run in runs
        if "policies" in run.data
    ]
    if not runs and not get_list(plan.data, _SPECIFICATIONS):
        detail = "the plan has no evaluations"
        faults.append(Fault((), "bad_value", detail, f"list them in `{_SPECIFICATIONS}`"))
    return faults


def _unknown_evaluation(wanted: str, planned: Sequence[_PlannedEvaluation]) -> Fault:
    names = [each.key for each in planned]
    detail = f"the plan has no evaluation `{wanted}`; its evaluations are {quote_names(names)}"
    return Fault((_SPECIFICATIONS,), "unknown_evaluation", detail, did_you_mean(wanted, names))


def _distinguish_keys(
    by_evaluation: Sequence[tuple[str, list[ResolvedSpec]]],
) -> list[ResolvedSpec]:
    """Prefix keys that several evaluations use with the key of the evaluation."""
    counts = Counter(spec.key for _, specs in by_evaluation for spec in specs)
    distinct: list[ResolvedSpec] = []
    for prefix, specs in by_evaluation:
        new_keys = {spec.key: f"{prefix}-{spec.key}" for spec in specs if counts[spec.key] > 1}
        for spec in specs:
            keys = spec.dataset_keys
            if spec.source == "task_result":
                keys = {name: new_keys.get(key, key) for name, key in keys.items()}
            key, written_key = new_keys.get(spec.key, spec.key), spec.written_key
            if written_key and key != spec.key:
                written_key = f"{prefix}-{written_key}"
            distinct.append(
                structs.replace(spec, key=key, written_key=written_key, dataset_keys=keys)
            )
    return distinct
