"""Old spellings of documents, turned into the present ones.

Each leaves a warning behind that says what to write now; a document means the same either way.
"""

from collections.abc import Iterator
from typing import Any

from evalwright.scorers.string_equals_mcqa import StringEqualsMcqa
from evalwright.spec.documents.faults import Fault
from evalwright.spec.documents.problems import Path

Found = tuple[dict[str, Any], list[Fault]]
"""A mapping in present spelling, and what was said on the way. The one given is left alone."""


def modern_task(data: dict[str, Any]) -> Found:
    """A task: the old name of its kind, where its entity type stands, fields of before."""
    definition = data.get("definition")
    if not isinstance(definition, dict):
        return data, []
    faults: list[Fault] = []
    data, definition = dict(data), dict(definition)
    data["definition"] = definition
    _old_type(definition, faults)
    _old_entity_type(data, definition, faults)
    _fast_subset(definition, faults)
    faults += _old_columns(definition)
    return data, faults


def modern_evaluation(data: dict[str, Any]) -> Found:
    """An evaluation: `mode` is a number of samples now."""
    if "mode" not in data:
        return data, []
    hint = "write `num_samples` in its place" if data["mode"] == "debug" else "leave it out"
    return data, [_old(("mode",), "`mode` is deprecated", hint)]


def _old_type(definition: dict[str, Any], faults: list[Fault]) -> None:
    if definition.get("type") == "declarative_task":
        faults.append(
            _old(
                ("definition", "type"),
                "`declarative_task` is the old name of `benchmark_task`",
                "write `benchmark_task`, or leave `type` out",
            )
        )
        definition["type"] = "benchmark_task"
    definition.setdefault("type", "benchmark_task")


def _old_entity_type(data: dict[str, Any], definition: dict[str, Any], faults: list[Fault]) -> None:
    outer = data.get("evaluated_entity_type")
    if outer is None:
        return
    path = ("evaluated_entity_type",)
    inner = definition.get("evaluated_entity_type")
    if inner is not None and inner != outer:
        faults.append(
            Fault(
                path,
                "conflict",
                f"expected `{inner}`, as in `definition.evaluated_entity_type`, got `{outer}`",
                "remove this one: it is the deprecated place",
            )
        )
        return
    hint = "write it inside `definition`"
    faults.append(_old(path, "`evaluated_entity_type` is deprecated at this place", hint))
    if outer in ("model", "dataset") and definition["type"] == "benchmark_task":
        definition["evaluated_entity_type"] = outer


def _fast_subset(definition: dict[str, Any], faults: list[Fault]) -> None:
    dataset = definition.get("dataset")
    if isinstance(dataset, dict) and "fast_subset_size" in dataset:
        path = ("definition", "dataset", "fast_subset_size")
        hint = "leave it out; `num_samples` of a run takes fewer samples"
        faults.append(_old(path, "`fast_subset_size` is deprecated, and without effect", hint))


def _old_columns(definition: dict[str, Any]) -> Iterator[Fault]:
    """Fields of a scorer that name columns; the scorer itself reads them still."""
    scorers = definition.get("scorers")
    for number, scorer in enumerate(scorers if isinstance(scorers, list) else []):
        if isinstance(scorer, dict) and scorer.get("type") == "string_equals_mcqa":
            for old, new in StringEqualsMcqa.deprecated.items():
                if old in scorer:
                    path = ("definition", "scorers", number, old)
                    hint = f'write `{new}: "{{{{ sample.{scorer[old]} }}}}"`'
                    yield _old(path, f"`{old}` is deprecated", hint)


def _old(path: Path, detail: str, hint: str) -> Fault:
    return Fault(path, "deprecated", detail, hint, level="warning", at_key=True)
