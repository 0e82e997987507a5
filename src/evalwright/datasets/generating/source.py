"""The rows of a dataset that a generator makes, once they are made.

    generator_specification:
      dataset_generator_key: quiz
      num_samples: 100

They lie in a file under `.evalwright/generated/`; who reads them does not make them.
"""

from pathlib import Path
from typing import Literal

from evalwright.datasets.reading import FileRows, Reader
from evalwright.datasets.source import Source, Surroundings
from evalwright.errors import BadDataset

FOLDER = "generated"
"""Where they lie, below `.evalwright`."""


class GeneratedSource(Source):
    """The rows that a generator has made for a dataset."""

    type: Literal["generated"] = "generated"
    key: str
    """The dataset."""
    generator: str
    """The generator."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """The file; `BadDataset` if there is none yet."""

        def found() -> Path:
            path = surroundings.generated.get(self.key)
            if path is None:
                raise BadDataset(
                    f"the rows of dataset `{self.key}` are not generated yet",
                    hint=f"evalwright dataset generate {self.key}",
                )
            return path

        return FileRows(found, ".jsonl")

    def label(self) -> str:
        """Who makes them."""
        return f"made by `{self.generator}`"
