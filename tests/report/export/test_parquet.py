import json
import subprocess
import sys
from io import BytesIO
from typing import Any

import pytest
from tests.report.export.made import RECORD, completed, failed, fanned_out, judged, written

from evalwright.report import export
from evalwright.types import Outcome


def parquet() -> Any:
    return pytest.importorskip(
        "pyarrow.parquet", reason="parquet needs the extra: pip install 'evalwright[parquet]'"
    )


def table(*outcomes: Outcome) -> Any:
    pq = parquet()
    return pq.read_table(BytesIO(written(export.write_parquet, outcomes)))


def test_it_has_the_columns_of_csv_with_their_types() -> None:
    schema = table(completed()).schema

    assert str(schema.field("sample_id").type) == "string"
    assert str(schema.field("trial").type) == "int64"
    assert str(schema.field("record.score").type) == "double"
    assert str(schema.field("usage.cost").type) == "double"
    assert schema.names[0] == "task"
    assert schema.names[-1] == "latency_s"


def test_what_is_not_known_is_null() -> None:
    one, other = table(completed(), failed()).to_pylist()

    assert (one["output"], one["record.score"], one["usage.total_tokens"]) == (" 4\n", 1.0, 7)
    assert one["failure.stage"] is None
    assert (other["output"], other["record.score"], other["usage.total_tokens"]) == (None,) * 3
    assert other["failure.type"] == "timeout"


def test_an_outcome_of_several_parts_is_several_rows() -> None:
    found = table(fanned_out(), completed("b")).to_pylist()

    told = [(row["sample_id"], row["part"], row["record.score"]) for row in found]
    assert told == [("a", 0, 1.0), ("a", 1, 0.0), ("b", None, 1.0)]


def test_metadata_is_json() -> None:
    (row,) = table(judged()).to_pylist()

    assert json.loads(row["metadata"]) == {"record": RECORD}


def test_text_of_any_kind_comes_back() -> None:
    (one, other) = table(completed(output="数\n👩‍👩‍👧\x00"), completed(output="\ud800")).to_pylist()

    assert one["output"] == "数\n👩‍👩‍👧\x00"
    assert other["output"] == "\\ud800"


def test_no_outcomes_are_a_table_without_rows() -> None:
    assert table().num_rows == 0


@pytest.mark.parametrize(
    ("outcomes", "groups"),
    [
        pytest.param([completed()] * 12_000, 3, id="by rows"),
        pytest.param([completed(output="x" * (1 << 20))] * 5, 3, id="by characters"),
    ],
)
def test_a_row_group_is_bounded(outcomes: list[Outcome], groups: int) -> None:
    pq = parquet()

    file = pq.ParquetFile(BytesIO(written(export.write_parquet, outcomes)))

    assert file.metadata.num_row_groups == groups
    assert file.metadata.num_rows == len(outcomes)


def test_without_pyarrow_one_line_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from evalwright.report.export import write_parquet\n"
        "from evalwright.errors import UsageError\n"
        "try: write_parquet(lambda: iter(()), None)\n"
        "except UsageError as error: print(error, error.exit_code)"
    )

    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert shown == (
        "parquet needs pyarrow, which is not installed: pip install 'evalwright[parquet]' 2\n"
    )
