"""A project: its documents, their kinds, and whether they fit together.

    project = read_project("run.yaml", environment=os.environ)
    project.problems             all problems, each with its place
    project.tasks["capitals"]    the entities, by key
    specs, problems = project.specs(assignments={"model": "bot"})

Nothing is run, no dataset is opened, no server is asked.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from evalwright.secrets import Secret
from evalwright.spec.checking import sort_issues
from evalwright.spec.documents.checks.build import build_typed, locate_faults
from evalwright.spec.documents.models.evaluation import RunConfig
from evalwright.spec.documents.models.model import IDENTITY
from evalwright.spec.documents.models.run_file import ConfigFile, RunFile
from evalwright.spec.documents.models.task import TaskDocument
from evalwright.spec.documents.resolve.config_values import (
    GivenValue,
    problem_with_value,
    read_given_values,
)
from evalwright.spec.documents.resolve.entities import Entity, References
from evalwright.spec.documents.resolve.gather import GatheredProject, gather_project
from evalwright.spec.documents.resolve.generations import Generations
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.resolve.policies import check_policy_names
from evalwright.spec.documents.resolve.resolver import Resolver
from evalwright.spec.documents.resolve.specifications import ResolvedSpec, check_trial_counts
from evalwright.spec.documents.yaml.problems import Fault, Place, did_you_mean
from evalwright.spec.documents.yaml.reader import read_document
from evalwright.types import Issue


class GivenConfig(Struct, frozen=True):
    """The values and the ways of a run that a file, or a caller, gives."""

    values: Mapping[str, GivenValue] = {}
    run_config: RunConfig = RunConfig()
    problems: tuple[Issue, ...] = ()


class Project:
    """What a path leads to, and all that it refers to."""

    def __init__(self, gathered: GatheredProject) -> None:
        self._gathered = gathered
        self.path = gathered.path
        self.root = gathered.root
        """The folder of the project: paths of documents are shown from the current folder."""
        self.kind: DocumentKind | None = gathered.kind
        """What the path itself is; None for a folder."""
        self.run: RunFile | None = gathered.run
        self.policies = [one.document for one in gathered.policies]
        """What the figures of a run must be."""
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
        """The files that the path itself stands for, included ones too."""
        return self._gathered.files

    def resolve_task(
        self, key: str, values: Mapping[str, Any]
    ) -> tuple[TaskDocument | None, list[Issue], dict[str, Any]]:
        """A task with these values, what is wrong with it, and the value of every parameter."""
        entity = self.tasks[key]
        found = entity.resolve_task(values_from_program(values))
        return found.document, found.problems, found.values

    def specs(
        self,
        *,
        config: GivenConfig | None = None,
        assignments: Mapping[str, str] | None = None,
        evaluation: str | None = None,
        models_given: bool = False,
    ) -> tuple[list[ResolvedSpec], list[Issue]]:
        """What is to be run, and all that is wrong with it.

        That is the evaluation (by its key, where there are several), or else every task that the
        path stands for. `config` is what `--config` names; `assignments` are those of `--set`, as
        texts. A value goes to the evaluation if that declares it, else to the tasks that do.
        `models_given`: the caller has models for the tasks that name none.
        """
        config = config or GivenConfig()
        values = {**self._gathered.config, **config.values, **_assigned(assignments or {})}
        resolver = Resolver(self._references(strict=True), given=values, models_given=models_given)
        run_config = _merged(self.run.run_config if self.run else None, config.run_config)
        chosen, problems = self._chosen(evaluation)
        specs: list[ResolvedSpec] = []
        if chosen is not None:
            specs = resolver.evaluation(chosen, run_config)
            problems += chosen.part.raw.problems
        elif not problems:
            targets = self._gathered.targets
            problems += _unclaimed(values, targets)
            made = [resolver.task(one, run_config) for one in targets]
            specs = [one for one in made if one is not None]
        # In a folder, what is wrong with a document that is not used does not stop a run.
        problems += self._gathered.whole if self.path.is_dir() else self._gathered.problems
        problems += self._unread()
        for one in resolver.used.values():
            problems += self._problems_of(one, resolved=True)
        problems += [*config.problems, *resolver.problems]
        tasks = [(one.key, one.task) for one in specs]
        return specs, sort_issues([*problems, *self._named_by_policies(tasks, problems)])

    def settled(self) -> list[ResolvedSpec]:
        """What could run as it stands: of all evaluations, and the tasks that none of them uses.

        What waits for a value is left out.
        """
        gathered, run_config = self._gathered, RunConfig()
        used = Resolver(self._references(), given=gathered.config, models_given=True)
        specs: list[ResolvedSpec | None] = []
        for one in gathered.evaluations:
            specs += used.evaluation(one, run_config)
        given = {} if gathered.evaluations else gathered.config
        tasks = gathered.main if gathered.evaluations else gathered.targets
        alone = Resolver(self._references(), given=given, models_given=True)
        for one in tasks:
            if one.kind == "task" and ("task", one.key) not in used.used:
                specs.append(alone.task(one, run_config))
        return [one for one in specs if one is not None and not one.waits]

    @cached_property
    def generations(self) -> Generations:
        """How the rows of datasets are made, where a generator makes them."""
        return Generations(self._references(strict=True))

    @cached_property
    def _generations(self) -> Generations:
        """The same, as far as one document alone can tell."""
        return Generations(self._references())

    def _chosen(self, key: str | None) -> tuple[Entity | None, list[Issue]]:
        """The evaluation to run, if there is one."""
        candidates = {one.key: one for one in self._gathered.evaluations}
        if key is not None:
            candidates = dict(self.evaluations)
        if key is None and len(candidates) <= 1:
            return next(iter(candidates.values()), None), []
        if key in candidates:
            return candidates[key], []
        names = list(candidates)
        place = Place(str(self.path), 1)
        if key is None:
            detail = f"the project has {len(names)} evaluations: {', '.join(names)}"
            fault = Fault((), "which_evaluation", detail, "name one with `--evaluation KEY`")
        else:
            detail = f"the project has no evaluation `{key}`"
            fault = Fault((), "unknown_evaluation", detail, did_you_mean(key, names))
        return None, [problem_with_value(GivenValue(None, place, ""), fault)]

    @cached_property
    def problems(self) -> list[Issue]:
        """All that is wrong with what was named and with what it uses: errors and warnings."""
        gathered = self._gathered
        resolver = Resolver(
            self._references(), given=gathered.config, lenient=True, complete=self.run is not None
        )
        run_config = self.run.run_config if self.run else RunConfig()
        asked = [one for of in gathered.evaluations for one in resolver.evaluation(of, run_config)]
        tasks = [(one.key, one.task) for one in asked]
        for one in [] if gathered.evaluations else gathered.targets:
            resolver.warn_of_no_value(one.parameters, gathered.config, one)
            tasks += [(one.key, one.document)] if one.document is not None else []
        alone = Resolver(self._references(), given={}, lenient=True)
        by_themselves = [
            alone.task(task, run_config)
            for task in gathered.main
            if task.kind == "task" and ("task", task.key) not in resolver.used
        ]
        tried = check_trial_counts([*asked, *(one for one in by_themselves if one is not None)])
        used = {**resolver.used, **alone.used}
        entities = {id(one): one for one in [*gathered.main, *used.values()]}.values()
        own = [found for one in entities for found in self._problems_of(one)]
        unread = [] if self._alone else self._unread()
        problems = [*gathered.problems, *unread, *own, *resolver.problems, *alone.problems, *tried]
        return sort_issues([*problems, *self._named_by_policies(tasks, problems)])

    def _named_by_policies(
        self, tasks: Iterable[tuple[str, TaskDocument]], problems: Iterable[Issue]
    ) -> list[Issue]:
        """What policies name and no task has; where a task is broken, nobody knows."""
        if any(one.level == "error" for one in problems):
            return []
        return list(check_policy_names(self._gathered.policies, list(tasks)))

    def _problems_of(self, entity: Entity, *, resolved: bool = False) -> Iterable[Issue]:
        """Its own, those of its file, and of what it goes through or is made of.

        Of a task that has been `resolved`, what came out with other values is of no matter.
        """
        yield from entity.part.raw.problems
        if not (resolved and entity.kind == "task"):
            yield from entity.problems
        if entity.kind == "dataset":
            yield from self._generations.problems(entity)
        elif entity.kind == "generator":
            yield from self._generations.named_by(entity)
        key = getattr(entity.document, "adapter_key", None) if entity.kind == "model" else None
        if key is not None and key != IDENTITY:
            path = ("config", "adapter", "key")
            if (fault := self._references().missing("adapter", key, path)) is not None:
                yield from entity.part.problems([fault])
            if (adapter := self.adapters.get(key)) is not None:
                yield from self._problems_of(adapter)

    @property
    def _alone(self) -> bool:
        """Whether one document was named, not a project."""
        return self.kind not in {None, "run"}

    def _unread(self) -> list[Issue]:
        """Of the files that cannot be read: what they are, and so whether they are used."""
        return [found for several in self._gathered.unread.values() for found in several]

    def _references(self, *, strict: bool = False) -> References:
        gathered = self._gathered
        alone = self._alone and not strict
        return References(gathered.entities, alone=alone, unread=frozenset(gathered.unread))


def read_project(path: str | Path, *, environment: Mapping[str, str]) -> Project:
    """Read a document, a run file or a folder, and the project around it."""
    return Project(gather_project(Path(path), environment))


def read_config(path: str | Path, *, environment: Mapping[str, str]) -> GivenConfig:
    """What `--config FILE` gives: a file with `config` and `run_config`."""
    document = read_document(path, environment=environment)
    if not isinstance(document.data, dict):
        fault = Fault((), "wrong_type", "expected `config` and `run_config` in a mapping")
        more = [] if document.problems else locate_faults([fault], document.marks, document.data)
        return GivenConfig(problems=(*document.problems, *more))
    data = document.data
    typed, faults = build_typed(ConfigFile, data)
    problems = locate_faults(faults, document.marks, data, unread=document.unread)
    values = read_given_values(data.get("config"), document.marks)
    run_config = typed.run_config if typed is not None else RunConfig()
    return GivenConfig(values, run_config, (*document.problems, *problems))


def values_from_program(values: Mapping[str, Any]) -> dict[str, GivenValue]:
    """Values that a program gives, not a file."""
    return {name: GivenValue(one, Place("config", 1), name) for name, one in values.items()}


def _assigned(assignments: Mapping[str, str]) -> dict[str, GivenValue]:
    return {
        name: GivenValue(text, Place("--set", 1), name, text=True)
        for name, text in assignments.items()
    }


def _merged(one: RunConfig | None, other: RunConfig) -> RunConfig:
    """What the second says, and else the first."""
    if one is None:
        return other
    told = other.model_dump(exclude_none=True)
    return one.model_copy(update=told)


def _unclaimed(values: Mapping[str, GivenValue], tasks: Iterable[Entity]) -> list[Issue]:
    """The given values that no task has a parameter for."""
    names = ["dataset_key"]
    for task in tasks:
        names += [one.key for one in task.parameters]
    return [
        problem_with_value(
            one,
            Fault(
                (),
                "undeclared_parameter",
                f"no task here has a parameter `{name}`",
                did_you_mean(name, names),
            ),
        )
        for name, one in values.items()
        if name not in names
    ]
