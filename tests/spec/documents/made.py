"""Small projects for the tests of documents."""

from pathlib import Path

from evalwright.spec.documents.project import Project, read_project
from evalwright.types import Issue

TASK = """
key: capitals
display_name: Capitals
description: Who knows the capitals?
definition:
  dataset: {key: countries}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ sample.country }}?"}]
  scorers:
    - {type: string_equals, ground_truth: "{{ sample.capital }}"}
"""
DATASET = """
key: countries
display_name: Countries
source: {type: inline, samples: [{country: France, capital: Paris}]}
"""
MODEL = """
key: bot
display_name: Bot
config: {connection_type: placeholder}
"""


def written(folder: Path, files: dict[str, str]) -> Path:
    """The folder, with these files in it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def project(folder: Path, files: dict[str, str], path: str = "") -> Project:
    """A project of these files; `path` is what of it was named."""
    return read_project(written(folder, files) / path, environment={})


def told(problems: list[Issue]) -> list[tuple[str, int, str, str | None]]:
    """File, line, rule and field of each."""
    return [(Path(one.file).name, one.line, one.rule, one.field) for one in problems]
