"""Files that would take much time or memory end at once, with the right exit code."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e import in_process
from tests.e2e.projects import task, write_project

TASK = task(
    "  evaluated_entity_type: dataset\n  dataset: {key: rows}\n  scorers:\n"
    "    - {type: python, key: a, metrics: [{type: mean, field: ok}], compute_scores_snippet: "
    "'def compute_scores(sample): return {\"ok\": 1}'}\n"
)
MANY = 160_000


def check(folder: Path, file: str, content: bytes) -> tuple[int, str]:
    """The exit code and output of `dataset test` for a file of rows."""
    write_project(folder, tasks__ask=TASK)
    (folder / "datasets" / file).write_bytes(content)
    (folder / "datasets" / "rows.yaml").write_text(
        f"key: rows\ndisplay_name: Rows\nsource: {{type: local, file_path: {file}}}\n"
    )
    done = in_process.evalwright("dataset", "test", "rows", "--project", str(folder))
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "content", "code", "said"),
    [
        pytest.param(
            "a.csv",
            lambda: ",".join(f"c{n}" for n in range(MANY)).encode() + b"\n",
            1,
            "a.csv:1: 160,000 columns, more than 10,000",
            id="very many columns",
        ),
        pytest.param(
            "a.csv",
            lambda: b'a\n"' + b"x" * (17 << 20) + b'"\n',
            1,
            "a.csv:2: the line is longer than 16 MiB",
            id="a very long cell",
        ),
        pytest.param(
            "a.csv",
            lambda: b'a\n"' + b"xxxxxxx\n" * (3 << 20) + b'"\n',
            1,
            "a.csv:2: unclosed quote in this row",
            id="a very long cell of many lines",
        ),
        pytest.param(
            "a.jsonl.gz",
            lambda: gzip.compress(b'{"a": "' + b"x" * 40_000_000 + b'"}'),
            2,
            "a.jsonl.gz: the compressed data expands to more than 250 times its size",
            id="a bomb",
        ),
        pytest.param(
            "a.jsonl",
            lambda: (
                b'{"a": 1}\n{"a": 1, "b": {"c": 1, "\\u0063": 2}}\n{"a": ":::", "b": "\\u003a"}\n'
            ),
            1,
            "a.jsonl:2: duplicate key `c`",
            id="a duplicate key in a row",
        ),
        pytest.param(
            "a.json",
            lambda: b'[{"a": 1}, {"a": 1, "a": 1}]',
            1,
            "a.json: duplicate key `a`",
            id="a duplicate key in a list",
        ),
    ],
)
def test_a_file_of_rows_is_refused(
    tmp_path: Path, file: str, content: Callable[[], bytes], code: int, said: str
) -> None:
    exit_code, output = check(tmp_path, file, content())

    assert exit_code == code
    assert said in output


@pytest.mark.parametrize(
    "kind",
    ["row groups", "equal rows", "equal texts", "texts in lists", "values in lists", "bytes"],
)
def test_a_parquet_bomb_is_refused(tmp_path: Path, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    values = {
        "row groups": pa.array(["x" * 20_000_000]),
        "equal rows": pa.array([1] * 2_500_000),
        "equal texts": pa.array(["x" * 1000] * 20_000).dictionary_encode(),
        "texts in lists": pa.ListArray.from_arrays(
            [0, 100_000], pa.DictionaryArray.from_arrays([0] * 100_000, ["x" * 10_000_000])
        ),  # a terabyte
        "values in lists": pa.array([[1] * 2_500_000]),
        "bytes": pa.array([b"x" * 100_000] * 200, pa.binary(100_000)),
    }[kind]
    file = tmp_path / "a.parquet"
    options = {"use_dictionary": kind != "row groups", "compression": "zstd"}
    parquet.write_table(pa.table({"a": values}), file, **options)

    code, output = check(tmp_path / "project", "a.parquet", file.read_bytes())

    assert "a.parquet: the compressed data expands to more than 250 times its size" in output
    assert "convert it to .jsonl or .csv" in output
    assert code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "config:\n" + "".join(f"  k{n}: 1\n" for n in range(MANY // 4)), "0 errors", id="keys"
        ),
        pytest.param(
            "".join(f"k{n}: 1\n" for n in range(MANY // 4)),
            "1,000 errors: unknown_key 1000",
            id="unknown keys",
        ),
        pytest.param(
            "config:\n" + "".join(f"  k{n // 2}: 1\n" for n in range(MANY // 4)),
            "duplicate_key 1000",
            id="duplicate keys",
        ),
        pytest.param(
            "config:\n"
            + "".join(f"  k{n}: &a{n} 1\n" for n in range(MANY // 8))
            + "".join(f"  l{n}: *b{n}\n" for n in range(500)),
            "unknown_alias 500",
            id="anchors and unknown aliases",
        ),
        pytest.param(
            "a: &a0 [1, 1]\n"
            + "".join(f"b{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)),
            "alias_bomb 1",
            id="aliases that double",
        ),
    ],
)
def test_a_document_with_very_many_keys_is_checked(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "run.yaml").write_text(f"datasets: []\n{text}")

    done = in_process.evalwright("validate", str(tmp_path / "run.yaml"))

    assert said in done.stderr
    assert done.returncode == (said != "0 errors")


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ("source: {type: url, url: 'https://example.org/a%00.csv'}\n", "3:26"),
        ("config: {connection_type: custom_connection, url: 'http://x/%00'}\n", "3:51"),
    ],
)
def test_a_nul_in_a_url_is_an_error_at_its_place(tmp_path: Path, document: str, place: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"key: a\ndisplay_name: A\n{document}")

    done = in_process.evalwright("validate", str(file))

    assert done.returncode == 1
    assert f"a.yaml:{place}: bad_value: expected a URL without a NUL character" in done.stdout
