import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalwright.datasets.inspect_ai import read_samples
from evalwright.errors import BadDataset, Unreadable

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

ORDERS = Path(__file__).parent / "inspect" / "orders.eval"
HEADER = {"eval": {"task": "t", "model": "m"}, "status": "success"}


def packed(path: Path, *, method: int = zipfile.ZIP_DEFLATED, **files: Any) -> Path:
    """A `.eval` of these files, with `__` for a slash; what is not bytes becomes JSON."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            raw = content if isinstance(content, bytes) else msgspec.json.encode(content)
            archive.writestr(f"{name.replace('__', '/')}.json", raw)
    return path


def ids(path: Path) -> list[int | str]:
    return [logged.sample.id for logged in read_samples(path)]


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(zipfile.ZIP_STORED, id="stored"),
        pytest.param(zipfile.ZIP_DEFLATED, id="deflated, as older versions write"),
        pytest.param(zipfile.ZIP_ZSTANDARD, id="Zstandard, as newer versions write"),
    ],
)
def test_a_log_is_read_however_it_is_packed(tmp_path: Path, method: int) -> None:
    path = packed(tmp_path / "x.eval", method=method, header=HEADER, samples__a_epoch_1={"id": "a"})

    assert ids(path) == ["a"]


def test_a_run_that_did_not_end_has_the_samples_that_did(tmp_path: Path) -> None:
    start = {"version": 2, "eval": HEADER["eval"]}
    path = packed(tmp_path / "x.eval", _journal__start=start, samples__a_epoch_1={"id": "a"})

    (logged,) = read_samples(path)

    assert logged.header.status == "started"


def test_a_sample_that_was_written_twice_is_read_as_it_was_last(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.eval", header=HEADER, samples__a_epoch_1={"id": "a"})
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("samples/a_epoch_1.json", '{"id": "a", "target": "new"}')

    (logged,) = read_samples(path)

    assert logged.sample.target == "new"


def test_numbers_that_json_has_not_become_null(tmp_path: Path) -> None:
    raw = b'{"id": "a", "scores": {"match": {"value": NaN}}, "metadata": {"x": -Infinity}}'
    path = packed(tmp_path / "x.eval", header=HEADER, samples__a_epoch_1=raw)

    (logged,) = read_samples(path)

    assert logged.sample.scores == {"match": {"value": None}}
    assert logged.sample.metadata == {"x": None}


def test_epochs_are_counted_and_kept_together(tmp_path: Path) -> None:
    path = packed(
        tmp_path / "x.eval",
        header={**HEADER, "eval": {"dataset": {"sample_ids": ["b", "a"]}}},
        samples__a_epoch_2={"id": "a", "epoch": 2},
        samples__a_epoch_1={"id": "a", "epoch": 1},
        samples__b_epoch_10={"id": "b", "epoch": 10},
        samples__b_epoch_2={"id": "b", "epoch": 2},
    )

    read = list(read_samples(path))

    assert [(one.sample.id, one.sample.epoch) for one in read] == [
        *(("b", 2), ("b", 10)),
        *(("a", 1), ("a", 2)),
    ]
    assert {one.epochs for one in read} == {10}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        pytest.param(b"", "not an Inspect AI log", id="empty"),
        pytest.param(b"not a zip at all", "not an Inspect AI log", id="something else"),
        pytest.param(ORDERS.read_bytes()[:9000], "not an Inspect AI log", id="cut short"),
    ],
)
def test_what_is_no_eval_log_is_an_error(tmp_path: Path, raw: bytes, said: str) -> None:
    path = tmp_path / "x.eval"
    path.write_bytes(raw)

    with pytest.raises(BadDataset, match=said) as caught:
        ids(path)
    assert "is it a complete Inspect AI log?" in caught.value.hint


def test_damage_inside_names_the_sample(tmp_path: Path) -> None:
    raw = bytearray(ORDERS.read_bytes())
    with zipfile.ZipFile(ORDERS) as archive:
        start = archive.getinfo("samples/o1_epoch_1.json").header_offset
    raw[start + 200 : start + 400] = bytes(200)
    path = tmp_path / "x.eval"
    path.write_bytes(raw)

    with pytest.raises(BadDataset, match=r"samples/o1_epoch_1\.json: damaged: "):
        ids(path)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param({"readme": b"{}"}, "a zip file without `header.json`", id="another zip"),
        pytest.param({"header": HEADER}, "the log has no samples", id="no samples"),
        pytest.param({"header": b"[1]"}, "header.json: expected `object`", id="a list as header"),
        pytest.param(
            {"header": HEADER, "samples__a_epoch_1": b'{"epoch": 1}'},
            "object missing required field `id`",
            id="a sample without an id",
        ),
        pytest.param(
            {"header": HEADER, "samples__a_epoch_1": b'{"id": "a"'},
            "samples/a_epoch_1.json: truncated",
            id="half a sample",
        ),
        pytest.param(
            {"header": HEADER, "samples__a_epoch_1": b'{"id": "\\ud800"}'},
            "samples/a_epoch_1.json: ",
            id="half a surrogate pair",
        ),
        pytest.param(
            {"header": HEADER, "samples__a_epoch_1": b"[" * 100_000},
            "samples/a_epoch_1.json: ",
            id="nested without end",
        ),
    ],
)
def test_a_bad_eval_log_says_where(tmp_path: Path, files: dict[str, Any], said: str) -> None:
    path = packed(tmp_path / "x.eval", **files)

    with pytest.raises(BadDataset, match=said):
        ids(path)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        pytest.param(b"", "x.json: ", id="empty"),
        pytest.param(b"{}", "object missing required field `eval`", id="another object"),
        pytest.param(
            b'{"eval": {}, "samples": null}', "the log has no samples", id="only a header"
        ),
        pytest.param(b'{"eval": {}, "samples": [3]}', "expected `object`", id="no sample"),
    ],
)
def test_a_bad_log_in_one_file_says_where(tmp_path: Path, raw: bytes, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(raw)

    with pytest.raises(BadDataset, match=said):
        ids(path)


def test_a_log_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    for name in ("x.eval", "x.json"):
        with pytest.raises(Unreadable, match=rf"{name}: (?i:no such file)"):
            ids(tmp_path / name)
