"""Validate and lint the documents of a project."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from evalwright.plan.row_checks import row_problems
from evalwright.session.stores import make_earlier_finder
from evalwright.spec.checking import Checking
from evalwright.spec.documents.lint import DocumentLint, lint_project
from evalwright.spec.documents.project import Project, read_project, read_projects
from evalwright.spec.documents.resolve.layout import RUN_FILES
from evalwright.spec.documents.validation import check_documents
from evalwright.spec.documents.yaml.environment import load_environment


def validate_project(path: str, env: Sequence[str]) -> Iterator[Checking]:
    """What is wrong with the documents of a project and their rows, file by file."""
    environment, problems = load_environment(env)
    reads_rows = not any(problem.level == "error" for problem in problems)
    finder = make_earlier_finder()
    projects = read_projects(path, environment=environment, find_earlier=finder)
    kinds: dict[str, str] = {}
    for project in reversed(projects):
        kinds |= _list_entity_kinds(project)
    for project in projects:
        kinds |= _list_own_kinds(project)
        if reads_rows:
            problems += row_problems(project, count_log_samples)
        problems += project.problems
    if len(projects) > 1:  # each run file is checked by itself
        problems = [problem for problem in problems if problem.rule != "many_run_files"]
    files = dict.fromkeys(file for project in projects for file in project.files)
    return check_documents(files, problems, kinds)


def _list_entity_kinds(project: Project) -> dict[str, str]:
    groups = (project.tasks, project.datasets, project.generators, project.models)
    more = (project.adapters, project.evaluations)
    entities = [entity for group in (*groups, *more) for entity in group.values()]
    return {entity.file: entity.kind for entity in entities}


def _list_own_kinds(project: Project) -> dict[str, str]:
    kinds: dict[str, str] = {}
    if project.kind is not None and project.files:
        kinds[project.files[0]] = project.kind
    return kinds | {file: "run" for file in project.files if Path(file).name in RUN_FILES}


def lint_project_files(path: str, env: Sequence[str]) -> Iterator[DocumentLint]:
    """What is legal and still suspicious in the documents of a project, file by file."""
    environment, _ = load_environment(env)
    return lint_project(read_project(path, environment=environment))


def count_log_samples(path: str) -> int:
    """Check a result log to its end; return how many samples it has. Few projects have one."""
    from evalwright.result_logs.read_log import read_log

    return read_log(path).samples
