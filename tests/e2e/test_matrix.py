"""Models × variants in one specification, and generation parameters per model."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, report_of
from tests.e2e.projects import write_project, write_rows
from tests.servers.model_server import Asked, ModelServer, chat

import evalwright as ew

TASK = """\
key: ask
display_name: Ask
description: Asks a question.
config_spec:
  - {type: string, key: prompt, display_name: Prompt}
  - {type: string, key: tone, display_name: Tone, default_value: plain}
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "<< config.tone >>: << config.prompt >>"}]
  scorers: [{type: string_equals, ground_truth: "{{ sample.answer }}"}]
"""
RUN = """\
models:
  - {$provider: openai/x, key: cold, parameters: {temperature: 0, top_p: 0.5}}
  - {$provider: openai/x, key: hot, parameters: {temperature: 1}}
evaluation:
  key: prompts
  display_name: Prompts
  task_specifications:
    - key: greet
      task_key: ask
      models: [cold, hot]
      variants:
        short: {prompt: "{{ sample.question }}?"}
        "long": {prompt: "Please answer {{ sample.question }}.", tone: polite}
"""
ROWS = [{"question": f"q{number}", "answer": "4" if number else "5"} for number in range(3)]
COMBINATIONS = [
    (task, model) for task in ("greet-short", "greet-long") for model in ("cold", "hot")
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_rows(tmp_path, ROWS)
    return write_project(tmp_path, tasks__ask=TASK, run=RUN)


def run(server: ModelServer, folder: Path, *arguments: str, exit_code: int = 0) -> Any:
    done = evalwright(server, "run", "run.yaml", "--json", *arguments, cwd=folder)
    return report_of(done, exit_code=exit_code)


def prompts_and_temperatures(log: list[Asked]) -> set[tuple[str, Any]]:
    return {(asked.prompt, asked.body.get("temperature")) for asked in log}


def combinations(report: Any) -> list[tuple[str, str]]:
    return [(row["task"], row["model"]) for row in report["metrics"]]


def change(folder: Path, before: str, after: str) -> None:
    text = (folder / "run.yaml").read_text(encoding="utf-8")
    assert before in text
    (folder / "run.yaml").write_text(text.replace(before, after), encoding="utf-8")


def test_every_variant_is_run_with_every_model_and_all_are_compared(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        report = run(server, project)
        paid = len(server.log)
        again = run(server, project)

    assert combinations(report) == COMBINATIONS
    assert [row["n"] for row in report["metrics"]] == [3] * 4
    labels = {"short (cold)", "short (hot)", "long (cold)", "long (hot)"}
    assert {row["model"] for row in report["leaderboard"]} == labels
    assert {row["task"] for row in report["leaderboard"]} == {"ask"}
    assert {frozenset((row["a"], row["b"])) for row in report["pairwise"]} == {
        frozenset((a, b)) for a in labels for b in labels if a != b
    }
    assert {row["n"] for row in report["pairwise"]} == {3}
    wordings = [f"plain: q{n}?" for n in range(3)] + [
        f"polite: Please answer q{n}." for n in (0, 1, 2)
    ]
    assert prompts_and_temperatures(server.log) == {(text, t) for text in wordings for t in (0, 1)}
    assert (paid, len(server.log)) == (12, 12)
    assert again["summary"]["reused"] == 12


def test_a_run_that_was_stopped_goes_on_with_the_missing_combinations(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        first = run(
            *(server, project, "--max-tokens-total", "1", "--concurrency", "1"), exit_code=3
        )
        done = run(server, project)

    assert first["summary"]["completed"] < 12
    assert done["summary"]["completed"] == 12
    assert len(server.log) == 12


def test_a_changed_variant_costs_only_its_own_samples(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        run(server, project)
        change(project, "{{ sample.question }}?", "{{ sample.question }}!")
        run(server, project)

    assert len(server.log) == 12 + 6


def test_models_of_the_command_take_the_place_of_the_list(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        report = run(server, project, "-m", "openai/y?temperature=0.25")

    assert combinations(report) == [
        (task, "openai/y?temperature=0.25") for task in ("greet-short", "greet-long")
    ]
    assert {asked.body["model"] for asked in server.log} == {"y"}
    assert {asked.body["temperature"] for asked in server.log} == {0.25}


def test_a_scope_names_a_variant_or_all_variants(project: Path) -> None:
    rule = (
        "      - {{key: {0}, display_name: {0}, definition: {{type: exists, metric: "
        "is_correct_mean}}, scope: {{task_specification_keys: [{0}]}}}}\n"
    )
    keys = ("greet", "greet-long", "greet-lang")
    policies = "policies:\n  - key: p\n    display_name: P\n    rules:\n"
    with (project / "run.yaml").open("a", encoding="utf-8") as file:
        file.write(policies + "".join(map(rule.format, keys)))
    with ModelServer(chat("4")) as server:
        report = run(server, project, exit_code=1)
        checked = evalwright(server, "validate", "run.yaml", cwd=project)
        gated = evalwright(server, "gate", "--json", cwd=project)

    for rows in (report["policies"], json.loads(gated.stdout)["policies"]):
        assert [row["holds"] for row in rows] == [True, True, False]
        assert [len(row["figures"]) for row in rows] == [4, 2, 0]
    assert "no task has a task specification `greet-lang`" in checked.stderr
    assert "did you mean `greet-long`?" in checked.stderr


def test_variants_can_be_listed_shown_exported_and_tried(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        run(server, project)
        listed = evalwright(server, "list", "--json", cwd=project)
        both, single, none = (
            evalwright(server, "show", "--task", name, "--json", cwd=project)
            for name in ("greet", "greet-long", "greet-lang")
        )
        exported = evalwright(
            *(server, "export", "latest", "--format", "logs", "-o", "logs"), cwd=project
        )
        tried = evalwright(
            *(server, "task", "test", "-f", "run.yaml", "-s", "greet-long", "--json"), cwd=project
        )
        first = evalwright(
            *(server, "task", "test", "-f", "run.yaml", "-s", "greet", "--json"), cwd=project
        )

    assert json.loads(listed.stdout)[0]["tasks"] == ["greet-short", "greet-long"]
    assert len(json.loads(both.stdout)) == 12
    assert len(json.loads(single.stdout)) == 6
    assert (none.returncode, "did you mean `greet-long`?" in none.stderr) == (2, True)
    assert exported.returncode == 0
    assert {path.name for path in (project / "logs" / "task_results").iterdir()} == {
        f"{task}-{model}" for task, model in COMBINATIONS
    }
    assert json.loads(tried.stdout)["values"]["tone"] == "polite"
    assert json.loads(first.stdout)["values"]["tone"] == "plain"


def test_variants_are_compared_sample_by_sample(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        run(server, project)
        whole, single, none = (
            evalwright(server, "compare", "latest", "--task", name, "--json", cwd=project)
            for name in ("greet", "greet-long", "greet-lang")
        )

    assert len(json.loads(whole.stdout)["comparisons"]) == 6
    assert len(json.loads(single.stdout)["comparisons"]) == 1
    assert (none.returncode, "share no task `greet-lang`" in none.stderr) == (2, True)


def test_exported_variants_are_run_again_as_they_ran(project: Path) -> None:
    change(project, "models: [cold, hot]", "models: [openai/x]\n      parameters: {seed: 7}")
    with ModelServer(chat("4")) as server:
        run(server, project)
        evalwright(server, "export", "latest", "--format", "logs", "-o", "logs", cwd=project)
        exported = (project / "logs" / "prompts.yaml").read_text(encoding="utf-8")
        (project / "run.yaml").write_text(exported, encoding="utf-8")
        report = run(server, project)

    assert combinations(report) == [
        ("greet-short", "openai/x?seed=7"),
        ("greet-long", "openai/x?seed=7"),
    ]
    assert report["summary"]["reused"] == 6
    assert len(server.log) == 6


def test_a_variant_without_a_needed_value_is_refused_before_any_call(project: Path) -> None:
    change(project, '{prompt: "{{ sample.question }}?"}', "{tone: rude}")
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "run", "run.yaml", cwd=project)

    assert done.returncode == 1
    assert "run.yaml:12: parameter `prompt` of task `ask` needs a value" in done.stderr
    assert server.log == []


def test_variants_take_precedence_over_other_values_and_say_so(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        done = evalwright(
            *(server, "run", "run.yaml", "--set", "prompt=x", "--set", "tone=rude"), cwd=project
        )

    assert done.returncode == 0
    assert "--set prompt: the value of `prompt` has no effect, because every" in done.stderr
    assert "the value of `tone`" not in done.stderr
    assert {asked.prompt.partition(":")[0] for asked in server.log} == {"rude", "polite"}


def test_a_result_with_several_variants_is_not_read_as_one(project: Path) -> None:
    review = TASK.replace("key: ask", "key: review").replace(
        "dataset: {key: rows}", "dataset: {source: task_result, key: greet}"
    )
    write_project(project, tasks__review=review)
    with (project / "run.yaml").open("a", encoding="utf-8") as file:
        file.write("    - {task_key: review, model_key: cold, task_config: {prompt: x}}\n")
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "run", "run.yaml", cwd=project)

    assert done.returncode == 1
    assert "the result of `greet`, which has several variants" in done.stderr
    assert "name one of them: greet-short, greet-long" in done.stderr
    assert server.log == []


def test_a_repeatability_repeats_one_variant_or_all(project: Path) -> None:
    repeat = "    - {{key: again-{0}, type: repeatability, config: {{num_runs: 2}}, inputs: [{{evaluation_key: prompts, task_specification_key: {1}}}]}}\n"  # noqa: E501 - one line of YAML
    with (project / "run.yaml").open("a", encoding="utf-8") as file:
        file.write(repeat.format("all", "greet") + repeat.format("one", "greet-long"))
    with ModelServer(chat("4")) as server:
        report = run(server, project)
    change(project, "task_specification_key: greet-long", "task_specification_key: greet-lang")
    wrong = evalwright(server, "validate", "run.yaml", cwd=project)

    assert report["tasks"][2:] == ["again-all-greet-short", "again-all-greet-long", "again-one"]
    assert {row["runs"] for row in report["repeatability"]} == {2}
    assert "it has `greet`, `greet-short`, `greet-long`" in wrong.stdout
    assert "did you mean `greet-long`?" in wrong.stdout


@pytest.mark.parametrize("arabic", ["قصير", "short"])
def test_no_samples_is_said_and_a_name_must_be_a_key(project: Path, arabic: str) -> None:
    write_rows(project, [])
    change(project, "        short:", f"        {arabic}:")
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "run", "run.yaml", cwd=project)

    said = "rows.jsonl: no rows" if arabic == "short" else "got `قصير`"
    assert done.returncode in {1, 2}
    assert said in done.stderr


COLD = ["-p", "temperature=0.1"]
SPECIFICATION = "parameters: {temperature: 0.4, seed: 4}, "
PARAMETERS = {
    # What is added to the specification, the options, and what is sent; least specific first.
    "-p": ("", [*COLD, "-p", "seed=1"], (0.1, 1, None)),
    "entry": ("", COLD, (0.2, None, 20)),
    "document": ("", [*COLD, "-p", "seed=1"], (0.3, 1, 30)),
    "specification": (SPECIFICATION, COLD, (0.4, 4, 20)),
    "name": (SPECIFICATION, COLD, (0.5, 4, 20)),
    "command": (SPECIFICATION, [*COLD, "-m", "entry?temperature=0.6"], (0.6, 4, 20)),
}
KEYS = {"-p": "openai/x", "document": "bot", "name": "entry?temperature=0.5"}


@pytest.mark.parametrize("source", PARAMETERS)
def test_the_most_specific_parameter_is_sent(source: str, tmp_path: Path) -> None:
    more, options, (temperature, seed, max_tokens) = PARAMETERS[source]
    write_rows(tmp_path, ROWS[:1])
    with ModelServer(chat("4")) as server:
        write_project(
            tmp_path,
            tasks__ask=TASK,
            models__bot="key: bot\nparameters: {temperature: 0.3, max_tokens: 30, extra.tempo: 1}\n"
            f"config: {{url: '{server.url}/chat/completions'}}\n",
            run="models:\n  - {$provider: openai/x, key: entry, parameters: "
            "{temperature: 0.2, max_tokens: 20}}\nevaluation:\n  key: e\n  display_name: E\n"
            f"  task_specifications:\n    - {{task_key: ask, {more}models: "
            f"['{KEYS.get(source, 'entry')}'], task_config: {{prompt: hello}}}}\n",
        )
        run(server, tmp_path, *options)

    (asked,) = server.log
    sent = tuple(asked.body.get(name) for name in ("temperature", "seed", "max_tokens"))
    assert sent == (temperature, seed, max_tokens)
    assert asked.body.get("tempo") == (1 if source == "document" else None)


def test_parameters_are_a_part_of_the_model_in_records_too(tmp_path: Path) -> None:
    record = {
        "task_id": "sum",
        "category": "arithmetic",
        "prompt": "2 + 2 =",
        "targets": ["4"],
        "metric_name": "exact_match",
        "post_process": "strip_whitespace",
    }
    (tmp_path / "tasks.jsonl").write_text(json.dumps(record), encoding="utf-8")
    models = ["openai/x?temperature=0&seed=1", "openai/x?temperature=1", "openai/x"]
    options = [word for model in models for word in ("-m", model)]
    with ModelServer(chat("4")) as server:
        ran = ["run", "tasks.jsonl", *options, "-p", "temperature=0.5", "-p", "seed=9", "--json"]
        report = report_of(evalwright(server, *ran, cwd=tmp_path))
        again = report_of(evalwright(server, *ran, cwd=tmp_path))
        wrong = evalwright(
            *(server, "run", "tasks.jsonl", "-m", "openai/x?temprature=1"), cwd=tmp_path
        )
        shown = evalwright(
            *(server, "show", "--model", "openai:x?temperature=0&seed=1", "--json"), cwd=tmp_path
        )

    assert report["models"] == ["openai/x?seed=1&temperature=0", *models[1:]]
    assert len(report["leaderboard"]) == 3
    sent = {(asked.body["temperature"], asked.body["seed"]) for asked in server.log}
    assert sent == {(0, 1), (1, 9), (0.5, 9)}
    assert (again["summary"]["reused"], len(server.log)) == (3, 3)
    assert wrong.returncode == 2
    assert (
        "`temprature` is not a parameter of openai/x; did you mean `temperature`?" in wrong.stderr
    )
    assert "`?extra.temprature=…` sends it unchanged" in wrong.stderr
    assert len(json.loads(shown.stdout)) == 1


def test_a_misspelled_parameter_of_a_model_of_a_project_is_refused(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "run", "run.yaml", "-m", "cold?temprature=1", cwd=project)

    assert done.returncode == 2
    assert "`temprature` is not a parameter of cold; did you mean `temperature`?" in done.stderr
    assert "`?extra.temprature=…` sends it unchanged" in done.stderr
    assert server.log == []


def test_a_price_does_not_depend_on_parameters(tmp_path: Path) -> None:
    write_rows(tmp_path, ROWS)
    write_project(tmp_path, tasks__ask=TASK, run=RUN.replace("openai/x", "openai/gpt-4.1-mini"))
    with ModelServer(chat("4")) as server:
        report = run(server, tmp_path)

    assert list(report["usage"]) == ["cold", "hot"]
    assert all(usage["cost"] > 0 for usage in report["usage"].values())


def test_a_secret_is_refused_in_a_parameter(project: Path) -> None:
    change(project, "top_p: 0.5", "user: $OPENAI_API_KEY")
    with ModelServer(chat("4")) as server:
        of_entry = evalwright(server, "run", "run.yaml", cwd=project)
        change(project, "user: $OPENAI_API_KEY", "top_p: 0.5")
        change(
            project,
            "models: [cold, hot]",
            "models: [openai/x]\n      parameters: {user: $OPENAI_API_KEY}",
        )
        of_specification = evalwright(server, "run", "run.yaml", cwd=project)

    for done in (of_entry, of_specification):
        assert done.returncode == 2
        assert "contains a secret from the environment" in done.stderr
    assert server.log == []


def test_models_parameters_and_variants_may_wait_for_values_of_the_evaluation(
    tmp_path: Path,
) -> None:
    write_rows(tmp_path, ROWS)
    declared = (
        "[{type: list, key: ms, dtype: string, display_name: M}, "
        "{type: dict, key: ps, value_dtype: float, display_name: P}, "
        "{type: string, key: words, display_name: W}]"
    )
    write_project(
        tmp_path,
        tasks__ask=TASK,
        run="evaluation:\n  key: e\n  display_name: E\n  description: One.\n"
        f"  config_spec: {declared}\n  task_specifications:\n    - task_key: ask\n"
        "      models: << config.ms >>\n      parameters: << config.ps >>\n"
        '      variants: {"a": {prompt: << config.words >>}, b: {prompt: b}}\n',
    )
    values = ("ms=openai/x,openai/y", 'ps={"temperature": 0.5}', "words=hello")
    options = [word for value in values for word in ("--set", value)]
    with ModelServer(chat("4")) as server:
        checked = evalwright(server, "validate", "run.yaml", cwd=tmp_path)
        report = run(server, tmp_path, *options)

    assert checked.returncode == 0, checked.stdout
    assert combinations(report) == [
        (task, f"openai/{model}?temperature=0.5") for task in ("ask-a", "ask-b") for model in "xy"
    ]
    assert {asked.prompt for asked in server.log} == {"plain: hello", "plain: b"}


def test_a_general_parameter_that_a_model_overrides_is_named(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "run", "run.yaml", "-p", "temperature=1", cwd=project)

    warning = "`-p temperature=1` has no effect on cold, which sets it to 0"
    assert done.stderr.count(warning) == 1
    assert "no effect on hot" not in done.stderr


def test_a_plan_tells_the_variants_of_its_evaluations_apart(project: Path) -> None:
    text = (project / "run.yaml").read_text(encoding="utf-8")
    models, _, evaluation = text.partition("evaluation:\n")
    rule = "{type: exists, metric: is_correct_mean}"
    write_project(
        project,
        run=models,
        evaluations__prompts="\n".join(line[2:] for line in evaluation.splitlines()) + "\n",
        plan="key: plan\ndisplay_name: Plan\nevaluation_specifications:\n"
        "  - {key: few, evaluation_key: prompts, evaluation_run_config: {num_samples: 1}}\n"
        "  - {key: all, evaluation_key: prompts}\n",
        policy="key: p\ndisplay_name: P\nrules:\n"
        f"  - {{key: r, display_name: R, definition: {rule}, "
        "scope: {task_specification_keys: [few-greet]}}\n",
    )
    with ModelServer(chat("4")) as server:
        report = report_of(evalwright(server, "run", "plan.yaml", "--json", cwd=project))
        gated = evalwright(server, "gate", "--policy", "policy.yaml", "--json", cwd=project)

    assert report["tasks"] == [
        *("few-greet-short", "few-greet-long", "all-greet-short", "all-greet-long"),
    ]
    assert [row["n"] for row in report["metrics"]] == [1] * 4 + [3] * 4
    assert len(json.loads(gated.stdout)["policies"][0]["figures"]) == 4


def test_a_python_function_has_no_generation_parameters(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(project, "models: [cold, hot]", "models: [cold]\n      parameters: {seed: 7}")
    monkeypatch.chdir(project)

    def answer(prompt: str) -> str:
        return "4" if prompt else ""

    report = ew.run("run.yaml", models=[answer])

    assert [(row.task, row.model, row.n) for row in report.metrics] == [
        ("greet-short", "answer", 3),
        ("greet-long", "answer", 3),
    ]
