"""A project: its documents, and the checks between them.

    project = read_project("run.yaml", environment=os.environ)
    project.problems             all problems with their places
    project.tasks["capitals"]    the entities, by key
    specs, problems = project.specs(assignments={"model": "bot"})

Reading a project does not run anything, open datasets or contact servers.
"""

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from evalwright.secrets import Secret
from evalwright.spec.checking import sort_issues
from evalwright.spec.documents.checks.build import DocumentPart, build_instance
from evalwright.spec.documents.models.evaluation import RunConfig
from evalwright.spec.documents.models.model import IDENTITY
from evalwright.spec.documents.models.run_file import ConfigFile, RunFile
from evalwright.spec.documents.models.task import TaskDocument
from evalwright.spec.documents.resolve.config_values import GivenValue, read_given_values
from evalwright.spec.documents.resolve.earlier import FindEarlier
from evalwright.spec.documents.resolve.entities import Entity, References
from evalwright.spec.documents.resolve.gather import GatheredProject, gather_project
from evalwright.spec.documents.resolve.generations import Generations
from evalwright.spec.documents.resolve.layout import (
    RUN_FILES,
    DocumentKind,
    describe_server_document,
    detect_kind,
    find_include_root,
    list_nested_run_files,
    list_top_files,
)
from evalwright.spec.documents.resolve.plans import resolve_plan
from evalwright.spec.documents.resolve.policies import check_policy_names
from evalwright.spec.documents.resolve.resolver import Resolver
from evalwright.spec.documents.resolve.specifications import ResolvedSpec, check_trial_counts
from evalwright.spec.documents.yaml.problems import (
    Fault,
    Place,
    did_you_mean,
    get_mapping,
    locate_fault,
)
from evalwright.spec.documents.yaml.reader import read_document
from evalwright.types import Issue


class GivenConfig(Struct, frozen=True):
    """Parameter values and run settings, from a file or a caller."""

    values: Mapping[str, GivenValue] = {}
    run_config: RunConfig = RunConfig()
    problems: tuple[Issue, ...] = ()


class Project:
    """The documents of a path and all documents that they refer to."""

    def __init__(self, gathered: GatheredProject, find_earlier: FindEarlier | None = None) -> None:
        self._gathered = gathered
        self._find_earlier = find_earlier
        self.path = gathered.path
        self.root = gathered.root
        """Folder of the project. Paths of documents are shown relative to the current folder."""
        self.kind: DocumentKind | None = gathered.kind
        """The kind of the path's document; None for a folder."""
        self.run: RunFile | None = gathered.run
        self.policies = [policy.document for policy in gathered.policies]
        """Policies that a run must meet."""
        self.secrets: Mapping[str, str | Secret] = gathered.secrets
        self.tasks = gathered.entities["task"]
        self.datasets = gathered.entities["dataset"]
        self.generators = gathered.entities["generator"]
        self.models = gathered.entities["model"]
        self.adapters = gathered.entities["adapter"]
        self.evaluations = gathered.entities["evaluation"]

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
        return all(problem.level != "error" for problem in self.problems)

    @property
    def files(self) -> list[str]:
        """The files of the path itself, including the files that they include."""
        return self._gathered.files

    def specs(
        self,
        *,
        config: GivenConfig | None = None,
        assignments: Mapping[str, str] | None = None,
        evaluation: str | None = None,
        models_given: bool = False,
    ) -> tuple[list[ResolvedSpec], list[Issue]]:
        """Return the specifications to run and all their problems.

        These are the specifications of the evaluation (selected by key if there are several) or,
        without an evaluation, of every task of the path. `config` comes from `--config`,
        `assignments` from `--set`. A value is passed to the evaluation if it declares the
        parameter, otherwise to the tasks that do. `models_given`: the caller has models for tasks
        without a model.
        """
        config = config or GivenConfig()
        assigned = {
            name: GivenValue(text, Place("--set", 1), name, text=True)
            for name, text in (assignments or {}).items()
        }
        values = {**self._gathered.config, **config.values, **assigned}
        resolver = Resolver(self._references(strict=True), given=values, models_given=models_given)
        own = {name: value for name, value in config.run_config if value is not None}
        if self.kind == "plan" and self._gathered.plans:
            return self._plan_specs(values, own, evaluation, models_given=models_given, more=config)
        run_config = self._run_config.model_copy(update=own)
        chosen, problems = self._choose_evaluation(evaluation)
        specs: list[ResolvedSpec] = []
        if chosen is not None:
            specs = resolver.evaluation(chosen, run_config)
            problems += chosen.part.raw.problems
        elif not problems:
            targets = self._gathered.targets
            problems += _check_assignments(values, targets)
            tasks = [resolver.task(task, run_config) for task in targets]
            specs = [spec for spec in tasks if spec is not None]
        # In a folder, errors in unused documents do not prevent a run.
        problems += self._gathered.blocking if self.path.is_dir() else self._gathered.problems
        problems += self._unread()
        for entity in resolver.used.values():
            problems += self._problems_of(entity, resolved=True)
        problems += [*config.problems, *resolver.problems]
        return specs, self._with_policy_names(problems, _list_names(specs))

    def _plan_specs(
        self,
        values: Mapping[str, GivenValue],
        run_config: Mapping[str, Any],
        evaluation: str | None,
        *,
        models_given: bool,
        more: GivenConfig,
    ) -> tuple[list[ResolvedSpec], list[Issue]]:
        """Return the specifications of all evaluations of a plan, and their problems."""
        references = self._references(strict=True)
        resolved = resolve_plan(
            self._gathered.plans[0],
            references,
            lambda given: Resolver(references, given=given, models_given=models_given),
            given=values,
            run_config=run_config,
            wanted=evaluation,
        )
        problems = [*self._gathered.problems, *self._unread(), *self._gathered.plans[0].problems]
        for entity in resolved.used.values():
            problems += self._problems_of(entity, resolved=True)
        problems += [*more.problems, *resolved.problems]
        return resolved.specs, self._with_policy_names(problems, _list_names(resolved.specs))

    def runnable_specs(self) -> list[ResolvedSpec]:
        """Return the specifications of all evaluations, and of the tasks that no evaluation uses.

        Specifications without all required values are omitted.
        """
        gathered, run_config = self._gathered, RunConfig()
        used = Resolver(self._references(), given=gathered.config, models_given=True)
        specs: list[ResolvedSpec | None] = []
        for evaluation in gathered.evaluations:
            specs += used.evaluation(evaluation, run_config)
        config = {} if gathered.evaluations else gathered.config
        alone = Resolver(self._references(), given=config, models_given=True)
        for task in gathered.main if gathered.evaluations else gathered.targets:
            if task.kind == "task" and ("task", task.key) not in used.used:
                specs.append(alone.task(task, run_config))
        return [spec for spec in specs if spec is not None and not spec.waits]

    @cached_property
    def generations(self) -> Generations:
        """Generation of the project's generated datasets."""
        return Generations(self._references(strict=True))

    @cached_property
    def _generations(self) -> Generations:
        """The generations that are known from single documents."""
        return Generations(self._references())

    @property
    def _run_config(self) -> RunConfig:
        return self.run.run_config if self.run else RunConfig()

    def _choose_evaluation(self, key: str | None) -> tuple[Entity | None, list[Issue]]:
        if key is not None:
            if key in self.evaluations:
                return self.evaluations[key], []
            detail = f"the project has no evaluation `{key}`"
            hint = did_you_mean(key, list(self.evaluations))
            fault = Fault((), "unknown_evaluation", detail, hint)
        else:
            candidates = {entity.key: entity for entity in self._gathered.evaluations}
            if len(candidates) <= 1:
                return next(iter(candidates.values()), None), []
            detail = f"the project has {len(candidates)} evaluations: {', '.join(candidates)}"
            fault = Fault((), "which_evaluation", detail, "select one with `--evaluation KEY`")
        return None, [locate_fault(fault, Place(str(self.path), 1))]

    @cached_property
    def problems(self) -> list[Issue]:
        """Return all errors and warnings of the selected documents and their references."""
        gathered, run_config = self._gathered, self._run_config
        references = self._references()
        resolver = Resolver(
            references, given=gathered.config, lenient=True, complete=self.run is not None
        )
        specs = [
            spec
            for evaluation in gathered.evaluations
            for spec in resolver.evaluation(evaluation, run_config)
        ]
        plans = [
            resolve_plan(
                plan,
                references,
                lambda given: Resolver(references, given=given, lenient=True, complete=True),
                given={},
                run_config={},
            )
            for plan in gathered.plans
        ]
        specs += [spec for plan in plans for spec in plan.specs]
        tasks = _list_names(specs)
        for target in [] if gathered.evaluations else gathered.targets:
            resolver.warn_of_no_value(target.parameters, gathered.config, target)
            tasks += [(target.key, target.document)] if target.document is not None else []
        alone = Resolver(references, given={}, lenient=True)
        for entity in gathered.main:
            if entity.kind == "task" and ("task", entity.key) not in resolver.used:
                spec = alone.task(entity, run_config)
                specs += [spec] if spec is not None else []
        used = {**resolver.used, **alone.used}
        for plan in plans:
            used.update(plan.used)
        entities = {id(entity): entity for entity in [*gathered.main, *used.values()]}.values()
        problems = [*gathered.problems, *([] if self._alone else self._unread())]
        problems += [problem for entity in entities for problem in self._problems_of(entity)]
        problems += [problem for plan in plans for problem in plan.problems]
        problems += [*resolver.problems, *alone.problems, *check_trial_counts(specs)]
        return self._with_policy_names(problems, tasks)

    def _with_policy_names(
        self, problems: list[Issue], tasks: list[tuple[str, TaskDocument]]
    ) -> list[Issue]:
        """Sort problems and, if no task has errors, add unknown names in policies."""
        if all(problem.level != "error" for problem in problems):
            problems = [*problems, *check_policy_names(self._gathered.policies, tasks)]
        return sort_issues(problems)

    def _problems_of(self, entity: Entity, *, resolved: bool = False) -> Iterable[Issue]:
        """Return the problems of an entity, its file, and the entities that it uses.

        For a `resolved` task, problems with placeholder values are ignored.
        """
        yield from entity.part.raw.problems
        if not (resolved and entity.kind == "task"):
            yield from entity.problems
        if entity.kind == "dataset":
            yield from self._generations.problems(entity)
        elif entity.kind == "generator":
            yield from self._generations.check_names(entity, entity.document)
        key = getattr(entity.document, "adapter_key", None) if entity.kind == "model" else None
        if key is not None and key != IDENTITY:
            path = ("config", "adapter", "key")
            if (fault := self._references().missing("adapter", key, path)) is not None:
                yield from entity.part.problems([fault])
            if (adapter := self.adapters.get(key)) is not None:
                yield from self._problems_of(adapter)

    @property
    def _alone(self) -> bool:
        return self.kind not in {None, "run", "plan"}

    def _unread(self) -> list[Issue]:
        """Return the problems of unreadable files, because they may be in use."""
        return [problem for problems in self._gathered.unread.values() for problem in problems]

    def _references(self, *, strict: bool = False) -> References:
        gathered = self._gathered
        alone = self._alone and not strict
        return References(
            gathered.entities,
            alone=alone,
            unread=frozenset(gathered.unread),
            find_earlier=self._find_earlier,
        )


def read_project(
    path: str | Path,
    *,
    environment: Mapping[str, str],
    find_earlier: FindEarlier | None = None,
) -> Project:
    """Read a document, a run file or a folder, and the project around it.

    `find_earlier` searches a store of runs for evaluations that are in no file.
    """
    return Project(gather_project(Path(path), environment), find_earlier)


def read_projects(
    path: str | Path,
    *,
    environment: Mapping[str, str],
    find_earlier: FindEarlier | None = None,
) -> list[Project]:
    """Read the project of a path and, for a folder, one project per additional file.

    These files are run files, plans, evaluations that are not in any of them, and documents that
    only a server uses, which are reported.
    """
    first = read_project(path, environment=environment, find_earlier=find_earlier)
    folder = Path(path)
    if not folder.is_dir() or first.root != folder:
        return [first]
    run_file = next((folder / name for name in RUN_FILES if (folder / name).is_file()), None)
    files = [file.path for file in list_top_files(folder)] + list_nested_run_files(folder)
    data = {
        file: read_document(file, environment=environment, root=find_include_root(file)).data
        for file in files
        if file != run_file
    }
    kinds = {file: detect_kind(content) for file, content in data.items()}
    projects = [first]
    for wanted in ({"run", "plan", None}, {"evaluation"}):
        known = {os.path.realpath(name) for project in projects for name in project.files}
        projects += [
            read_project(file, environment=environment, find_earlier=find_earlier)
            for file, kind in kinds.items()
            if kind in wanted
            and (kind is not None or describe_server_document(data[file]))
            and (kind != "evaluation" or os.path.realpath(file) not in known)
        ]
    return projects


def read_config(path: str | Path, *, environment: Mapping[str, str]) -> GivenConfig:
    """Read the `config` and `run_config` of a file for `--config`."""
    root = find_include_root(Path(path))
    document = read_document(path, environment=environment, root=root, takes_pipes=True)
    part, problems = DocumentPart(document), list(document.problems)
    if not isinstance(document.data, dict):
        fault = Fault((), "wrong_type", "expected a mapping with `config` and `run_config`")
        return GivenConfig(problems=tuple(problems or part.problems([fault])))
    typed, faults = build_instance(ConfigFile, document.data)
    values = read_given_values(part, ("config",), get_mapping(document.data, "config"))
    run_config = typed.run_config if typed is not None else RunConfig()
    return GivenConfig(values, run_config, (*problems, *part.problems(faults)))


def _list_names(specs: Iterable[ResolvedSpec]) -> list[tuple[str, TaskDocument]]:
    """Return the task of each key by which policies can refer to a specification."""
    return [(name, spec.task) for spec in specs for name in sorted(spec.names)]


def _check_assignments(values: Mapping[str, GivenValue], tasks: Iterable[Entity]) -> list[Issue]:
    names = ["dataset_key", *(parameter.key for task in tasks for parameter in task.parameters)]
    problems: list[Issue] = []
    for name, value in values.items():
        if name not in names:
            detail = f"no task has a parameter `{name}`"
            fault = Fault((), "undeclared_parameter", detail, did_you_mean(name, names))
            problems.append(value.problem(fault))
    return problems
