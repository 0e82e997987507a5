"""Generator documents in the published dialect run unedited, against a real HTTP server."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.in_process import evalwright
from tests.servers.model_server import Asked, ModelServer, chat

SECRET = "sk-generator-secret-0042"  # noqa: S105 - of nothing
MODEL = "models:\n  - $provider: openai/writer\n"
SPECIFICATION = """\
key: rows
display_name: Rows
description: Generated.
generator_specification:
  dataset_generator_key: made
  num_samples: %s
  dataset_generator_config: {%s}
"""
WRITER = """\
config_spec:
  - key: writer_key
    type: model
    display_name: Writer
    description: The model that writes.
"""
CONFIG = "writer_key: openai$writer"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def generator(definition: str, more: str = WRITER) -> str:
    body = "".join(f"  {line}\n" for line in definition.strip().splitlines())
    return f"display_name: Made\nkey: made\ndescription: Made up.\n{more}definition:\n{body}"


def dataset(key: str, source: str) -> str:
    return f"key: {key}\ndisplay_name: D\nsource: {source}\n"


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in {"run.yaml": MODEL, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def command(server: ModelServer, folder: Path, *arguments: str, **variables: str) -> Any:
    environment = {
        "HOME": str(folder),
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "sk-test",
        **variables,
    }
    return evalwright(*arguments, cwd=folder, env=environment)


def generate(
    server: ModelServer, folder: Path, files: Mapping[str, str], **variables: str
) -> list[dict[str, Any]]:
    """Validate the project without a warning, generate, and return the rows."""
    write(folder, files)
    checked = command(server, folder, "validate", ".", "--json", **variables)
    (report,) = json.loads(checked.stdout)["files"][:1]
    assert (checked.returncode, report["errors"]) == (0, []), checked.stdout
    assert "warning" not in checked.stderr
    done = command(server, folder, "dataset", "generate", "rows", "--json", **variables)
    assert done.returncode == 0, done.stderr
    (made,) = json.loads(done.stdout)[-1:]
    return read_rows(folder / made["file"])


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def answer(make: Callable[[Asked], Any]) -> Any:
    return chat(lambda asked: json.dumps(make(asked), ensure_ascii=False))


def test_one_reply_with_five_samples_is_five_rows_of_an_empty_source(
    server: ModelServer, tmp_path: Path
) -> None:
    server.behave(answer(lambda _: {"samples": [{"q": f"q{n}", "a": n} for n in range(5)]}))
    definition = """
type: declarative_dataset_generator
dataset:
  type: empty
synthesizers:
  - type: llm
    model_key: << config.writer_key >>
    use_structured_outputs: true
    system_prompt: You prepare data.
    user_prompt_template: Write 5 questions about << config.topic >>.
    sample_properties: {q: {type: string}, a: {type: integer}}
"""
    topic = "  - {key: topic, type: string, display_name: Topic}\n"
    files = {
        "dataset_generators/made.yaml": generator(definition, WRITER + topic),
        "datasets/rows.yaml": SPECIFICATION % (5, f"{CONFIG}, topic: tides"),
    }

    rows = generate(server, tmp_path, files)

    assert rows == [{"q": f"q{n}", "a": n} for n in range(5)]
    (asked,) = server.log
    assert asked.prompt == "Write 5 questions about tides."
    assert asked.body["response_format"]["type"] == "json_schema"


def test_as_many_rows_are_made_as_asked_for_in_passes_over_the_source(
    server: ModelServer, tmp_path: Path
) -> None:
    server.behave(
        chat(lambda asked: f"Gladly!\n```json\n{json.dumps([{'q': asked.prompt[:6]}])}\n```")
    )
    definition = """
dataset:
  type: inline_samples
  samples: [{topic: قمر, sample_id: m}, {topic: نهر, sample_id: r}]
synthesizers:
  - type: llm
    model_key: << config.writer_key >>
    user_prompt_template: "ask {{ source.topic }}"
    sample_properties: {q: {type: string}}
  - type: drop_columns
    columns: [topic]
"""
    files = {
        "dataset_generators/made.yaml": generator(definition),
        "datasets/rows.yaml": SPECIFICATION % (5, CONFIG),
    }

    rows = generate(server, tmp_path, files)

    assert [row["sample_id"] for row in rows] == ["m", "r", "m~2", "r~2", "m~3"]
    assert [row["q"] for row in rows[:2]] == ["ask قم", "ask نه"]
    assert len(server.log) == 5
    assert "Answer with JSON" in server.log[0].prompt


def test_a_template_is_combined_with_its_fields_and_with_combinations_of_rows(
    server: ModelServer, tmp_path: Path
) -> None:
    definition = """
dataset:
  type: dataset_sample_combinations
  keys: ["<< config.places_key >>", trips]
synthesizers:
  - type: template
    template:
      - "From {{ source.place }}, {{ source.distance }} {way}."
    fields:
      way: [up, down]
"""
    places = (
        "config_spec: [{key: places_key, type: dataset, display_name: P, default_value: places}]\n"
    )
    files = {
        "dataset_generators/made.yaml": generator(definition, places),
        "datasets/places.yaml": dataset("places", "{type: local, file_path: p.csv}"),
        "datasets/p.csv": "place\nBonn\nمكة\n",
        "datasets/trips.yaml": dataset("trips", "{type: local, file_path: t.csv}"),
        "datasets/t.csv": "distance\n1 km\n2 km\n",
        "datasets/rows.yaml": SPECIFICATION % (6, ""),
    }

    rows = generate(server, tmp_path, files)

    assert len(rows) == 6
    assert rows[0] == {
        "place": "Bonn",
        "distance": "1 km",
        "way": "up",
        "text": "From Bonn, 1 km up.",
    }
    assert [row["text"] for row in rows[4:]] == ["From مكة, 1 km up.", "From مكة, 1 km down."]


def test_rows_of_a_python_synthesizer_are_what_it_returns(
    server: ModelServer, tmp_path: Path
) -> None:
    definition = """
dataset: {type: dataset_samples, key: heights, random_seed: 3}
synthesizers:
  - type: python
    synthesize_snippet: !include halve.py
"""
    code = """
from __future__ import annotations

from typing import Any


def synthesize(source: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"ask": f"{source['m']} {unit}"} for unit in ("m", "cm")]
"""
    files = {
        "dataset_generators/made.yaml": generator(definition, ""),
        "dataset_generators/halve.py": code,
        "datasets/heights.yaml": dataset("heights", "{type: local, file_path: h.jsonl}"),
        "datasets/h.jsonl": '{"m": 1}\n{"m": 2}\n{"m": 3}\n',
        "datasets/rows.yaml": SPECIFICATION % (6, ""),
    }

    rows = generate(server, tmp_path, files)

    assert sorted(row["ask"] for row in rows) == ["1 cm", "1 m", "2 cm", "2 m", "3 cm", "3 m"]


def test_a_snippet_gets_its_secret_and_nothing_stores_it(
    server: ModelServer, tmp_path: Path
) -> None:
    definition = """
dataset: {type: empty}
synthesizers:
  - type: python
    synthesize_snippet: |
      def synthesize(source):
          token = "<< secrets.SERVICE_TOKEN >>"
          print("using", token)
          header = f"Bearer << secrets.SERVICE_TOKEN >>"
          return [{"length": len(token), "token": token, "starts": header[:9]}]
"""
    secrets = "secrets:\n  SERVICE_TOKEN: $SERVICE_TOKEN\n"
    files = {
        "dataset_generators/made.yaml": generator(definition, secrets),
        "datasets/rows.yaml": SPECIFICATION % (1, ""),
    }

    rows = generate(server, tmp_path, files, SERVICE_TOKEN=SECRET)
    shown = command(server, tmp_path, "dataset", "test", "rows", "--show-io", SERVICE_TOKEN=SECRET)

    assert rows == [{"length": len(SECRET), "token": "[redacted]", "starts": "Bearer sk"}]
    assert SECRET not in shown.stdout + shown.stderr
    assert "using [redacted]" in shown.stdout + shown.stderr
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_a_snippet_that_fails_shows_the_placeholder_and_not_the_secret(
    server: ModelServer, tmp_path: Path
) -> None:
    definition = """
dataset: {type: empty}
synthesizers:
  - type: python
    synthesize_snippet: |
      def synthesize(source):
          raise ValueError("no luck with << secrets.SERVICE_TOKEN >>")
"""
    secrets = "secrets:\n  SERVICE_TOKEN: $SERVICE_TOKEN\n"
    write(
        tmp_path,
        {
            "dataset_generators/made.yaml": generator(definition, secrets),
            "datasets/rows.yaml": SPECIFICATION % (1, ""),
        },
    )

    done = command(server, tmp_path, "dataset", "generate", "rows", SERVICE_TOKEN=SECRET)

    assert done.returncode == 1
    assert "no luck with [redacted]" in done.stderr
    assert SECRET not in done.stdout + done.stderr


FACTS = """
dataset:
  type: inline_samples
  samples:
    - {question: أين يقع برج خليفة؟, expected_answer: يقع في دبي.}
    - {question: Who wrote Faust?, expected_answer: Goethe did.}
synthesizers:
  - type: claim_extraction
    model_key: << config.writer_key >>
    instructions: Keep names as they are.
    columns: {question: question, answer: expected_answer}
  - type: claim_labeling
    model_key: << config.writer_key >>
  - type: link_claim_quotes
    model_key: << config.writer_key >>
    output_field: quotes
"""


def claims_of(asked: Asked) -> Any:
    """Answer in the form that the schema of the request names."""
    form = asked.body["response_format"]["json_schema"]["name"]
    answer_text = "يقع في دبي" if "دبي" in asked.prompt else "Goethe did"
    claim = {"subject": answer_text, "predicate": "is", "object": "so"}
    return {
        "claims": {"claims": [claim]},
        "labels": {"labels": [{"claim": 1, "label": "REQUIRED"}]},
        "links": {"links": [{"claim": 1, "quotes": [answer_text]}]},
    }[form]


def test_claims_are_extracted_labelled_and_linked(server: ModelServer, tmp_path: Path) -> None:
    server.behave(answer(claims_of))
    files = {
        "dataset_generators/made.yaml": generator(FACTS),
        "datasets/rows.yaml": SPECIFICATION % (2, CONFIG),
    }

    arabic, english = generate(server, tmp_path, files)

    claim = {"subject": "يقع في دبي", "predicate": "is", "object": "so"}
    assert arabic["claims"] == [{"claim": claim}]
    assert arabic["claims_labels"] == ["REQUIRED"]
    assert arabic["quotes"] == [{"claim": claim, "quotes": ["يقع في دبي"]}]
    assert english["quotes"][0]["quotes"] == ["Goethe did"]
    assert len(server.log) == 6


def test_a_garbage_reply_fails_its_row_is_quoted_and_only_that_is_asked_again(
    server: ModelServer, tmp_path: Path
) -> None:
    def sometimes(asked: Asked) -> str:
        if "Faust" in asked.prompt and "labels" in asked.raw.decode():
            return "Hmm, that depends."
        return json.dumps(claims_of(asked), ensure_ascii=False)

    server.behave(chat(sometimes))
    write(
        tmp_path,
        {
            "dataset_generators/made.yaml": generator(FACTS),
            "datasets/rows.yaml": SPECIFICATION % (2, CONFIG),
        },
    )
    failed = command(server, tmp_path, "dataset", "generate", "rows")
    assert not list(tmp_path.rglob("rows-*.jsonl"))
    server.log.clear()
    server.behave(answer(claims_of))

    done = command(server, tmp_path, "dataset", "generate", "rows", "--json")

    assert failed.returncode == 1
    assert "1 of 2 rows were generated, 1 failed: row 1: the reply cannot be used" in failed.stderr
    assert "its reply: Hmm, that depends." in failed.stderr
    (made,) = json.loads(done.stdout)
    assert made["rows"] == 2
    assert len(server.log) == 2, "the labels and the quotes; the claims were kept"
    assert made["usage"]["openai/writer"]["requests"] == 7


def test_questions_are_asked_about_the_files_of_a_folder(
    server: ModelServer, tmp_path: Path
) -> None:
    choice = {"question": "Which?", "choices": ["a", "b", "c", "d"], "correct_choice": "C"}
    server.behave(answer(lambda _: {"samples": [choice]}))
    definition = """
dataset: {type: dataset_samples, key: docs}
synthesizers:
  - type: question_answering
    model_key: << config.writer_key >>
    qa_type: multiple_choice
    content_column: content
    title_column: file_name
    summary_column: null
  - type: drop_columns
    columns: [content, sample_id]
"""
    files = {
        "dataset_generators/made.yaml": generator(definition),
        "datasets/docs.yaml": dataset("docs", "{type: folder, directory_path: ../docs}"),
        "docs/a.md": "المد والجزر",
        "docs/b.md": "Tides.",
        "datasets/rows.yaml": SPECIFICATION % (2, CONFIG),
    }

    rows = generate(server, tmp_path, files)

    assert [(row["file_name"], row["expected_choice"], row["expected_answer"]) for row in rows] == [
        ("a.md", "C", "c"),
        ("b.md", "C", "c"),
    ]
    assert "المد والجزر" in server.log[0].prompt


def test_files_at_the_provider_are_sent_as_parts_of_the_message(
    server: ModelServer, tmp_path: Path
) -> None:
    server.behave(chat(lambda _: '{"summary": "short"}'))
    definition = """
dataset: {type: inline_samples, samples: [{files: [file-1, file-2]}]}
synthesizers:
  - type: llm
    model_key: << config.writer_key >>
    file_ids_field: files
    format_instructions: Answer as {"summary":"…"}.
    sample_properties: {summary: {type: string}}
"""
    files = {
        "dataset_generators/made.yaml": generator(definition),
        "datasets/rows.yaml": SPECIFICATION % (1, CONFIG),
    }

    (row,) = generate(server, tmp_path, files)

    assert row["summary"] == "short"
    (message,) = server.log[0].body["messages"]
    assert message["content"] == [
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "file", "file": {"file_id": "file-2"}},
        {"type": "text", "text": 'Answer as {"summary":"…"}.'},
    ]


def test_the_result_of_a_task_is_a_source(server: ModelServer, tmp_path: Path) -> None:
    server.behave(chat("blue"))
    task = """
key: colours
display_name: Colours
description: Colours.
definition:
  dataset: {key: things}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ sample.thing }}?"}]
  scorers: [{type: string_equals, ground_truth: blue}]
"""
    run = f"""{MODEL}
tasks:
  - $ref: tasks/colours.yaml
evaluation:
  key: first
  display_name: First
  description: First.
  task_specifications: [{{key: pass-one, task_key: colours, model_key: openai$writer}}]
"""
    definition = """
dataset: {type: task_result, ai_app_key: my-app, key: pass-one}
synthesizers:
  - type: template
    template: "{{ source.sample.thing }} got {word}"
    fields: {word: [marks]}
"""
    files = {
        "run.yaml": run,
        "tasks/colours.yaml": task,
        "datasets/things.yaml": dataset("things", "{type: inline, samples: [{thing: بحر}]}"),
        "dataset_generators/made.yaml": generator(definition, ""),
        "datasets/rows.yaml": SPECIFICATION % (1, ""),
    }
    write(tmp_path, files)
    assert command(server, tmp_path, "run", "run.yaml").returncode == 0

    (row,) = generate(server, tmp_path, files)

    assert row["text"] == "بحر got marks"


def test_a_source_without_rows_is_an_error_before_any_request(
    server: ModelServer, tmp_path: Path
) -> None:
    definition = """
dataset: {type: dataset_samples, key: none}
synthesizers:
  - type: claim_extraction
    model_key: << config.writer_key >>
"""
    write(
        tmp_path,
        {
            "dataset_generators/made.yaml": generator(definition),
            "datasets/none.yaml": dataset("none", "{type: local, file_path: n.csv}"),
            "datasets/n.csv": "question,expected_answer\n",
            "datasets/rows.yaml": SPECIFICATION % (2, CONFIG),
        },
    )

    done = command(server, tmp_path, "dataset", "generate", "rows")

    assert done.returncode == 1
    assert "dataset `rows`" in done.stderr
    assert "Traceback" not in done.stderr
    assert server.log == []


def test_a_source_that_gives_no_more_rows_is_an_error_that_says_so(
    server: ModelServer, tmp_path: Path
) -> None:
    definition = """
dataset: {type: inline_samples, samples: [{n: 1}, {n: 2}, {n: 3}]}
synthesizers:
  - type: python
    synthesize_snippet: |
      def synthesize(source, index):
          return [source] if index == 1 else []
"""
    write(
        tmp_path,
        {
            "dataset_generators/made.yaml": generator(definition, ""),
            "datasets/rows.yaml": SPECIFICATION % (2, ""),
        },
    )

    done = command(server, tmp_path, "dataset", "generate", "rows")

    assert done.returncode == 1
    assert (
        "only 1 of 2 rows could be generated: another pass over the data source yields no rows"
        in done.stderr
    )


def test_documents_of_the_earlier_spelling_run_with_a_note(
    server: ModelServer, tmp_path: Path
) -> None:
    server.behave(chat(lambda asked: f"re: {asked.prompt}"))
    definition = """
data_source: {type: dataset_sample_combinations, keys: [places, trips]}
synthesizers:
  - type: llm
    model_key: << config.writer_key >>
    user_prompt: "{{ sample.places.place }} {{ sample.trips.distance }}"
    output_column: said
"""
    write(
        tmp_path,
        {
            "dataset_generators/made.yaml": generator(definition),
            "datasets/places.yaml": dataset("places", "{type: inline, samples: [{place: Bonn}]}"),
            "datasets/trips.yaml": dataset(
                "trips", "{type: inline, samples: [{distance: 1}, {distance: 2}]}"
            ),
            "datasets/rows.yaml": SPECIFICATION % (2, CONFIG),
        },
    )

    checked = command(server, tmp_path, "validate", ".")
    done = command(server, tmp_path, "dataset", "generate", "rows", "--json")

    assert checked.returncode == 0
    for name in ("user_prompt_template", "source", "sample_properties"):
        assert f"the old syntax for `{name}`" in checked.stderr
    (made,) = json.loads(done.stdout)
    assert [row["said"] for row in read_rows(tmp_path / made["file"])] == [
        "re: Bonn 1",
        "re: Bonn 2",
    ]
