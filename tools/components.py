"""Generate the reference pages for task documents from the classes that define them.

Each class has a section: the docstring of its module or class, and a table of its fields, with
their types in the JSON Schema and their docstrings.
"""

from collections.abc import Iterable, Iterator
from importlib import import_module
from inspect import getdoc
from typing import Any

from pydantic import BaseModel

from evalwright.components import field_docs
from evalwright.datasets.synthesizers.data_sources import (
    DatasetSampleCombinations,
    DatasetSamples,
    EmptySource,
    InlineSamples,
    TaskResultSamples,
)
from evalwright.registry import BUILT_IN
from evalwright.rules.filters import ActionRule, FilterComparison, FilterMembership, FilterUnary
from evalwright.spec.documents.models import parameters
from evalwright.spec.documents.models.dataset import DatasetDocument
from evalwright.spec.documents.models.evaluation import (
    EvaluationDocument,
    RunConfig,
    TaskSpecification,
)
from evalwright.spec.documents.models.generator import (
    GeneratorDefinition,
    GeneratorDocument,
    GeneratorSpecification,
)
from evalwright.spec.documents.models.model import (
    AdapterDocument,
    CustomConnection,
    CustomInference,
    ModelDocument,
    PlaceholderConnection,
    ProviderConnection,
    ProviderModel,
)
from evalwright.spec.documents.models.plan import EvaluationSpecification, PlanDocument
from evalwright.spec.documents.models.policy import (
    ExistsDefinition,
    PolicyDocument,
    PolicyRule,
    Scope,
    ThresholdDefinition,
)
from evalwright.spec.documents.models.run_file import RunFile
from evalwright.spec.documents.models.task import (
    BenchmarkTask,
    DatasetTemplate,
    SystemTask,
    TaskDocument,
)

PAGES = {
    "solvers": ("Solvers", "A solver answers samples. A task sets it in `definition.solver`."),
    "scorers": (
        "Scorers",
        "A scorer judges answers or dataset rows. A task lists scorers in `definition.scorers`.",
    ),
    "metrics": ("Metrics", "A metric aggregates scores. A scorer lists its metrics in `metrics`."),
    "datasets": (
        "Data sources",
        "A data source provides the rows of a dataset. A dataset sets it in `source`.",
    ),
    "synthesizers": (
        "Synthesizers",
        "Synthesizers create or change rows. A generator lists them in `definition.synthesizers`.",
    ),
}
DOCUMENTS: dict[str, tuple[type[BaseModel], ...]] = {
    "A task": (TaskDocument, BenchmarkTask, SystemTask, DatasetTemplate),
    "Parameters": (
        parameters.FloatParameter,
        parameters.IntParameter,
        parameters.BooleanParameter,
        parameters.StringParameter,
        parameters.ModelParameter,
        parameters.DatasetParameter,
        parameters.DatasetColumnParameter,
        parameters.ListParameter,
        parameters.CategoricalParameter,
        parameters.DictParameter,
        parameters.TaskResultParameter,
    ),
    "Action rules and filters": (ActionRule, FilterUnary, FilterComparison, FilterMembership),
    "A dataset": (DatasetDocument,),
    "A dataset generator": (
        GeneratorDocument,
        GeneratorDefinition,
        EmptySource,
        InlineSamples,
        DatasetSamples,
        DatasetSampleCombinations,
        TaskResultSamples,
        GeneratorSpecification,
    ),
    "A model": (
        ModelDocument,
        ProviderModel,
        CustomConnection,
        CustomInference,
        ProviderConnection,
        PlaceholderConnection,
        AdapterDocument,
    ),
    "An evaluation": (EvaluationDocument, TaskSpecification),
    "An assessment plan": (PlanDocument, EvaluationSpecification),
    "A run file": (RunFile, RunConfig),
    "A policy": (PolicyDocument, PolicyRule, ExistsDefinition, ThresholdDefinition, Scope),
}


def component_pages(generated: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    for kind, (title, about) in PAGES.items():
        sections = [_component(name, target) for name, target in BUILT_IN[kind].items()]
        body = "\n".join(section for section in sections if section)
        yield kind, f"# {title}\n\n{generated}{about}\n\n{body}"
    yield "documents", _documents(generated)


def _component(name: str, target: str) -> str:
    module, _, attribute = target.partition(":")
    made = getattr(import_module(module), attribute)
    if not (isinstance(made, type) and issubclass(made, BaseModel)):
        return ""
    said = (import_module(module).__doc__ or "").strip()
    return f"## `{name}`\n\n{said}\n\n{_fields(made)}"


def _documents(generated: str) -> str:
    head = (
        f"# Task documents\n\n{generated}"
        "This page describes every key of a project's YAML files. Any string may contain "
        "`<< config.NAME >>`. `evalwright schema KIND` prints the JSON Schema of a document, where "
        "KIND is `task`, `dataset`, `generator`, `model`, `evaluation`, `plan`, `policy` or "
        "`run`.\n"
    )
    parts = [head]
    for title, classes in DOCUMENTS.items():
        said = (import_module(classes[0].__module__).__doc__ or "").strip()
        parts.append(f"\n## {title}\n\n{said}\n")
        parts += [f"\n### {_name(one)}\n\n{getdoc(one)}\n\n{_fields(one)}" for one in classes]
    return "".join(parts)


def _name(kind: type[BaseModel]) -> str:
    field = kind.model_fields.get("type") or kind.model_fields.get("connection_type")
    literal: tuple[Any, ...] = getattr(field.annotation, "__args__", ()) if field else ()
    return f"`{literal[0]}`" if len(literal) == 1 else kind.__name__


def _fields(kind: type[BaseModel]) -> str:
    schema = kind.model_json_schema(mode="validation")
    said = field_docs(kind)
    required = set(schema.get("required", ()))
    rows = [
        (
            f"`{name}`",
            _type(one, schema.get("$defs", {})),
            "required" if name in required else _default(one),
            " ".join((said.get(_attribute(kind, name)) or one.get("description", "")).split()),
        )
        for name, one in schema.get("properties", {}).items()
    ]
    return _table(("key", "type", "default", "meaning"), rows)


def _attribute(kind: type[BaseModel], written: str) -> str:
    for name, field in kind.model_fields.items():
        if field.alias == written:
            return name
    return written


def _type(one: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "$ref" in one:
        return _named(one["$ref"], definitions)
    for key in ("anyOf", "oneOf"):
        if key in one:
            options = [_type(each, definitions) for each in one[key] if each != {"type": "null"}]
            return " or ".join(dict.fromkeys(options))
    if "const" in one:
        return f"`{one['const']}`"
    if "enum" in one:
        return ", ".join(f"`{each}`" for each in one["enum"])
    if one.get("type") == "array":
        return f"list of {_type(one.get('items', {}), definitions)}"
    if one.get("type") == "object":
        return "mapping"
    return str(one.get("type", "anything"))


def _named(reference: str, definitions: dict[str, Any]) -> str:
    name = reference.rpartition("/")[2]
    kind = definitions.get(name, {}).get("properties", {}).get("type", {}).get("const")
    return f"`{kind}`" if kind else name


def _default(one: dict[str, Any]) -> str:
    if "default" not in one or one["default"] is None:
        return ""
    value = one["default"]
    shown = {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value
    return f"`{shown}`" if not isinstance(value, dict) or value else ""


def _table(columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    head = list(columns)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
