import asyncio
import json
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator

from evalwright.api.files import STARTER, starter_files
from evalwright.clients.scripted import SCRIPTS, Scripted
from evalwright.components import snippets_in
from evalwright.ports import Case
from evalwright.scorers.function_call_coverage import FunctionCallCoverage
from evalwright.spec.documents.models.dataset import DatasetDocument, open_dataset
from evalwright.spec.documents.models.model import ModelDocument
from evalwright.spec.documents.models.schema import json_schema
from evalwright.spec.documents.models.task import TaskDocument
from evalwright.spec.documents.yaml.reader import read_document
from evalwright.types import Sample, Trace

YAML = [name for name, _ in starter_files() if name.endswith(".yaml")]
TASKS = [name for name in YAML if name.startswith("tasks/")]


def kind_of(name: str) -> Literal["task", "dataset", "model", "run"]:
    folder = name.rpartition("/")[0]
    kinds: dict[str, Literal["task", "dataset", "model", "run"]] = {
        "tasks": "task",
        "datasets": "dataset",
        "models": "model",
        "": "run",
    }
    return kinds[folder]


def read(name: str) -> Any:
    document = read_document(STARTER / name, environment={})

    assert document.problems == []
    return document.data


def snippet(name: str) -> Any:
    found = spec_from_file_location("snippet", STARTER / name)
    assert found
    assert found.loader
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def rows(name: str, folder: Path) -> list[dict[str, Any]]:
    document = DatasetDocument.model_validate(read(f"datasets/{name}.yaml"))
    return list(open_dataset(document, cache_dir=folder).rows())


def said(*texts: str) -> str:
    body = json.dumps({"messages": [{"role": "user", "content": text} for text in texts]})
    answer = json.loads(snippet("models/responder.py").run_inference(body, {}))
    return str(answer["choices"][0]["message"]["content"])


def strings(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for value in data.values():
            yield from strings(value)
    elif isinstance(data, list):
        for value in data:
            yield from strings(value)
    elif isinstance(data, str):
        yield data


def test_nothing_but_its_files_is_written() -> None:
    names = [name for name, _ in starter_files()]

    assert {"run.yaml", "README.md", "models/responder.py", "datasets/capitals.csv"} <= set(names)
    assert all("__pycache__" not in name for name in names)
    assert names == sorted(names)


@pytest.mark.parametrize("name", YAML)
def test_the_first_line_tells_an_editor_the_schema(name: str) -> None:
    first = (STARTER / name).read_text(encoding="utf-8").splitlines()[0]
    above = "../" if "/" in name else ""

    assert first == (
        f"# yaml-language-server: $schema={above}.evalwright/schemas/{kind_of(name)}.json"
    )


@pytest.mark.parametrize("name", YAML)
def test_a_document_reads_without_a_problem(name: str) -> None:
    assert isinstance(read(name), dict)


@pytest.mark.parametrize("name", YAML)
def test_a_document_fits_the_schema_that_it_names(name: str) -> None:
    schema = json_schema(kind_of(name))

    assert list(Draft202012Validator(schema).iter_errors(read(name))) == []


def test_the_run_names_every_document_and_nothing_else() -> None:
    data = read("run.yaml")
    keys = {kind: [one["key"] for one in data[kind]] for kind in ("models", "datasets", "tasks")}
    listed = {f"{kind}/{key}.yaml" for kind in keys for key in keys[kind]}
    specifications = data["evaluation"]["task_specifications"]

    assert listed == {name for name in YAML if "/" in name}
    assert [one["task_key"] for one in specifications] == keys["tasks"]
    assert {one["model_key"] for one in specifications if "model_key" in one} == {"responder"}
    assert {one["dataset_key"] for one in specifications if "dataset_key" in one} == {"customers"}


def test_there_is_a_task_of_every_kind() -> None:
    definitions = [read(name)["definition"] for name in TASKS]
    solvers = [one.get("solver", {}) for one in definitions]

    assert {one["type"] for one in definitions} == {"benchmark_task", "system_task"}
    assert {one.get("evaluated_entity_type") for one in definitions} == {"model", "dataset", None}
    assert {one["type"] for one in solvers if one} == {
        "single_turn_solver",
        "multi_turn_solver",
        "python",
        "pass_through_solver",
    }
    assert {one["input_builder"]["type"] for one in solvers if "input_builder" in one} == {
        "chat_completion",
        "generic",
    }
    assert {scorer["type"] for one in definitions for scorer in one.get("scorers", ())} == {
        "string_equals",
        "python",
        "python_all_samples",
        "function_call_coverage",
    }


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_a_task(name: str) -> None:
    task = TaskDocument.model_validate(read(name))

    assert task.key == Path(name).stem


def test_the_model_is_a_function() -> None:
    model = ModelDocument.model_validate(read("models/responder.yaml"))

    assert len(list(snippets_in(model))) == 1


@pytest.mark.parametrize(
    ("name", "first", "count"),
    [
        pytest.param(
            "capitals",
            {"sample_id": "fr", "country": "France", "capital": "Paris", "disputed": False},
            6,
            id="capitals",
        ),
        pytest.param(
            "sums",
            {"sample_id": "small", "question": "What is 2 + 3?", "target": "5"},
            5,
            id="sums",
        ),
        pytest.param("counting", {"sample_id": "near", "start": 3, "last": 5}, 2, id="counting"),
        pytest.param(
            "customers",
            {"sample_id": "c1", "name": "Ada", "email": "ada@example.org"},
            5,
            id="customers",
        ),
    ],
)
def test_a_dataset_has_its_rows(
    tmp_path: Path, name: str, first: dict[str, Any], count: int
) -> None:
    found = rows(name, tmp_path)

    assert found[0] == first
    assert len(found) == count


@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        (["What is the capital of Peru?"], "Lima"),
        (["What is the capital of Australia?"], "Sydney"),
        (["What is the capital of Bolivia?"], "La Paz"),
        (["What is 17 + 25?"], "42"),
        (["What is -4 + 9?"], "5"),
        (["What is two plus two?"], "I do not know"),
        (["Please count from 6, one number at a time."], "6"),
        (["6", "And the next one, after 6?"], "7"),
        (["9", "And the next one, after 9?"], "10 done"),
        (["Sydney", "Are you sure? Answer with the name of the city alone."], "Canberra"),
        (["Lima", "Are you sure? Answer with the name of the city alone."], "Lima"),
    ],
)
def test_the_responder_answers_by_rule(texts: list[str], answer: str) -> None:
    assert said(*texts) == answer


def test_the_snippets_of_the_dataset_tasks_find_the_gap_and_the_duplicate(tmp_path: Path) -> None:
    customers = rows("customers", tmp_path)
    unique = snippet("tasks/uniqueness.py")
    unique.FIELD = "email"
    names: dict[str, Any] = {}
    source = next(text for text in strings(read("tasks/completeness.yaml")) if "def " in text)
    exec(source.replace("<< config.field >>", "email"), names)  # noqa: S102 - our own snippet

    assert [one["is_unique"] for one in unique.compute_scores(customers)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert [names["compute_scores"](row)["is_present"] for row in customers] == [
        True,
        True,
        False,
        True,
        True,
    ]


def test_a_missing_value_may_also_be_nan() -> None:
    names: dict[str, Any] = {}
    source = next(text for text in strings(read("tasks/completeness.yaml")) if "def " in text)
    exec(source.replace("<< config.field >>", "email"), names)  # noqa: S102 - our own snippet

    assert names["compute_scores"]({"email": float("nan")}) == {"is_present": False}


def test_the_system_task_gives_one_metric_with_its_reason() -> None:
    evidence = snippet("tasks/interpreter.py").compute_evidence()

    assert list(evidence) == ["metrics"]
    assert evidence["metrics"]["recent enough"]["value"] == 1
    assert "Python 3." in evidence["metrics"]["recent enough"]["reason"]


def test_the_recorded_conversations_lack_one_call(tmp_path: Path) -> None:
    [fields] = read("tasks/tool-use.yaml")["definition"]["scorers"]
    scorer = FunctionCallCoverage.model_validate(fields)
    found = []
    for row in rows("traces", tmp_path):
        trace = Trace(input="", output="", post_processed="", conversation=row["trace"])
        model = Scripted("echo", SCRIPTS["echo"])
        case = Case(sample=Sample(row["sample_id"], row), model=model, answer=trace)
        found.append(asyncio.run(scorer.score(case)))

    assert [one.correct for one in found] == [True, False, True]
    assert found[1].reason == "not called: 'book'"
