"""`config_spec`: the parameters of a task, an evaluation or a dataset generator.

    config_spec:
      - type: int
        key: num_turns
        display_name: "Turns"
        min: 1
        default_value: 3

A value is required unless the parameter has a default or is nullable. Values are checked but never
converted: neither a boolean nor a string of digits is accepted as a number. The only exception is
that a float parameter accepts an integer.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field

from evalwright.components import Component, Flag, Title
from evalwright.spec.documents.yaml.problems import Fault, did_you_mean, quote_names, type_name

Scalar = Literal["string", "integer", "float", "boolean"]
"""Type of the values in a list or a dict."""

_SCALARS: Mapping[str, tuple[Any, str]] = {
    "string": (str, "str"),
    "integer": (int, "int"),
    "float": (int | float, "float"),
    "boolean": (bool, "bool"),
}
_STAND_INS: Mapping[str, Any] = {"string": "text", "integer": 1, "float": 1.0, "boolean": True}
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_MARKER = "stand_in_for_"
N = TypeVar("N", int, float)


def is_stand_in(value: Any) -> bool:
    """Whether a string contains a placeholder for a value that is not known yet."""
    return isinstance(value, str) and _MARKER in value


def _stand_in_text(key: str) -> str:
    """Return a valid key that is also a valid name in Jinja and Python."""
    return _MARKER + "".join(char if char.isascii() and char.isalnum() else "_" for char in key)


def _check_scalar(value: Any, dtype: Scalar) -> Any:
    expected, name = _SCALARS[dtype]
    if isinstance(value, bool) is not (dtype == "boolean") or not isinstance(value, expected):
        raise ValueError(f"expected `{name}`, got `{type_name(value)}`")
    return float(value) if dtype == "float" else value


def _check_type(value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"expected `{kind.__name__}`, got `{type_name(value)}`")  # noqa: TRY004 - one kind of error for all values
    return value


def _check_item(place: str, value: Any, dtype: Scalar) -> Any:
    try:
        return _check_scalar(value, dtype)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def _read_boolean(value: Any) -> Any:
    return _BOOLEANS.get(value.lower(), value) if isinstance(value, str) else value


def _read_scalar(text: str, dtype: Scalar) -> Any:
    if dtype == "string":
        return text
    if dtype == "boolean":
        return _read_boolean(text)
    read = int if dtype == "integer" else float
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"expected `{read.__name__}`, got `{text}`") from error


def _read_items(text: str, dtype: Scalar) -> Any:
    if text.lstrip().startswith("["):
        return _read_json(text, "a JSON list, or items separated by commas")
    parts = text.split(",") if text.strip() else []
    return [_read_scalar(part.strip(), dtype) for part in parts]


def _read_json(text: str, expected: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"expected {expected}, got `{text}`") from error


class Parameter(Component):
    """Base class of all parameters."""

    takes: ClassVar[str] = "value"
    """Description of a value, for messages."""
    key: Title
    """Name of the parameter in `<< config.NAME >>`."""
    display_name: Title
    """Display name."""
    description: str | None = None
    """Description."""
    default_value: Any = None
    """Default value. Without one, a value is required unless `nullable` is true."""
    nullable: Flag = False
    """Whether `null` is allowed."""

    @property
    def needs_value(self) -> bool:
        """Whether a value is required: there is no default, and `null` is not allowed."""
        return self.default_value is None and not self.nullable

    @property
    def stand_in(self) -> Any:
        """Return a valid value for checks: the default, or a value of the declared type."""
        if self.default_value is not None:
            with suppress(ValueError):  # an invalid default is reported at its place
                return self._check(self.default_value)
        return self._stand_in()

    def check(self, value: Any) -> Any:
        """Return the value to use; ValueError if it is not allowed."""
        if value is not None:
            return self._check(value)
        if not self.nullable:
            raise ValueError(f"expected a {self.takes}, got `null`")
        return None

    def parse(self, text: str) -> Any:
        """Parse the text of `--set key=text`; ValueError if it is invalid. `check` is separate."""
        return None if self.nullable and text == "null" else self._parse(text)

    def faults(self) -> Iterator[Fault]:
        """Yield problems of the parameter itself."""
        if self.default_value is None:
            return
        try:
            self._check(self.default_value)
        except ValueError as error:
            yield Fault(("default_value",), "bad_default", str(error))

    def _check(self, value: Any) -> Any:
        raise NotImplementedError

    def _parse(self, text: str) -> Any:
        return text

    def _stand_in(self) -> Any:
        return _stand_in_text(self.key)


class _NumberParameter(Parameter):
    min: float | None = None
    """Minimum."""
    max: float | None = None
    """Maximum."""

    def faults(self) -> Iterator[Fault]:
        """Report an empty range."""
        if self.min is not None and self.max is not None and self.min > self.max:
            detail = f"expected at most `max` ({self.max}), got {self.min}"
            yield Fault(("min",), "bad_value", detail)
        else:
            yield from super().faults()

    def _in_range(self, value: N) -> N:
        if self.min is not None and not value >= self.min:  # also rejects NaN
            raise ValueError(f"expected a number of at least {self.min}, got {value}")
        if self.max is not None and not value <= self.max:
            raise ValueError(f"expected a number of at most {self.max}, got {value}")
        return value

    def _stand_in(self) -> Any:
        number = 1 if self.min is None else max(1, self.min)
        return number if self.max is None else min(number, self.max)


class FloatParameter(_NumberParameter):
    """A number."""

    takes: ClassVar[str] = "number"
    type: Literal["float"]

    def _check(self, value: Any) -> float:
        return self._in_range(float(_check_scalar(value, "float")))

    def _parse(self, text: str) -> Any:
        return _read_scalar(text, "float")

    def _stand_in(self) -> float:
        return float(super()._stand_in())


class IntParameter(_NumberParameter):
    """An integer."""

    takes: ClassVar[str] = "whole number"
    type: Literal["int"]
    min: int | None = None
    """Minimum."""
    max: int | None = None
    """Maximum."""

    def _check(self, value: Any) -> int:
        return self._in_range(int(_check_scalar(value, "integer")))

    def _parse(self, text: str) -> Any:
        return _read_scalar(text, "integer")


class BooleanParameter(Parameter):
    """A boolean."""

    takes: ClassVar[str] = "bool"
    type: Literal["boolean"]

    def _check(self, value: Any) -> Any:
        return _check_scalar(_read_boolean(value), "boolean")

    def _parse(self, text: str) -> Any:
        return _read_boolean(text)

    def _stand_in(self) -> bool:
        return True


class StringExample(Component):
    """A suggested value."""

    value: str
    """The value."""
    display_name: Title
    """Display name."""


class StringParameter(Parameter):
    """Text."""

    takes: ClassVar[str] = "text"
    type: Literal["string"]
    string_kind: Literal["freeform", "python", "jinja"] = "freeform"
    """Kind of text, used only by editors."""
    default_file_content: str | None = None
    """Initial content of a new file for this text. It is not used as a default value."""
    examples: list[StringExample] = Field(default_factory=list)
    """Suggested values. Other values are also allowed."""

    def _check(self, value: Any) -> Any:
        return _check_scalar(value, "string")

    def _stand_in(self) -> str:
        if self.examples:
            return self.examples[0].value
        return self.default_file_content or _stand_in_text(self.key)


class _NameParameter(Parameter):
    def _check(self, value: Any) -> str:
        """Check only that the value is a name; the project checks whether it exists."""
        if not isinstance(value, str):
            raise ValueError(f"expected the {self.takes}, got `{type_name(value)}`")  # noqa: TRY004 - one kind of error for all values
        if not value.strip():
            raise ValueError(f"expected the {self.takes}, got an empty string")
        return value


class ModelParameter(_NameParameter):
    """A model, by its key."""

    takes: ClassVar[str] = "key of a model"
    type: Literal["model"]
    usage: (
        Literal["model_under_test", "judge_model", "synthesizer_model", "productivity_assistant"]
        | None
    ) = None
    """Role of the model."""


class DatasetParameter(_NameParameter):
    """A dataset, by its key."""

    takes: ClassVar[str] = "key of a dataset"
    type: Literal["dataset"]


class DatasetColumnParameter(_NameParameter):
    """A column of the task's dataset, by its name."""

    takes: ClassVar[str] = "name of a column"
    type: Literal["dataset_column"]


class TaskResultParameter(_NameParameter):
    """The results of another task specification, by its key."""

    takes: ClassVar[str] = "key of a task specification"
    type: Literal["task_result"]


class ListParameter(Parameter):
    """A list of strings, numbers or booleans."""

    takes: ClassVar[str] = "list"
    type: Literal["list"]
    dtype: Scalar
    """Type of the items."""

    def _check(self, value: Any) -> list[Any]:
        items = enumerate(_check_type(value, list), start=1)
        return [_check_item(f"item {number}", item, self.dtype) for number, item in items]

    def _parse(self, text: str) -> Any:
        return _read_items(text, self.dtype)

    def _stand_in(self) -> list[Any]:
        return [_STAND_INS[self.dtype]]


class DictParameter(Parameter):
    """A mapping from names to strings, numbers or booleans."""

    takes: ClassVar[str] = "mapping"
    type: Literal["dict"]
    value_dtype: Scalar
    """Type of the values."""

    def _check(self, value: Any) -> dict[str, Any]:
        items = _check_type(value, dict).items()
        return {str(name): _check_item(f"`{name}`", item, self.value_dtype) for name, item in items}

    def _parse(self, text: str) -> Any:
        return _read_json(text, "a JSON object")

    def _stand_in(self) -> dict[str, Any]:
        return {_stand_in_text(self.key): _STAND_INS[self.value_dtype]}


class CategoricalParameter(Parameter):
    """One of several allowed strings, or a list of them."""

    takes: ClassVar[str] = "value that is allowed"
    type: Literal["categorical"]
    allowed_values: list[str] = Field(min_length=1)
    """Allowed values."""
    multiple: Flag = False
    """Whether the value is a list of allowed values."""
    values_mapping: dict[str, bool | int | float | str] | None = None
    """Replacement for each allowed value. A value without an entry is used unchanged."""

    def faults(self) -> Iterator[Fault]:
        """Check that every mapped value is allowed."""
        for name in self.values_mapping or {}:
            if name not in self.allowed_values:
                detail = f"expected one of {quote_names(self.allowed_values)}, got `{name}`"
                hint = did_you_mean(name, self.allowed_values)
                yield Fault(("values_mapping", name), "bad_value", detail, hint, at_key=True)
        yield from super().faults()

    def _check(self, value: Any) -> Any:
        if not self.multiple:
            return self._check_choice(value)
        return [self._check_choice(item) for item in _check_type(value, list)]

    def _check_choice(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.allowed_values:
            return (self.values_mapping or {}).get(value, value)
        shown = f"`{value}`" if isinstance(value, str) else f"`{type_name(value)}`"
        hint = f"; {did_you_mean(str(value), self.allowed_values)}".rstrip("; ")
        raise ValueError(f"expected one of {quote_names(self.allowed_values)}, got {shown}{hint}")

    def _parse(self, text: str) -> Any:
        return _read_items(text, "string") if self.multiple else text

    def _stand_in(self) -> Any:
        return self._check(self.allowed_values[:1] if self.multiple else self.allowed_values[0])


AnyParameter = Annotated[
    FloatParameter
    | IntParameter
    | BooleanParameter
    | StringParameter
    | ModelParameter
    | DatasetParameter
    | DatasetColumnParameter
    | ListParameter
    | CategoricalParameter
    | DictParameter
    | TaskResultParameter,
    Field(discriminator="type"),
]
