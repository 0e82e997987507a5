"""`local`: a file in the project.

    source:
      type: local
      file_path: data/questions.csv        # .csv .jsonl .json .parquet, also .csv.gz, .jsonl.zst
      filters:
        - { op: equals, expression: "{{ sample.language }}", value: en }

The modules `csv_file`, `json_files` and `reading` (for Parquet) in `evalwright.datasets` describe
the formats.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator

from evalwright.components import Location
from evalwright.datasets.reading import FileRows, Reader, find_format
from evalwright.datasets.source import SourceSpec, Surroundings


def _check_ending(location: Location) -> Location:
    find_format(location.written)
    return location


TableFile = Annotated[Location, AfterValidator(_check_ending)]
"""Path of a dataset file in a supported format."""


class Local(SourceSpec):
    """The rows of a file in the project."""

    type: Literal["local"]
    file_path: TableFile
    """Path relative to the document. The extension determines the format."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader that opens the file when the first row is read."""
        del surroundings
        path = self.file_path.path
        return FileRows(lambda: path, find_format(self.file_path.written))

    def label(self) -> str:
        """Return the path, for messages."""
        return str(self.file_path.path)
