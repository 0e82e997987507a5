"""`local`: a file in the project.

    source:
      type: local
      file_path: data/questions.csv        # .csv .jsonl .json .parquet, also .csv.gz, .jsonl.zst
      filters:
        - { op: equals, expression: "{{ sample.language }}", value: en }

    source:
      type: local
      file_path: data/results.json
      records: "$.outputs[*]"              # the rows are the items of the list `outputs`
      columns: { age: int, joined: date }  # types; other values are bad rows
      on_bad_rows: exclude                 # or fail (the default), or keep

A path in `records` starts with `$`. `.key` and `['key']` select a value of an object, `[0]` an item
of a list, and `[*]` every item.

The types are `string`, `int`, `float`, `bool` (`true`, `false`), `date` (`2026-03-01`), `datetime`
(`2026-03-01T09:00:00Z`), `list`, `object` and `json`. Text that represents a value of the type is
converted; dates and times are kept as text. Missing values fit every type. If bad rows
are excluded, lines that cannot be read are left out too. Reports count all rows that were left out.
Messages name the line in the file.

The modules `csv_file`, `json_files` and `reading` (for Parquet) in `evalwright.datasets` describe
the formats.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, model_validator

from evalwright.components import Location
from evalwright.datasets.json_path import RecordPath
from evalwright.datasets.reading import FileRows, Reader, check_records, find_format
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
    records: RecordPath | None = None
    """Path to the rows in a JSON document, such as `$.outputs[*]`. In a JSON Lines file, the path
    is applied to each line."""

    @model_validator(mode="after")
    def _check_records(self) -> Self:
        check_records(self.file_path.written, self.records)
        return self

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader that opens the file when the first row is read."""
        del surroundings
        path = self.file_path.path
        options = self.read_options(self.records)
        return FileRows(lambda: path, find_format(self.file_path.written), options=options)

    def label(self) -> str:
        """Return the path, for messages."""
        return str(self.file_path.path)
