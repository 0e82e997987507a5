"""Every table of the format: fields, defaults, legal words and keys, part by part."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from tests.spec.documents.made import DATASET, project, told
from tests.spec.documents.tables import METRICS, PARAMETERS, SCORERS, SOLVERS, TABLES, TASKS, Table

from evalwright.components import ComponentUnion
from evalwright.metrics.base import AnyMetric
from evalwright.rules.filters import AnyFilter
from evalwright.scorers.base import AnyScorer
from evalwright.solvers.base import AnySolver
from evalwright.solvers.builders import InputBuilder
from evalwright.solvers.multi_turn_solver import InLoop, MessageBuilder
from evalwright.spec.documents.models.parameters import AnyParameter
from evalwright.spec.documents.models.task import BenchmarkTask, TaskDocument
from evalwright.types import Issue

Rows = list[Any]


def every(fields: Callable[[Table], Any], tables: dict[str, Table] = TABLES) -> Rows:
    """A case for each of these fields of each part."""
    return [
        pytest.param(table, field, id=f"{name}: {field}")
        for name, table in tables.items()
        for field in fields(table)
    ]


def parts(tables: dict[str, Table]) -> Rows:
    return [pytest.param(table, id=name) for name, table in tables.items()]


def mistakes(table: Table, fields: dict[str, Any]) -> list[tuple[tuple[Any, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        table.kind.model_validate(fields)
    return [(error["loc"], error["type"]) for error in caught.value.errors()]


@pytest.mark.parametrize("table", parts(TABLES))
def test_a_part_has_the_fields_of_its_table_and_no_others(table: Table) -> None:
    assert set(table.kind.model_fields) == {*table.least, *table.defaults}
    assert mistakes(table, {**table.least, "colour": "red"}) == [(("colour",), "extra_forbidden")]


@pytest.mark.parametrize(("table", "field"), every(lambda table: table.least))
def test_a_required_field_is_missed(table: Table, field: str) -> None:
    rest = {name: value for name, value in table.least.items() if name != field}

    assert mistakes(table, rest) == [((field,), "missing")]


@pytest.mark.parametrize("table", parts(TABLES))
def test_an_editor_knows_what_is_required(table: Table) -> None:
    schema = Draft202012Validator(table.kind.model_json_schema())

    assert schema.is_valid(table.least)
    assert not schema.is_valid({**table.least, "colour": "red"})
    for field in table.least:
        rest = {name: value for name, value in table.least.items() if name != field}
        assert not schema.is_valid(rest)


@pytest.mark.parametrize(("table", "field"), every(lambda table: table.defaults))
def test_a_field_that_is_left_out_has_its_default(table: Table, field: str) -> None:
    found = getattr(table.kind.model_validate(table.least), field)

    assert found == table.defaults[field]
    assert type(found) is type(table.defaults[field])


def legal(schema: Any) -> Iterator[str]:
    """The words that a part of a schema lists."""
    if isinstance(schema, dict):
        yield from schema.get("enum", [])
        yield from [schema["const"]] if "const" in schema else []
        for one in schema.values():
            yield from legal(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from legal(one)


@pytest.mark.parametrize(("table", "field"), every(lambda table: table.words))
def test_a_field_knows_these_words_and_no_others(table: Table, field: str) -> None:
    listed = isinstance(table.defaults.get(field), list)
    for word in table.words[field]:
        made = table.kind.model_validate({**table.least, field: [word] if listed else word})
        assert getattr(made, field) == ([word] if listed else word)

    for other in (f"{table.words[field][0]}s", table.words[field][0].upper(), ""):
        at, *_ = mistakes(table, {**table.least, field: [other] if listed else other})
        assert at[0][0] == field
    schema = table.kind.model_json_schema()
    schema = schema if "properties" in schema else schema["$defs"][table.kind.__name__]
    assert set(legal(schema["properties"][field])) == {*table.words[field]}


@pytest.mark.parametrize("good", [True, False], ids=["legal", "refused"])
@pytest.mark.parametrize(("table", "field"), every(lambda table: table.keys))
def test_a_key_of_the_authors_own(table: Table, field: str, *, good: bool) -> None:
    """`^[a-zA-Z0-9_\\-]+$`, from 1 to 250 characters."""
    if good:
        for key in ("k", "azAZ09_-", "_", "-", "7", "k" * 250):
            assert getattr(table.kind.model_validate({**table.least, field: key}), field) == key
        return
    for other in ("", "k" * 251, "a b", "a.b", "a$b", "a/b", "ä", "k\n", 7):
        assert mistakes(table, {**table.least, field: other})[0][0] == (field,)


@pytest.mark.parametrize(
    ("table", "field"),
    every(lambda table: [name for name, one in table.defaults.items() if isinstance(one, bool)]),
)
def test_what_is_on_or_off_may_be_written_in_the_older_ways(table: Table, field: str) -> None:
    for word, value in {"yes": True, "On": True, "no": False, "OFF": False, True: True}.items():
        assert getattr(table.kind.model_validate({**table.least, field: word}), field) is value
    for other in ("maybe", 1, None, ""):
        assert mistakes(table, {**table.least, field: other})[0][0] == (field,)


def members(union: Any) -> set[Any]:
    """The classes of an annotated union."""
    for part in get_args(union):
        if isinstance(part, ComponentUnion):
            union = part.annotation()
    one_of = get_args(get_args(union)[0])
    return {get_args(one)[0] if get_args(one) else one for one in one_of}


@pytest.mark.parametrize(
    ("union", "names"),
    [
        pytest.param(AnyParameter, [*PARAMETERS], id="parameters"),
        pytest.param(InputBuilder, ["chat_completion", "generic"], id="input builders"),
        pytest.param(
            MessageBuilder,
            ["chat_message", "generate", "generate_message", "loop", "load_trace"],
            id="message builders",
        ),
        pytest.param(
            InLoop, ["chat_message", "generate", "generate_message", "loop"], id="inside a loop"
        ),
        pytest.param(AnyFilter, ["unary filter", "comparison", "membership"], id="filters"),
    ],
)
def test_where_one_of_several_may_stand_it_is_one_of_these(union: Any, names: list[str]) -> None:
    assert members(union) == {TABLES[name].kind for name in names}


@pytest.mark.parametrize(
    ("union", "names"),
    [
        pytest.param(
            AnySolver,
            [
                *("single_turn_solver", "multi_turn_solver", "pass_through_solver"),
                *("python solver", "grouped_single_turn_solver"),
            ],
            id="solvers",
        ),
        pytest.param(AnyScorer, [*SCORERS], id="scorers"),
        pytest.param(AnyMetric, [*METRICS], id="metrics"),
    ],
)
def test_components_of_the_tables_are_those_of_documents(union: Any, names: list[str]) -> None:
    """Built-ins that no table of the contract has may be beside them."""
    assert {TABLES[name].kind for name in names} <= members(union)


@pytest.mark.parametrize("metric", parts(METRICS))
@pytest.mark.parametrize("scorer", parts(SCORERS))
def test_every_scorer_takes_every_metric(scorer: Table, metric: Table) -> None:
    made: Any = scorer.kind.model_validate({**scorer.least, "metrics": [metric.least]})

    assert [type(one) for one in made.metrics] == [metric.kind]


HEAD = "key: t\ndisplay_name: T\ndescription: D\n"
DATA = "  dataset: {key: countries}\n"
SOLVER = "  solver: {type: pass_through_solver, trace_column: trace}\n"
WHOLE = f"{HEAD}definition:\n{DATA}{SOLVER}"


def read(folder: Path, text: str, **files: str) -> tuple[list[Issue], TaskDocument | None]:
    more = {f"tasks/{name.replace('__', '.')}": one for name, one in files.items()}
    written = {"tasks/t.yaml": text, "datasets/d.yaml": DATASET, **more}
    made = project(folder, written, "tasks/t.yaml")
    documents = [one.document for one in made.tasks.values()]
    return made.problems, documents[0] if documents else None


def benchmark(folder: Path, text: str, **files: str) -> BenchmarkTask:
    problems, document = read(folder, text, **files)

    assert problems == []
    assert document is not None
    assert isinstance(document.definition, BenchmarkTask)
    return document.definition


@pytest.mark.parametrize("field", [*TASKS["task"].least])
def test_what_a_task_lacks_is_told_by_its_name(tmp_path: Path, field: str) -> None:
    text = "".join(
        line
        for line in WHOLE.splitlines(keepends=True)
        if not line.startswith(f"{field}:") and (field != "definition" or line[0] != " ")
    )
    (problem,) = read(tmp_path, text)[0]

    assert (problem.rule, problem.field, problem.level) == ("missing_key", field, "error")
    assert problem.detail == f"`{field}` is missing"


@pytest.mark.parametrize(
    ("key", "rules"),
    [
        pytest.param("k" * 250, [], id="250 characters"),
        pytest.param("k" * 251, ["bad_value"], id="251 characters"),
        pytest.param("a key", ["bad_key"], id="a space"),
        pytest.param("'a$key'", ["bad_key"], id="a dollar"),
        pytest.param("''", ["bad_value"], id="nothing"),
    ],
)
def test_the_key_of_a_task_is_checked_in_its_document(
    tmp_path: Path, key: str, rules: list[str]
) -> None:
    problems, _ = read(tmp_path, WHOLE.replace("key: t", f"key: {key}", 1))

    assert [(one.rule, one.field) for one in problems] == [(rule, "key") for rule in rules]


def test_a_name_that_is_shown_is_not_empty(tmp_path: Path) -> None:
    problems, _ = read(tmp_path, WHOLE.replace("display_name: T", "display_name: ''"))

    assert told(problems) == [("t.yaml", 2, "bad_value", "display_name")]


def test_a_long_description_is_kept_as_the_markdown_that_it_is(tmp_path: Path) -> None:
    text = WHOLE.replace("definition:", "long_description: !include about.md\ndefinition:")
    problems, document = read(tmp_path, text, about__md="# About\n\n* one\n* two\n")

    assert problems == []
    assert document is not None
    assert document.long_description == "# About\n\n* one\n* two"


def test_tags_and_ml_tasks_are_kept_in_their_order(tmp_path: Path) -> None:
    text = WHOLE.replace("definition:", "tags: [b, a]\ntasks: [custom, embeddings]\ndefinition:")
    problems, document = read(tmp_path, text)

    assert problems == []
    assert document is not None
    assert (document.tags, document.tasks) == (["b", "a"], ["custom", "embeddings"])


@pytest.mark.parametrize("table", parts(PARAMETERS))
def test_a_task_takes_every_kind_of_parameter(tmp_path: Path, table: Table) -> None:
    written = ", ".join(f"{name}: {value}" for name, value in table.least.items())
    problems, document = read(
        tmp_path, WHOLE.replace("definition:", f"config_spec: [{{{written}}}]\ndefinition:")
    )

    assert problems == []
    assert document is not None
    assert [type(one) for one in document.config_spec] == [table.kind]


@pytest.mark.parametrize("table", parts(PARAMETERS))
def test_a_parameter_may_be_null_only_if_it_says_so(table: Table) -> None:
    made: Any = table.kind.model_validate(table.least)
    nullable: Any = table.kind.model_validate({**table.least, "nullable": True})

    assert (made.needs_value, nullable.needs_value) == (True, False)
    assert nullable.check(None) is None
    with pytest.raises(ValueError, match="got `null`"):
        made.check(None)


@pytest.mark.parametrize("field", ["key", "display_name"])
@pytest.mark.parametrize("table", parts(PARAMETERS))
def test_a_parameter_has_a_name_and_a_key_that_are_not_empty(table: Table, field: str) -> None:
    assert mistakes(table, {**table.least, field: ""}) == [((field,), "string_too_short")]


@pytest.mark.parametrize(
    ("word", "good", "bad"),
    [
        ("string", "a", 1),
        ("integer", 1, 1.5),
        ("float", 0.5, "0.5"),
        ("boolean", True, 1),
    ],
)
def test_lists_and_mappings_hold_values_of_one_kind(word: str, good: Any, bad: Any) -> None:
    one_kind: Any = PARAMETERS["list parameter"]
    listed = one_kind.kind.model_validate({**one_kind.least, "dtype": word})
    one_kind = PARAMETERS["dict parameter"]
    mapped = one_kind.kind.model_validate({**one_kind.least, "value_dtype": word})

    assert listed.check([good, good]) == [good, good]
    assert mapped.check({"a": good}) == {"a": good}
    with pytest.raises(ValueError, match="item 2: expected"):
        listed.check([good, bad])
    with pytest.raises(ValueError, match="`a`: expected"):
        mapped.check({"a": bad})


@pytest.mark.parametrize(
    ("multiple", "chosen", "used"),
    [
        (False, "low", 0),
        (False, "half", 0.5),
        (False, "on", True),
        (False, "word", "text"),
        (False, "plain", "plain"),
        (True, ["low", "plain"], [0, "plain"]),
        (True, [], []),
    ],
)
def test_a_category_is_translated_by_its_mapping(chosen: Any, used: Any, *, multiple: bool) -> None:
    table = PARAMETERS["categorical parameter"]
    made: Any = table.kind.model_validate(
        {
            **table.least,
            "allowed_values": ["low", "half", "on", "word", "plain"],
            "values_mapping": {"low": 0, "half": 0.5, "on": True, "word": "text"},
            "multiple": multiple,
        }
    )

    found = made.check(chosen)
    assert found == used
    assert type(found) is type(used)
    with pytest.raises(ValueError, match="expected one of `low`"):
        made.check(["high"] if multiple else "high")


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [("int", [2, 4], [1, 5, 2.0]), ("float", [2, 3.5, 4], [1.9, 4.1])],
)
def test_a_number_has_its_least_and_its_highest_value(
    kind: str, good: list[Any], bad: list[Any]
) -> None:
    table = PARAMETERS[f"{kind} parameter"]
    made: Any = table.kind.model_validate({**table.least, "min": 2, "max": 4})

    assert [made.check(one) for one in good] == good
    for one in bad:
        with pytest.raises(ValueError, match="expected"):
            made.check(one)


@pytest.mark.parametrize(
    "written", ["7", "'7'", "'<< config.n >>'"], ids=["a number", "a text", "a placeholder"]
)
def test_the_fast_subset_is_a_number_or_a_text_and_is_warned_about(
    tmp_path: Path, written: str
) -> None:
    text = WHOLE.replace(
        DATA, f"  dataset: {{key: countries, fast_subset_size: {written}}}\n"
    ).replace(
        "definition:",
        "config_spec: [{type: int, key: n, display_name: N, default_value: 3}]\ndefinition:",
    )
    (problem,) = read(tmp_path, text)[0]

    assert (problem.rule, problem.level) == ("deprecated", "warning")


def test_the_key_of_a_dataset_may_be_a_parameter(tmp_path: Path) -> None:
    text = WHOLE.replace("{key: countries}", "{key: << config.d >>}").replace(
        "definition:",
        "config_spec: [{type: dataset, key: d, display_name: D, default_value: countries}]\n"
        "definition:",
    )

    dataset = benchmark(tmp_path, text).dataset
    assert dataset is not None
    assert dataset.key == "countries"


def test_several_datasets_are_at_least_one(tmp_path: Path) -> None:
    problems, _ = read(tmp_path, WHOLE.replace("{key: countries}", "{keys: []}"))

    assert told(problems) == [("t.yaml", 5, "bad_value", "definition.dataset.keys")]


SNIPPET = "def compute_scores(samples):\n    return [{} for _ in samples]"


@pytest.mark.parametrize("kind", ["python", "python_all_samples"])
def test_a_snippet_may_be_a_parameter(tmp_path: Path, kind: str) -> None:
    spec = "config_spec:\n  - {type: string, string_kind: python, key: code, display_name: C,"
    text = WHOLE.replace(
        "definition:", f"{spec} default_value: !include code.py}}\ndefinition:"
    ) + (f"  scorers: [{{type: {kind}, metrics: [], compute_scores_snippet: << config.code >>}}]\n")

    (scorer,) = benchmark(tmp_path, text, code__py=SNIPPET).scorers
    assert scorer.model_dump()["compute_scores_snippet"] == SNIPPET


def test_a_parameter_stands_inside_a_snippet_too(tmp_path: Path) -> None:
    spec = "config_spec: [{type: string, key: field, display_name: F, default_value: name}]\n"
    text = WHOLE.replace("definition:", f"{spec}definition:") + (
        "  scorers:\n    - {type: python_all_samples, metrics: [],"
        " compute_scores_snippet: !include code.py}\n"
    )
    code = 'field_name = "<< config.field >>"\ndef compute_scores(samples): return []\n'

    (scorer,) = benchmark(tmp_path, text, code__py=code).scorers
    assert 'field_name = "name"' in scorer.model_dump()["compute_scores_snippet"]


def test_a_solver_that_is_named_in_the_format_stands_in_a_task(tmp_path: Path) -> None:
    kinds = ["single_turn_solver", "multi_turn_solver", "pass_through_solver", "python solver"]
    for place, name in enumerate(kinds):
        least = {
            field: str(value) if field.endswith("snippet") else value
            for field, value in SOLVERS[name].least.items()
        }
        text = f"{HEAD}definition:\n{DATA}  solver: {least}\n"

        assert type(benchmark(tmp_path / str(place), text).solver) is SOLVERS[name].kind


def test_a_task_without_scorers_is_one(tmp_path: Path) -> None:
    assert benchmark(tmp_path, WHOLE).scorers == []


# The scorers that ask a model: every property, with a legal value.
COMMON = {
    "key": "k",
    "purpose": "qa",
    "metrics": [{"type": "mean", "field": "x"}],
    "display_name": "K",
}
ASKING = {
    "model_key": "openai$gpt-4-1-nano",
    "system_prompt": "You judge.",
    "user_prompt": "{{ sample.answer }} {{ model_output }} {{ messages[0]['content'] }}",
    "use_structured_outputs": True,
}
JUDGES: dict[str, dict[str, Any]] = {
    "model_as_a_judge_classifier": {
        **ASKING,
        "correct_labels": ["correct"],
        "incorrect_labels": ["incorrect"],
    },
    "model_as_a_judge_scorer": {**ASKING, "score_min": 0.0, "score_max": 1.0},
    "labeler_via_model": {**ASKING, "valid_labels": ["a", "b"]},
}

GIVES = dict(zip(JUDGES, ("is_correct", "score", "label"), strict=True))


@pytest.mark.parametrize("kind", [*JUDGES])
def test_a_judge_takes_every_property_of_its_table(tmp_path: Path, kind: str) -> None:
    counted = {"metrics": [{"type": "frequency", "field": GIVES[kind]}]}
    fields = {**COMMON, **counted, "type": kind, **JUDGES[kind]}

    (scorer,) = benchmark(tmp_path, f"{WHOLE}  scorers: [{fields}]\n").scorers
    assert scorer.model_dump(mode="json", include=set(JUDGES[kind])) == JUDGES[kind]


PARAMETERS_OF_JUDGES = [
    *((kind, "model_key", "string", "openai/gpt-4.1-nano") for kind in JUDGES),
    *((kind, "system_prompt", "string", "You are fair.") for kind in JUDGES),
    *((kind, "user_prompt", "string", "{{ sample.answer }}") for kind in JUDGES),
    ("model_as_a_judge_scorer", "score_min", "float", -1.0),
    ("model_as_a_judge_scorer", "score_max", "float", 5.0),
    ("labeler_via_model", "valid_labels", "list", ["x", "y"]),
    ("model_as_a_judge_classifier", "correct_labels", "list", ["yes"]),
    ("model_as_a_judge_classifier", "incorrect_labels", "list", ["no"]),
]


@pytest.mark.parametrize(
    ("kind", "field", "dtype", "value"),
    [pytest.param(*one, id=f"{one[0]}: {one[1]}") for one in PARAMETERS_OF_JUDGES],
)
def test_a_field_of_a_judge_may_be_a_parameter(
    tmp_path: Path, kind: str, field: str, dtype: str, value: Any
) -> None:
    inner = ", dtype: string" if dtype == "list" else ""
    declared = f"type: {dtype}{inner}, key: p, display_name: P, default_value: {value!r}"
    spec = f"config_spec: [{{{declared}}}]\n"
    fields = {"type": kind, **JUDGES[kind], field: "<< config.p >>"}
    text = WHOLE.replace("definition:", f"{spec}definition:") + f"  scorers: [{fields}]\n"

    (scorer,) = benchmark(tmp_path, text).scorers
    assert scorer.model_dump(mode="json")[field] == value
