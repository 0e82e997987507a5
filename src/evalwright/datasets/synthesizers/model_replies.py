"""Query a model for rows and parse its reply strictly, without guessing.

    {"question": "Where?", "level": 2}                    one row
    [{"question": "Where?", …}, {"question": "When?", …}] two rows
    {"samples": [{…}, {…}]}                               the same, under any one key

The JSON may be the whole reply, in a code fence, between `<output_json>` tags, or surrounded by
prose. ValueError, which quotes the reply, is raised if the reply is empty or cut off, contains no
such JSON or two different ones, or does not match the JSON Schema.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from evalwright.datasets.json_files import refuse_constant
from evalwright.datasets.synthesizers.synthesizer import Row
from evalwright.errors import ModelError
from evalwright.ports import Case
from evalwright.scorers.judging.ask import JudgeReply, ReplySchema, ask, object_schema
from evalwright.scorers.judging.verdicts import find_json
from evalwright.types import Message

JsonSchema = Mapping[str, Any]
SAMPLES = "samples"
"""Key of the rows in a reply, if a schema is sent."""
_MAX_QUOTED = 200
_MAX_JSON_STARTS = 1000
"""Maximum number of braces and brackets that are tried as the start of JSON."""
_JSON_START = re.compile(r"[{\[]")
_OBJECT_START = re.compile(r"\{")
_OUTPUT_TAG = re.compile(r"<output_json>(.*?)</output_json>", re.DOTALL)
_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


async def query_model(
    case: Case,
    model_key: str,
    messages: Sequence[Message],
    *,
    schema: ReplySchema | None,
    plain_messages: Sequence[Message] | None = None,
) -> str:
    """Return the text of a reply; ValueError if it is empty, cut off or a refusal.

    `plain_messages` are sent instead of `messages` if the server rejects the schema.
    """
    try:
        reply = await ask(case, model_key, messages, schema=schema, plain_messages=plain_messages)
    except ModelError as error:
        error.args = (str(error).replace("the judge", "the model", 1),)
        raise
    _refuse_unusable(reply)
    return reply.text


def _refuse_unusable(reply: JudgeReply) -> None:
    if reply.refused:
        raise ValueError(f"the model refused: {quote_reply(reply.text)}")
    if reply.cut:
        raise ValueError("the reply was cut off at the token limit")
    if not reply.text.strip():
        raise ValueError("the reply is empty")


def samples_schema(properties: JsonSchema) -> ReplySchema:
    """Return the schema of a reply with one or more rows."""
    items = {
        "type": "array",
        "description": "One item, or as many as the prompt asks for.",
        "items": object_schema(dict(properties)),
    }
    return ReplySchema(SAMPLES, {SAMPLES: items})


def describe_format(properties: JsonSchema) -> str:
    """Return instructions for a model that does not receive a schema."""
    schema = json.dumps(object_schema(dict(properties)), ensure_ascii=False)
    return (
        "Answer with JSON and nothing else: an object of this JSON Schema, or a list of such "
        f"objects if several are asked for.\n{schema}"
    )


def parse_rows(reply: str, properties: JsonSchema) -> list[Row]:
    """Return the rows in a reply, with only these properties."""
    tagged = _OUTPUT_TAG.findall(reply)
    candidates: list[list[Row]] = []
    for value in _find_values(tagged[-1] if tagged else reply, _JSON_START):
        candidate = _read_rows(value, properties)
        if candidate and candidate not in candidates:
            candidates.append(candidate)
    rows: list[Row] = _require_one(candidates, reply, properties, "JSON value")
    for row in rows:
        _check_row(row, properties, reply)
    return rows


def parse_object(reply: str, properties: JsonSchema) -> Row:
    """Return the only JSON object in a reply that has these properties."""
    candidates: list[Row] = []
    for value in _find_values(reply, _OBJECT_START):
        rows = _read_rows(value, properties) if isinstance(value, dict) else []
        if len(rows) == 1 and rows[0] not in candidates:
            candidates.append(rows[0])
    row: Row = _require_one(candidates, reply, properties, "JSON object")
    _check_row(row, properties, reply)
    return row


def quote_reply(reply: str) -> str:
    """Quote a reply on one line, shortened if it is long."""
    words = " ".join(reply.split())
    return repr(words if len(words) <= _MAX_QUOTED else f"{words[:_MAX_QUOTED]}…")


def _find_values(text: str, start: re.Pattern[str]) -> Iterator[Any]:
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    return (value for value, _, _ in islice(find_json(text, start, decoder), _MAX_JSON_STARTS))


def _read_rows(value: Any, properties: JsonSchema) -> list[Row]:
    """Interpret a JSON value as rows; return no rows if it is anything else."""
    if isinstance(value, dict):
        if properties.keys() <= value.keys():
            return [{name: value[name] for name in properties}]
        inner = [*value.values()]
        return _read_rows(inner[0], properties) if _is_list(inner) else []
    if not isinstance(value, list):
        return []
    rows = [item for item in value if isinstance(item, dict) and properties.keys() <= item.keys()]
    if len(rows) != len(value):
        return []
    return [{name: row[name] for name in properties} for row in rows]


def _is_list(values: list[Any]) -> bool:
    return len(values) == 1 and isinstance(values[0], list)


def _require_one(candidates: list[Any], reply: str, properties: JsonSchema, what: str) -> Any:
    if len(candidates) == 1:
        return candidates[0]
    count = f"{len(candidates)} different {what}s" if candidates else f"no {what}"
    names = ", ".join(f"`{name}`" for name in properties)
    raise ValueError(
        f"expected one {what} with {names}, but the reply has {count}: {quote_reply(reply)}"
    )


def _check_row(row: Row, properties: JsonSchema, reply: str) -> None:
    for name, schema in properties.items():
        if (problem := find_mismatch(row[name], schema)) is not None:
            raise ValueError(f"expected `{name}` to be {problem}: {quote_reply(reply)}")


def find_mismatch(value: Any, schema: Any) -> str | None:
    """Describe the expected value; None if the value matches the schema.

    Checks `type`, `enum`, `items`, `properties`, `required` and `anyOf`. A string must not be
    blank.
    """
    if not isinstance(schema, dict):
        return None
    if any_of := schema.get("anyOf"):
        problems = [find_mismatch(value, option) for option in any_of]
        return None if None in problems else " or ".join(map(str, problems))
    if (options := schema.get("enum")) is not None:
        return None if value in options else f"one of {json.dumps(options, ensure_ascii=False)}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_has_type(value, kind) for kind in kinds):
        expected = " or ".join(f"a `{kind}`" for kind in kinds)
        return f"{expected}, got a `{type(value).__name__}`"
    return _find_inner_mismatch(value, schema)


def _find_inner_mismatch(value: Any, schema: dict[str, Any]) -> str | None:
    parts: list[tuple[str, Any, Any]] = []
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        parts = [(f"item {number}", item, items) for number, item in enumerate(value, start=1)]
    elif isinstance(value, dict) and isinstance(inner := schema.get("properties"), dict):
        for name in schema.get("required", inner):
            if name not in value:
                return f"an object with `{name}`"
        parts = [(f"`{name}`", value[name], inner[name]) for name in inner if name in value]
    for where, part, part_schema in parts:
        if (problem := find_mismatch(part, part_schema)) is not None:
            return f"a value whose {where} is {problem}"
    return None


def _has_type(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    is_blank = isinstance(value, str) and not value.strip()
    return isinstance(value, _JSON_TYPES.get(kind, (object,))) and not is_blank
