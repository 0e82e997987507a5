"""What kind of document a file is: its keys say it, and else its folder.

run          datasets, dataset_generators, models, model_adapters or evaluation; or `tasks`
             without key, display_name and definition
generator    definition, with synthesizers or a data_source in it
task         definition
evaluation   task_specifications
dataset      source, file_path or generator_specification
adapter      process_input or process_output
policy       rules; or nothing but `policies`; or a list of mappings that have rules
model        config, beside a key; or $provider

An assessment plan (evaluation_specifications) is of no kind, whatever folder it is in.
"""

from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal["task", "dataset", "generator", "model", "adapter", "evaluation", "policy", "run"]
"""The kinds of documents."""

FOLDERS: Mapping[str, Kind] = {
    "tasks": "task",
    "datasets": "dataset",
    "dataset_generators": "generator",
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
PLAN = "evaluation_specifications"
"""What an assessment plan has: it is known, and not run."""

SIGNS = (
    *("definition", "task_specifications", "source", "process_input", "process_output", "config"),
    *("rules", "policies", PLAN, *sorted(_RUN)),
)
"""The keys that say of a document what it is."""


def kind_of(data: Any, folder: str = "") -> Kind | None:
    """The kind of a document; `folder` is the name of the project's folder that it is in."""
    if not isinstance(data, dict):
        return "policy" if isinstance(data, list) and any(map(_has_rules, data)) else None
    keys = {str(key) for key in data}
    if keys & _RUN or ("tasks" in keys and not keys & _TASK):
        return "run"
    for kind, signs in _SIGNS:
        if keys & signs:
            return "generator" if kind == "task" and _makes(data, folder) else kind
    if folder in FOLDERS or PLAN in keys:
        return None if PLAN in keys else FOLDERS[folder]
    if "rules" in keys or keys == {"policies"}:
        return "policy"
    if "config" in keys and "key" in keys:
        return "model"
    if keys & _RUN_ALONE or (keys and keys <= {"config", "secrets"}):
        return "run"
    return "task" if {"config_spec", "evaluated_entity_type"} & keys else None


def _makes(data: dict[Any, Any], folder: str) -> bool:
    """Whether a definition is one of a generator."""
    definition = data["definition"]
    makes = isinstance(definition, dict) and {"synthesizers", "data_source"} & definition.keys()
    return bool(makes) or FOLDERS.get(folder) == "generator"


def _has_rules(one: Any) -> bool:
    return isinstance(one, dict) and bool({"rules", "policies"} & one.keys())
