import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalwright.components import Authored
from evalwright.datasets.huggingface import HuggingFace
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import Surroundings
from evalwright.errors import BadDataset, UsageError

ROWS = {"question": ["2 + 2?", "3 + 3?"], "answer": [4, 6], "tags": [["a"], []]}


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's cache is this test's own, and the hub is out of reach."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    """A dataset as the library writes it: a directory with a Parquet file a split."""
    import datasets

    made = tmp_path / "trivia"
    made.mkdir()
    whole = datasets.Dataset.from_dict(ROWS)
    whole.to_parquet(made / "test-00000-of-00001.parquet")
    whole.select([0]).to_parquet(made / "train-00000-of-00001.parquet")
    return made


def hub(path: str | Path, **more: Any) -> Rows:
    given = path if isinstance(path, str) else str(path)
    source = HuggingFace.model_validate({"type": "huggingface", "path": given, **more})
    return source.rows(Surroundings(cache_dir=Path("unused")))


def test_the_rows_of_a_split(layout: Path) -> None:
    rows = hub(layout, split="test")

    assert list(rows.rows()) == [
        {"question": "2 + 2?", "answer": 4, "tags": ["a"]},
        {"question": "3 + 3?", "answer": 6, "tags": []},
    ]
    assert rows.columns == ("question", "answer", "tags")
    assert rows.check() == 2


def test_the_library_is_told_the_other_arguments(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,x\n")

    rows = hub("csv", split="train", load_dataset_kwargs={"data_files": str(tmp_path / "a.csv")})

    assert list(rows.rows()) == [{"a": 1, "b": "x"}]


def test_one_split_need_not_be_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")

    rows = hub("csv", load_dataset_kwargs={"data_files": str(tmp_path / "a.csv")})

    assert list(rows.rows()) == [{"a": 1}]


def test_one_of_several_splits_must_be_named(layout: Path) -> None:
    with pytest.raises(BadDataset, match="has the splits `train`, `test`") as caught:
        hub(layout).check()

    assert "`split`" in caught.value.hint


def test_a_split_that_is_not_there(layout: Path) -> None:
    with pytest.raises(BadDataset, match="tset") as caught:
        hub(layout, split="tset").check()

    assert "\n" not in caught.value.message


def test_a_dataset_that_streams_is_read_too(layout: Path) -> None:
    rows = hub(layout, split="test", load_dataset_kwargs={"streaming": True})

    assert rows.check() == 2
    assert rows.digest == hub(layout, split="test").digest


def test_the_digest_is_of_the_rows(layout: Path) -> None:
    assert hub(layout, split="test").digest != hub(layout, split="train").digest


def test_a_path_with_a_dot_is_relative_to_the_document(layout: Path) -> None:
    written = Authored("./trivia", file=str(layout.parent / "dataset.yaml"), line=2)

    source = HuggingFace.model_validate({"type": "huggingface", "path": written, "split": "test"})

    assert source.rows(Surroundings(cache_dir=layout)).check() == 2


def test_a_name_that_the_hub_does_not_have_is_one_line() -> None:
    with pytest.raises(BadDataset, match="nobody/nothing: ") as caught:
        hub("nobody/nothing", split="test").check()

    assert "\n" not in caught.value.message


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)

    with pytest.raises(UsageError, match="need the package `datasets`") as caught:
        hub("openai/gsm8k", split="test").check()

    assert caught.value.hint == "pip install 'evalwright[hf]'"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param({"split": "test"}, "`split` is already a key of the source", id="split"),
        pytest.param({"path": "x"}, "`path` is already a key of the source", id="path"),
        pytest.param({"trust_remote_code": True}, "untrusted Python", id="code"),
    ],
)
def test_arguments_that_are_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        hub("x", load_dataset_kwargs=arguments)
