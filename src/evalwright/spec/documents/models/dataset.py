"""A dataset in a project.

    key: trivia
    display_name: Trivia
    source:
      type: local                  # folder, url, huggingface, inline, task_result, inspect_ai …
      file_path: trivia.csv        # relative to this document

    key: quiz-rows                 # or rows from a generator
    display_name: Quiz
    generator_specification: { dataset_generator_key: quiz, num_samples: 100 }

The page [Data sources](datasets.md) describes the keys of each source.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

from pydantic import model_validator

from evalwright.components import Component, Title, UserKey
from evalwright.datasets.generated import GeneratedSource
from evalwright.datasets.local import Local, TableFile
from evalwright.datasets.reading import Reader
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import AnySource, Surroundings
from evalwright.spec.documents.models.generator import GeneratorSpecification
from evalwright.spec.documents.yaml.problems import Fault


class DatasetDocument(Component):
    """Rows that tasks and evaluations can use."""

    key: UserKey
    """Key of the dataset."""
    display_name: Title
    """Display name."""
    description: str | None = None
    """Description in one line."""
    long_description: str | None = None
    """Long description in Markdown."""
    tags: tuple[str, ...] = ()
    """Tags for searching."""
    source: AnySource | None = None
    """Data source of the rows."""
    file_path: TableFile | None = None
    """Deprecated: use `source` with the type `local`."""
    generator_specification: GeneratorSpecification | None = None
    """Generator of the rows. Use it instead of `source`."""

    @model_validator(mode="after")
    def _check_one_source(self) -> Self:
        names = ("source", "file_path", "generator_specification")
        named = [f"`{name}`" for name in names if getattr(self, name) is not None]
        if len(named) > 1:
            got = "both" if len(named) == 2 else "all of them"  # noqa: PLR2004 - both
            raise ValueError(f"expected {' or '.join(named)}, got {got}")
        if not named:
            raise ValueError("expected `source`, got none")
        return self

    @property
    def origin(self) -> AnySource | GeneratedSource:
        """The source of the rows, in current or old syntax."""
        if self.source is not None:
            return self.source
        if self.generator_specification is not None:
            generator = self.generator_specification.dataset_generator_key
            return GeneratedSource(key=self.key, generator=generator)
        return Local.model_validate({"type": "local", "file_path": self.file_path})

    def warnings(self) -> list[Fault]:
        """Return warnings about deprecated or suspicious fields."""
        faults = [
            Fault(
                ("source", "filters", number, "expression"),
                "suspicious_expression",
                warning,
                level="warning",
            )
            for number, rule in enumerate(self.source.filters if self.source else ())
            for warning in rule.warnings()
        ]
        if self.file_path is not None:
            now = f"source: {{type: local, file_path: {self.file_path.written}}}"
            detail = "`file_path` was replaced by `source`"
            faults.append(Fault(("file_path",), "deprecated", detail, f"write {now}", "warning"))
        if self.generator_specification is not None and self.generator_specification.debug:
            path = ("generator_specification", "debug")
            hint = f"`evalwright dataset test {self.key} --show-io` shows requests and replies"
            faults.append(Fault(path, "without_effect", "`debug` has no effect", hint, "warning"))
        return faults


def open_dataset(
    document: DatasetDocument,
    *,
    cache_dir: Path,
    task_results: Mapping[str, Reader] | Callable[[str], Reader] | None = None,
    generated: Mapping[str, Path] = MappingProxyType({}),
) -> Rows:
    """Return the rows of a dataset. Errors are raised when the rows are read.

    `cache_dir` is the project's `.evalwright` folder. `task_results` contains the results of other
    tasks, by key. `generated` contains the files with generated rows, by dataset key.
    """
    surroundings = Surroundings(cache_dir=cache_dir, task_results=task_results, generated=generated)
    return document.origin.rows(surroundings)
