"""`local`: a file in the project.

    source:
      type: local
      file_path: data/questions.csv        # .csv .jsonl .json .parquet, also .csv.gz, .jsonl.zst
      filters:
        - { op: equals, expression: "{{ sample.language }}", value: en }

The modules `csv_file`, `json_files` and `reading` (for Parquet) in `evalwright.datasets` document
how each format is read.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator

from evalwright.components import Location
from evalwright.datasets.reading import FileRows, Reader, format_of
from evalwright.datasets.source import SourceSpec, Surroundings


def _check_ending(location: Location) -> Location:
    format_of(location.written)
    return location


TableFile = Annotated[Location, AfterValidator(_check_ending)]
"""The path of a file of rows in a supported format."""


class Local(SourceSpec):
    """The rows of a file."""

    type: Literal["local"]
    file_path: TableFile
    """Path relative to the document. The extension determines the format."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader of the file, which is opened for the first row."""
        del surroundings
        path = self.file_path.path
        return FileRows(lambda: path, format_of(self.file_path.written))

    def label(self) -> str:
        """Name the path."""
        return str(self.file_path.path)
