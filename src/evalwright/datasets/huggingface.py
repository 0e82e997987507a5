"""`huggingface`: a dataset from the Hugging Face Hub, or a local one in the same layout.

    source:
      type: huggingface
      path: openai/gsm8k               # or ./a-folder, relative to the document
      split: test
      load_dataset_kwargs: { name: main }

The dataset is loaded with `datasets.load_dataset`, which uses its own cache. This source requires
the `hf` extra. Datasets that run Python code are rejected.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, field_validator

from evalwright.components import Authored, Location
from evalwright.datasets.json_files import to_json, to_json_row
from evalwright.datasets.reading import Reader, digest_of
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.errors import BadDataset, StageError, UsageError, boundary

_OURS = ("path", "split")


class _HubRows:
    def __init__(self, path: str, split: str | None, arguments: dict[str, Any]) -> None:
        self._path, self._split, self._arguments = path, split, arguments

    @cached_property
    def digest(self) -> str:
        """Hash of the rows, because a dataset on the Hub may change."""
        return digest_of(self.rows())

    @property
    def header(self) -> tuple[str, ...] | None:
        names = self._dataset.column_names
        return tuple(names) if names else None

    def rows(self) -> Iterator[dict[str, Any]]:
        for number, row in enumerate(self._dataset):
            try:
                yield to_json_row(row)
            except ValueError as error:
                raise BadDataset(f"{self._path}: row {number}: {error}") from error

    @cached_property
    def _dataset(self) -> Any:
        try:
            import datasets
        except ImportError as error:
            raise UsageError(
                f"{self._path}: datasets from the Hugging Face Hub need the package `datasets`",
                hint="pip install 'evalwright[hf]'",
            ) from error
        datasets.disable_progress_bars()
        try:
            with boundary("dataset"):
                loaded = datasets.load_dataset(self._path, split=self._split, **self._arguments)
        except StageError as error:
            message = " ".join(error.message.split())
            raise BadDataset(f"{self._path}: {error.type}: {message}") from error
        if not isinstance(loaded, dict):
            return loaded
        if len(loaded) == 1:
            return next(iter(loaded.values()))
        raise BadDataset(
            f"{self._path}: the dataset has the splits {', '.join(f'`{name}`' for name in loaded)}",
            hint="select one with `split`",
        )


class HuggingFace(SourceSpec):
    """The rows of a dataset on the Hub."""

    type: Literal["huggingface"]
    path: str
    """Name on the Hub, or the path of a folder if it starts with a dot or a slash."""
    split: str | None = None
    """Split to load. Optional if the dataset has only one."""
    load_dataset_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Other arguments for `datasets.load_dataset`, such as `name`, `revision` or `data_files`."""

    @field_validator("path", mode="before")
    @classmethod
    def _resolve_path(cls, value: Any) -> Any:
        if isinstance(value, Authored) and value.startswith("."):
            return str(Location(value, beside=value.file).path)
        return value

    @field_validator("load_dataset_kwargs")
    @classmethod
    def _check_arguments(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in _OURS:
            if name in value:
                raise ValueError(f"`{name}` is already a key of the source")
        if value.get("trust_remote_code"):
            raise ValueError("`trust_remote_code` is not allowed, because it runs untrusted Python")
        arguments: dict[str, Any] = to_json(value)
        return arguments

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader that loads the dataset when the first row is read."""
        del surroundings
        return _HubRows(self.path, self.split, self.load_dataset_kwargs)

    def label(self) -> str:
        """Return the name of the dataset, for messages."""
        return self.path
