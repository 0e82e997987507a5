"""JSON Schemas of the documents, for editors and other validators.

They are generated from the classes, so both always agree. Only `evalwright validate` checks rules
that a schema cannot express: whether a key exists, whether a template compiles, and rules between
fields. In addition to its type, every field allows values that are replaced before validation:
`<< config.NAME >>`, environment variables and `$ref`.
"""

from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from evalwright.components import field_docs
from evalwright.spec.documents.models.dataset import DatasetDocument
from evalwright.spec.documents.models.evaluation import EvaluationDocument
from evalwright.spec.documents.models.generator import GeneratorDocument
from evalwright.spec.documents.models.model import AdapterDocument, ModelDocument, ProviderModel
from evalwright.spec.documents.models.plan import PlanDocument
from evalwright.spec.documents.models.policy import (
    ExistsDefinition,
    PolicyDocument,
    PolicyRule,
    Scope,
    ThresholdDefinition,
)
from evalwright.spec.documents.models.run_file import RunFile
from evalwright.spec.documents.models.task import BenchmarkTask, TaskDocument

SchemaKind = Literal[
    "task", "dataset", "generator", "model", "adapter", "evaluation", "plan", "policy", "run"
]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_CLASSES: dict[str, type[BaseModel]] = {
    "task": TaskDocument,
    "dataset": DatasetDocument,
    "generator": GeneratorDocument,
    "model": ModelDocument,
    "adapter": AdapterDocument,
    "evaluation": EvaluationDocument,
    "policy": PolicyDocument,
}
_OF_OTHERS: dict[str, type[BaseModel]] = {"run": RunFile, "plan": PlanDocument}
_REPLACED: dict[str, dict[str, Any]] = {
    "ConfigPlaceholder": {
        "type": "string",
        "pattern": r"<<\s*(config|secrets)\.[A-Za-z0-9_\-]+\s*>>",
        "description": "A parameter: `<< config.NAME >>`",
    },
    "EnvironmentVariable": {
        "type": "string",
        "pattern": r"^\$\{?[A-Za-z_]\S*$",
        "description": "An environment variable: `$NAME` or `${NAME}`",
    },
    "FileReference": {
        "type": "object",
        "required": ["$ref"],
        "properties": {"$ref": {"type": "string"}},
        "description": "The content of another file: `$ref: file.yaml`",
    },
}
_FLAG = {"type": "string", "pattern": "^([Tt]rue|[Ff]alse|[Yy]es|[Nn]o|[Oo]n|[Oo]ff)$"}
_FIXED = {"type", "connection_type", "op", "$provider", "config_spec"}
"""Keys whose values are never replaced, because they set a type or declare parameters."""
_PLACEHOLDER = "ConfigPlaceholder"
_NOT_CONFIGURED = {
    kind.__name__
    for kind in (PolicyDocument, PolicyRule, Scope, ExistsDefinition, ThresholdDefinition)
}


def json_schema(kind: SchemaKind) -> dict[str, Any]:
    """Return the schema (draft 2020-12). The result is deterministic."""
    top: type[BaseModel] = _OF_OTHERS.get(kind) or _CLASSES[kind]
    classes: list[type[BaseModel]] = [top]
    if kind == "run":
        classes += [*_CLASSES.values(), ProviderModel]
    references, schemas = models_json_schema(
        [(component, "validation") for component in classes], schema_generator=_DescribedSchema
    )
    definitions = schemas["$defs"]
    refs = {component: references[component, "validation"] for component in classes}
    if kind in {"task", "run"}:
        _allow_old_names(definitions)
    if kind == "run":
        _fill_lists(definitions[RunFile.__name__], refs)
    for name, definition in definitions.items():
        _allow_placeholders(definition, configured=name not in _NOT_CONFIGURED)
    definitions.update(_REPLACED)
    schema = definitions.pop(top.__name__)
    if kind == "policy":
        del definitions[_PLACEHOLDER]
        definitions[top.__name__] = schema
        schema = _policy_file(refs[top])
    schema["title"] = f"evalwright {kind}"
    return {"$schema": _DRAFT, **schema, "$defs": dict(sorted(definitions.items()))}


class _DescribedSchema(GenerateJsonSchema):
    """Adds the docstring of each field, and removes titles that only repeat its name."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        described: dict[str, Any] = super().model_schema(schema)
        properties = described.get("properties", {})
        component = schema["cls"]
        for name, text in field_docs(component).items():
            field = component.model_fields.get(name)
            key = (field.alias or name) if field else name
            if key in properties:
                properties[key].setdefault("description", text)
        return described

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the library's signature
        return False


def _allow_old_names(definitions: dict[str, Any]) -> None:
    kind = definitions[BenchmarkTask.__name__]["properties"]["type"]
    kind.pop("const", None)
    kind["enum"] = ["benchmark_task", "declarative_task"]


def _policy_file(policy: dict[str, Any]) -> dict[str, Any]:
    several = _add_placeholders({"type": "array", "items": policy}, configured=False)
    whole = {"type": "object", "properties": {"policies": several}, "required": ["policies"]}
    return {"anyOf": [policy, several, {**whole, "additionalProperties": False}]}


def _fill_lists(schema: dict[str, Any], refs: dict[type[BaseModel], dict[str, Any]]) -> None:
    properties = schema["properties"]
    properties["model_adapters"]["items"] = refs[AdapterDocument]
    properties["models"]["items"] = {"anyOf": [refs[ModelDocument], refs[ProviderModel]]}
    properties["dataset_generators"]["items"] = refs[GeneratorDocument]
    properties["datasets"]["items"] = refs[DatasetDocument]
    properties["tasks"]["items"] = refs[TaskDocument]
    policies = {"type": "array", "items": refs[PolicyDocument]}
    replaced = {
        "evaluation": refs[EvaluationDocument],
        "policies": {"anyOf": [policies, {"type": "null"}]},
    }
    for name, property_schema in replaced.items():
        description = properties[name].get("description", "")
        properties[name] = {**property_schema, "description": description}


def _allow_placeholders(schema: dict[str, Any], *, configured: bool) -> None:
    """Allow placeholders in all fields of an object."""
    for name, field in schema.get("properties", {}).items():
        if name not in _FIXED:
            schema["properties"][name] = _add_placeholders(field, configured=configured)


def _add_placeholders(schema: dict[str, Any], *, configured: bool) -> dict[str, Any]:
    outside: dict[str, Any] = {
        key: schema[key] for key in ("description", "default") if key in schema
    }
    rest = {key: value for key, value in schema.items() if key not in {*outside, "title"}}
    if not rest or _allows_any_text(rest):
        return schema
    choices = rest["anyOf"] if list(rest) == ["anyOf"] else [rest]
    choices = [_add_placeholders_inside(choice, configured=configured) for choice in choices]
    names = [*([_PLACEHOLDER] if configured else []), "EnvironmentVariable"]
    if _may_be_mapping(rest):
        names.append("FileReference")
    if any(choice.get("type") == "boolean" for choice in choices):
        choices.append(_FLAG)
    return {**outside, "anyOf": [*choices, *({"$ref": f"#/$defs/{name}"} for name in names)]}


def _add_placeholders_inside(schema: dict[str, Any], *, configured: bool) -> dict[str, Any]:
    """Allow placeholders in the items of lists and the values of mappings."""
    inside = {
        key: _add_placeholders(schema[key], configured=configured)
        for key in ("items", "additionalProperties")
        if isinstance(schema.get(key), dict)
    }
    return {**schema, **inside}


def _allows_any_text(schema: dict[str, Any]) -> bool:
    if "anyOf" in schema:
        return any(map(_allows_any_text, schema["anyOf"]))
    return schema.get("type") == "string" and not schema.keys() & {"pattern", "enum", "const"}


def _may_be_mapping(schema: dict[str, Any]) -> bool:
    if "$ref" in schema or "oneOf" in schema or schema.get("type") == "object":
        return True
    return any(map(_may_be_mapping, schema.get("anyOf", [])))
