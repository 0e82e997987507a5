"""Names of older versions run, are reported with what to write now, and change no result."""

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, report_of
from tests.e2e.projects import write_rows
from tests.servers.model_server import ModelServer, chat

TASK = """\
key: choose
display_name: Choose
description: Chooses a letter.
OUTERdefinition:
  type: TYPE
  INNERdataset: {key: rowsSUBSET}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ sample.question }}"}]
  scorers:
    - type: string_equals_mcqa
      display_name: Right letter
      COLUMNS
"""
UNIQUE = """\
key: unique
display_name: Unique
description: Checks the rows.
OUTERdefinition:
  INNERscorers:
    - type: python
      metrics: [{type: mean, field: ok}]
      compute_scores_snippet: |
        def compute_scores(sample):
            return {"ok": bool(sample["question"])}
"""
DATASET = """\
key: rows
display_name: Rows
ROWS
"""
MODEL = """\
key: bot
display_name: Bot
config:
  connection_type: custom_connection
  url: URL/chat/completions
  ADAPTER
"""
ADAPTER = """\
key: plain
display_name: Plain
TASKprocess_input: {language: jinja, source_code: "{{ input | tojson }}"}
process_output: {language: jinja, source_code: "{{ body }}"}
"""
GENERATOR = """\
key: letters
display_name: Letters
definition:
  SOURCE: {type: inline_samples, samples: [{question: q0}, {question: q1}]}
  synthesizers: [{type: empty}]
"""
GENERATED = """\
key: made
display_name: Made
generator_specification: {dataset_generator_key: letters}
"""
RUN = """\
evaluation:
  key: main
  display_name: Main
  SAMPLEStask_specifications:
    - {key: a, task_key: choose, model_key: bot}
    - {key: b, task_key: unique, dataset_key: rows}
    - {key: c, task_key: unique, dataset_key: made}
"""
NEW = {
    "TYPE": "benchmark_task",
    "COLUMNS": 'ground_truth_choice: "{{ sample.answer }}"\n      choices: "{{ sample.choices }}"',
    "ROWS": "source: {type: local, file_path: rows.jsonl}",
    "ADAPTER": "adapter: {key: latticeflow$identity}",
    "SAMPLES": "num_samples: 10\n  ",
    "SOURCE": "dataset",
}
OLD = {
    "TYPE": "declarative_task",
    "SUBSET": ", fast_subset_size: 2",
    "COLUMNS": "ground_truth_choice_field: answer\n      choices_field: choices",
    "ROWS": "file_path: rows.jsonl",
    "ADAPTER": "adapter: {key: latticeflow$identity_chat_completion}",
    "SAMPLES": "mode: debug\n  ",
    "TASK": "task: chat_completion\n",
    "SOURCE": "data_source",
}
WARNINGS = [
    ("tasks/choose.yaml:4: `evaluated_entity_type` is deprecated here", "inside `definition`"),
    ("tasks/choose.yaml:6: `declarative_task` is the old name", "write `benchmark_task`"),
    ("tasks/choose.yaml:7: `fast_subset_size` is deprecated and has no effect", "`num_samples`"),
    ("tasks/choose.yaml:16: `ground_truth_choice_field` is deprecated", "{{ sample.answer }}"),
    ("tasks/choose.yaml:17: `choices_field` is deprecated", "{{ sample.choices }}"),
    ("tasks/unique.yaml:4: `evaluated_entity_type` is deprecated here", "inside `definition`"),
    ("datasets/rows.yaml:3: `file_path` was replaced by `source`", "source: {type: local"),
    ("models/bot.yaml:6: `latticeflow$identity_chat_completion` is the old name", "identity`"),
    ("dataset_generators/letters.yaml:4: `data_source` is the old name", "write `dataset`"),
    ("model_adapters/plain.yaml:3: the `task` of an adapter no longer has", "remove it"),
    ("run.yaml:4: `mode` is deprecated", "`num_samples`"),
]


def write_spelling(folder: Path, server: ModelServer, *, old: bool) -> Path:
    """The same project in the older or in the current spelling."""
    words = OLD if old else NEW
    for name, text in {
        "tasks/choose": TASK,
        "tasks/unique": UNIQUE,
        "datasets/rows": DATASET,
        "datasets/made": GENERATED,
        "dataset_generators/letters": GENERATOR,
        "model_adapters/plain": ADAPTER,
        "models/bot": MODEL.replace("URL", server.url),
        "run": RUN,
    }.items():
        kind = "dataset" if name == "tasks/unique" else "model"
        entity = f'evaluated_entity_type: "{kind}"\n'
        filled = text.replace("OUTER", entity if old else "")
        filled = filled.replace("INNER", "" if old else f"{entity}  ")
        for word in OLD:
            filled = filled.replace(word, words.get(word, ""))
        path = folder / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled, encoding="utf-8")
    letters = ["A", "B"] * 6
    write_rows(
        folder,
        [
            {"question": f"q{number}", "answer": letter, "choices": ["A", "B"]}
            for number, letter in enumerate(letters)
        ],
    )
    return folder


def measure(report: Any) -> list[tuple[str, str, float, int]]:
    """What the report has, by task and metric."""
    return [(row["task"], row["metric"], row["value"], row["n"]) for row in report["metrics"]]


def test_older_spellings_give_the_same_results_as_the_current_ones(tmp_path: Path) -> None:
    reports = []
    with ModelServer(chat("A")) as server:
        for name, old in (("old", True), ("new", False)):
            folder = write_spelling(tmp_path / name, server, old=old)
            reports.append(report_of(evalwright(server, "run", "run.yaml", "--json", cwd=folder)))

    assert measure(reports[0]) == measure(reports[1])
    assert measure(reports[0]) == [
        ("a", "is_correct_mean", 0.5, 10),
        ("b", "ok_mean", 1.0, 10),
        ("c", "ok_mean", 1.0, 2),
    ]


def test_every_older_spelling_is_a_warning_with_what_to_write_now(tmp_path: Path) -> None:
    with ModelServer(chat("A")) as server:
        write_spelling(tmp_path, server, old=True)
        done = evalwright(server, "validate", ".", cwd=tmp_path)
        write_spelling(tmp_path, server, old=False)
        current = evalwright(server, "validate", ".", cwd=tmp_path)

    lines = done.stderr.splitlines()
    assert done.returncode == current.returncode == 0, done.stdout
    assert "warning" not in current.stderr
    for warning, hint in WARNINGS:
        (number,) = [n for n, line in enumerate(lines) if f"warning: {warning}" in line]
        assert hint in lines[number + 1]
        assert lines[number + 1].startswith("  hint: ")
    assert len([line for line in lines if line.startswith("warning: ")]) == len(WARNINGS)


@pytest.mark.parametrize("kind", ["model", "dataset"])
def test_the_two_places_of_the_entity_type_must_agree(tmp_path: Path, kind: str) -> None:
    other = {"model": "dataset", "dataset": "model"}[kind]
    with ModelServer(chat("A")) as server:
        folder = write_spelling(tmp_path, server, old=False)
        name = "choose" if kind == "model" else "unique"
        path = folder / "tasks" / f"{name}.yaml"
        text = path.read_text(encoding="utf-8")
        path.write_text(
            text.replace("definition:", f"evaluated_entity_type: {other}\ndefinition:", 1),
            encoding="utf-8",
        )
        done = evalwright(server, "validate", ".", cwd=folder)

    assert done.returncode == 1
    assert f"expected `{kind}`, as in `definition.evaluated_entity_type`, got `{other}`" in (
        done.stdout
    )


def test_display_names_are_required_and_are_what_reports_show(tmp_path: Path) -> None:
    with ModelServer(chat("A")) as server:
        folder = write_spelling(tmp_path, server, old=False)
        evalwright(server, "run", "run.yaml", cwd=folder)
        shown = evalwright(server, "report", "latest", cwd=folder)
        keys = evalwright(server, "report", "latest", "--keys", cwd=folder)
        for name in ("tasks/choose", "datasets/rows", "run"):
            path = folder / f"{name}.yaml"
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("display_name: ", "display_name: '' # "), encoding="utf-8")
        empty = evalwright(server, "validate", ".", cwd=folder)

    assert "Choose" in shown.stdout
    assert "Right letter" in shown.stdout
    assert "Choose" not in keys.stdout
    for file in ("tasks/choose.yaml:2", "datasets/rows.yaml:2", "run.yaml:3"):
        assert f"{file}:" in empty.stdout
    assert empty.stdout.count("bad_value") >= 3
