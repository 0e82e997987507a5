from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalwright.components import Authored
from evalwright.datasets.folder import Folder
from evalwright.datasets.huggingface import HuggingFace
from evalwright.datasets.inline import Inline
from evalwright.datasets.local import Local
from evalwright.datasets.task_result import TaskResult, TaskResultSource
from evalwright.datasets.url import Url
from evalwright.spec.documents.dataset import DatasetDocument, open_dataset

LOCAL = {"type": "local", "file_path": "a.csv"}


def document(**keys: Any) -> DatasetDocument:
    return DatasetDocument.model_validate({"key": "trivia", "display_name": "Trivia", **keys})


def mistakes(**keys: Any) -> list[tuple[str, str]]:
    """Where and what, of each."""
    with pytest.raises(ValidationError) as caught:
        document(**keys)
    return [(".".join(map(str, one["loc"])), one["msg"]) for one in caught.value.errors()]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        pytest.param(LOCAL, Local, id="local"),
        pytest.param({"type": "folder", "directory_path": "texts"}, Folder, id="folder"),
        pytest.param({"type": "url", "url": "https://example.org/a.csv"}, Url, id="url"),
        pytest.param({"type": "huggingface", "path": "a/b", "split": "test"}, HuggingFace,
                     id="huggingface"),
        pytest.param({"type": "inline", "samples": [{"a": 1}]}, Inline, id="inline"),
        pytest.param({"type": "task_result", "key": "first"}, TaskResultSource, id="task_result"),
    ],
)  # fmt: skip
def test_a_source_is_told_by_its_type(source: dict[str, Any], kind: type) -> None:
    assert type(document(source=source).origin) is kind


def test_all_keys_of_the_format_are_known() -> None:
    made = document(
        description="Questions.",
        long_description="# Questions",
        tags=["qa", "small"],
        source={**LOCAL, "filters": [], "missing": "nan"},
    )

    assert made.tags == ("qa", "small")
    assert made.warnings() == []


def test_the_rows_are_relative_to_the_document(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("question,target\n2 + 2?,4\n")
    written = Authored("a.csv", file=str(tmp_path / "trivia.yaml"), line=4)

    rows = open_dataset(
        document(source={"type": "local", "file_path": written}), cache_dir=tmp_path
    )

    assert list(rows.identified()) == [("0", {"question": "2 + 2?", "target": 4})]


def test_filters_of_a_source_are_used(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("language,ok\nen,true\nde,TRUE\nen,false\n")
    filters = [
        {"op": "equals", "expression": "{{ language }}", "value": "en"},
        {"op": "is_true", "expression": "{{ sample.ok }}"},
    ]
    path = str(tmp_path / "a.csv")

    rows = open_dataset(
        document(source={"type": "local", "file_path": path, "filters": filters}),
        cache_dir=tmp_path,
    )

    assert list(rows.rows()) == [{"language": "en", "ok": True}]


def test_a_task_result_comes_from_whoever_keeps_it(tmp_path: Path) -> None:
    made = document(source={"type": "task_result", "key": "first"})
    results = {"first": TaskResult(lambda: iter([{"sample_id": "x"}]))}

    assert open_dataset(made, cache_dir=tmp_path, task_results=results).check() == 1


def test_the_deprecated_file_path_is_a_local_source_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    written = Authored("a.csv", file=str(tmp_path / "trivia.yaml"), line=4)

    made = document(file_path=written)

    assert open_dataset(made, cache_dir=tmp_path).check() == 1
    (warning,) = made.warnings()
    assert (warning.path, warning.rule, warning.level) == (("file_path",), "deprecated", "warning")
    assert warning.hint == "write source: {type: local, file_path: a.csv}"


def test_a_filter_that_says_nothing_of_a_row_is_a_warning() -> None:
    filters = [{"op": "equals", "expression": "sample.language", "value": "en"}]

    (warning,) = document(source={**LOCAL, "filters": filters}).warnings()

    assert warning.path == ("source", "filters", 0, "expression")
    assert "no {{ }}" in warning.detail


@pytest.mark.parametrize(
    ("keys", "where", "said"),
    [
        pytest.param({"source": LOCAL, "file_path": "a.csv"}, "", "got both", id="both"),
        pytest.param({}, "", "expected a `source`, got none", id="neither"),
        pytest.param({"generator_specification": {"dataset_generator_key": "g"}},
                     "", "not generated here", id="generated"),
        pytest.param({"source": {"type": "locl", "file_path": "a.csv"}}, "source",
                     "'locl'", id="a type misspelt"),
        pytest.param({"source": {**LOCAL, "fltrs": []}}, "source.local.fltrs", "not permitted",
                     id="a key misspelt"),
        pytest.param({"source": LOCAL, "sorce": 1}, "sorce", "not permitted", id="at the top"),
        pytest.param({"source": {"type": "local"}}, "source.local.file_path", "required",
                     id="a key missing"),
        pytest.param({"source": {"type": "local", "file_path": "a.xls"}},
                     "source.local.file_path", "expected a .csv", id="another kind of file"),
        pytest.param({"file_path": "a.xls"}, "file_path", "expected a .csv", id="the same, before"),
        pytest.param({"source": LOCAL, "key": "a b"}, "key", "pattern", id="a key with a space"),
        pytest.param({"source": LOCAL, "display_name": ""}, "display_name", "at least 1",
                     id="no name"),
        pytest.param({"source": {**LOCAL, "missing": "zero"}}, "source.local.missing", "'absent'",
                     id="a way of missing"),
    ],
)  # fmt: skip
def test_refuses(keys: dict[str, Any], where: str, said: str) -> None:
    ((place, detail),) = mistakes(**keys)

    assert place == where
    assert said in detail


def test_generated_rows_are_unsupported_by_name() -> None:
    with pytest.raises(ValidationError) as caught:
        document(generator_specification={})

    assert caught.value.errors()[0]["type"] == "unsupported"


def test_all_mistakes_are_told_at_once() -> None:
    assert {place for place, _ in mistakes(key="a b", display_name="", source={"type": "x"})} == {
        "key",
        "display_name",
        "source",
    }
