"""Determine the value of each parameter: the given value or the default.

A value may come from a task specification, a run file, `--config` or `--set`. Its place is kept, so
that problems are reported there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from evalwright.spec.documents.checks.build import DocumentPart, build_instance
from evalwright.spec.documents.models.parameters import AnyParameter, DatasetParameter, Parameter
from evalwright.spec.documents.resolve.placeholders import is_placeholder_name
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Place,
    did_you_mean,
    get_list,
    locate_fault,
    quote_names,
)
from evalwright.types import Issue

_ANY: Any = AnyParameter
TypeAdapter(_ANY)  # completes the class definitions

DATASET_PARAMETER = DatasetParameter(type="dataset", key="dataset_key", display_name="Dataset")
"""Parameter of every task that does not specify the dataset to evaluate."""

MissingAt = Callable[[str], tuple[Place, str]]
"""Returns the place and the field where a parameter's value is missing."""

UNKNOWN: Any = object()
"""Placeholder for a value that is known only in a run."""


class GivenValue(NamedTuple):
    """A value that was set for a parameter."""

    value: Any
    place: Place
    field: str
    """Dotted path of the value in the file."""
    text: bool = False
    """Whether the value is command-line text, which the parameter's type must parse."""
    key_place: Place | None = None
    """Place of the parameter name, if different."""

    def problem(self, fault: Fault) -> Issue:
        """Return a fault of the value, located where the value was set."""
        return locate_fault(fault, self.place, self.field)


def read_given_value(part: DocumentPart, path: FieldPath, value: Any) -> GivenValue:
    """Return the value that a document sets at a path."""
    key_place = part.raw.marks.key_place(path)
    return GivenValue(value, part.place(path), part.field(path), key_place=key_place)


def read_given_values(
    part: DocumentPart, path: FieldPath, values: Mapping[str, Any]
) -> dict[str, GivenValue]:
    """Return the values that a document sets in the mapping at a path."""
    return {
        str(name): read_given_value(part, (*path, name), value) for name, value in values.items()
    }


class SettledParameters(NamedTuple):
    """The values of all parameters."""

    values: dict[str, Any]
    problems: list[Issue]
    open: frozenset[str]
    """Parameters that have only a placeholder value."""


def read_parameters(data: Any) -> tuple[list[Parameter], list[Fault]]:
    """Return the valid parameters of a document, and the faults of all parameters."""
    parameters: list[Parameter] = []
    faults: list[Fault] = []
    for number, declaration in enumerate(get_list(data, "config_spec")):
        parameter: Parameter | None
        parameter, own_faults = build_instance(_ANY, declaration)
        if parameter is not None:
            parameters.append(parameter)
            own_faults = list(parameter.faults())
            if not is_placeholder_name(parameter.key):
                detail = f"no placeholder can refer to the parameter `{parameter.key}`"
                hint = "use letters, digits, `_` and `-` only"
                own_faults.append(Fault(("key",), "unusable_key", detail, hint, level="warning"))
        faults += [
            fault._replace(path=("config_spec", number, *fault.path)) for fault in own_faults
        ]
    return parameters, faults


def settle_parameters(
    parameters: Sequence[Parameter],
    given: Mapping[str, GivenValue],
    *,
    whose: str,
    missing_at: MissingAt,
    lenient: bool = False,
    also: Iterable[str] = (),
) -> SettledParameters:
    """Check the given values and fill in defaults.

    `whose` is the name of the document in messages. With `lenient`, a valid value replaces a
    missing or invalid value, so that the rest can be checked. `also` lists further names to suggest
    for a misspelled name.
    """
    known = {parameter.key: parameter for parameter in parameters}
    values: dict[str, Any] = {}
    names = list(dict.fromkeys([*known, *also]))
    problems = [
        _undeclared_value(name, value, names, whose)
        for name, value in given.items()
        if name not in known
    ]
    waiting: set[str] = set()
    for name, parameter in known.items():
        value = given.get(name)
        if value is None or value.value is UNKNOWN:
            if value is None and parameter.needs_value and not lenient:
                problems.append(_missing_value(parameter, whose, missing_at))
            if value is not None or parameter.default_value is None:
                waiting.add(name)
            is_null = parameter.default_value is None and parameter.nullable and not lenient
            values[name] = None if is_null else parameter.stand_in
            continue
        try:
            parsed = parameter.parse(value.value) if value.text else value.value
            values[name] = parameter.check(parsed)
        except ValueError as error:
            detail = f"parameter `{name}` of {whose}: {error}"
            problems.append(value.problem(Fault((), "bad_value", detail)))
            values[name] = parameter.stand_in
            waiting.add(name)
    return SettledParameters(values, problems, frozenset(waiting))


def _undeclared_value(name: str, value: GivenValue, names: list[str], whose: str) -> Issue:
    expected = f"expected {quote_names(names)}" if names else "it has no parameters"
    detail = f"{whose} has no parameter `{name}`; {expected}"
    fault = Fault((), "undeclared_parameter", detail, did_you_mean(name, names))
    return locate_fault(fault, value.key_place or value.place, value.field)


def _missing_value(parameter: Parameter, whose: str, missing_at: MissingAt) -> Issue:
    hint = f"set it where the task is used, or with `--set {parameter.key}=…`"
    if whose.startswith("generator "):
        hint = "set it in the `dataset_generator_config` of the dataset"
    detail = f"parameter `{parameter.key}` of {whose} needs a value: a {parameter.takes}"
    return locate_fault(Fault((), "missing_value", detail, hint), *missing_at(parameter.key))
