"""`parquet`: the columns of `csv`, typed and compressed. Needs the extra `parquet`.

Rows are written in groups of bounded size, so that memory holds one group whatever the run.
"""

from typing import TYPE_CHECKING, Any, BinaryIO

from evalwright.errors import UsageError
from evalwright.report.export.rows import Cells, Layout, Read

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS_A_GROUP = 5_000
CHARACTERS_A_GROUP = 4 << 20


def write(read: Read, out: BinaryIO) -> int:
    """Write every outcome; how many there were."""
    arrow, parquet = _pyarrow()
    layout = Layout(read())
    kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
    schema = arrow.schema([(column.name, kinds[column.kind]) for column in layout.columns])
    count = 0
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for group, outcomes in _groups(layout, read):
            columns = zip(*group, strict=True)
            arrays = [
                arrow.array(cells, type=field.type)
                for cells, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
            count += outcomes
    return count


def _groups(layout: Layout, read: Read) -> "Iterator[tuple[list[Cells], int]]":
    """Rows, and of how many outcomes."""
    group: list[Cells] = []
    size = outcomes = 0
    for outcome in read():
        outcomes += 1
        for cells in layout.rows(outcome):
            group.append(cells)
            size += sum(len(cell) for cell in cells if isinstance(cell, str))
        if len(group) >= ROWS_A_GROUP or size >= CHARACTERS_A_GROUP:
            yield group, outcomes
            group, size, outcomes = [], 0, 0
    if group:
        yield group, outcomes


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError(
            "parquet needs pyarrow, which is not installed: pip install 'evalwright[parquet]'"
        ) from error
    return pa, parquet
