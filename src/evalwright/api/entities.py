"""Check a project's documents, try its tasks and datasets, and generate rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalwright.api.documents import count_log_samples
from evalwright.api.files import checks
from evalwright.api.run_project import compile_run
from evalwright.generation.generate import GeneratedDataset, generate_dataset
from evalwright.generation.preview import GenerationPreview, find_generated_files, preview_dataset
from evalwright.plan.options import RunOptions, parse_options
from evalwright.projects import try_task as task_previews
from evalwright.projects.catalog import check_kind, find_entity_file
from evalwright.projects.kinds import EntityKind
from evalwright.projects.lookup import find_entity, find_valid_entity, open_project
from evalwright.projects.task_preview import TaskPreview
from evalwright.projects.try_dataset import DatasetPreview, read_dataset
from evalwright.projects.try_task import TaskSelection, locate_task
from evalwright.session.progress import Progress, SilentProgress
from evalwright.spec.checking import Checking


def check_entities(
    kind: EntityKind, names: Sequence[str], project: str = ".", *, env: Sequence[str] = ()
) -> list[Checking]:
    """Check entities, by key or by file; without names, check all of a kind."""
    if not names:
        return check_kind(kind, project, check_log=count_log_samples, env=env)
    return checks([find_entity_file(kind, name, project, env) for name in names], env=env)


__all__ = ["TaskSelection", "locate_task", "try_task"]


def try_task(
    selection: TaskSelection,
    models: Sequence[str] = (),
    *,
    tell: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> TaskPreview:
    """Try a task; `options` are fields of `RunOptions`, `tell` receives messages for the user."""
    return task_previews.try_task(selection, models, compile_plan=compile_run, tell=tell, **options)


def try_dataset(
    name: str, *, samples: int = 3, anew: bool = False, project: str = ".", env: Sequence[str] = ()
) -> DatasetPreview | GenerationPreview:
    """Read a dataset and describe its rows; raise `BadDataset` if it cannot be read.

    If a generator makes the rows and has not made them yet, make the first ones; with `anew`, make
    them even if the generator has.
    """
    opened, entity = find_valid_entity("dataset", name, project, env)
    document: Any = entity.document
    generated: Mapping[str, Path] = {}
    if document.generator_specification is not None:
        options = RunOptions(env=tuple(env))
        generated = {} if anew else find_generated_files(opened, entity.key, options)
        if entity.key not in generated:
            return preview_dataset(opened, entity, options, samples=samples)
    return read_dataset(entity, generated, samples=samples)


def dataset_preview_lines(
    preview: DatasetPreview | GenerationPreview, *, bodies: bool = False
) -> Iterator[str]:
    """Render the result of `try_dataset`; `bodies` adds what models were asked and answered."""
    if isinstance(preview, DatasetPreview):
        return preview.to_lines()
    return preview.render_lines(show_model_calls=bodies)


def generate(
    name: str,
    *,
    project: str = ".",
    again: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> list[GeneratedDataset]:
    """Make the rows of a dataset, and of those it is made from; the options are `RunOptions`.

    With `again`, the rows of this dataset are made even if they exist.
    """
    run_options = parse_options(options)
    opened = open_project(project, run_options.env)
    entity = find_entity(opened, "dataset", name)
    return generate_dataset(
        opened, entity, run_options, progress=progress or SilentProgress(), again=again
    )
