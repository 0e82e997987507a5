"""Resolve the task specifications of a project, and check them as a whole.

task_specifications:          →    ResolvedSpec(key="short", task=…, model_key="bot", …)
  - key: short
    task_key: capital-cities
    model_key: bot
    task_config: { style: short }
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from evalwright.spec.documents.checks.task_rules import assign_keys
from evalwright.spec.documents.models.evaluation import RunConfig
from evalwright.spec.documents.models.parameters import Parameter
from evalwright.spec.documents.models.task import BenchmarkTask, TaskDocument
from evalwright.spec.documents.resolve.config_values import (
    GivenValue,
    problem_with_value,
)
from evalwright.spec.documents.resolve.documents import (
    DocumentPart,
    ResolvedTask,
)
from evalwright.spec.documents.resolve.entities import Entity, References
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.resolve.repeatability import (
    ResolvedInputs,
    explain_missing_input,
    list_inputs,
    resolve_repeated,
)
from evalwright.spec.documents.resolve.specifications import (
    ResolvedSpec,
    WrittenSpec,
    check_model_and_dataset,
    choose_sampling,
    find_named_models,
    find_recording,
    needs_model,
    resolve_recorded,
    sample_source,
    warn_without_effect,
)
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, quote_names
from evalwright.types import Issue

_NAMED: Mapping[str, DocumentKind] = {"model": "model", "dataset": "dataset"}
"""The parameters whose values are keys of entities."""


class Resolver:
    """Resolves specifications, and gathers what is wrong on the way.

    With `lenient`, values that only a run will give are stood in for; if all that a run has is
    known (`complete`), of those there is a warning. `used` has every entity that was led to.
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
        """The specifications of an evaluation; `inputs_only`: those that a repeatability runs."""
        own = {one.key for one in entity.parameters}
        declared = self._declared(entity)
        for_tasks = {
            name: one for name, one in self._given.items() if name not in own and name in declared
        }
        given = {name: one for name, one in self._given.items() if name not in for_tasks}
        resolved = entity.resolve_evaluation(given, lenient=self._lenient, for_tasks=declared)
        self._report(resolved.problems)
        self.warn_of_no_value(entity.parameters, given, entity)
        written = resolved.data.get("task_specifications")
        if not isinstance(written, list):
            return []
        self._warn_of_auto_keys(entity.part, written)
        specs: list[ResolvedSpec] = []
        for number, one in enumerate(assign_keys(written, name="task_key")):
            asked = WrittenSpec(entity, resolved, number, one)
            if isinstance(one, dict) and one.get("type") == "repeatability":
                specs += [] if inputs_only else self._repeated(asked, run_config)
            elif isinstance(one, dict):
                spec = self._specification(asked, for_tasks, run_config)
                specs += [] if spec is None else [spec]
        return specs

    def _repeated(self, asked: WrittenSpec, run_config: RunConfig) -> list[ResolvedSpec]:
        """What a repeatability runs: specifications of this evaluation, or of others."""
        part = asked.entity.part
        inputs: list[tuple[FieldPath, ResolvedSpec]] = []
        siblings: set[tuple[str | None, str]] = set()
        for path, evaluation, wanted in list_inputs(asked):
            entity = self._find("evaluation", evaluation, part, (*path, "evaluation_key"))
            if entity is None:
                continue
            found = self.evaluation(entity, run_config, inputs_only=True)
            chosen = [one for one in found if wanted in {None, one.key}]
            inputs += [(path, one) for one in chosen]
            siblings |= {(one.evaluation_key, one.key) for one in found}
            if not chosen:
                self._add(part, explain_missing_input(path, wanted, entity))
        datasets = self._references.entities["dataset"]
        specs, faults = resolve_repeated(asked, ResolvedInputs(inputs, siblings, datasets))
        self._add(part, faults)
        return specs

    def task(self, entity: Entity, run_config: RunConfig) -> ResolvedSpec | None:
        """A task by itself, as if an evaluation had nothing but it."""
        names = {one.key for one in entity.parameters} | {"dataset_key"}
        given = {name: one for name, one in self._given.items() if name in names}
        resolved = entity.resolve_task(given, lenient=self._lenient)
        self._task_problems(entity, resolved)
        self._named_by_values(resolved, given)
        keys = self._datasets(entity.part, resolved, given)
        if resolved.document is None:
            return None
        if not self._lenient:
            self._needs_a_model(entity.part, ("definition", "solver"), resolved.document)
        return ResolvedSpec(
            key=entity.key,
            display_name=resolved.document.display_name,
            task=resolved.document,
            written=entity.part,
            values=resolved.values,
            given=given,
            model_key=None,
            dataset_keys=keys,
            source=sample_source(resolved.document),
            **choose_sampling(None, None, run_config),
            file=entity.file,
            line=entity.line,
        )

    def _specification(
        self, asked: WrittenSpec, for_tasks: Mapping[str, GivenValue], run_config: RunConfig
    ) -> ResolvedSpec | None:
        part, data = asked.entity.part, asked.data
        task_key = data.get("task_key")
        if not isinstance(task_key, str) or asked.waits("task_key"):
            return None
        if (recording := find_recording(asked)) is not None:
            self._add(part, warn_without_effect(asked))
            return resolve_recorded(asked, task_key, recording)
        entity = self._find("task", task_key, part, (*asked.path, "task_key"))
        if entity is None:
            return None
        given = {**asked.values(entity), **self._fitting(entity, for_tasks)}
        resolved = entity.resolve_task(given, missing_at=asked.missing, lenient=self._lenient)
        self.warn_of_no_value(resolved.parameters, given, entity, asked)
        self._task_problems(entity, resolved)
        self._named_by_values(resolved, given)
        keys = self._datasets(entity.part, resolved, given)
        model_key = asked.text("model_key")
        self._model(asked, resolved.document, model_key)
        task = resolved.document
        specification, evaluation = asked.typed()
        if task is None or specification is None:
            return None
        self._add(part, check_model_and_dataset(asked, task))
        return ResolvedSpec(
            key=str(data.get("key")),
            display_name=specification.display_name or task.display_name,
            task=task,
            written=entity.part,
            values=resolved.values,
            given=given,
            model_key=model_key,
            dataset_keys=keys,
            source=sample_source(task),
            **choose_sampling(specification, evaluation, run_config),
            repeats=specification.repeatability.num_runs if specification.repeatability else 1,
            evaluation_key=asked.entity.key,
            file=part.raw.marks.place(asked.path).file,
            line=part.raw.marks.place(asked.path).line,
        )

    def _declared(self, entity: Entity) -> list[str]:
        """The parameters of the tasks of an evaluation."""
        data = entity.part.raw.data
        written = data.get("task_specifications") if isinstance(data, dict) else None
        declared: dict[str, None] = {}
        for one in written if isinstance(written, list) else []:
            task = self._task_entity(one.get("task_key") if isinstance(one, dict) else None)
            if task is not None:
                names = [each.key for each in task.parameters]
                declared.update(dict.fromkeys(names))
        return list(declared)

    def _fitting(self, task: Entity, given: Mapping[str, GivenValue]) -> dict[str, GivenValue]:
        names = {one.key for one in task.parameters}
        return {name: one for name, one in given.items() if name in names}

    def _task_entity(self, key: Any) -> Entity | None:
        return self._references.entities["task"].get(key) if isinstance(key, str) else None

    def _warn_of_auto_keys(self, part: DocumentPart, written: list[Any]) -> None:
        for number, (one, named) in enumerate(
            zip(written, assign_keys(written, name="task_key"), strict=True)
        ):
            if one is not named and named["key"] != one.get("task_key"):
                path: FieldPath = ("task_specifications", number)
                detail = f"the specification has no key; its results are called `{named['key']}`"
                hint = f"write `key: {named['key']}`"
                self._add(part, [Fault(path, "auto_key", detail, hint, level="warning")])

    def warn_of_no_value(
        self,
        parameters: Iterable[Parameter],
        given: Mapping[str, GivenValue],
        entity: Entity,
        asked: WrittenSpec | None = None,
    ) -> None:
        """Warn of what a run would be refused for, as long as nobody gives it."""
        for one in parameters:
            if not self._complete or not one.needs_value or one.key in given:
                continue
            where = asked.missing if asked is not None else entity.part.declaration
            place, field = where(one.key)
            name = "dataset_key" if one.key == "dataset_key" else "task_config"
            files = f"`{name}` or `config`" if asked is not None else "`config`"
            detail = f"parameter `{one.key}` of {entity.kind} `{entity.key}` has no value"
            hint = f"give it in {files}, or with `--set {one.key}=…`"
            fault = Fault((), "no_value", detail, hint, level="warning")
            self._report([problem_with_value(GivenValue(None, place, field), fault)])

    def _task_problems(self, entity: Entity, resolved: ResolvedTask) -> None:
        self.used["task", entity.key] = entity
        self._report(resolved.problems)
        if resolved.document is None or not isinstance(resolved.document.definition, BenchmarkTask):
            return
        for path, keys in find_named_models(resolved.document.definition):
            for key in keys:
                self._find("model", key, entity.part, path)

    def _named_by_values(self, resolved: ResolvedTask, given: Mapping[str, GivenValue]) -> None:
        """Models and datasets that a value names must be there."""
        for parameter in resolved.parameters:
            one = given.get(parameter.key)
            value = resolved.values.get(parameter.key)
            if one is None or parameter.key in resolved.open or not isinstance(value, str):
                continue
            kind: DocumentKind | None = _NAMED.get(getattr(parameter, "type", ""))
            if kind is not None and (fault := self._references.missing(kind, value, ())):
                self._report([problem_with_value(one, fault)])

    def _datasets(
        self, part: DocumentPart, resolved: ResolvedTask, given: Mapping[str, GivenValue]
    ) -> dict[str, str]:
        """The datasets of a task, each of which must be there."""
        keys = dict(resolved.dataset_keys)
        value = resolved.values.get("dataset_key")
        if not keys and isinstance(value, str) and "dataset_key" not in resolved.open:
            keys = {"": value}
        if resolved.document is not None and sample_source(resolved.document) != "dataset":
            return keys
        said = {str(resolved.values.get(name)) for name in given.keys() - resolved.open}
        for key in keys.values():
            if key not in said:  # else the parameter's value is wrong, not the task
                field = "key" if "" in keys else "keys"
                self._find("dataset", key, part, ("definition", "dataset", field))
            elif (entity := self._references.entities["dataset"].get(key)) is not None:
                self.used["dataset", key] = entity
        return keys

    def _model(self, asked: WrittenSpec, task: TaskDocument | None, key: str | None) -> None:
        part, path = asked.entity.part, (*asked.path, "model_key")
        if key is None:
            if task is not None and not asked.waits("model_key"):
                self._needs_a_model(part, path, task)
            return
        entity = self._find("model", key, part, path)
        does = getattr(entity.document, "task", None) if entity is not None else None
        if task is not None and does is not None and task.tasks and does not in task.tasks:
            wants = quote_names([str(one) for one in task.tasks])
            detail = f"task `{task.key}` needs a model for {wants}, `{key}` is one for `{does}`"
            self._add(part, [Fault(path, "wrong_model", detail)])

    def _needs_a_model(self, part: DocumentPart, path: FieldPath, task: TaskDocument) -> None:
        if needs_model(task) and not self._models_given:
            level: Literal["error", "warning"] = "warning" if self._lenient else "error"
            detail = f"task `{task.key}` evaluates a model, and none is named"
            hint = "name one with `-m`, or as `model_key` of a task specification"
            self._add(part, [Fault(path, "no_model", detail, hint, level)])

    def _find(
        self, kind: DocumentKind, key: str, part: DocumentPart, path: FieldPath
    ) -> Entity | None:
        if (fault := self._references.missing(kind, key, path)) is not None:
            self._add(part, [fault])
        entity = self._references.entities[kind].get(key)
        if entity is not None:
            self.used[kind, key] = entity
        return entity

    def _add(self, part: DocumentPart, faults: Iterable[Fault]) -> None:
        self._report(part.problems(faults))

    def _report(self, problems: Iterable[Issue]) -> None:
        self.problems.update(dict.fromkeys(problems))
