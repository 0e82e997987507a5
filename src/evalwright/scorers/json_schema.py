"""`json_schema`: correct if the value is JSON that conforms to a schema and has the right fields.

    scorers:
      - type: json_schema
        json_schema:                        # all of these are optional
          type: object
          required: [city, guests]
          properties: { guests: { type: integer, minimum: 1 } }
        ground_truth: '{"city": {{ sample.city | tojson }}, "guests": {{ sample.guests }}}'
        post_process: extract_code_block

Without `json_schema`, any valid JSON is accepted. The schema is a mapping or JSON text, such as
`!include order.json`. A schema with `$ref` must be JSON text, because `$ref` in a task document
includes a file. `$schema` selects the dialect, by default draft 2020-12. A `$ref` to a different
schema document is never fetched; instead, the sample fails. A schema requires the extra
`json-schema`: `pip install 'evalwright[json-schema]'`.

`ground_truth` is a template that renders to a JSON object. Each of its fields is compared with the
field of the same name in the value. Other fields of the value are ignored. Numbers are compared by
value (`2` equals `2.0`), and strings character by character. Lists and objects are compared as a
whole.

`is_valid_json` and `meets_schema` are true or false. `fields_correct` is the share of the compared
fields that are right, or `null` without `ground_truth`. `NaN` and `Infinity` are not JSON. A
`pattern` in a schema has no time limit. This scorer is an evalwright extension.
"""

from functools import cached_property
from json import JSONDecodeError, dumps, loads
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NoReturn

from pydantic import AfterValidator

from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, cut, render_value, short
from evalwright.templates import Template
from evalwright.text.post_process import post_process
from evalwright.types import Score

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_INSTALL = "pip install 'evalwright[json-schema]'"


class InvalidJsonText(ValueError):
    """Raised for text that is not JSON."""


def parse_json(text: str) -> Any:
    """Parse JSON; `InvalidJsonText` if the text is not JSON."""
    try:
        return loads(text, parse_constant=_refuse_constant)
    except JSONDecodeError as error:
        message = f"{error.msg} at line {error.lineno} column {error.colno}"
    except RecursionError:
        message = "nested too deeply"
    except ValueError as error:  # `NaN`, `Infinity` or a number with thousands of digits
        message = str(error)
    raise InvalidJsonText(f"not JSON: {message}: {short(text)}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"`{name}` is not a JSON number")


def _check_schema(schema: Any) -> Any:
    """Return the schema as a mapping or a boolean; ValueError if it is not a JSON Schema."""
    parsed = parse_json(schema) if isinstance(schema, str) else schema
    _build_validator(parsed)
    return parsed


def _build_validator(schema: Any) -> "Validator":
    # Imported here, because the dependency is optional.
    try:
        from jsonschema import Draft202012Validator, SchemaError
        from jsonschema.validators import validator_for
        from referencing import Registry
    except ImportError as error:
        message = f"a schema needs the package jsonschema: {_INSTALL}"
        raise ValueError(message) from error
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        message = f"not a JSON Schema: {cut(error.message)} at {error.json_path}"
        raise ValueError(message) from error
    return kind(schema, registry=Registry())  # with an empty registry, nothing is fetched


class JsonSchema(ScorerSpec):
    """Scores `is_correct`, `is_valid_json`, `meets_schema` and `fields_correct`."""

    score_names: ClassVar[tuple[str, ...] | None] = (
        "is_correct",
        "is_valid_json",
        "meets_schema",
        "fields_correct",
    )
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)

    type: Literal["json_schema"]
    json_schema: Annotated[dict[str, Any] | bool | str | None, AfterValidator(_check_schema)] = None
    """JSON Schema that the value must conform to: a mapping, or JSON text."""
    ground_truth: Template | None = None
    """Template that renders to a JSON object with the expected fields. May refer to `sample`."""
    value: Template | None = None
    """JSON text to check. May refer to `sample` and `solver_output`. Default: the text of the last
    assistant message. Required in tasks without a solver."""
    post_process: Literal["extract_code_block", "none"] = "none"
    """Part of the value to check. `none`: the whole value. `extract_code_block`: the first block
    between triple backticks, or the whole value if there is none."""

    @cached_property
    def _validator(self) -> "Validator | None":
        return None if self.json_schema is None else _build_validator(self.json_schema)

    async def score(self, case: Case) -> Score:
        """Parse the value, validate it and compare its fields."""
        text = post_process(render_value(self.value, case), self.post_process)
        expected = self._read_ground_truth(case)
        none_right = None if expected is None else 0.0
        try:
            answer = parse_json(text)
        except InvalidJsonText as error:
            return _score(problems=[str(error)], is_json=False, meets=False, fields=none_right)
        problems = self._find_violations(answer)
        meets, fields = not problems, none_right
        if expected is not None:
            wrong = _find_wrong_fields(answer, expected)
            fields = 1 - len(wrong) / len(expected)
            problems += wrong
        return _score(problems=problems, is_json=True, meets=meets, fields=fields)

    def _read_ground_truth(self, case: Case) -> dict[str, Any] | None:
        if self.ground_truth is None:
            return None
        text = self.ground_truth.render(sample=case.sample.data)
        try:
            expected = parse_json(text)
        except InvalidJsonText as error:
            raise ValueError(f"`ground_truth` must render to a JSON object: {error}") from error
        if not isinstance(expected, dict) or not expected:
            raise ValueError(f"`ground_truth` must render to a JSON object, got {short(text)}")
        return expected

    def _find_violations(self, answer: Any) -> list[str]:
        if self._validator is None:
            return []
        from referencing.exceptions import Unresolvable

        try:
            errors = list(self._validator.iter_errors(answer))
        except Unresolvable as error:
            raise ValueError(f"`json_schema` has an unresolvable reference: {error}") from error
        return [f"{error.json_path}: {cut(error.message)}" for error in errors]


def _score(*, problems: list[str], is_json: bool, meets: bool, fields: float | None) -> Score:
    return Score(
        values={
            "is_correct": not problems,
            "is_valid_json": is_json,
            "meets_schema": meets,
            "fields_correct": fields,
        },
        correct=not problems,
        reason="; ".join(problems[:5]),
        metadata={"problems": problems[:20]},
    )


def _find_wrong_fields(answer: Any, expected: dict[str, Any]) -> list[str]:
    if not isinstance(answer, dict):
        return [f"`{name}` is missing: the value is not an object" for name in expected]
    wrong = []
    for name, value in expected.items():
        if name not in answer:
            wrong.append(f"`{name}` is missing")
        elif not _equal(answer[name], value):
            actual, target = (dumps(item, ensure_ascii=False) for item in (answer[name], value))
            wrong.append(f"`{name}` is {cut(actual)}, expected {cut(target)}")
    return wrong


def _equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal; true does not equal 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)
