"""Rows of a dataset from a generator.

    generator_specification:
      dataset_generator_key: quiz
      num_samples: 100

They are in a file under `.evalwright/generated/`. Reading a dataset never generates its rows.
"""

from pathlib import Path
from typing import Literal

from evalwright.datasets.reading import FileRows, Reader
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.errors import BadDataset

FOLDER = "generated"
"""The folder of the files, below `.evalwright`."""


class GeneratedSource(SourceSpec):
    """The generated rows of a dataset."""

    type: Literal["generated"] = "generated"
    key: str
    """The dataset."""
    generator: str
    """The generator."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader of the file; reading raises `BadDataset` if there is none yet."""

        def find_file() -> Path:
            path = surroundings.generated.get(self.key)
            if path is None:
                raise BadDataset(
                    f"the rows of dataset `{self.key}` have not been generated yet",
                    hint=f"evalwright dataset generate {self.key}",
                )
            return path

        return FileRows(find_file, ".jsonl")

    def label(self) -> str:
        """Name the generator."""
        return f"generator `{self.generator}`"
