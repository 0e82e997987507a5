import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.servers.model_server import ModelServer, chat

from evalwright import api
from evalwright.errors import BadDataset
from evalwright.generation.preview import (
    GenerationPreview,
    PreviewRow,
    PreviewStep,
)
from evalwright.projects.try_dataset import DatasetPreview
from evalwright.report.export import FailureSummary

GENERATOR = """
key: quiz
display_name: Quiz
definition:
  data_source: {type: inline_samples, samples: [{topic: rivers}, {topic: moons}]}
  synthesizers:
    - type: llm
      model_key: openai/x
      user_prompt: "About {{ sample.topic }}"
      output_columns: [question, answer]
    - type: python
      synthesize_snippet: |
        def synthesize(sample):
            print("seen", sample["topic"])
            return [] if sample["topic"] == "moons" else [{"n": 1}, {"n": 2}]
"""
QUIZ = "key: rows\ndisplay_name: Q\ngenerator_specification: {dataset_generator_key: quiz}\n"
SAID = json.dumps({"question": "Wo?", "answer": "Da."})


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "dataset_generators/quiz.yaml": GENERATOR,
        "datasets/rows.yaml": QUIZ,
    }.items():
        path = Path(name)
        path.parent.mkdir()
        path.write_text(text)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(chat(SAID)) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-a-secret-0123")
        yield running


def tried(**options: Any) -> GenerationPreview:
    trial = api.try_dataset("rows", **options)
    assert isinstance(trial, GenerationPreview)
    return trial


def test_the_first_rows_are_made_step_by_step_and_kept_nowhere(server: ModelServer) -> None:
    trial = tried(samples=1)

    (row,) = trial.rows
    assert (row.index, row.source) == (0, {"topic": "rivers"})
    assert [one.synthesizer for one in row.steps] == ["llm", "python"]
    assert row.steps[0].rows == [{"topic": "rivers", "question": "Wo?", "answer": "Da."}]
    assert [one["n"] for one in row.steps[1].rows] == [1, 2]
    assert row.steps[0].said[0]["asked"] == [{"role": "user", "content": "About rivers"}]
    assert row.steps[0].said[0]["answered"] == SAID
    assert trial.source_rows == 2
    assert trial.usage["openai/x"].requests == 1
    assert trial.printed == ["dataset_generators/quiz.yaml: seen rivers"]
    assert trial.ok
    assert not Path(".evalwright/generated").exists()
    assert len(server.log) == 1


def test_what_breaks_is_said_with_what_the_model_answered(server: ModelServer) -> None:
    server.behave(chat("I cannot. sk-test-a-secret-0123"))

    trial = tried()

    assert not trial.ok
    error = trial.rows[0].error
    assert error is not None
    assert "no JSON object: 'I cannot." in error.message
    assert "a-secret" not in json.dumps([one.steps[0].said for one in trial.rows])
    text = "\n".join(trial.render_lines(show_model_calls=True))
    assert "failed: expected one JSON object" in text
    assert "a-secret" not in text


def test_rows_are_shown_for_people_with_what_was_said_if_they_like(server: ModelServer) -> None:
    trial = tried()

    short = "\n".join(trial.render_lines(show_model_calls=False))
    long = "\n".join(trial.render_lines(show_model_calls=True))

    assert "After `llm`" in short
    assert "no row" in short
    assert "answered:" not in short
    assert "answered:" in long
    assert len(server.log) == 2


def test_rows_that_are_made_are_shown_as_tasks_get_them(server: ModelServer) -> None:
    api.generate("rows")
    server.log.clear()

    trial = api.try_dataset("rows")

    assert isinstance(trial, DatasetPreview)
    assert (trial.rows, trial.source) == (2, "generated, generator `quiz`")
    assert server.log == []
    assert isinstance(api.try_dataset("rows", anew=True), GenerationPreview)


def test_what_it_is_made_of_must_be_made(server: ModelServer) -> None:
    Path("dataset_generators/copy.yaml").write_text(
        "key: copy\ndisplay_name: C\ndefinition:\n"
        "  data_source: {type: dataset_samples, key: rows}\n  synthesizers: [{type: empty}]\n"
    )
    Path("datasets/copy.yaml").write_text(QUIZ.replace("rows", "copy").replace(": quiz", ": copy"))

    with pytest.raises(BadDataset, match="`rows` have not been generated yet"):
        api.try_dataset("copy")
    assert server.log == []


def test_a_trial_shows_each_step_and_nothing_that_a_terminal_obeys() -> None:
    error = FailureSummary(stage="dataset", type="ValueError", message="\x1b[31mno", hint="mend it")
    steps = [PreviewStep(synthesizer="python", rows=[{"a": "\x1b[2J"}, {"a": "مرحبا"}])]
    preview = GenerationPreview(
        key="quiz",
        file="datasets/quiz.yaml",
        generator="g",
        source="empty",
        source_rows=9,
        rows=[PreviewRow(index=0, source={}, steps=steps, error=error)],
        usage={},
        printed=["hello"],
        ok=False,
    )

    text = "\n".join(preview.render_lines(show_model_calls=False))

    assert "\x1b" not in text
    assert "no columns" in text
    assert "مرحبا" in text
    assert "hint: mend it" in text
    assert "  hello" in text
