from pathlib import Path

import pytest
from tests.spec.documents.made import DATASET, MODEL, TASK, project, told

from evalwright.spec.documents.models.model import ModelDocument
from evalwright.spec.documents.project import read_config

PARTS = {"parts/t.yaml": TASK, "parts/d.yaml": DATASET, "parts/m.yaml": MODEL}
RUN = """
models:
  - $ref: parts/m.yaml
  - $provider: openai/gpt-4.1-nano
datasets: [{$ref: parts/d.yaml}]
tasks: [{$ref: parts/t.yaml}]
evaluation:
  key: e
  display_name: E
  description: D
  config_spec: [{type: model, key: model, display_name: Model}]
  task_specifications:
    - {key: a, task_key: capitals, model_key: << config.model >>}
config: {model: openai$gpt-4-1-nano}
run_config: {num_samples: 7, cache_policy: update}
"""


def test_a_run_file_is_a_whole_project(tmp_path: Path) -> None:
    made = project(tmp_path, {**PARTS, "run.yaml": RUN}, "run.yaml")
    (spec,), problems = made.specs()

    assert made.problems == problems == []
    assert made.kind == "run"
    assert list(made.models) == ["bot", "openai$gpt-4-1-nano"]
    assert (spec.model_keys, spec.num_samples) == (("openai$gpt-4-1-nano",), 7)
    assert spec.cache_policy == "update"


def test_a_config_file_wins_over_the_run_file_and_the_command_line_over_both(
    tmp_path: Path,
) -> None:
    made = project(tmp_path, {**PARTS, "run.yaml": RUN}, "run.yaml")
    run_config = "{num_samples: 2, trials_config: {num_trials: 3}}"
    (tmp_path / "c.yaml").write_text(f"config: {{model: bot}}\nrun_config: {run_config}\n")
    config = read_config(tmp_path / "c.yaml", environment={})
    (spec,), _ = made.specs(config=config)
    (other,), _ = made.specs(config=config, assignments={"model": "openai/gpt-4o"})

    assert (spec.model_keys, spec.num_samples, spec.cache_policy) == (("bot",), 2, "update")
    assert spec.run_trials == 3
    assert other.model_keys == ("openai/gpt-4o",)


@pytest.mark.parametrize(
    ("more", "rule", "field"),
    [
        ("modls: []\n", "unknown_key", "modls"),
        ("policies: [{key: p}]\n", "missing_key", "policies[0].rules"),
        ("adapters: []\n", "unknown_key", "adapters"),
    ],
)
def test_a_key_at_the_top_must_be_known(tmp_path: Path, more: str, rule: str, field: str) -> None:
    (problem,) = project(tmp_path, {**PARTS, "run.yaml": RUN + more}, "run.yaml").problems

    assert (problem.rule, problem.field) == (rule, field)


@pytest.mark.parametrize(
    ("before", "after", "rule", "field"),
    [
        ("num_samples: 7", "num_samples: 0", "bad_value", "run_config.num_samples"),
        ("num_samples: 7", "num_sample: 7", "unknown_key", "run_config.num_sample"),
        (
            "num_samples: 7",
            "trials_config: {num_trials: 1}",
            "bad_value",
            "run_config.trials_config.num_trials",
        ),
        ("cache_policy: update", "cache_policy: always", "bad_value", "run_config.cache_policy"),
        ("{model: openai$gpt-4-1-nano}", "{modl: bot}", "undeclared_parameter", "config.modl"),
        ("{model: openai$gpt-4-1-nano}", "{model: 3}", "bad_value", "config.model"),
        (
            "task_key: capitals",
            "task_key: capitols",
            "unknown_task",
            "evaluation.task_specifications[0].task_key",
        ),
        ("key: e\n", "key: e e\n", "bad_key", "evaluation.key"),
        (
            "- $provider: openai/gpt-4.1-nano",
            "- $provider: openai",
            "bad_value",
            "models[1].$provider",
        ),
    ],
)
def test_a_mistake_is_told_where_it_stands(
    tmp_path: Path, before: str, after: str, rule: str, field: str
) -> None:
    text = RUN.replace(before, after, 1)
    found = project(tmp_path, {**PARTS, "run.yaml": text}, "run.yaml").problems

    assert (rule, field) in [(one.rule, one.field) for one in found], told(found)


def test_what_was_referred_to_has_its_own_places(tmp_path: Path) -> None:
    parts = {**PARTS, "parts/t.yaml": TASK.replace("description", "descripton")}
    found = project(tmp_path, {**parts, "run.yaml": RUN}, "run.yaml").problems

    assert ("t.yaml", 4, "unknown_key", "descripton") in told(found)


KEYED = """
secrets: {KEY: abcdefgh}
models:
  - key: bot
    display_name: Bot
    config: {url: "https://bot.example.com", api_key: << secrets.KEY >>}
"""


def test_a_secret_goes_into_the_models(tmp_path: Path) -> None:
    made = project(tmp_path, {"run.yaml": KEYED}, "run.yaml")
    bot = made.models["bot"].document

    assert made.problems == []
    assert isinstance(bot, ModelDocument)
    assert bot.config.api_key.reveal() == "abcdefgh"  # type: ignore[union-attr]


def test_one_secret_has_one_value(tmp_path: Path) -> None:
    text = KEYED + "    secrets: {KEY: another-value}\n"
    found = project(tmp_path, {"run.yaml": text}, "run.yaml").problems

    assert [one.rule for one in found] == ["two_secrets"]
    assert "another-value" not in str(found)


def test_a_config_file_has_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("config: {a: 1}\ntasks: []\n", encoding="utf-8")

    (problem,) = read_config(tmp_path / "c.yaml", environment={}).problems
    assert (problem.rule, problem.field) == ("unknown_key", "tasks")
