"""The kinds of entities in a project. The module has few imports, so commands start fast."""

from collections.abc import Mapping
from typing import Literal

EntityKind = Literal["task", "dataset", "generator", "model", "adapter", "evaluation"]

FOLDERS: Mapping[EntityKind, str] = {
    "task": "tasks",
    "dataset": "datasets",
    "generator": "dataset_generators",
    "model": "models",
    "adapter": "model_adapters",
    "evaluation": "evaluations",
}
