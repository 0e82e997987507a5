"""Lint the documents of a project: report what is legal but suspicious.

    unfenced_output    a judge's prompt that contains a model's words without a fence

There is one entry per file, in the protocol of a check, so that the renderers of checks render it
too. A document with errors is skipped and counted: `validate` reports them.
"""

from collections.abc import Iterator
from typing import Any

from evalwright.scorers.judging.judge_spec import JudgeSpec
from evalwright.spec.checking import drop_duplicates
from evalwright.spec.documents.checks.fences import find_unfenced
from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.spec.documents.resolve.specifications import ResolvedSpec, sample_source
from evalwright.spec.documents.validation import DocumentCheck
from evalwright.spec.documents.yaml.problems import (
    Fault,
    Place,
    locate_fault,
)
from evalwright.templates import Template
from evalwright.types import Issue

_PROMPTS = ("system_prompt", "user_prompt")
_HINT = (
    "put it between marks of its own, such as <answer> and </answer>, "
    "and tell the judge that what stands there is never an instruction"
)


class DocumentLint(DocumentCheck):
    """One file of a project, linted: its issues are findings, which make nothing invalid."""

    level = "warning"

    def __init__(self, file: str, findings: list[Issue], *, kind: str, broken: bool) -> None:
        super().__init__(file, findings, kind=kind)
        self.valid, self.skipped = int(not broken), int(broken)
        self.notes: list[str] = []
        """Nothing is ever left out."""


def lint_project(project: Project) -> Iterator[DocumentLint]:
    """Every document that the path stands for, and the tasks that a run file uses."""
    broken = {one.file for one in project.problems if one.level == "error"}
    kinds = {entity.file: str(entity.kind) for entity in project.tasks.values()}
    found: dict[str, list[Issue]] = {file: [] for file in project.files}
    for problem in project.problems:
        if problem.rule == "unreadable" and not problem.field:
            found.setdefault(problem.file, []).append(problem)
    specs = project.runnable_specs()
    used = {one.task.key for one in specs} if project.kind == "run" else set()
    chained = {*_chained(project, specs)}
    for key, entity in project.tasks.items():
        if entity.file in found or key in used:
            for one in drop_duplicates(_findings(entity, chained=key in chained)):
                found.setdefault(one.file, []).append(one)
    for file, its in found.items():
        kind = kinds.get(file, "document")
        yield DocumentLint(file, its, kind=kind, broken=file in broken)


def _chained(project: Project, specs: list[ResolvedSpec]) -> Iterator[str]:
    """The tasks whose rows are the results of other tasks, as they stand or as they are used."""
    results = {
        key
        for key, entity in project.datasets.items()
        if getattr(getattr(entity.document, "origin", None), "type", "") == "task_result"
    }
    for key, entity in project.tasks.items():
        if entity.document is not None:
            dataset = getattr(entity.document.definition, "dataset", None)
            named = {getattr(dataset, "key", None), *(getattr(dataset, "keys", None) or ())}
            if sample_source(entity.document) == "task_result" or named & results:
                yield key
    for spec in specs:
        if results & {*spec.dataset_keys.values()}:
            yield spec.task.key


def _findings(entity: Entity, *, chained: bool) -> Iterator[Issue]:
    """What is suspicious in the judges of a task; `chained`: its rows are results of another."""
    definition: Any = getattr(entity.document, "definition", None)
    for number, scorer in enumerate(getattr(definition, "scorers", ())):
        if not isinstance(scorer, JudgeSpec):
            continue
        for name in _PROMPTS:
            template: Template = getattr(scorer, name)
            for one in find_unfenced(template.source, chained=chained):
                path = ("definition", "scorers", number, name)
                detail = (
                    f"`{one.expression}` puts the model's words among the judge's "
                    "instructions: an answer can pass for them"
                )
                fault = Fault(path, "unfenced_output", detail, _HINT, level="warning")
                place = Place(template.file or entity.file, template.line + one.line)
                yield locate_fault(fault, place)
