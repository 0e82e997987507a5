"""Generate the rows of a dataset before a run needs them."""

from typing import Any

from evalwright.generation.generate import GeneratedDataset, generate_dataset
from evalwright.plan.options import parse_options
from evalwright.projects.lookup import find_entity, open_project
from evalwright.session.progress import Progress, SilentProgress


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
