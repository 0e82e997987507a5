"""Resolve a specification of the type `repeatability`: others, each run several times.

    task_specifications:
      - { key: quick, task_key: capitals, model_key: bot }
      - key: stable
        type: repeatability
        repeatability_config: { num_runs: 5 }
        inputs:
          - { evaluation_key: weekly, task_specification_key: quick }

A single input gets the key of the repeatability; several append their own keys: `stable-quick`. An
input that reads the results of another input reads those of its repetition.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from evalwright.spec.documents.checks.build import build_typed
from evalwright.spec.documents.checks.task_rules import assign_keys
from evalwright.spec.documents.models.evaluation import RepeatabilitySpecification
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.spec.documents.resolve.specifications import (
    ResolvedSpec,
    WrittenSpec,
    why_not_repeatable,
)
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, did_you_mean, quote_names


def list_inputs(asked: WrittenSpec) -> Iterator[tuple[FieldPath, str, str | None]]:
    """Where each input stands, its evaluation, and its specification if it names one."""
    inputs = asked.data.get("inputs")
    for number, one in enumerate(inputs if isinstance(inputs, list) else []):
        key = one.get("evaluation_key") if isinstance(one, dict) else None
        if not isinstance(key, str) or asked.waits("inputs", number):
            continue
        wanted = one.get("task_specification_key")
        yield (*asked.path, "inputs", number), key, wanted if isinstance(wanted, str) else None


def explain_missing_input(path: FieldPath, wanted: str | None, evaluation: Entity) -> list[Fault]:
    """A specification that an evaluation does not have, or that repeats others itself.

    One that is there and has mistakes of its own is not missed: those are told where they stand.
    `wanted` is None where all are meant: then there must be one.
    """
    data = evaluation.part.raw.data
    written = data.get("task_specifications") if isinstance(data, dict) else None
    kinds: dict[str, Any] = {
        str(one.get("key")): one.get("type")
        for one in assign_keys(written if isinstance(written, list) else [], name="task_key")
        if isinstance(one, dict)
    }
    known = [key for key, kind in kinds.items() if kind != "repeatability"]
    if wanted is None:
        detail = f"evaluation `{evaluation.key}` has no task specification that could be repeated"
        hint = "name an evaluation that runs tasks, or add one to this"
        where = (*path, "evaluation_key")
        return [] if known else [Fault(where, "unknown_specification", detail, hint)]
    where = (*path, "task_specification_key")
    if kinds.get(wanted) == "repeatability":
        detail = f"`{wanted}` repeats others itself"
        return [Fault(where, "conflict", detail, "name what it runs")]
    if wanted in kinds:
        return []
    there = f"it has {quote_names(known)}" if known else "it has none"
    detail = f"evaluation `{evaluation.key}` has no task specification `{wanted}`; {there}"
    return [Fault(where, "unknown_specification", detail, did_you_mean(wanted, known))]


def _others(asked: WrittenSpec) -> set[str]:
    """The keys of the other specifications of the same evaluation."""
    written = asked.evaluation.data.get("task_specifications")
    named = assign_keys(written if isinstance(written, list) else [], name="task_key")
    return {
        str(one.get("key"))
        for number, one in enumerate(named)
        if isinstance(one, dict) and number != asked.number
    }


class ResolvedInputs(NamedTuple):
    """What a repeatability runs, and what stands around that."""

    chosen: Sequence[tuple[FieldPath, ResolvedSpec]]
    """Each with the place of the input that names it."""
    siblings: set[tuple[str | None, str]]
    """Evaluation and key of every specification that stands beside one of them."""
    datasets: Mapping[str, Entity]


def resolve_repeated(
    asked: WrittenSpec, inputs: ResolvedInputs
) -> tuple[list[ResolvedSpec], list[Fault]]:
    """The inputs as they are run, and what is wrong with them."""
    faults = [
        Fault(path, "conflict", f"task `{one.task.key}` {why}: it cannot be run several times")
        for path, one in inputs.chosen
        if (why := why_not_repeatable(one.task))
    ]
    told, _ = build_typed(RepeatabilitySpecification, asked.data)
    if told is None:
        return [], faults
    specs: list[ResolvedSpec] = []
    first: dict[str, FieldPath] = {}
    taken = _others(asked)
    alone = len(inputs.chosen) == 1
    keys = {
        (one.evaluation_key, one.key): told.key if alone else f"{told.key}-{one.key}"
        for _, one in inputs.chosen
    }
    for path, one in inputs.chosen:
        key = keys[one.evaluation_key, one.key]
        if key in taken:
            detail = f"the results would be called `{key}`, as those of another specification"
            faults.append(Fault(path, "duplicate_key", detail))
            continue
        if first.setdefault(key, path) != path:
            detail = f"`{one.key}` is an input already"
            faults.append(Fault(path, "duplicate_key", detail))
            continue
        reading, why, hint = _following(one, keys, inputs, here=asked.entity.key)
        faults += [Fault(path, "conflict", why, hint)] if why else []
        specs.append(
            replace(
                reading,
                key=key,
                display_name=told.display_name or one.display_name,
                num_samples=told.num_samples or one.num_samples,
                subsampling=told.subsampling or one.subsampling,
                repeats=told.num_runs,
                evaluation_key=asked.entity.key,
                file=asked.entity.part.raw.marks.place(asked.path).file,
                line=asked.entity.part.raw.marks.place(asked.path).line,
            )
        )
    return specs, faults


def _following(
    spec: ResolvedSpec,
    keys: Mapping[tuple[str | None, str], str],
    inputs: ResolvedInputs,
    *,
    here: str,
) -> tuple[ResolvedSpec, str, str]:
    """The specification, reading the results of repetitions; or what is wrong, with a hint.

    Under its own name a result of the same evaluation would be that of some earlier run.
    """
    for name, (source, plain) in _sources(spec, inputs.datasets):
        place = (spec.evaluation_key, source)
        if place in keys and plain:
            return replace(spec, source="task_result", dataset_keys={"": keys[place]}), "", ""
        if place in keys:
            why = f"dataset `{name}`, which changes it or has another beside it"
            why = f"`{spec.key}` reads the result of `{source}` through {why}"
            hint = f"repeat `{source}` alone"
            return spec, f"{why}: so it cannot be read from a repetition", hint
        if place in inputs.siblings and spec.evaluation_key != here:
            why = f"`{spec.key}` reads the result of `{source}`, which is not repeated with it"
            hint = f"make `{source}` an input, too"
            return spec, f"{why}: that of an earlier run would be read", hint
    return spec, "", ""


def _sources(
    spec: ResolvedSpec, datasets: Mapping[str, Entity]
) -> Iterator[tuple[str, tuple[str, bool]]]:
    """The datasets that are results of tasks, each with the key of that; and if it is all there is.

    As for `source: task_result`, where no dataset stands between.
    """
    for key in spec.dataset_keys.values():
        if spec.source == "task_result":
            yield key, (key, True)
            continue
        entity = datasets.get(key)
        origin: Any = getattr(entity.document, "origin", None) if entity else None
        if getattr(origin, "type", "") == "task_result":
            plain = not origin.filters and origin.missing == "absent"
            yield key, (origin.key, plain and len(spec.dataset_keys) == 1)
