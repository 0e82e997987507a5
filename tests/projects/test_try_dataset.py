from pathlib import Path

import pytest
from tests.api.demo import demo

from evalwright import api
from evalwright.errors import BadDataset, BadTasks, UsageError
from evalwright.projects.try_dataset import DatasetPreview


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(demo(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("project")
def test_a_dataset_shows_its_rows_and_the_types_of_its_columns() -> None:
    trial = api.try_dataset("customers", samples=1)
    assert isinstance(trial, DatasetPreview)

    assert (trial.rows, trial.read, trial.filters) == (5, 5, [])
    assert trial.columns["email"] == {"text": 4, "missing": 1}
    assert trial.samples == [
        {"id": "c1", "row": {"sample_id": "c1", "name": "Ada", "email": "ada@example.org"}}
    ]


def test_each_filter_says_how_many_rows_it_drops(project: Path) -> None:
    (project / "datasets" / "some.yaml").write_text(
        "key: some\ndisplay_name: Some\nsource:\n  type: local\n  file_path: capitals.csv\n"
        "  filters:\n"
        '    - {op: is_false, expression: "{{ sample.disputed }}"}\n'
        '    - {op: not_equals, expression: "{{ sample.country }}", value: Peru}\n'
    )

    trial = api.try_dataset("datasets/some.yaml")
    assert isinstance(trial, DatasetPreview)

    assert (trial.rows, trial.read) == (4, 6)
    assert [one["dropped"] for one in trial.filters] == [1, 1]
    lines = "\n".join(trial.to_lines())
    assert "rows: 4 of 6 that were read" in lines
    assert "filters[1] dropped 1" in lines


def test_a_dataset_that_cannot_be_read_is_refused(project: Path) -> None:
    (project / "datasets" / "sums.jsonl").write_text("{]\n")

    with pytest.raises(BadDataset, match=r"sums\.jsonl"):
        api.try_dataset("sums")


def test_a_document_with_mistakes_is_refused(project: Path) -> None:
    (project / "datasets" / "sums.yaml").write_text("key: sums\n")

    with pytest.raises(BadTasks):
        api.try_dataset("sums")
    with pytest.raises(UsageError, match="expected a dataset, got a document of the kind `task`"):
        api.try_dataset("tasks/sums.yaml")
