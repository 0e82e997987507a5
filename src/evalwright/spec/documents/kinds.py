"""What kind of document a file is: its keys say it, and else its folder.

run          datasets, dataset_generators, models, model_adapters or evaluation; or `tasks`
             without key, display_name and definition
task         definition
evaluation   task_specifications
dataset      source, file_path or generator_specification
adapter      process_input or process_output
model        config, beside a key; or $provider
"""

from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal["task", "dataset", "model", "adapter", "evaluation", "run"]
"""The kinds of documents."""

FOLDERS: Mapping[str, Kind] = {
    "tasks": "task",
    "datasets": "dataset",
    "models": "model",
    "model_adapters": "adapter",
    "adapters": "adapter",
    "evaluations": "evaluation",
}
"""The folders of a project, and what their files are."""

RUN_FILES = ("run.yaml", "run.yml")
"""What the run file of a folder is called."""

ENDINGS = (".yaml", ".yml")

_RUN = {"datasets", "dataset_generators", "models", "model_adapters", "evaluation"}
_RUN_ALONE = {"run_config", "policies"}
_TASK = {"key", "display_name", "definition"}
_SIGNS: tuple[tuple[Kind, set[str]], ...] = (
    ("task", {"definition"}),
    ("evaluation", {"task_specifications"}),
    ("dataset", {"source", "file_path", "generator_specification"}),
    ("adapter", {"process_input", "process_output"}),
    ("model", {"$provider", "connection_type", "rate_limit", "max_concurrent_requests"}),
)
SIGNS = (
    *("definition", "task_specifications", "source", "process_input", "process_output", "config"),
    *sorted(_RUN),
)
"""The keys that say of a document what it is."""


def kind_of(data: Any, folder: str = "") -> Kind | None:
    """The kind of a document; `folder` is the name of the project's folder that it is in."""
    if not isinstance(data, dict):
        return None
    keys = {str(key) for key in data}
    if keys & _RUN or ("tasks" in keys and not keys & _TASK):
        return "run"
    for kind, signs in _SIGNS:
        if keys & signs:
            return kind
    if folder in FOLDERS:
        return FOLDERS[folder]
    if "config" in keys and "key" in keys:
        return "model"
    if keys & _RUN_ALONE or (keys and keys <= {"config", "secrets"}):
        return "run"
    return "task" if {"config_spec", "evaluated_entity_type"} & keys else None
