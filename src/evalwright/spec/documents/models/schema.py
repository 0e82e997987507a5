"""JSON Schemas of the documents, for editors and other validators.

They are made from the classes, so they say the same. What a schema cannot know is left to
`evalwright validate`: whether a key leads somewhere, whether a template compiles, what must hold
between two fields. What is replaced before the classes look is allowed beside the type of a field:
`<< config.NAME >>`, a variable of the environment, and `$ref`.
"""

from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from evalwright.components import said_of
from evalwright.spec.documents.models.dataset import DatasetDocument
from evalwright.spec.documents.models.evaluation import EvaluationDocument
from evalwright.spec.documents.models.generator import GeneratorDocument
from evalwright.spec.documents.models.model import AdapterDocument, ModelDocument, ProviderModel
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
    "task", "dataset", "generator", "model", "adapter", "evaluation", "policy", "run"
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
_WRITTEN: dict[str, dict[str, Any]] = {
    "ConfigPlaceholder": {
        "type": "string",
        "pattern": r"<<\s*(config|secrets)\.[A-Za-z0-9_\-]+\s*>>",
        "description": "A value of the configuration: `<< config.NAME >>`",
    },
    "EnvironmentVariable": {
        "type": "string",
        "pattern": r"^\$\{?[A-Za-z_]\S*$",
        "description": "A variable of the environment: `$NAME` or `${NAME}`",
    },
    "FileReference": {
        "type": "object",
        "required": ["$ref"],
        "properties": {"$ref": {"type": "string"}},
        "description": "What stands in another file: `$ref: file.yaml`",
    },
}
_FLAG = {"type": "string", "pattern": "^([Tt]rue|[Ff]alse|[Yy]es|[Nn]o|[Oo]n|[Oo]ff)$"}
_FIXED = {"type", "connection_type", "op", "$provider", "config_spec"}
"""Keys whose values are never replaced: they say what something is, or declare parameters."""
_SAID = ("description", "default")
_PLACEHOLDER = "ConfigPlaceholder"
_OF_POLICIES = {
    one.__name__
    for one in (PolicyDocument, PolicyRule, Scope, ExistsDefinition, ThresholdDefinition)
}
"""They have no configuration."""


def json_schema(kind: SchemaKind) -> dict[str, Any]:
    """Draft 2020-12; the same text every time."""
    top: type[BaseModel] = RunFile if kind == "run" else _CLASSES[kind]
    classes: list[type[BaseModel]] = [top]
    if kind == "run":
        classes += [*_CLASSES.values(), ProviderModel]
    names, whole = models_json_schema(
        [(one, "validation") for one in classes], schema_generator=_Plain
    )
    definitions = whole["$defs"]
    named = {one: str(names[one, "validation"]["$ref"]).rpartition("/")[2] for one in classes}
    if kind in {"task", "run"}:
        _old_names(definitions)
    if kind == "run":
        _fill_lists(definitions[named[RunFile]], named)
    for name, one in definitions.items():
        _open(one, configured=name not in _OF_POLICIES)
    if kind == "policy":
        definitions["PolicyFile"] = _policy_file(named[top])
        named[top] = "PolicyFile"
    schema = definitions.pop(named[top])
    definitions.update(_WRITTEN)
    if kind == "policy":
        del definitions[_PLACEHOLDER]
    schema["title"] = f"evalwright {kind}"
    return {"$schema": _DRAFT, **schema, "$defs": dict(sorted(definitions.items()))}


class _Plain(GenerateJsonSchema):
    """Without the titles that only repeat the names of fields, and with what is said of each."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        made: dict[str, Any] = super().model_schema(schema)
        kind = schema["cls"]
        for name, text in said_of(kind).items():
            field = kind.model_fields.get(name)
            written = (field.alias or name) if field else name
            if written in made.get("properties", {}):
                made["properties"][written].setdefault("description", text)
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the library's signature
        return False


def _old_names(definitions: dict[str, Any]) -> None:
    """`declarative_task` is read as `benchmark_task`."""
    kind = definitions[BenchmarkTask.__name__]["properties"]["type"]
    kind.pop("const", None)
    kind["enum"] = ["benchmark_task", "declarative_task"]


def _policy_file(name: str) -> dict[str, Any]:
    """A file is one policy, or several."""
    one = {"$ref": f"#/$defs/{name}"}
    several = _opened({"type": "array", "items": one}, configured=False)
    whole = {"type": "object", "properties": {"policies": several}, "required": ["policies"]}
    return {"anyOf": [one, several, {**whole, "additionalProperties": False}]}


def _fill_lists(schema: dict[str, Any], named: dict[type[BaseModel], str]) -> None:
    """The lists of a run file hold the other documents."""

    def reference(kind: type[BaseModel]) -> dict[str, Any]:
        return {"$ref": f"#/$defs/{named[kind]}"}

    properties = schema["properties"]
    models = {"anyOf": [reference(ModelDocument), reference(ProviderModel)]}
    properties["model_adapters"]["items"] = reference(AdapterDocument)
    properties["models"]["items"] = models
    properties["dataset_generators"]["items"] = reference(GeneratorDocument)
    properties["datasets"]["items"] = reference(DatasetDocument)
    properties["tasks"]["items"] = reference(TaskDocument)
    said = properties["evaluation"].get("description", "")
    properties["evaluation"] = {**reference(EvaluationDocument), "description": said}
    said = properties["policies"].get("description", "")
    policies = {"type": "array", "items": reference(PolicyDocument)}
    properties["policies"] = {"anyOf": [policies, {"type": "null"}], "description": said}


def _open(schema: dict[str, Any], *, configured: bool) -> None:
    """Allow what is replaced on reading beside the type of every field of an object."""
    for name, one in schema.get("properties", {}).items():
        if name not in _FIXED:
            schema["properties"][name] = _opened(one, configured=configured)


def _opened(schema: dict[str, Any], *, configured: bool) -> dict[str, Any]:
    said: dict[str, Any] = {key: schema[key] for key in _SAID if key in schema}
    rest = {key: one for key, one in schema.items() if key not in {*said, "title"}}
    if not rest or _any_text(rest):
        return schema
    choices = (
        [_inside(one, configured=configured) for one in rest["anyOf"]]
        if list(rest) == ["anyOf"]
        else [_inside(rest, configured=configured)]
    )
    written = [*([_PLACEHOLDER] if configured else []), "EnvironmentVariable"]
    if _may_be_mapping(rest):
        written.append("FileReference")
    if any(one.get("type") == "boolean" for one in choices):
        choices.append(_FLAG)
    return {**said, "anyOf": [*choices, *({"$ref": f"#/$defs/{name}"} for name in written)]}


def _inside(schema: dict[str, Any], *, configured: bool) -> dict[str, Any]:
    """The same for the items of a list and the values of a mapping."""
    made = dict(schema)
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _opened(made[key], configured=configured)
    return made


def _any_text(schema: dict[str, Any]) -> bool:
    """Whether every text is legal, so that nothing need be added."""
    if "anyOf" in schema:
        return any(_any_text(one) for one in schema["anyOf"])
    return schema.get("type") == "string" and not schema.keys() & {"pattern", "enum", "const"}


def _may_be_mapping(schema: dict[str, Any]) -> bool:
    if "$ref" in schema or "oneOf" in schema or schema.get("type") == "object":
        return True
    return any(_may_be_mapping(one) for one in schema.get("anyOf", []))
