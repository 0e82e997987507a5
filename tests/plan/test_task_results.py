"""Results of one task as the rows of the next: as a dataset, and through a generator."""

import json
from pathlib import Path

import pytest

from evalwright import api
from evalwright.errors import BadDataset, BadTasks
from evalwright.session.stores import open_store
from evalwright.types import RunStatus

FIRST = """
key: first
display_name: First
description: How long is each?
definition:
  evaluated_entity_type: dataset
  dataset: {key: words}
  scorers:
    - type: python
      key: length
      compute_scores_snippet: "def compute_scores(sample): return {'n': len(sample['word'])}"
      metrics: [{type: mean, field: n}]
"""
SECOND = """
key: second
display_name: Second
description: Is it long?
definition:
  evaluated_entity_type: dataset
  dataset: {key: results}
  scorers:
    - type: python
      compute_scores_snippet: |
        def compute_scores(sample):
            return {"long": sample["scores"]["length"]["values"]["n"] > 3}
      metrics: [{type: mean, field: long}]
"""
WORDS = """
key: words
display_name: Words
source: {type: inline, samples: [{word: a}, {word: house}]}
"""
RESULTS = "key: results\ndisplay_name: R\nsource: {type: task_result, key: first%s}\n"
GENERATOR = """
key: again
display_name: Again
definition:
  data_source: {type: task_result, key: first}
  synthesizers:
    - {type: template, columns: {word: "{{ sample.sample.word }}!"}}
"""
GENERATED = "key: %s\ndisplay_name: R\ngenerator_specification: {dataset_generator_key: again}\n"
RUN = """
evaluation:
  key: whole
  display_name: Whole
  task_specifications: [%s]
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tasks__first=FIRST, tasks__second=SECOND, datasets__words=WORDS)
    write(datasets__results=RESULTS % "", run=RUN % "{task_key: second}, {task_key: first}")


def write(**files: str) -> None:
    for name, text in files.items():
        path = Path(f"{name.replace('__', '/')}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def values(path: str) -> dict[str, float | None]:
    report = api.run(path)
    assert report.status == "finished"
    return {one.task: one.value for one in report.metrics}


def test_a_dataset_that_is_a_result_of_the_same_run_waits_for_it() -> None:
    assert values("run.yaml") == {"first": 3.0, "second": 0.5}

    write(datasets__words=WORDS.replace("word: a}", "word: river}"))

    assert values("run.yaml") == {"first": 5.0, "second": 1.0}, "not the result of before"


def test_a_dataset_that_is_a_result_of_an_earlier_run_is_read_from_there() -> None:
    values("tasks/first.yaml")

    assert values("tasks/second.yaml") == {"second": 0.5}


@pytest.mark.parametrize(
    "more",
    [
        ', filters: [{op: exists, expression: "{{ sample.sample_id }}"}]',
        ", missing: nan",
    ],
    ids=["filtered", "filled up"],
)
def test_what_changes_a_result_that_is_not_there_yet_is_refused(more: str) -> None:
    write(datasets__results=RESULTS % more)

    with pytest.raises(BadTasks, match="which is part of this run") as caught:
        api.run("run.yaml")
    assert "run `first` separately first" in caught.value.hint

    values("tasks/first.yaml")
    assert values("tasks/second.yaml") == {"second": 0.5}


def test_a_generator_reads_the_result_of_an_earlier_run() -> None:
    values("tasks/first.yaml")
    third = FIRST.replace("first", "third").replace("key: words", "key: again")
    write(
        dataset_generators__again=GENERATOR, datasets__again=GENERATED % "again", tasks__third=third
    )

    assert values("tasks/third.yaml") == {"third": 4.0}

    assert api.try_task(api.TaskSelection(path="tasks/third.yaml")).ok

    (made,) = api.generate("again")
    row = json.loads(Path(made.file).read_text().splitlines()[1])
    assert (row["word"], row["sample_id"]) == ("house!", "1")


def test_a_generator_that_reads_a_result_of_the_same_run_is_refused() -> None:
    write(
        dataset_generators__again=GENERATOR,
        datasets__again=GENERATED % "again",
        tasks__third=FIRST.replace("first", "third").replace("key: words", "key: again"),
        run=RUN % "{task_key: first}, {task_key: third}",
    )

    with pytest.raises(BadTasks, match="`again` is generated from the result of `first`") as caught:
        api.run("run.yaml")
    assert "separately first" in caught.value.hint


def test_a_result_is_that_of_a_run_that_came_to_its_end_and_the_run_is_named() -> None:
    values("tasks/first.yaml")
    (whole,) = api.runs()
    write(datasets__words=WORDS.replace("word: a}", "word: river}"))
    values("tasks/first.yaml")
    stopped = next(one.id for one in api.runs() if one.id != whole.id)
    mark(stopped, "stopped")

    report = api.run("tasks/second.yaml")

    assert [one.value for one in report.metrics] == [0.5]
    (note,) = report.notes
    assert "the result of `first`" in note
    assert f"read from run {whole.id}, as {stopped} is stopped" in note


def test_a_result_of_a_run_that_was_stopped_is_refused() -> None:
    values("tasks/first.yaml")
    (run,) = api.runs()
    mark(run.id, "stopped")

    with pytest.raises(BadDataset, match=f"`first` is not complete: run {run.id} is stopped"):
        api.run("tasks/second.yaml")


def mark(run_id: str, status: RunStatus) -> None:
    store = open_store()
    try:
        store.update(run_id, status=status, manifest=store.find(run_id).manifest)
    finally:
        store.close()
