"""What `validate` says of rows on this machine, and that `run` says the same."""

import shutil
import sys
from pathlib import Path

import pytest
from tests.spec.documents.made import DATASET, MODEL, TASK, written

import evalwright as ew
from evalwright import api
from evalwright.api.documents import count_log_samples
from evalwright.errors import BadDataset, BadTasks
from evalwright.plan.row_checks import row_problems
from evalwright.spec.documents.project import read_project

CSV = """
key: countries
display_name: Countries
source:
  type: local
  file_path: countries.csv
"""
PATHS = [".", "run.yaml", "tasks/capitals.yaml", "datasets/countries.yaml"]
ROWS = "country,capital\nFrance,Paris\n"
RUN = """
evaluation:
  key: all
  display_name: All
  task_specifications: [{key: one, task_key: capitals, model_key: bot}]
"""
FILES = {
    "run.yaml": RUN,
    "tasks/capitals.yaml": TASK,
    "datasets/countries.yaml": CSV,
    "datasets/countries.csv": ROWS,
    "models/bot.yaml": MODEL,
}
COLUMN = TASK.replace("{{ sample.capital }}", "{{ sample['<< config.column >>'] }}") + (
    "config_spec:\n  - {key: column, display_name: Column, type: dataset_column}\n"
)
TOGETHER = """
key: both
display_name: Both
description: Side by side.
definition:
  evaluated_entity_type: dataset
  dataset:
    keys: [countries, names]
  scorers:
    - {type: string_equals, value: "{{ sample.names.n }}", ground_truth: x}
"""
NAMES = "key: names\ndisplay_name: Names\nsource: {type: inline, samples: [{n: 1}, {n: 2}]}\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(path: str = ".", /, **changed: str | bytes) -> list[str]:
    """Every issue of a project; `tasks__capitals` is `tasks/capitals.yaml`."""
    files = dict(FILES)
    for name, content in changed.items():
        place = name.replace("__", "/") + ("" if name.endswith("_csv") else ".yaml")
        files[place.replace("_csv", ".csv")] = (
            content if isinstance(content, str) else content.decode("latin-1")
        )
    written(Path(), files)
    for name, content in changed.items():
        if isinstance(content, bytes):
            Path(name.replace("__", "/").replace("_csv", ".csv")).write_bytes(content)
    return [
        f"{check.file}:{issue.line}: {issue.rule}: {issue.detail}"
        for check in api.checks([path])
        for issue in check
    ]


@pytest.mark.parametrize("path", PATHS)
def test_good_rows_are_no_news(path: str) -> None:
    assert said(path) == []


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(b"country,capital\nFrance\n", "2: expected 2 cells", id="ragged"),
        pytest.param(b"country,capital\nP\xe9rou,Lima\n", "2:2: byte 0xe9", id="Latin-1"),
        pytest.param(b"country,capital\n", " no rows", id="empty"),
        pytest.param(b"sample_id,country,capital\n1,a,b\n1,c,d\n", " two rows have", id="ids"),
    ],
)
def test_bad_rows_are_told_once_and_at_the_dataset(path: str, rows: bytes, expected: str) -> None:
    (line,) = said(path, datasets__countries_csv=rows)

    assert line.startswith("datasets/countries.yaml:6: bad_rows: ")
    assert f"countries.csv:{expected}" in line


def test_an_unknown_column_is_told_where_the_template_stands() -> None:
    (line,) = said(tasks__capitals=TASK.replace("sample.capital", "sample.captial"))

    assert line == (
        "tasks/capitals.yaml:13: unknown_column: dataset `countries` has no column `captial`; "
        "it has `country`, `capital`; did you mean `capital`?"
    )


RAG = """
    - type: rag_checker
      judge_model_key: openai/judge
      query_column: county
      target_column: capital
"""


def test_a_column_that_a_scorer_names_is_told_where_it_stands() -> None:
    text = TASK.rstrip() + RAG
    (line,) = said(tasks__capitals=text)

    (at,) = [number for number, one in enumerate(text.splitlines(), 1) if "county" in one]
    assert line == (
        f"tasks/capitals.yaml:{at}: unknown_column: `rag_checker`: dataset `countries` has no "
        "column `county`; it has `country`, `capital`; did you mean `country`?"
    )


def test_a_column_that_a_scorer_needs_and_nobody_names_is_told_at_the_task() -> None:
    lines = said(tasks__capitals=TASK.rstrip() + RAG.replace("      query_column: county\n", ""))

    (line,) = lines
    assert "unknown_column: `rag_checker`: dataset `countries` has no column `query`" in line


def test_a_value_that_is_no_column_is_told_where_it_was_given() -> None:
    chosen = RUN.replace("model_key: bot", "model_key: bot, task_config: {column: captial}")

    (line,) = said(tasks__capitals=COLUMN, run=chosen)

    assert line.startswith("run.yaml:5: unknown_column: parameter `column`: dataset `countries`")


def test_a_default_that_is_no_column_is_told_where_it_is_declared() -> None:
    default = COLUMN.replace("dataset_column}", "dataset_column, default_value: captial}")

    (line,) = said(tasks__capitals=default)

    assert line.startswith("tasks/capitals.yaml:15: unknown_column: parameter `column`: dataset")


def test_a_task_may_be_called_by_a_parameter() -> None:
    named = TASK.replace("key: capitals", "key: << config.name >>", 1) + (
        "config_spec: [{key: name, display_name: N, type: string, default_value: mine}]\n"
    )

    (line,) = said("tasks/capitals.yaml", tasks__capitals=named.replace("e.capital", "e.captial"))

    assert line.startswith("tasks/capitals.yaml:13: unknown_column: ")


def test_what_waits_for_a_value_is_not_looked_into() -> None:
    assert said("tasks/capitals.yaml", tasks__capitals=COLUMN) == []


def test_an_evaluation_that_waits_for_a_value_is_not_looked_into() -> None:
    open_run = RUN.replace(
        "model_key: bot", "model_key: bot, task_config: {column: << config.c >>}"
    ) + ("  config_spec: [{key: c, display_name: C, type: string}]\n")

    assert said(tasks__capitals=COLUMN, run=open_run) == []


def test_datasets_that_go_together_have_as_many_rows() -> None:
    (line,) = said("tasks/both.yaml", tasks__both=TOGETHER, datasets__names=NAMES)

    assert line.startswith(
        "tasks/both.yaml:8: bad_rows: joined datasets must have the same number "
        "of rows: `countries` has 1, `names` has 2"
    )


def test_a_broken_one_of_several_is_told_at_its_own_place() -> None:
    (line,) = said(
        "tasks/both.yaml",
        tasks__both=TOGETHER,
        datasets__names=NAMES,
        datasets__countries_csv="a,a\n",
    )

    assert line.startswith("datasets/countries.yaml:6: bad_rows: ")


def test_only_the_first_of_several_gives_the_ids() -> None:
    twice = NAMES.replace("[{n: 1}, {n: 2}]", "[{n: 1, sample_id: a}, {n: 2, sample_id: a}]")
    two = ROWS + "Peru,Lima\n"
    changed = {"datasets__names": twice, "datasets__countries_csv": two}

    assert said("tasks/both.yaml", tasks__both=TOGETHER, **changed) == []
    (line,) = said("datasets/names.yaml")
    assert "two rows have the `sample_id` `a`" in line


def test_no_rows_are_read_where_documents_have_errors() -> None:
    (line,) = said(
        tasks__capitals=TASK.replace("ground_truth", "ground_trut"),
        datasets__countries_csv="country\nFrance,Paris\n",
    )

    assert "ground_trut" in line


@pytest.mark.parametrize(
    "source",
    [
        "{type: url, url: 'https://127.0.0.1:1/countries.csv'}",
        "{type: huggingface, path: no/such, split: test}",
    ],
    ids=["url", "huggingface"],
)
def test_what_is_elsewhere_is_never_asked_for(source: str) -> None:
    document = f"key: countries\ndisplay_name: Countries\nsource: {source}\n"

    assert said(datasets__countries=document) == []


def test_a_dataset_that_is_not_used_is_checked_in_a_folder_only() -> None:
    unused = NAMES.replace("{n: 1}, {n: 2}", "{n: 1}, {n: 2, sample_id: a}")

    assert said("run.yaml", datasets__names=unused) == []
    (line,) = said(datasets__names=unused)
    assert line.startswith("datasets/names.yaml:3: bad_rows: ")


def test_a_library_that_is_missing_here_is_not_the_fault_of_the_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    Path("datasets").mkdir()
    Path("datasets/countries.parquet").write_bytes(b"PAR1")
    path = "datasets/countries.yaml"

    assert said(path, datasets__countries=CSV.replace(".csv", ".parquet")) == []
    (check,) = api.checks([path])
    assert [one.rule for one in check.warnings] == ["rows_not_read"]


def test_nothing_is_written() -> None:
    said()

    assert not Path(".evalwright").exists()


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        pytest.param("country\nFrance,Paris\n", 1, id="ragged"),
        pytest.param("country,town\n1,2\n", 1, id="a column is missing"),
        pytest.param("a,b\n1,2\n", 2, id="both are"),
    ],
)
def test_run_refuses_what_validate_refuses_in_the_same_words(rows: str, count: int) -> None:
    problems = said(datasets__countries_csv=rows)

    with pytest.raises((BadTasks, BadDataset)) as raised:
        ew.run("run.yaml")

    assert len(problems) == count
    for one in problems:
        assert one.split(": ", 2)[2].split("; ")[0] in str(raised.value)


def test_the_examples_have_the_columns_that_they_name(here: Path) -> None:
    examples = Path(__file__).parents[2] / "examples"
    shutil.copytree(examples, here / "examples")

    found = [
        problem
        for run in sorted((here / "examples").glob("*/run.yaml"))
        for problem in row_problems(read_project(run, environment={}), count_log_samples)
        if problem.level == "error"
    ]

    assert found == []


def test_task_validate_looks_at_rows_too() -> None:
    said(tasks__capitals=TASK.replace("sample.capital", "sample.captial"))

    (check,) = api.check_entities("task", [], ".")

    assert [issue.rule for issue in check] == ["unknown_column"]


def test_inline_rows_are_read() -> None:
    (line,) = said(datasets__countries=DATASET.replace("capital:", "town:"))

    assert line.startswith("tasks/capitals.yaml:13: unknown_column: ")
