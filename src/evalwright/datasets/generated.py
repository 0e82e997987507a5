"""Rows of a dataset that a generator created.

    generator_specification:
      dataset_generator_key: quiz
      num_samples: 100

The rows are stored in a file in `.evalwright/generated/`. Reading a dataset never generates rows.
"""

from pathlib import Path
from typing import Literal

from evalwright.datasets.reading import FileRows, Reader
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.errors import BadDataset

FOLDER = "generated"
"""Folder of the files, relative to `.evalwright`."""


class GeneratedSource(SourceSpec):
    """The generated rows of a dataset."""

    type: Literal["generated"] = "generated"
    key: str
    """Key of the dataset."""
    generator: str
    """Key of the generator."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader of the file; reading raises `BadDataset` if the file does not exist."""

        def find_file() -> Path:
            path = surroundings.generated.get(self.key)
            if path is None:
                raise BadDataset(
                    f"the rows of dataset `{self.key}` have not been generated yet",
                    hint=f"evalwright dataset generate {self.key}",
                )
            return path

        return FileRows(find_file, ".jsonl", options=self.read_options())

    def label(self) -> str:
        """Return the name of the generator, for messages."""
        return f"generator `{self.generator}`"
