"""Every importable name: it constructs, dumps, validates, and passes through a snippet."""

import asyncio
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_origin

import pytest
from tests.objects.names_table import (
    ALL,
    CLASSES,
    CONSTANTS,
    ENUMS,
    EXCEPTIONS,
    FUNCTIONS,
    PARENTS,
    TYPES,
)
from tests.snippets.made import Made

from evalwright.objects.fields import check
from evalwright.objects.names import DTYPES, MODULES, find_home, list_names

ROOT = Path(__file__).parents[2]
PAGE = ROOT.parent / "shared" / "spec" / "interface.md"
CORE = "latticeflow.core.dtypes"


def imported(name: str) -> Any:
    home = find_home(CORE, name)
    assert home is not None, name
    return getattr(import_module(f"evalwright.objects.{home}"), name)


def is_inside(part: Any, whole: Any) -> bool:
    """Whether every field of a part is in the whole, which may have more."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and is_inside(value, whole[name]) for name, value in part.items()
        )
    if isinstance(part, list):
        pairs = isinstance(whole, list) and len(part) == len(whole)
        return pairs and all(map(is_inside, part, whole))
    return bool(part == whole)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_class_constructs_dumps_and_validates(name: str) -> None:
    kind, fields = imported(name), CLASSES[name]

    made = kind(**fields)

    dumped = made.model_dump(mode="json")
    assert is_inside(fields, dumped)
    assert json.loads(made.model_dump_json()) == dumped
    assert kind.model_validate(dumped) == kind.model_validate_json(made.model_dump_json()) == made
    assert kind.model_validate(made.model_dump_include_unset()) == made
    assert kind.model_validate(made) is made
    assert made.model_copy(deep=True) == made
    assert (made != made.model_copy(update={"added": 1})) is True
    for field in fields:
        assert made[field] == getattr(made, field)
    assert isinstance(made, imported("LFBaseModel"))
    assert isinstance(made, imported(PARENTS.get(name, "LFBaseModel")))
    assert repr(made)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_class_refuses_what_an_author_gets_wrong_and_keeps_what_a_model_adds(name: str) -> None:
    kind, fields = imported(name), CLASSES[name]

    with pytest.raises(ValueError, match=f"^{kind.__name__}: unknown field `made_up`: expected"):
        kind(**fields, made_up=1)
    assert kind.model_validate({**fields, "made_up": 1}).made_up == 1
    for field in kind._fields:
        hint = kind._fields.hints[field]
        if hint is not Any and Any not in getattr(hint, "__args__", ()):
            with pytest.raises(ValueError, match=rf"{field}|{kind.__name__}"):
                kind.model_validate({**fields, field: object()})


@pytest.mark.parametrize("name", sorted(ENUMS))
def test_an_enum_has_its_members_which_are_text(name: str) -> None:
    kind = imported(name)

    assert {member.name: member.value for member in kind} == ENUMS[name]
    assert all(isinstance(member, str) for member in kind)
    assert [str(member) for member in kind] == list(ENUMS[name].values())


@pytest.mark.parametrize("name", sorted(TYPES))
def test_a_type_is_usable_where_types_are(name: str) -> None:
    hint, (good, bad) = imported(name), TYPES[name]

    assert hint | None
    if good is not None:
        check(good, hint)
    if bad is not None:
        with pytest.raises(ValueError, match=r"expected|missing"):
            check(bad, hint)
    if get_origin(hint) is None and isinstance(hint, type) and hint is not Any:
        assert hint.__name__ == name


@pytest.mark.parametrize("name", sorted(CONSTANTS))
def test_a_constant_has_its_value(name: str) -> None:
    assert imported(name) == CONSTANTS[name]


@pytest.mark.parametrize("name", sorted(EXCEPTIONS))
def test_an_exception_is_raised_with_an_error(name: str) -> None:
    error = imported("TaskResultError")(error_type="x", message="broken")

    assert imported(name)(error).error is error
    assert str(imported(name)("broken")) == "broken"
    assert issubclass(imported(name), Exception)


ROUND_TRIP = """
import json
import latticeflow.assessment.dtypes as old
import latticeflow.core.dtypes as new

def f(name, fields):
    kind = getattr(new, name)
    assert kind is getattr(old, name)
    made = kind(**fields)
    return [made, made.model_dump(mode="json"), kind.model_validate(made.model_dump()) == made]

def g(names):
    return [[name, callable(getattr(new, name))] for name in names]
"""


def test_each_class_passes_through_a_snippet() -> None:
    names = sorted(CLASSES)

    async def work() -> list[Any]:
        async with Made(ROUND_TRIP) as made:
            return await made.f(*([name, CLASSES[name]] for name in names))

    answers = dict(zip(names, asyncio.run(work()), strict=True))

    assert [name for name, answer in answers.items() if isinstance(answer, Exception)] == []
    for name, (encoded, dumped, is_equal) in answers.items():
        kind = imported(name)
        assert is_equal, name
        assert is_inside(CLASSES[name], dumped), name
        assert kind.model_validate(encoded) == kind.model_validate(dumped) == kind(**CLASSES[name])


def test_each_other_name_is_imported_in_a_snippet() -> None:
    names = sorted(ALL - CLASSES.keys())

    async def work() -> Any:
        async with Made(ROUND_TRIP) as made:
            return await made.pool.call("one:g", [names])

    answer = dict(asyncio.run(work()))

    assert sorted(answer) == names
    assert all(answer[name] for name in FUNCTIONS)


def test_the_table_has_every_name_and_the_module_no_unknown_one() -> None:
    # Names that a published class or type refers to, and shorter names of our own.
    more = {
        *("ActionRuleAction", "CertificateValidationContext", "ChatCompletion", "ChatMessage"),
        *("Content", "ExistsRuleDefinition", "ImageDetail", "Item", "OpenResponse"),
        *("PolicyRuleFinegrainedScope", "PolicyRuleSimpleScope", "ScorerPurpose"),
        *("TaskResultErrorStage", "ThresholdRuleDefinition"),
    }

    assert set(list_names(CORE)) == ALL | more
    assert all(imported(name) is not None for name in more)
    assert MODULES["latticeflow.assessment.dtypes"] is DTYPES


@pytest.mark.skipif(not PAGE.exists(), reason="the page of the interface is not here")
def test_the_table_has_every_name_of_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Importable names")[2]
    section = text.partition("\n## ")[0]

    assert set(re.findall(r"^- `(\w+)", section, re.MULTILINE)) == ALL


def test_the_guide_lists_every_name() -> None:
    page = (ROOT / "docs" / "guides" / "snippets.md").read_text(encoding="utf-8")
    table = page.partition("| purpose | names in `dtypes` |\n")[2].partition("\n\n")[0]
    cells = [row.split("|")[2] for row in table.splitlines()[1:]]

    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == list_names(CORE)
    assert all(f"`{name}`" in page for name in list_names("latticeflow.core.experimental.scorers"))


def test_fields_and_defaults_are_those_of_the_page() -> None:
    expected: dict[str, dict[str, Any]] = {
        "MetricData": {
            "metric_type": None,
            "scorer_name": None,
            "scorer_key": None,
            "scorer_purpose": "score",
            "reason": None,
        },
        "OutputTextContent": {"type": "output_text", "annotations": [], "logprobs": None},
        "FieldMetadata": {"display_name": None, "description": None, "primary": True},
        "SampleScore": {"metadata": None, "direct_ios": []},
        "RunEvidence": {"samples": None, "errors": [], "failures": None},
        "ChatCompletionInput": {"response_format": None},
    }

    for name, defaults in expected.items():
        made = imported(name)(
            **{field: value for field, value in CLASSES[name].items() if field not in defaults}
        )
        assert {field: getattr(made, field) for field in defaults} == defaults
