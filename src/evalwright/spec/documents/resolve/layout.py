"""The layout of a project: its files and the kinds of their documents.

    project/
    ├── run.yaml          what to run; may also contain entities
    ├── tasks/            one task per file, including subfolders
    ├── datasets/
    ├── dataset_generators/
    ├── models/
    ├── model_adapters/   or adapters/
    ├── evaluations/
    └── assessment_plans/

A file in one of these folders belongs to the project that contains the folder; any other file
belongs to the project in its own folder. A nested project may use the models and adapters of the
outer project. The keys of a document determine its kind or, if they do not, its folder does:

    run          datasets, dataset_generators, models, model_adapters or evaluation; or `tasks`
                 without key, display_name and definition
    generator    definition that contains synthesizers or data_source
    task         definition
    evaluation   task_specifications
    plan         evaluation_specifications or evaluations
    dataset      source, file_path or generator_specification
    adapter      process_input or process_output
    policy       rules; or only `policies`; or a list of mappings with rules
    model        config and key; or $provider
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

DocumentKind = Literal[
    "task", "dataset", "generator", "model", "adapter", "evaluation", "plan", "policy", "run"
]
"""Kinds of documents."""

FOLDERS: Mapping[str, DocumentKind] = {
    "tasks": "task",
    "datasets": "dataset",
    "dataset_generators": "generator",
    "models": "model",
    "model_adapters": "adapter",
    "adapters": "adapter",
    "evaluations": "evaluation",
    "assessment_plans": "plan",
}
"""Folders of a project, with the kinds of their files."""

RUN_FILES = ("run.yaml", "run.yml")
"""Names of a folder's run file."""

YAML_ENDINGS = (".yaml", ".yml")

_RUN = {"datasets", "dataset_generators", "models", "model_adapters", "evaluation"}
_RUN_ALONE = {"run_config", "policies"}
_TASK = {"key", "display_name", "definition"}
_SIGNS: tuple[tuple[DocumentKind, set[str]], ...] = (
    ("task", {"definition"}),
    ("evaluation", {"task_specifications"}),
    ("plan", {"evaluation_specifications", "evaluations"}),
    ("dataset", {"source", "file_path", "generator_specification"}),
    ("adapter", {"process_input", "process_output"}),
    ("model", {"$provider", "connection_type", "rate_limit", "max_concurrent_requests"}),
)
_MODEL_FOLDERS = ("models", "model_adapters", "adapters")
_HAS_KEY = re.compile(rb"^[\"']?(?:key|\$provider)[\"']?\s*:", re.MULTILINE)
"""Key of model documents. Other tools also store YAML files in folders named `models`."""
_MAX_BYTES_SEARCHED = 100_000

KIND_KEYS = (
    *("definition", "task_specifications", "source", "process_input", "process_output", "config"),
    *("rules", "policies", "evaluation_specifications", "evaluations", *sorted(_RUN)),
)
"""Keys that determine the kind of a document."""


_APP_KEYS = {"model_under_test_key", "judge_model_key", "risk_profile", "risk_scorers", "key_info"}
_TITLE_KEYS = {"key", "display_name", "description", "long_description", "tags"}


def describe_server_document(data: Any) -> str:
    """Describe a document that only a server uses; `""` for any other document."""
    if not isinstance(data, dict):
        return ""
    keys = {str(key) for key in data}
    if keys & _APP_KEYS or {"key", "display_name"} <= keys <= _TITLE_KEYS:
        return "an app document is not used: the project folder is its workspace"
    if {"function", "metric_key"} <= keys:
        return "a risk scorer (`function`, `metric_key`) is not used: there is no risk dashboard"
    policies = data.get("policies") if keys == {"policies"} else None
    if isinstance(policies, list) and any(map(_has_risk_scorer, policies)):
        return "a risk policy (`risk_scorer_key`) is not used: there is no risk dashboard"
    return ""


def _has_risk_scorer(policy: Any) -> bool:
    return isinstance(policy, dict) and "risk_scorer_key" in policy


def detect_kind(data: Any, folder: str = "") -> DocumentKind | None:
    """Return the kind of a document; `folder` is its project folder."""
    if not isinstance(data, dict) or (not folder and describe_server_document(data)):
        return "policy" if isinstance(data, list) and any(map(_has_rules, data)) else None
    keys = {str(key) for key in data}
    if keys & _RUN or ("tasks" in keys and not keys & _TASK):
        return "run"
    for kind, signs in _SIGNS:
        if keys & signs:
            return "generator" if kind == "task" and _makes(data, folder) else kind
    if folder in FOLDERS:
        return FOLDERS[folder]
    if "rules" in keys or keys == {"policies"}:
        return "policy"
    if "config" in keys and "key" in keys:
        return "model"
    if keys & _RUN_ALONE or (keys and keys <= {"config", "secrets"}):
        return "run"
    return "task" if {"config_spec", "evaluated_entity_type"} & keys else None


def _makes(data: dict[Any, Any], folder: str) -> bool:
    definition = data["definition"]
    makes = isinstance(definition, dict) and {"synthesizers", "data_source"} & definition.keys()
    return bool(makes) or FOLDERS.get(folder) == "generator"


def _has_rules(item: Any) -> bool:
    return isinstance(item, dict) and bool({"rules", "policies"} & item.keys())


class ProjectFile(NamedTuple):
    """A file of a project."""

    path: Path
    folder: str
    """Project folder of the file, such as `tasks`, or `""`."""


def find_file_root(file: Path) -> Path:
    """Return the root folder of a file's project."""
    for parent in file.parents:
        if parent.name in FOLDERS:
            return parent.parent
    return file.parent


def find_folder(file: Path, root: Path) -> str:
    """Return the project folder of a file, or `""`."""
    parts = file.relative_to(root).parts if file.is_relative_to(root) else ()
    return parts[0] if len(parts) > 1 and parts[0] in FOLDERS else ""


def list_project_files(root: Path) -> list[ProjectFile]:
    """Return all documents of a project in a fixed order, with the run file last."""
    files = [
        ProjectFile(path, folder) for folder in FOLDERS for path in list_yaml_files(root / folder)
    ]
    return files + [ProjectFile(root / name, "") for name in RUN_FILES if (root / name).is_file()]


def list_top_files(root: Path) -> list[ProjectFile]:
    """Return the documents in the root folder of a project, mostly other run files."""
    return [ProjectFile(file, "") for file in list_yaml_files(root) if file.parent == root]


def list_nested_run_files(root: Path) -> list[Path]:
    """Return the run files of nested projects."""
    own = {root / folder for folder in FOLDERS}
    return [
        file
        for file in list_yaml_files(root)
        if file.name in RUN_FILES and file.parent != root and own.isdisjoint(file.parents)
    ]


def list_outer_models(root: Path) -> Iterator[ProjectFile]:
    """Yield the models and adapters of the nearest enclosing project."""
    folder = root.absolute()
    while folder.parent != folder and not (folder / ".git").exists():
        folder = folder.parent
        files = [
            ProjectFile(file, name)
            for name in _MODEL_FOLDERS
            for file in list_yaml_files(folder / name)
            if _has_key(file)
        ]
        if files:
            yield from files
            return


def _has_key(file: Path) -> bool:
    try:
        if not file.is_file():  # opening a named pipe would block
            return False
        with file.open("rb") as opened:
            return _HAS_KEY.search(opened.read(_MAX_BYTES_SEARCHED)) is not None
    except OSError:
        return False


def list_named_files(path: Path, root: Path) -> list[ProjectFile]:
    """Return all documents of a path."""
    if not path.is_dir():
        return [ProjectFile(path, find_folder(path.absolute(), root.absolute()))]
    if path.absolute() != root.absolute():  # a subfolder of a project
        folder = find_folder(path.absolute() / "any", root.absolute())
        return [ProjectFile(file, folder) for file in list_yaml_files(path)]
    return list_project_files(root) or [
        ProjectFile(file, "") for file in list_yaml_files(path) if file.parent == path
    ]


def find_project_root(path: Path) -> Path:
    """Return the root folder of the project that contains a file or folder."""
    if not path.is_dir():
        root = find_file_root(path.absolute())
        return path.parent if root == path.absolute().parent else root
    own = _is_project(path)
    root = find_file_root(path.absolute() / "any")
    return path if own or root == path.absolute() else root


def find_include_root(path: Path) -> Path:
    """Return the folder from which the documents of a path may include files.

    This is the root folder of their project. For a document outside the project folders, such as
    `runs/a.yaml`, it is the root of the nearest project above it.
    """
    root = find_project_root(path)
    for folder in (root.absolute(), *root.absolute().parents):
        if folder.parent != folder and _is_project(folder):
            return folder
        if (folder / ".git").exists():
            break
    return root


def _is_project(folder: Path) -> bool:
    return any((folder / name).exists() for name in (*FOLDERS, *RUN_FILES))


def list_yaml_files(folder: Path) -> list[Path]:
    """Return the documents in a folder and its subfolders, sorted by path."""
    paths: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        paths += [
            Path(place, name)
            for name in files
            if name.endswith(YAML_ENDINGS) and not name.startswith(".")
        ]
    return sorted(paths)
