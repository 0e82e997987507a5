"""Resolve the task specifications of a project and check them together.

    task_specifications:          →    ResolvedSpec(key="short", task=…, model_keys=("bot",), …)
      - key: short
        task_key: capital-cities
        model_key: bot
        task_config: { style: short }
      - key: styles               →    one for `styles-short`, one for `styles-long`
        task_key: capital-cities
        models: [bot, other-bot]
        variants:
          short: { style: short }
          long: { style: long }
      - key: stable
        type: repeatability
        repeatability_config: { num_runs: 5 }
        inputs:
          - { evaluation_key: weekly, task_specification_key: short }

A repeatability specification runs other specifications several times. With a single input, the
results have its key; with several, their keys are appended: `stable-short`. An input that reads the
results of another input reads the results of its repetition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from evalwright.spec.documents.checks.build import DocumentPart, build_instance
from evalwright.spec.documents.checks.task_rules import assign_keys
from evalwright.spec.documents.models.evaluation import RepeatabilitySpecification, RunConfig
from evalwright.spec.documents.models.parameters import Parameter
from evalwright.spec.documents.models.task import BenchmarkTask, TaskDocument
from evalwright.spec.documents.resolve.config_values import GivenValue
from evalwright.spec.documents.resolve.documents import ResolvedDocument
from evalwright.spec.documents.resolve.earlier import (
    build_earlier_evaluation,
    explain_unknown,
)
from evalwright.spec.documents.resolve.entities import Entity, References, model_key_of
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.resolve.specifications import (
    ResolvedSpec,
    WrittenSpec,
    check_model_and_dataset,
    choose_sampling,
    find_duplicate_variants,
    find_named_models,
    find_recording,
    find_unused_values,
    needs_model,
    resolve_recorded_spec,
    sample_source,
    warn_without_effect,
    why_not_repeatable,
)
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Marks,
    Place,
    did_you_mean,
    get_list,
    locate_fault,
    quote_names,
)
from evalwright.spec.documents.yaml.reader import YamlDocument
from evalwright.types import Issue

_SpecKey = tuple[str | None, str]
"""Keys of an evaluation and of a specification in it."""


class _NamedInput(NamedTuple):
    """An input of a repeatability specification, as written."""

    path: FieldPath
    evaluation: str
    specification: str | None
    """None for all specifications."""


class Resolver:
    """Resolves specifications and collects problems.

    With `lenient`, placeholders replace values that only a run provides. If everything about the
    run is known (`complete`), each placeholder causes a warning. `used` contains all entities that
    were used.
    """

    def __init__(
        self,
        references: References,
        *,
        given: Mapping[str, GivenValue],
        lenient: bool = False,
        complete: bool = False,
        models_given: bool = False,
    ) -> None:
        self._references = references
        self._given = given
        self._lenient = lenient
        self._complete = complete
        self._models_given = models_given
        self.problems: dict[Issue, None] = {}
        self.used: dict[tuple[DocumentKind, str], Entity] = {}

    def evaluation(
        self, entity: Entity, run_config: RunConfig, *, inputs_only: bool = False
    ) -> list[ResolvedSpec]:
        """Resolve the specifications of an evaluation; `inputs_only` skips repeatability ones."""
        own = {parameter.key for parameter in entity.parameters}
        declared = self._list_task_parameters(entity)
        given = {**entity.values, **self._given}
        for_tasks = {n: value for n, value in given.items() if n not in own and n in declared}
        values = {name: value for name, value in given.items() if name not in for_tasks}
        resolved = entity.resolve(values, lenient=self._lenient, also=declared)
        self._report(resolved.problems)
        self.warn_of_no_value(entity.parameters, values, entity)
        specs: list[ResolvedSpec] = []
        written = [
            WrittenSpec(entity, resolved, number, data)
            for number, data in enumerate(_name_specifications(resolved.data))
            if isinstance(data, dict)
        ]
        self._report(find_unused_values(written, for_tasks, self._references.entities["task"]))
        self._add(entity.part, find_duplicate_variants(written))
        for spec in written:
            self._warn_of_auto_key(spec)
            if spec.data.get("type") != "repeatability":
                for each in spec.list_variants():
                    specs += self._resolve_spec(each, for_tasks, run_config)
            elif not inputs_only:
                specs += self._resolve_repeatability(spec, run_config)
        return specs

    def task(self, entity: Entity, run_config: RunConfig) -> ResolvedSpec | None:
        """Resolve a task as if it were the only task of an evaluation."""
        names = {"dataset_key", *(parameter.key for parameter in entity.parameters)}
        values = {name: value for name, value in self._given.items() if name in names}
        resolved = entity.resolve(values, lenient=self._lenient)
        dataset_keys = self._check_task(entity, resolved, values)
        task: TaskDocument | None = resolved.document
        if task is None:
            return None
        if not self._lenient:
            self._require_model(entity.part, ("definition", "solver"), task)
        return ResolvedSpec(
            key=entity.key,
            display_name=task.display_name,
            task=task,
            written=entity.part,
            values=resolved.values,
            given_values=values,
            dataset_keys=dataset_keys,
            source=sample_source(task),
            **choose_sampling(None, None, run_config),
            file=entity.file,
            line=entity.line,
        )

    def warn_of_no_value(
        self,
        parameters: Iterable[Parameter],
        given: Mapping[str, GivenValue],
        entity: Entity,
        spec: WrittenSpec | None = None,
    ) -> None:
        """Warn about parameters without a value, with which a run would fail."""
        for parameter in parameters:
            key = parameter.key
            if not self._complete or not parameter.needs_value or key in given:
                continue
            name = "dataset_key" if key == "dataset_key" else "task_config"
            where = f"`{name}` or `config`" if spec is not None else "`config`"
            detail = f"parameter `{key}` of {entity.kind} `{entity.key}` has no value"
            hint = f"set it in {where}, or with `--set {key}=…`"
            fault = Fault((), "no_value", detail, hint, level="warning")
            missing_at = spec.missing if spec is not None else entity.part.declaration
            self._report([locate_fault(fault, *missing_at(key))])

    def _resolve_spec(
        self, spec: WrittenSpec, for_tasks: Mapping[str, GivenValue], run_config: RunConfig
    ) -> list[ResolvedSpec]:
        part = spec.entity.part
        task_key = spec.text("task_key")
        if task_key is None:
            return []
        if (recording := find_recording(spec)) is not None:
            self._add(part, warn_without_effect(spec))
            return [resolve_recorded_spec(spec, task_key, recording)]
        entity = self._find("task", task_key, part, (*spec.path, "task_key"))
        if entity is None:
            return []
        values = spec.values(entity)
        for parameter in entity.parameters:
            if parameter.key in for_tasks:
                values[parameter.key] = for_tasks[parameter.key]
        values |= spec.variant_values()
        resolved = entity.resolve(values, missing_at=spec.missing, lenient=self._lenient)
        self.warn_of_no_value(resolved.parameters, values, entity, spec)
        dataset_keys = self._check_task(entity, resolved, values)
        task: TaskDocument | None = resolved.document
        model_keys = spec.model_keys()
        self._check_models(spec, task, model_keys)
        specification, evaluation = spec.build()
        if task is None or specification is None:
            return []
        self._add(part, check_model_and_dataset(spec, task))
        display_name = specification.display_name or task.display_name
        resolved_spec = ResolvedSpec(
            key=spec.key,
            display_name=f"{display_name}: {spec.variant}" if spec.variant else display_name,
            task=task,
            written=entity.part,
            values=resolved.values,
            given_values=values,
            model_keys=tuple(model_keys.values()),
            parameters=specification.parameters,
            variant=spec.variant,
            written_key=str(spec.data.get("key")) if spec.variant else "",
            dataset_keys=dataset_keys,
            source=sample_source(task),
            **choose_sampling(specification, evaluation, run_config),
            repeats=specification.repeatability.num_runs if specification.repeatability else 1,
            evaluation_key=spec.entity.key,
            file=spec.place.file,
            line=spec.place.line,
        )
        return [resolved_spec]

    def _resolve_repeatability(
        self, spec: WrittenSpec, run_config: RunConfig
    ) -> list[ResolvedSpec]:
        part = spec.entity.part
        inputs: list[tuple[FieldPath, ResolvedSpec]] = []
        siblings: set[_SpecKey] = set()
        for named in _list_inputs(spec):
            path, _, spec_key = named
            entity, specs = self._resolve_input(named, part, run_config)
            if entity is None:
                continue
            chosen = [each for each in specs if spec_key is None or spec_key in each.names]
            inputs += [(path, each) for each in chosen]
            siblings |= {(each.evaluation_key, each.key) for each in specs}
            if not chosen:
                self._add(part, _explain_missing_input(path, spec_key, entity, specs))
        datasets = self._references.entities["dataset"]
        repeated, faults = _repeat_specs(spec, _ResolvedInputs(inputs, siblings, datasets))
        self._add(part, faults)
        return repeated

    def _resolve_input(
        self, named: _NamedInput, part: DocumentPart, run_config: RunConfig
    ) -> tuple[Entity | None, list[ResolvedSpec]]:
        """Return an evaluation from the project or the store, and its specifications."""
        references, key = self._references, named.evaluation
        path = (*named.path, "evaluation_key")
        known = list(references.entities["evaluation"])
        if key in known or references.find_earlier is None:
            entity = self._find("evaluation", key, part, path)
            specs = self.evaluation(entity, run_config, inputs_only=True) if entity else []
            return entity, specs
        earlier = references.find_earlier(key)
        if not earlier.run_id:
            fault = references.missing("evaluation", key, path)
            self._add(part, [explain_unknown(fault, earlier, known)] if fault else [])
            return None, []
        inner = Resolver(
            references,
            given=self._given,
            lenient=self._lenient,
            models_given=self._models_given,
        )
        entity = _place_evaluation(build_earlier_evaluation(earlier), part.place(path))
        specs = inner.evaluation(entity, run_config, inputs_only=True)
        self.used.update(inner.used)
        for problem in inner.problems:
            is_own = problem.file == entity.file and problem.line == entity.line
            detail = f"evaluation `{key}` of run {earlier.run_id}: {problem.detail}"
            self._report(
                [replace(problem, field=part.field(path), detail=detail) if is_own else problem]
            )
        return entity, [replace(spec, earlier_run=earlier.run_id) for spec in specs]

    def _list_task_parameters(self, evaluation: Entity) -> list[str]:
        declared: dict[str, None] = {}
        for spec in get_list(evaluation.part.data, "task_specifications"):
            key = spec.get("task_key") if isinstance(spec, dict) else None
            task = self._references.entities["task"].get(key) if isinstance(key, str) else None
            if task is not None:
                declared.update(dict.fromkeys(parameter.key for parameter in task.parameters))
        return list(declared)

    def _warn_of_auto_key(self, spec: WrittenSpec) -> None:
        """Warn about a specification without a key if its results are not named after its task."""
        key = spec.data.get("key")
        written = spec.evaluation.data["task_specifications"][spec.number]
        if written.get("key") is None and key is not None and key != written.get("task_key"):
            detail = f"the specification has no key; its results are named `{key}`"
            fault = Fault(spec.path, "auto_key", detail, f"write `key: {key}`", level="warning")
            self._add(spec.entity.part, [fault])

    def _check_task(
        self, entity: Entity, resolved: ResolvedDocument, given: Mapping[str, GivenValue]
    ) -> dict[str, str]:
        """Check that all entities in a task and its values exist; return its datasets."""
        self.used["task", entity.key] = entity
        self._report(resolved.problems)
        task: TaskDocument | None = resolved.document
        if task is not None and isinstance(task.definition, BenchmarkTask):
            for path, key in find_named_models(task.definition):
                self._find("model", key, entity.part, path)
        self._report(self._references.check_values(resolved, given))
        keys = resolved.dataset_keys
        value = resolved.values.get("dataset_key")
        if not keys and isinstance(value, str) and "dataset_key" not in resolved.open:
            keys = {"": value}
        if task is not None and sample_source(task) != "dataset":
            return keys
        names = {str(resolved.values.get(name)) for name in given.keys() - resolved.open}
        for key in keys.values():
            if key not in names:  # otherwise the parameter's value is wrong, not the task
                field = "key" if "" in keys else "keys"
                self._find("dataset", key, entity.part, ("definition", "dataset", field))
            elif (dataset := self._references.entities["dataset"].get(key)) is not None:
                self.used["dataset", key] = dataset
        return keys

    def _check_models(
        self, spec: WrittenSpec, task: TaskDocument | None, keys: Mapping[FieldPath, str]
    ) -> None:
        part = spec.entity.part
        if not keys and task is not None and not (spec.waits("model_key") or spec.waits("models")):
            self._require_model(part, (*spec.path, "model_key"), task)
        for path, key in keys.items():
            entity = self._find("model", key, part, path)
            does = getattr(entity.document, "task", None) if entity is not None else None
            if task is not None and does is not None and not _serves(does, task.tasks):
                wants = quote_names([str(name) for name in task.tasks])
                detail = f"task `{task.key}` needs a model for {wants}, but `{key}` is for `{does}`"
                self._add(part, [Fault(path, "wrong_model", detail)])

    def _require_model(self, part: DocumentPart, path: FieldPath, task: TaskDocument) -> None:
        if needs_model(task) and not self._models_given:
            level: Literal["error", "warning"] = "warning" if self._lenient else "error"
            detail = f"task `{task.key}` evaluates a model, but no model is set"
            hint = "add `-m MODEL`, or `model_key` in the task specification"
            self._add(part, [Fault(path, "no_model", detail, hint, level)])

    def _find(
        self, kind: DocumentKind, key: str, part: DocumentPart, path: FieldPath
    ) -> Entity | None:
        if (fault := self._references.missing(kind, key, path)) is not None:
            self._add(part, [fault])
            return None
        key = model_key_of(key) if kind == "model" else key
        entity = self._references.entities[kind].get(key)
        if entity is not None:
            self.used[kind, key] = entity
        return entity

    def _add(self, part: DocumentPart, faults: Iterable[Fault]) -> None:
        self._report(part.problems(faults))

    def _report(self, problems: Iterable[Issue]) -> None:
        self.problems.update(dict.fromkeys(problems))


def _place_evaluation(data: dict[str, Any], place: Place) -> Entity:
    """Return an evaluation that is not in a file; all its parts are located at `place`."""
    raw = YamlDocument(
        file=place.file, data=data, marks=Marks(place), problems=[], files=[place.file]
    )
    return Entity("evaluation", DocumentPart(raw), secrets={})


def _serves(model_task: str, tasks: Sequence[str]) -> bool:
    """Whether a model for `model_task` supports these tasks; a custom task may send chats."""
    is_chat = model_task == "chat_completion"
    return not tasks or model_task in tasks or (is_chat and "custom" in tasks)


def _name_specifications(evaluation: Any) -> list[Any]:
    return assign_keys(get_list(evaluation, "task_specifications"), name="task_key")


def _list_inputs(spec: WrittenSpec) -> Iterator[_NamedInput]:
    for number, data in enumerate(get_list(spec.data, "inputs")):
        key = data.get("evaluation_key") if isinstance(data, dict) else None
        if isinstance(key, str) and not spec.waits("inputs", number):
            spec_key = data.get("task_specification_key")
            path: FieldPath = (*spec.path, "inputs", number)
            yield _NamedInput(path, key, spec_key if isinstance(spec_key, str) else None)


def _explain_missing_input(
    path: FieldPath, spec_key: str | None, evaluation: Entity, specs: Iterable[ResolvedSpec]
) -> list[Fault]:
    """Explain why an evaluation lacks a specification or, without `spec_key`, has none at all.

    A specification with errors is not missing, because its errors are reported elsewhere.
    """
    kinds: dict[str, Any] = {
        str(spec.get("key")): spec.get("type")
        for spec in _name_specifications(evaluation.part.data)
        if isinstance(spec, dict)
    }
    known = [key for key, kind in kinds.items() if kind != "repeatability"]
    known += [spec.key for spec in specs if spec.key not in kinds]
    if spec_key is None:
        detail = f"evaluation `{evaluation.key}` has no task specification that can be repeated"
        hint = "use an evaluation that runs tasks, or add a task to this one"
        where = (*path, "evaluation_key")
        return [] if known else [Fault(where, "unknown_specification", detail, hint)]
    where = (*path, "task_specification_key")
    if kinds.get(spec_key) == "repeatability":
        detail = f"`{spec_key}` is itself a repeatability specification"
        return [Fault(where, "conflict", detail, "use the specifications that it repeats")]
    if spec_key in kinds:
        return []
    has = f"it has {quote_names(known)}" if known else "it has none"
    detail = f"evaluation `{evaluation.key}` has no task specification `{spec_key}`; {has}"
    return [Fault(where, "unknown_specification", detail, did_you_mean(spec_key, known))]


class _ResolvedInputs(NamedTuple):
    """The specifications that a repeatability specification runs, and their context."""

    chosen: Sequence[tuple[FieldPath, ResolvedSpec]]
    """Specifications, each with the path of its input."""
    siblings: set[_SpecKey]
    """All specifications in the same evaluations."""
    datasets: Mapping[str, Entity]


def _repeat_specs(
    written: WrittenSpec, inputs: _ResolvedInputs
) -> tuple[list[ResolvedSpec], list[Fault]]:
    faults = [
        Fault(path, "conflict", f"task `{spec.task.key}` {why}: it cannot be run several times")
        for path, spec in inputs.chosen
        if (why := why_not_repeatable(spec.task))
    ]
    repeatability, _ = build_instance(RepeatabilitySpecification, written.data)
    if repeatability is None:
        return [], faults
    own = repeatability.key
    alone = len(inputs.chosen) == 1
    keys = {
        (spec.evaluation_key, spec.key): own if alone else f"{own}-{spec.key}"
        for _, spec in inputs.chosen
    }
    others = {
        str(data.get("key"))
        for number, data in enumerate(_name_specifications(written.evaluation.data))
        if isinstance(data, dict) and number != written.number
    }
    specs: list[ResolvedSpec] = []
    first: dict[str, FieldPath] = {}
    for path, spec in inputs.chosen:
        key = keys[spec.evaluation_key, spec.key]
        if key in others:
            detail = (
                f"the results would have the same name, `{key}`, as those of another specification"
            )
            faults.append(Fault(path, "duplicate_key", detail))
            continue
        if first.setdefault(key, path) != path:
            faults.append(Fault(path, "duplicate_key", f"`{spec.key}` is already an input"))
            continue
        reading, why, hint = _read_repetitions(
            spec, keys, inputs, evaluation_key=written.entity.key
        )
        faults += [Fault(path, "conflict", why, hint)] if why else []
        specs.append(
            replace(
                reading,
                key=key,
                variant="",
                written_key="",
                display_name=repeatability.display_name or spec.display_name,
                num_samples=repeatability.num_samples or spec.num_samples,
                subsampling=repeatability.subsampling or spec.subsampling,
                repeats=repeatability.num_runs,
                evaluation_key=written.entity.key,
                file=written.place.file,
                line=written.place.line,
            )
        )
    return specs, faults


def _read_repetitions(
    spec: ResolvedSpec,
    keys: Mapping[_SpecKey, str],
    inputs: _ResolvedInputs,
    *,
    evaluation_key: str,
) -> tuple[ResolvedSpec, str, str]:
    """Return the specification with results of repetitions as sources, or a problem and a hint.

    With its original name, a result from the same evaluation would be from an earlier run.
    """
    for name, source, plain in _list_result_sources(spec, inputs.datasets):
        place = (spec.evaluation_key, source)
        if place in keys and plain:
            return replace(spec, source="task_result", dataset_keys={"": keys[place]}), "", ""
        why = f"`{spec.key}` reads the result of `{source}`"
        if place in keys:
            through = f"through dataset `{name}`, which changes it or joins it with others"
            why = f"{why} {through}, so it cannot be read from a repeated run"
            return spec, why, f"repeat only `{source}`"
        if place in inputs.siblings and spec.evaluation_key != evaluation_key:
            why += ", which is not repeated: the result of an earlier run would be read"
            return spec, why, f"add `{source}` as an input"
    return spec, "", ""


def _list_result_sources(
    spec: ResolvedSpec, datasets: Mapping[str, Entity]
) -> Iterator[tuple[str, str, bool]]:
    """Yield the datasets that are results of tasks, with the task's key and whether unchanged."""
    for key in spec.dataset_keys.values():
        if spec.source == "task_result":
            yield key, key, True
            continue
        entity = datasets.get(key)
        origin: Any = getattr(entity.document, "origin", None) if entity else None
        if getattr(origin, "type", "") == "task_result":
            yield key, origin.key, origin.is_unchanged and len(spec.dataset_keys) == 1
