"""Assessment plans, repeatability of other evaluations, and projects inside projects."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, report_of
from tests.e2e.projects import SOLVER, run_file, task, write_project, write_rows
from tests.servers.model_server import ModelServer, chat

SCORERS = '  scorers: [{type: string_equals, ground_truth: "{{ sample.answer }}"}]\n'
ASKED = "{key: ask, task_key: ask, model_key: openai$x}"
QUICK = """\
key: quick
display_name: Quick
config_spec: [{type: int, key: count, display_name: Count, default_value: 1}]
task_specifications:
  - {key: ask, task_key: ask, model_key: openai/x, num_samples: << config.count >>}
"""
PLAN = """\
key: release
display_name: Release check
evaluation_specifications:
  - {key: short, evaluation_key: quick, evaluation_config: {count: 2}}
  - {key: long, evaluation_key: quick, evaluation_config: {count: 4}}
  - {evaluation_key: whole, evaluation_run_config: {num_samples: 3}}
"""
ROWS = [{"question": f"q{number}", "answer": "4"} for number in range(5)]


def named_run_file(key: str, specification: str = ASKED) -> str:
    """A run file whose evaluation has this key."""
    return run_file(specification).replace("key: whole\n", f"key: {key}\n")


def release(folder: Path, **files: str) -> Path:
    """A project with an evaluation in `evaluations/` and one in a run file."""
    write_rows(folder, ROWS)
    documents = {
        "tasks__ask": task(SOLVER + SCORERS),
        "evaluations__quick": QUICK,
        "whole": run_file("{key: whole-ask, task_key: ask, model_key: openai$x}"),
        "plan": PLAN,
    }
    return write_project(folder, **{**documents, **files})


def counts(report: Any) -> dict[str, int]:
    """The number of samples per task."""
    return {metric["task"]: metric["n"] for metric in report["metrics"]}


def test_a_plan_runs_its_evaluations_with_their_values(tmp_path: Path) -> None:
    release(tmp_path)
    with ModelServer(chat("4")) as server:
        checked = evalwright(server, "validate", "plan.yaml", cwd=tmp_path)
        done = evalwright(server, "run", "plan.yaml", "--json", cwd=tmp_path)
        again = evalwright(server, "run", "plan.yaml", "--json", cwd=tmp_path)

    assert checked.returncode == 0, checked.stdout
    assert counts(report_of(done)) == {"short-ask": 2, "long-ask": 4, "whole-ask": 3}
    assert report_of(again)["metrics"] == report_of(done)["metrics"]
    assert len(server.log) == 2 + 4 + 3  # the second run asks nothing


def test_a_plan_may_contain_the_run_files_of_its_evaluations(tmp_path: Path) -> None:
    asked = run_file("{key: ask, task_key: ask, model_key: << config.model >>}").replace(
        "  task_spec",
        "  config_spec: [{type: model, key: model, display_name: Model}]\n  task_spec",
    )
    written = [f"{asked}config: {{model: openai$x}}", "$ref: runs/tiny.yaml"]
    inline = "".join("  - " + text.replace("\n", "\n    ") + "\n" for text in written)
    tiny = f"{asked}config: {{model: openai$x}}\nrun_config: {{num_samples: 1}}\n"
    contained = f"key: both\ndisplay_name: Both\nevaluations:\n{inline}"
    release(tmp_path, runs__tiny=tiny, plan=contained)
    unnamed = contained.replace("      key: whole\n", "")
    write_project(tmp_path, bad=f"{unnamed}  - {{evaluation: {{}}, policies: []}}\n")
    with ModelServer(chat("4")) as server:
        checked = evalwright(server, "validate", "plan.yaml", cwd=tmp_path)
        done = evalwright(server, "run", "plan.yaml", "--json", cwd=tmp_path)
        refused = evalwright(server, "validate", "bad.yaml", cwd=tmp_path)

    assert checked.returncode == 0, checked.stdout
    assert counts(report_of(done)) == {"whole_1-ask": 5, "whole_2-ask": 1}
    assert refused.returncode == 1
    assert "missing_key: `evaluation` with a `key` is missing" in refused.stdout
    assert "the policies of a plan's evaluations are not checked" in refused.stderr


def test_a_plan_without_evaluations_is_an_error(tmp_path: Path) -> None:
    release(tmp_path, plan="key: none\ndisplay_name: None\nevaluations: []\n")
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "run", "plan.yaml", cwd=tmp_path)

    assert (done.returncode, server.log) == (1, [])
    assert "plan.yaml:1: the plan has no evaluations" in done.stderr


@pytest.mark.parametrize("name", ["long", "whole"])
def test_one_evaluation_of_a_plan_can_be_run(tmp_path: Path, name: str) -> None:
    release(tmp_path)
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "run", "plan.yaml", "--evaluation", name, "--json", cwd=tmp_path)

    expected = {"long": {"ask": 4}, "whole": {"whole-ask": 3}}
    assert counts(report_of(done)) == expected[name]


def test_a_plan_without_that_evaluation_names_those_it_has(tmp_path: Path) -> None:
    release(tmp_path)
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "run", "plan.yaml", "--evaluation", "shrt", cwd=tmp_path)

    assert (done.returncode, server.log) == (1, [])
    assert (
        "the plan has no evaluation `shrt`; its evaluations are `short`, `long`, `whole`"
        in done.stderr
    )
    assert "did you mean `short`?" in done.stderr


def test_a_repeatability_repeats_the_evaluation_of_another_run_file(tmp_path: Path) -> None:
    repeated = named_run_file(
        "stability",
        "{key: again, type: repeatability, repeatability_config: {num_runs: 3}, "
        "inputs: [{evaluation_key: whole, task_specification_key: whole-ask}]}",
    )
    release(tmp_path, repeat=repeated)
    with ModelServer(chat("4")) as server:
        first = evalwright(server, "run", "whole.yaml", "--json", cwd=tmp_path)
        done = evalwright(server, "run", "repeat.yaml", "--json", cwd=tmp_path)

    assert counts(report_of(first)) == {"whole-ask": 5}
    assert "again" in report_of(done)["tasks"]
    assert len(server.log) == 5 + 3 * 5


def test_an_evaluation_of_another_run_file_keeps_the_values_of_that_file(tmp_path: Path) -> None:
    asked = run_file("{key: ask, task_key: ask, model_key: << config.model >>}").replace(
        "  task_spec",
        "  config_spec: [{type: model, key: model, display_name: Model}]\n  task_spec",
    )
    inputs = "[{evaluation_key: whole}]"
    again = f"{{key: again, type: repeatability, config: {{num_runs: 2}}, inputs: {inputs}}}"
    release(
        tmp_path,
        whole=f"{asked}config: {{model: openai$x}}\n",
        repeat=f"evaluation: {{key: b, display_name: B, task_specifications: [{again}]}}\n",
    )
    with ModelServer(chat("4")) as server:
        checked = evalwright(server, "validate", ".", cwd=tmp_path)
        done = evalwright(server, "run", "repeat.yaml", "-n", "2", "--json", cwd=tmp_path)

    assert (checked.returncode, "no value" in checked.stderr) == (0, False), checked.stderr
    assert "again" in report_of(done)["tasks"]
    assert len(server.log) == 2 * 2


def test_two_run_files_with_the_evaluation_that_a_plan_names_are_an_error(tmp_path: Path) -> None:
    release(tmp_path, again=run_file(ASKED))
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "run", "plan.yaml", cwd=tmp_path)

    assert (done.returncode, server.log) == (1, [])
    assert (
        "whole.yaml:4: the key `whole` is already used by another evaluation, at again"
        in done.stderr
    )


def test_an_evaluation_that_nothing_has_is_named_with_those_that_exist(tmp_path: Path) -> None:
    release(tmp_path, plan=PLAN.replace("evaluation_key: whole", "evaluation_key: hole"))
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "validate", "plan.yaml", cwd=tmp_path)

    assert done.returncode == 1
    assert "plan.yaml:6:22: unknown_evaluation" in done.stdout


def test_a_package_sees_the_models_of_the_project_around_it(tmp_path: Path) -> None:
    model = (
        "key: shared\ndisplay_name: Shared\n"
        "config: {{connection_type: custom_connection, url: '{url}/chat/completions'}}\n"
    )
    own = "key: mine\ndisplay_name: Mine\nconfig: {connection_type: placeholder}\n"
    package = tmp_path / "packages" / "arithmetic"
    with ModelServer(chat("4")) as server:
        write_project(
            tmp_path,
            models__shared=model.format(url=server.url),
            models__mine=own.replace("Mine", "Outer"),
            models__broken="key: [\n",
        )
        (tmp_path / "models" / "schema.yml").write_text("version: 2\nmodels: [{name: x}]\n")
        write_project(
            package,
            tasks__ask=task(SOLVER + SCORERS),
            models__mine=own,
            run=run_file("{key: ask, task_key: ask, model_key: shared}"),
        )
        write_rows(package, ROWS)

        checked = evalwright(server, "validate", ".", cwd=package)
        done = evalwright(server, "run", "run.yaml", "--json", cwd=package)
        elsewhere = evalwright(server, "run", str(package), "--json", cwd=tmp_path)

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert counts(report_of(done)) == counts(report_of(elsewhere)) == {"ask": 5}


def test_a_folder_is_valid_if_every_run_file_in_and_below_it_is(tmp_path: Path) -> None:
    release(
        tmp_path,
        run=named_run_file("main"),
        other=named_run_file("other", "{key: b, task_key: asc, model_key: openai$x}"),
        compose="services: {db: {image: x}}\n",
        packages__one__run=run_file("{key: c, task_key: gone, model_key: openai$x}"),
    )
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "validate", ".", "--json", cwd=tmp_path)
        ran = evalwright(server, "run", ".", "--json", cwd=tmp_path)

    files = {each["file"]: each for each in json.loads(done.stdout)["files"]}
    assert {name for name, each in files.items() if not each["valid"]} == {
        "other.yaml",
        "packages/one/run.yaml",
    }
    assert {files[name]["kind"] for name in ("run.yaml", "other.yaml", "whole.yaml")} == {"run"}
    assert files["plan.yaml"]["kind"] == "plan"
    assert "compose.yaml" not in files
    assert counts(report_of(ran)) == {"ask": 5}


def test_an_evaluation_beside_the_run_file_is_checked_once(tmp_path: Path) -> None:
    wrong = QUICK.replace("task_key: ask", "task_key: asc")
    release(
        tmp_path,
        run="evaluation: {$ref: weekly.yaml}\n",
        weekly=QUICK.replace("key: quick", "key: weekly").replace(
            "config_spec", "tagz: []\nconfig_spec"
        ),
        evaluation=wrong.replace("key: quick", "key: other"),
    )
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "validate", ".", "--json", cwd=tmp_path)

    files = {each["file"]: each for each in json.loads(done.stdout)["files"]}
    assert files["evaluation.yaml"]["kind"] == "evaluation"
    assert [error["rule"] for error in files["evaluation.yaml"]["errors"]] == ["unknown_task"]
    assert [error["field"] for error in files["weekly.yaml"]["errors"]] == ["tagz"]
    assert json.loads(done.stdout)["errors"] == 2


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        pytest.param("models: [{$provider: openai/x}]", "model test 'openai$x'", id="models"),
        pytest.param(
            "datasets: [{key: made, display_name: M, "
            "generator_specification: {dataset_generator_key: g}}]\n"
            "dataset_generators: [{key: g, display_name: G, "
            "definition: {dataset: {type: empty}, synthesizers: [{type: empty}]}}]",
            "dataset generate made",
            id="a generated dataset",
        ),
    ],
)
def test_a_run_file_without_tasks_is_answered_with_what_can_be_done(
    tmp_path: Path, written: str, hint: str
) -> None:
    write_project(tmp_path, run=written)
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "run", "run.yaml", cwd=tmp_path)

    assert done.returncode == 2
    assert f"run.yaml: nothing to run\n  hint: `evalwright {hint}`" in done.stderr
