"""Read a whole dataset and describe the rows that tasks receive."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from msgspec import Struct

from evalwright.datasets.faults import place_of
from evalwright.datasets.reading import Reader
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.plan.options import STATE
from evalwright.plan.task_results import result_of
from evalwright.report.tables import count_noun
from evalwright.report.yaml_text import indent_yaml
from evalwright.session.stores import open_store, store_name
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.text.visible import visible

_MOST_BAD_SHOWN = 5
_TYPES: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "text",
    dict: "object",
    type(None): "null",
}


class DatasetPreview(Struct, frozen=True, kw_only=True):
    """The result of `evalwright dataset test`."""

    key: str
    name: str
    file: str
    source: str
    rows: int
    """Number of rows that tasks receive."""
    read: int
    """Number of rows before filtering."""
    filters: list[dict[str, Any]]
    """The filters, each with the number of rows that it `dropped`."""
    excluded: int = 0
    """Number of bad rows that `on_bad_rows: exclude` left out."""
    kept: int = 0
    """Number of bad rows that `on_bad_rows: keep` kept."""
    bad_rows: list[dict[str, Any]] = []
    """The first bad rows: `file`, `line`, `place` and `detail`."""
    columns: dict[str, dict[str, int]]
    """Number of values per type for each column; `missing` counts rows without a value."""
    samples: list[dict[str, Any]]

    def to_lines(self) -> Iterator[str]:
        """Yield the row count, the rows dropped by each filter, the columns and the first rows."""
        yield visible(f"Dataset `{self.key}`")
        rows = f"{self.rows} of {self.read} that were read" if self.filters else self.rows
        yield from indent_yaml({"file": self.file, "source": self.source, "rows": rows})
        for place, each in enumerate(self.filters):
            fields = [f"{name}: {value}" for name, value in each.items() if name != "dropped"]
            yield visible(f"  filters[{place}] dropped {each['dropped']}  ({', '.join(fields)})")
        for what, count in (("left out", self.excluded), ("kept", self.kept)):
            if count:
                yield f"  {count_noun(count, 'bad row')} {what}:"
        for bad in self.bad_rows[:_MOST_BAD_SHOWN]:
            yield visible(f"    {bad['place']}: {bad['detail']}")
        yield ""
        yield "Columns"
        yield from indent_yaml(
            {
                name: ", ".join(f"{kind} {count}" for kind, count in kinds.items())
                for name, kinds in self.columns.items()
            }
        )
        for sample in self.samples:
            yield ""
            yield visible(f"Row `{sample['id']}`")
            yield from indent_yaml(sample["row"])


def read_dataset(entity: Entity, generated: Mapping[str, Path], *, samples: int) -> DatasetPreview:
    """Read a dataset and describe its rows; `BadDataset` if it cannot be read.

    `generated` contains the files with generated rows, by dataset key.
    """
    document: Any = entity.document
    source: Any = document.origin
    rows = open_rows(source, generated)
    total = rows.check()
    row_counts = [total]
    for count in range(len(source.filters) - 1, -1, -1):
        fewer = source.model_copy(update={"filters": source.filters[:count]})
        row_counts.insert(0, open_rows(fewer, {}).check())
    bad_rows = rows.bad_rows
    return DatasetPreview(
        key=entity.key,
        name=document.display_name,
        file=entity.file,
        source=f"{source.type}, {source.label()}",
        rows=total,
        read=row_counts[0],
        filters=[
            {**each.model_dump(mode="json", exclude_none=True), "dropped": before - after}
            for each, (before, after) in zip(source.filters, pairwise(row_counts), strict=True)
        ],
        excluded=sum(bad.left_out_count for bad in bad_rows),
        kept=sum(bad.count - bad.left_out_count for bad in bad_rows),
        bad_rows=[
            {
                "file": bad.file,
                "line": max(fault.line, 0) or None,
                "place": place_of(bad.file, fault.line),
                "detail": fault.detail,
            }
            for bad in bad_rows
            for fault in bad.first
        ],
        columns=_count_types(rows, total),
        samples=[{"id": id_, "row": row} for id_, row in islice(rows.identify(), samples)],
    )


def open_rows(source: SourceSpec, generated: Mapping[str, Path]) -> Rows:
    """Return the rows of a source; results of other tasks are those of earlier runs."""

    def read_earlier_result(key: str) -> Reader:
        return result_of(key, store=open_store(store_name(), create=False))

    return source.rows(
        Surroundings(cache_dir=STATE, task_results=read_earlier_result, generated=generated)
    )


def _count_types(rows: Rows, total: int) -> dict[str, dict[str, int]]:
    columns = defaultdict[str, Counter[str]](Counter)
    for row in rows.rows():
        for name, value in row.items():
            columns[name][_TYPES.get(type(value), "list")] += 1
    for counts in columns.values():
        if missing := total - counts.total():
            counts["missing"] = missing
    return {name: dict(counts) for name, counts in columns.items()}
