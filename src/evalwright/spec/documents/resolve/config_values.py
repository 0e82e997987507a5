"""Settle the value of each parameter: what was given, or its default.

A value may come from a task specification, a run file, `--config` or `--set`. It remembers where it
was given, so that a problem with it is reported there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from evalwright.spec.documents.checks.build import build_typed
from evalwright.spec.documents.models.parameters import AnyParameter, DatasetParameter, Parameter
from evalwright.spec.documents.resolve.placeholders import can_be_named
from evalwright.spec.documents.yaml.problems import (
    Fault,
    Marks,
    Place,
    did_you_mean,
    locate_fault,
    quote_names,
)
from evalwright.types import Issue

_ANY: Any = AnyParameter
DATASET_PARAMETER = DatasetParameter(type="dataset", key="dataset_key", display_name="Dataset")
"""The parameter of every task that leaves open which dataset it evaluates."""


class UnknownValue:
    """A value that only a run will know."""


UNKNOWN = UnknownValue()


class GivenValue(NamedTuple):
    """A value that somebody gave to a parameter."""

    value: Any
    place: Place
    field: str
    """The dotted path of the value, in the file of the place."""
    text: bool = False
    """It came from the command line: the parameter says what it means."""
    key_place: Place | None = None
    """Where its name stands, if not there too."""


def read_given_values(values: Any, marks: Marks) -> dict[str, GivenValue]:
    """What the `config` of a file gives."""
    return {
        str(name): GivenValue(
            one,
            marks.place(("config", name)),
            f"config.{name}",
            key_place=marks.key_place(("config", name)),
        )
        for name, one in (values.items() if isinstance(values, dict) else ())
    }


class SettledParameters(NamedTuple):
    """The values of all parameters."""

    values: dict[str, Any]
    problems: list[Issue]
    open: frozenset[str]
    """Those for which another legal value only stands in."""


def read_parameters(data: Any) -> tuple[list[Parameter], list[Fault]]:
    """The parameters of a task or an evaluation that are as they should be, and their faults."""
    parameters: list[Parameter] = []
    faults: list[Fault] = []
    declared = data.get("config_spec") if isinstance(data, dict) else None
    for number, one in enumerate(declared if isinstance(declared, list) else []):
        parameter: Parameter | None
        parameter, wrong = build_typed(_ANY, one)
        if parameter is not None:
            parameters.append(parameter)
            wrong = [*parameter.faults(), *_unnamable(parameter.key)]
        faults += [fault._replace(path=("config_spec", number, *fault.path)) for fault in wrong]
    return parameters, faults


def _unnamable(key: str) -> list[Fault]:
    if can_be_named(key):
        return []
    detail = f"no placeholder can name the parameter `{key}`"
    hint = "use letters, digits, `_` and `-` only"
    return [Fault(("key",), "unusable_key", detail, hint, level="warning")]


TypeAdapter(_ANY)  # its classes are complete


def settle_parameters(
    parameters: Sequence[Parameter],
    given: Mapping[str, GivenValue],
    *,
    whose: str,
    missing_at: Callable[[str], tuple[Place, str]],
    lenient: bool = False,
    also: Iterable[str] = (),
) -> SettledParameters:
    """Check what was given, and fill in what was not.

    `whose` names the document in messages; `missing_at` says where, and under which field, a
    parameter's value is missed.
    With `lenient`, a value that is missing or wrong is stood in for by a legal one, so that the
    rest can be checked. `also` are names that are legal in the place of those parameters.
    """
    known = {parameter.key: parameter for parameter in parameters}
    values: dict[str, Any] = {}
    problems = [
        _undeclared(name, one, list(dict.fromkeys([*known, *also])), whose)
        for name, one in given.items()
        if name not in known
    ]
    waiting: set[str] = set()
    for name, parameter in known.items():
        one = given.get(name)
        if one is None or isinstance(one.value, UnknownValue):
            if one is None and parameter.needs_value and not lenient:
                problems.append(_missing(parameter, whose, missing_at))
            if one is not None or parameter.default_value is None:
                waiting.add(name)
            is_null = parameter.default_value is None and parameter.nullable and not lenient
            values[name] = None if is_null else parameter.stand_in
            continue
        try:
            value = parameter.parse(one.value) if one.text else one.value
            values[name] = parameter.check(value)
        except ValueError as error:
            problems.append(_bad(name, one, str(error), whose))
            values[name] = parameter.stand_in
            waiting.add(name)
    return SettledParameters(values, problems, frozenset(waiting))


def _undeclared(name: str, one: GivenValue, names: list[str], whose: str) -> Issue:
    expected = f"expected {quote_names(names)}" if names else "it has none"
    detail = f"{whose} has no parameter `{name}`; {expected}"
    at_key = one._replace(place=one.key_place or one.place)
    return problem_with_value(
        at_key, Fault((), "undeclared_parameter", detail, did_you_mean(name, names))
    )


def _bad(name: str, one: GivenValue, message: str, whose: str) -> Issue:
    return problem_with_value(
        one, Fault((), "bad_value", f"parameter `{name}` of {whose}: {message}")
    )


def problem_with_value(one: GivenValue, fault: Fault) -> Issue:
    """What is wrong with a value, where it was given."""
    return locate_fault(fault, one.place, one.field)


def _missing(
    parameter: Parameter, whose: str, missing_at: Callable[[str], tuple[Place, str]]
) -> Issue:
    place, field = missing_at(parameter.key)
    hint = f"give it where the task is used, or with `--set {parameter.key}=…`"
    if whose.startswith("generator "):
        hint = "give it in the `dataset_generator_config` of the dataset"
    detail = f"parameter `{parameter.key}` of {whose} needs a value: a {parameter.takes}"
    return locate_fault(Fault((), "missing_value", detail, hint), place, field)
