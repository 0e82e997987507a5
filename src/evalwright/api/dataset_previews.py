"""Read a dataset, or make the first rows of one that a generator makes, and keep nothing."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalwright.generation.preview import GenerationPreview, find_generated_files, preview_dataset
from evalwright.plan.options import RunOptions
from evalwright.projects.lookup import find_valid_entity
from evalwright.projects.try_dataset import DatasetPreview, read_dataset


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
