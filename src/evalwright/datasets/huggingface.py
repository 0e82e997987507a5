"""`huggingface`: a dataset of the Hugging Face hub, or one in its layout on disk.

    source:
      type: huggingface
      path: openai/gsm8k               # or ./a-directory, relative to the document
      split: test
      load_dataset_kwargs: { name: main }

What `datasets.load_dataset` gives, which is the extra `hf`. Its own cache keeps it. Datasets that
are Python to be run are refused.
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


class HubRows:
    """What `load_dataset` gives, row by row."""

    def __init__(self, path: str, split: str | None, arguments: dict[str, Any]) -> None:
        self._path, self._split, self._arguments = path, split, arguments

    @cached_property
    def digest(self) -> str:
        """Of the rows: a name on the hub is another dataset tomorrow."""
        return digest_of(self.rows())

    @property
    def header(self) -> tuple[str, ...] | None:
        """The columns, where the dataset declares them."""
        names = self._loaded.column_names
        return tuple(names) if names else None

    def rows(self) -> Iterator[dict[str, Any]]:
        """In the order of the split."""
        for number, row in enumerate(self._loaded):
            try:
                yield to_json_row(row)
            except ValueError as error:
                raise BadDataset(f"{self._path}: row {number}: {error}") from error

    @cached_property
    def _loaded(self) -> Any:
        try:
            import datasets
        except ImportError as error:
            raise UsageError(
                f"{self._path}: a dataset of the Hugging Face hub needs the library datasets",
                hint="pip install 'evalwright[hf]'",
            ) from error
        datasets.disable_progress_bars()
        try:
            with boundary("dataset"):
                found = datasets.load_dataset(self._path, split=self._split, **self._arguments)
        except StageError as error:
            said = " ".join(str(error).split())
            raise BadDataset(f"{self._path}: {error.type}: {said}") from error
        return self._one_split(found)

    def _one_split(self, found: Any) -> Any:
        if not isinstance(found, dict):
            return found
        if len(found) == 1:
            return next(iter(found.values()))
        raise BadDataset(
            f"{self._path}: has the splits {', '.join(f'`{name}`' for name in found)}",
            hint="say which one in `split`",
        )


class HuggingFace(SourceSpec):
    """The rows of a dataset of the hub."""

    type: Literal["huggingface"]
    path: str
    """Its name on the hub; a directory if it begins with a dot or a slash."""
    split: str | None = None
    """Which part; may be left out where there is only one."""
    load_dataset_kwargs: dict[str, Any] = Field(default_factory=dict)
    """What else `datasets.load_dataset` is told: `name`, `revision`, `data_files`…"""

    @field_validator("path", mode="before")
    @classmethod
    def _beside(cls, value: Any) -> Any:
        if isinstance(value, Authored) and value.startswith("."):
            return str(Location(value, beside=value.file).path)
        return value

    @field_validator("load_dataset_kwargs")
    @classmethod
    def _allowed(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in _OURS:
            if name in value:
                raise ValueError(f"`{name}` is a key of the source itself")
        if value.get("trust_remote_code"):
            raise ValueError("`trust_remote_code` would run a stranger's Python: not allowed here")
        made: dict[str, Any] = to_json(value)
        return made

    def reader(self, surroundings: Surroundings) -> Reader:
        """The dataset, which is loaded when the first row is asked for."""
        del surroundings
        return HubRows(self.path, self.split, self.load_dataset_kwargs)

    def label(self) -> str:
        """Its name on the hub."""
        return self.path
