"""The plugin of pytest and `@ew.test`, in a pytest of their own inside this one."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion.rewrite import AssertionRewriter

import evalwright as ew
from evalwright import api

pytest_plugins = ["pytester"]
INNER = ("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", "-W", "error")
TASK = """\
import pytest
import evalwright as ew

ROWS = [{"country": "France", "city": "Paris"}, {"country": "Italy", "city": "Rome"}]


@ew.scorer
def mentions_city(sample, output) -> bool:
    return sample["city"] in output


task = ew.Task("capitals", ROWS, prompt="Capital of {country}?", scorers=[mentions_city])


def count_request():
    with open("requests", "a") as file:
        file.write("x")
"""
TESTS = """
@ew.test(task, min_mean=0.8)
async def test_of_a_model(prompt):
    count_request()
    return "باريس <b>Paris</b>"


@pytest.fixture
def suffix():
    return " or Rome"


@ew.test(task, min_mean=0.8)
def test_of_a_model_with_a_fixture(messages, suffix):
    count_request()
    return "Paris" + suffix


@ew.test(task, models="scripted/echo", min_mean=0)
def test_of_a_report(report, tmp_path):
    assert report["capitals"].mean == 0
    assert tmp_path.is_dir()


@ew.test(task, models="scripted/echo")
async def test_of_a_report_in_a_coroutine(report):
    assert report["capitals"].mean > 0.5


class TestInClass:
    @ew.test(task, min_mean=0.5)
    @pytest.mark.filterwarnings("error")
    def test_method(self, prompt):
        return "Paris"


def break_down(prompt):
    raise RuntimeError("the server is down")


@ew.test(task, models=[break_down])
def test_of_failed_samples():
    raise AssertionError("not reached")
"""


@pytest.fixture(scope="module", autouse=True)
def _modules(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Import everything now: a pytest inside a test forgets the modules that it has imported."""
    folder = tmp_path_factory.mktemp("modules")
    write_project(folder)
    api.list_tasks(folder / "tasks" / "check.yaml")
    exec(TASK, space := dict[str, Any]())  # noqa: S102 - the file of the tests below

    def test_answer(prompt: str = "") -> str:
        return prompt

    ew.test(space["task"])(test_answer)()
    for path in ("tasks/check.yaml", "tasks/records.jsonl"):
        models = "scripted/echo" if path.endswith(".jsonl") else ()
        report = ew.run(folder / path, models, store="memory:")
        with suppress(AssertionError):
            api.check_report(report, min_mean=0.9)


@pytest.fixture
def inner(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a pytest whose tests cannot see those of this one."""
    pytester.makeini("[pytest]")
    return pytester


def test_a_decorated_function_fails_with_the_interval_and_the_worst_samples(
    inner: pytest.Pytester,
) -> None:
    inner.makepyfile(TASK + TESTS)

    result = inner.runpytest_inprocess(*INNER)

    result.assert_outcomes(passed=3, failed=3)
    text = result.stdout.str()
    for line in (
        "capitals, test_of_a_model: mentions_city, score_mean: 0.500 < 0.800, but the interval",
        " reaches up to 0.905; over 2 samples",
        "    input: Capital of Italy?",
        "    output: باريس <b>Paris</b>",
        "    mentions_city: score False",
        'assert report["capitals"].mean > 0.5',
        "capitals, break_down: 2 samples failed: the server is down",
        "    failed: the server is down",
    ):
        assert line in text, line
    assert "Capital of France?" not in text.partition("test_of_failed_samples")[0]
    assert "not reached" not in text


def test_a_second_run_requests_nothing(inner: pytest.Pytester) -> None:
    inner.makepyfile(TASK + TESTS)
    selection = (*INNER, "-k", "test_of_a_model")

    inner.runpytest_inprocess(*selection)
    first = len((inner.path / "requests").read_text())
    inner.runpytest_inprocess(*selection).assert_outcomes(passed=1, failed=1, deselected=4)

    assert first == 4
    assert len((inner.path / "requests").read_text()) == 4


def test_failed_samples_are_requested_again(inner: pytest.Pytester) -> None:
    inner.makepyfile(
        TASK
        + """
import os

@ew.test(task, min_mean=0.5)
def test_of_a_model(prompt):
    count_request()
    if "Italy" in prompt and not os.path.exists("up"):
        raise RuntimeError("down")
    return "Paris"
"""
    )

    inner.runpytest_inprocess(*INNER).assert_outcomes(failed=1)
    (inner.path / "up").touch()
    inner.runpytest_inprocess(*INNER).assert_outcomes(passed=1)

    assert len((inner.path / "requests").read_text()) == 3


RECORD = {
    "category": "arithmetic",
    "prompt": "2 + 2",
    "targets": ["4"],
    "metric_name": "exact_match",
    "post_process": "none",
}
DOCUMENT = """\
key: KEY
display_name: Capitals
description: D
definition:
  dataset: { key: capitals }
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{ role: user, content: "{{ sample.city }}" }]
  scorers: [{ type: string_equals, ground_truth: "{{ sample.target }}" }]
"""
CHECK = """\
key: check
display_name: Check
description: D
definition:
  evaluated_entity_type: dataset
  dataset: { key: capitals }
  scorers: [{ type: string_equals, value: "{{ sample.city }}", ground_truth: Rome }]
"""
DATASET = """\
key: capitals
display_name: Capitals
source:
  type: inline
  samples: [{ city: Rome, target: Rome }, { city: Paris, target: London }]
"""
RUN = """\
evaluation:
  key: e
  display_name: E
  task_specifications:
    - { key: first, task_key: capitals, model_key: scripted/echo }
    - { key: second, task_key: check }
policies:
  - key: release
    rules:
      - key: accurate
        definition: { type: threshold, metric: is_correct_mean, operator: ">=", threshold: 0.9 }
        scope: { task_specification_keys: [second] }
"""
TEMPLATE = """\
config_spec: [{ type: string, key: field, display_name: Field }]
"""


def write_project(folder: Path) -> None:
    files = {
        "tasks/capitals.yaml": DOCUMENT.replace("KEY", "capitals"),
        "tasks/check.yaml": CHECK,
        "tasks/template.yaml": DOCUMENT.replace("KEY", "template") + TEMPLATE,
        "tasks/records.jsonl": json.dumps({"task_id": "a", **RECORD}),
        "tasks/rows.jsonl": '{"question": "not a record"}',
        "datasets/capitals.yaml": DATASET,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_task_files_are_items(inner: pytest.Pytester) -> None:
    write_project(inner.path)
    (inner.path / "other" / "tasks").mkdir(parents=True)
    (inner.path / "other" / "tasks" / "broken.yaml").write_text("key: [")
    options = ("--evalwright", "-v", "--evalwright-model", "scripted/echo", "tasks", "other")

    result = inner.runpytest_inprocess(*INNER, *options, "--evalwright-min-mean", "0.4")

    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "other/tasks/broken.yaml::broken FAILED*",
            "tasks/capitals.yaml::capitals PASSED*",
            "tasks/check.yaml::check PASSED*",
            "tasks/records.jsonl::records FAILED*",
            "*record, mean: 0.000 < 0.400, but the interval reaches up to 0.793; over 1 sample",
        ]
    )
    assert len(ew.runs()) == 3


def test_a_run_file_is_run_once_and_its_policies_are_judged_task_by_task(
    inner: pytest.Pytester,
) -> None:
    write_project(inner.path)
    (inner.path / "run.yaml").write_text(RUN)

    result = inner.runpytest_inprocess(*INNER, "--evalwright", "-v", "-k", "not records")

    result.assert_outcomes(passed=1, failed=1, deselected=1)
    result.stdout.fnmatch_lines(
        [
            "run.yaml::first PASSED*",
            "run.yaml::second FAILED*",
            "  second: policy release/accurate, is_correct_mean >= 0.9: 0.500 < 0.900*",
        ]
    )
    assert len(ew.runs()) == 1


def test_a_task_without_a_model_says_which_option_names_one(inner: pytest.Pytester) -> None:
    write_project(inner.path)

    result = inner.runpytest_inprocess(*INNER, "--evalwright", "tasks/capitals.yaml")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no model is set; add `--evalwright-model MODEL`*"])


def test_without_its_option_the_plugin_collects_nothing(inner: pytest.Pytester) -> None:
    write_project(inner.path)

    result = inner.runpytest_inprocess(*INNER, "tasks")

    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_program_may_import_the_package_before_it_starts_pytest() -> None:
    """pytest rewrites the assertions of installed plugins, and warns if it cannot."""
    assert AssertionRewriter.is_rewrite_disabled(ew.__doc__ or "")


def test_the_plugin_is_light() -> None:
    """Every pytest of an environment imports it."""
    code = "import pytest, sys; before = set(sys.modules); import evalwright.pytest_plugin; "
    shown = subprocess.run(
        [sys.executable, "-c", f"{code} print(*set(sys.modules) - before)"],
        check=True,
        capture_output=True,
        text=True,
    )

    assert all(name.startswith("evalwright") for name in shown.stdout.split()), shown.stdout
    assert len(shown.stdout.split()) < 6
