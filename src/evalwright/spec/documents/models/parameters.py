"""`config_spec`: the parameters of a task or an evaluation, and the values they take.

    config_spec:
      - type: int
        key: num_turns
        display_name: "Turns"
        min: 1
        default_value: 3

A parameter without a default that is not nullable requires a value. Values are checked, never
coerced: a bool is no number, a text of digits is a text; only an int is a float too.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field

from evalwright.components import Component, Flag, Title
from evalwright.spec.documents.yaml.problems import Fault, did_you_mean, quote_names, type_name

Scalar = Literal["string", "integer", "float", "boolean"]
"""What a list or a dict holds."""

_STAND_INS: Mapping[str, Any] = {
    "string": "text",
    "integer": 1,
    "float": 1.0,
    "boolean": True,
}
"""A value of each, for checks that have none."""

_SCALARS: Mapping[str, tuple[Any, str]] = {
    "string": (str, "str"),
    "integer": (int, "int"),
    "float": (int | float, "float"),
    "boolean": (bool, "bool"),
}
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_MARKER = "stand_in_for_"
N = TypeVar("N", int, float)


def _check_scalar(value: Any, dtype: Scalar) -> Any:
    """The value itself, if it is of the type."""
    expected, name = _SCALARS[dtype]
    if isinstance(value, bool) is not (dtype == "boolean") or not isinstance(value, expected):
        raise ValueError(f"expected `{name}`, got `{type_name(value)}`")
    return value


def _check_type(value: Any, kind: type[Any]) -> Any:
    """The value itself, if it is a list or a dict, whichever is asked for."""
    if not isinstance(value, kind):
        raise ValueError(f"expected `{kind.__name__}`, got `{type_name(value)}`")  # noqa: TRY004 - one kind of error for all values
    return value


def _check_item(place: str, value: Any, dtype: Scalar) -> Any:
    """The same for a value inside a list or a dict; `place` says which in the message."""
    try:
        return (
            float(_check_scalar(value, dtype)) if dtype == "float" else _check_scalar(value, dtype)
        )
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def _check_name(value: Any, takes: str) -> str:
    """A text that names something, so it is not empty."""
    if not isinstance(value, str):
        raise ValueError(f"expected the {takes}, got `{type_name(value)}`")  # noqa: TRY004 - one kind of error for all values
    if not value.strip():
        raise ValueError(f"expected the {takes}, got an empty text")
    return value


def _read_boolean(value: Any) -> Any:
    """The bool that a text stands for; everything else as it is."""
    return _TRUTHS.get(value.lower(), value) if isinstance(value, str) else value


def _read_number(text: str, read: Callable[[str], float]) -> float:
    """The number that a text is, read by `int` or `float`."""
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"expected `{read.__name__}`, got `{text}`") from error


def _read_items(text: str, dtype: Scalar) -> Any:
    """The list that a text of the command line stands for."""
    if text.lstrip().startswith("["):
        return _read_json(text, "a JSON list, or items with commas between them")
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    match dtype:
        case "integer":
            return [_read_number(part, int) for part in parts]
        case "float":
            return [_read_number(part, float) for part in parts]
        case "boolean":
            return [_read_boolean(part) for part in parts]
        case _:
            return parts


def _read_json(text: str, expected: str) -> Any:
    """What a JSON text holds."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"expected {expected}, got `{text}`") from error


def _clamp(number: float, low: float | None, high: float | None) -> float:
    """A number, moved into a range as little as possible."""
    if low is not None:
        number = max(number, low)
    return number if high is None else min(number, high)


def _stand_in_text(key: str) -> str:
    """A text for a value that is not known yet: a name in Jinja and in Python, and a legal key."""
    return _MARKER + "".join(one if one.isascii() and one.isalnum() else "_" for one in key)


def is_stand_in(value: Any) -> bool:
    """Whether a value is, or holds, a text that only stands for one that is not known yet."""
    return isinstance(value, str) and _MARKER in value


class Parameter(Component):
    """What all parameters have."""

    takes: ClassVar[str] = "value"
    """What a value of it is, in the words of the messages."""

    key: Title
    """The name after `config.` in `<< config.NAME >>`."""

    display_name: Title
    """The name that is shown."""

    description: str | None = None
    """What the parameter does."""

    default_value: Any = None
    """The value where none is given. Without it the value is required, unless `nullable`."""

    nullable: Flag = False
    """Whether `null` is a value too."""

    @property
    def required(self) -> bool:
        """Whether it must be given a value."""
        return self.default_value is None and not self.nullable

    def checked(self, value: Any) -> Any:
        """The value as it is used; ValueError says what was expected."""
        raise NotImplementedError

    def parsed(self, text: str) -> Any:
        """The value that a text of the command line stands for, not checked yet."""
        return text

    def faults(self) -> Iterator[Fault]:
        """What is wrong with the parameter itself."""
        if self.default_value is not None:
            try:
                self.checked(self.default_value)
            except ValueError as error:
                yield Fault(("default_value",), "bad_default", str(error))

    def stand_in(self) -> Any:
        """Some legal value, for a check that has none."""
        return _stand_in_text(self.key)


class _Number(Parameter):
    min: float | None = None
    """The smallest value."""

    max: float | None = None
    """The largest value."""

    def faults(self) -> Iterator[Fault]:
        """A range with nothing in it has no legal value."""
        if self.min is not None and self.max is not None and self.min > self.max:
            detail = f"expected a number up to the `max` of {self.max}, got {self.min}"
            yield Fault(("min",), "bad_value", detail)
        else:
            yield from super().faults()

    def _in_range(self, value: N) -> N:
        if self.min is not None and not value >= self.min:  # NaN is not in any range
            raise ValueError(f"expected a number from {self.min} up, got {value}")
        if self.max is not None and not value <= self.max:
            raise ValueError(f"expected a number up to {self.max}, got {value}")
        return value


class FloatParameter(_Number):
    """A number."""

    takes: ClassVar[str] = "number"

    type: Literal["float"]

    def checked(self, value: Any) -> float:
        """An int is a float too; a bool is neither."""
        return self._in_range(float(_check_scalar(value, "float")))

    def parsed(self, text: str) -> Any:
        """As Python writes it."""
        return _read_number(text, float)

    def stand_in(self) -> float:
        """The nearest legal number to 1."""
        return _clamp(1.0, self.min, self.max)


class IntParameter(_Number):
    """A whole number."""

    takes: ClassVar[str] = "whole number"

    type: Literal["int"]

    min: int | None = None
    """The smallest value."""

    max: int | None = None
    """The largest value."""

    def checked(self, value: Any) -> int:
        """No bool, and no float even if nothing stands behind the point."""
        return self._in_range(int(_check_scalar(value, "integer")))

    def parsed(self, text: str) -> Any:
        """As Python writes it."""
        return _read_number(text, int)

    def stand_in(self) -> int:
        """The nearest legal number to 1."""
        return int(_clamp(1, self.min, self.max))


class BooleanParameter(Parameter):
    """True or false."""

    takes: ClassVar[str] = "bool"

    type: Literal["boolean"]

    def checked(self, value: Any) -> bool:
        """`true` or `false`; `yes`, `no`, `on` and `off` are the same two."""
        found: bool = _check_scalar(_read_boolean(value), "boolean")
        return found

    def parsed(self, text: str) -> Any:
        """As YAML writes it."""
        return _read_boolean(text)

    def stand_in(self) -> bool:
        """True."""
        return True


class StringExample(Component):
    """A value to choose from."""

    value: str
    """The text."""

    display_name: Title
    """The name that is shown."""


class StringParameter(Parameter):
    """A text."""

    takes: ClassVar[str] = "text"

    type: Literal["string"]

    string_kind: Literal["freeform", "python", "jinja"] = "freeform"
    """What the text is: for editors, it does not change how it is used."""

    default_file_content: str | None = None
    """What a new file for this text starts with. It is no default: no task is run with it."""

    examples: list[StringExample] = Field(default_factory=list)
    """Values to choose from. Others are legal too."""

    def checked(self, value: Any) -> str:
        """A text, as it is."""
        text: str = _check_scalar(value, "string")
        return text

    def stand_in(self) -> str:
        """An example, if there is one."""
        if self.examples:
            return self.examples[0].value
        return self.default_file_content or _stand_in_text(self.key)


class _Named(Parameter):
    def checked(self, value: Any) -> str:
        """A name. Whether it leads anywhere, only the project knows."""
        return _check_name(value, self.takes)


class ModelParameter(_Named):
    """A model, by its key."""

    takes: ClassVar[str] = "key of a model"

    type: Literal["model"]

    usage: (
        Literal["model_under_test", "judge_model", "synthesizer_model", "productivity_assistant"]
        | None
    ) = None
    """What the model is for."""


class DatasetParameter(_Named):
    """A dataset, by its key."""

    takes: ClassVar[str] = "key of a dataset"

    type: Literal["dataset"]


class DatasetColumnParameter(_Named):
    """A column of the task's dataset, by its name."""

    takes: ClassVar[str] = "name of a column"

    type: Literal["dataset_column"]


class TaskResultParameter(_Named):
    """The results of another task specification, by its key."""

    takes: ClassVar[str] = "key of a task specification"

    type: Literal["task_result"]


class ListParameter(Parameter):
    """A list of texts, numbers or bools."""

    takes: ClassVar[str] = "list"

    type: Literal["list"]

    dtype: Scalar
    """What the list holds."""

    def checked(self, value: Any) -> list[Any]:
        """Every item must be of the declared type."""
        found = _check_type(value, list)
        return [_check_item(f"item {place}", one, self.dtype) for place, one in enumerate(found, 1)]

    def parsed(self, text: str) -> Any:
        """A JSON list, or items with commas between them."""
        return _read_items(text, self.dtype)

    def stand_in(self) -> list[Any]:
        """One item."""
        return [_STAND_INS[self.dtype]]


class DictParameter(Parameter):
    """A mapping from names to texts, numbers or bools."""

    takes: ClassVar[str] = "mapping"

    type: Literal["dict"]

    value_dtype: Scalar
    """What stands behind the names."""

    def checked(self, value: Any) -> dict[str, Any]:
        """Every value must be of the declared type."""
        found = _check_type(value, dict).items()
        return {str(name): _check_item(f"`{name}`", one, self.value_dtype) for name, one in found}

    def parsed(self, text: str) -> Any:
        """A JSON object."""
        return _read_json(text, "a JSON object")

    def stand_in(self) -> dict[str, Any]:
        """One entry."""
        return {_stand_in_text(self.key): _STAND_INS[self.value_dtype]}


class CategoricalParameter(Parameter):
    """One of a few texts, or several of them."""

    takes: ClassVar[str] = "value that is allowed"

    type: Literal["categorical"]

    allowed_values: list[str] = Field(min_length=1)
    """The texts to choose from."""

    multiple: Flag = False
    """Whether the value is a list of them."""

    values_mapping: dict[str, bool | int | float | str] | None = None
    """What is used instead of the chosen text. A text that is not in it is used as it is."""

    def checked(self, value: Any) -> Any:
        """The chosen text, or what `values_mapping` says for it."""
        if not self.multiple:
            return self._chosen(value)
        return [self._chosen(one) for one in _check_type(value, list)]

    def parsed(self, text: str) -> Any:
        """For several, a JSON list or texts with commas between them."""
        return _read_items(text, "string") if self.multiple else text

    def faults(self) -> Iterator[Fault]:
        """What is mapped must be allowed."""
        for name in self.values_mapping or {}:
            if name not in self.allowed_values:
                detail = f"expected one of {quote_names(self.allowed_values)}, got `{name}`"
                hint = did_you_mean(name, self.allowed_values)
                yield Fault(("values_mapping", name), "bad_value", detail, hint, at_key=True)
        yield from super().faults()

    def stand_in(self) -> Any:
        """The first."""
        return self.checked(self.allowed_values[:1] if self.multiple else self.allowed_values[0])

    def _chosen(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.allowed_values:
            return (self.values_mapping or {}).get(value, value)
        shown = f"`{value}`" if isinstance(value, str) else f"`{type_name(value)}`"
        hint = f"; {did_you_mean(str(value), self.allowed_values)}".rstrip("; ")
        raise ValueError(f"expected one of {quote_names(self.allowed_values)}, got {shown}{hint}")


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


def check_value(spec: Parameter, value: Any) -> Any:
    """The value as the parameter uses it; ValueError says what was expected, and what came."""
    if value is None:
        if spec.nullable:
            return None
        raise ValueError(f"expected a {spec.takes}, got `null`")
    return spec.checked(value)


def parse_text(spec: Parameter, text: str) -> Any:
    """The value that `--set key=text` stands for; ValueError if it is no text of such a value."""
    return None if spec.nullable and text == "null" else spec.parsed(text)


def read_default(spec: Parameter) -> Any:
    """The value where none is given."""
    return None if spec.default_value is None else check_value(spec, spec.default_value)


def stand_in_value(spec: Parameter) -> Any:
    """A legal value for a check that has none: the default, or one of the declared type."""
    return spec.stand_in() if spec.default_value is None else read_default(spec)
