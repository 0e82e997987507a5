import json
from pathlib import Path

import pytest
from tests.spec.documents.made import DATASET, MODEL, TASK, project, told, written

from evalwright.spec.documents.models.policy import PolicyDocument, Scope, ThresholdDefinition
from evalwright.spec.documents.models.schema import json_schema
from evalwright.spec.documents.resolve.policies import read_policies

RULE = '{type: threshold, metric: is_correct_mean, operator: ">=", threshold: 0.8}'
POLICY = f"""
key: release
display_name: Release
rules:
  - key: accurate
    methodology: what people reach
    definition: {RULE}
    scope: {{task_specification_keys: [a], scorer_keys: [b], metric_keys: [c]}}
"""
PARTS = {"tasks/t.yaml": TASK, "datasets/d.yaml": DATASET, "models/m.yaml": MODEL}
RUN = """
evaluation:
  key: e
  display_name: E
  description: D
  task_specifications: [{key: a, task_key: capitals, model_key: bot}]
"""


def indented(text: str, spaces: int = 4) -> str:
    return text.strip().replace("\n", "\n" + " " * spaces)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(POLICY, id="one policy"),
        pytest.param(f"- {indented(POLICY, 2)}\n", id="a list"),
        pytest.param(f"policies:\n  - {indented(POLICY)}\n", id="under `policies`"),
        pytest.param("policies:\n  - $ref: p.yaml\n", id="a reference to one"),
        pytest.param("policies:\n  $ref: p.yaml\n", id="a reference in the place of the list"),
        pytest.param("policies:\n  - $ref: several.yaml\n", id="a reference to several"),
        pytest.param(f"policies:\n  - {indented(POLICY)}\nmodels: []\n", id="in a run file"),
    ],
)
def test_a_policy_may_stand(tmp_path: Path, text: str) -> None:
    files = {"x.yaml": text, "p.yaml": POLICY, "several.yaml": "policies:\n  - $ref: p.yaml\n"}
    read = read_policies([str(written(tmp_path, files) / "x.yaml")], environment={})
    (found,) = read.policies

    assert read.problems == []
    assert found.document.key == "release"
    assert isinstance(found.document.rules[0].definition, ThresholdDefinition)
    assert isinstance(found.document.rules[0].scope, Scope)


def test_what_a_run_keeps_of_a_policy_is_the_same_policy(tmp_path: Path) -> None:
    path = written(tmp_path, {"x.yaml": POLICY}) / "x.yaml"
    (found,) = read_policies([str(path)], environment={}).policies
    kept = found.document.model_dump(mode="json", exclude_none=True)

    assert PolicyDocument.model_validate(kept) == found.document


@pytest.mark.parametrize(
    ("before", "after", "field", "words"),
    [
        ('">="', '"=="', "rules[0].definition.operator", "did you mean `=`?"),
        ('">="', '"=>"', "rules[0].definition.operator", "did you mean `>=`?"),
        ('">="', "≥", "rules[0].definition.operator", "did you mean `>=`?"),
        ('">="', '"!="', "rules[0].definition.operator", "expected one of `>`, `>=`, `=`"),
        ('">="', "3", "rules[0].definition.operator", "in quotes"),
        ('">="', '""', "rules[0].definition.operator", "put it in quotes"),
        ("0.8", "true", "rules[0].definition.threshold", "expected a number, got `true`"),
        ("0.8", "high", "rules[0].definition.threshold", "expected `float`, got `str`"),
        ("0.8", ".nan", "rules[0].definition.threshold", "a finite number"),
        ("type: threshold", "type: treshold", "rules[0].definition.type", "mean `threshold`?"),
        (", threshold: 0.8", "", "rules[0].definition.threshold", "`threshold` is missing"),
        ("metric:", "metrc:", "rules[0].definition.metrc", "did you mean `metric`?"),
        ("scorer_keys", "scorer_key", "rules[0].scope.scorer_key", "mean `scorer_keys`?"),
        ("scorer_keys: [b]", "scorer_keys: []", "rules[0].scope.scorer_keys", "at least 1 item"),
        ("methodology", "metodology", "rules[0].metodology", "did you mean `methodology`?"),
        ("rules:", "rule:", "rule", "did you mean `rules`?"),
        ("key: accurate", "key: not a key", "rules[0].key", "write `not_a_key`"),
    ],
)
def test_a_mistake_is_told_where_it_stands(
    tmp_path: Path, before: str, after: str, field: str, words: str
) -> None:
    path = written(tmp_path, {"x.yaml": POLICY.replace(before, after, 1)}) / "x.yaml"
    (problem,) = read_policies([str(path)], environment={}).problems

    assert problem.field == field
    assert words in f"{problem.detail}; {problem.hint}"


def test_a_scope_is_keys_or_all_latest(tmp_path: Path) -> None:
    text = f"key: p\nrules: [{{key: a, definition: {RULE}, scope: latest}}]\n"
    (problem,) = read_policies(
        [str(written(tmp_path, {"x.yaml": text}) / "x.yaml")], environment={}
    ).problems

    assert (problem.rule, problem.field) == ("bad_value", "rules[0].scope")
    assert problem.detail == "expected `all_latest`, got `latest`"


def test_all_mistakes_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    files = {
        "a.yaml": f"key: p\nrules:\n  - {{key: a, definition: {RULE}}}\n  - {{key: a}}\n",
        "b.yaml": f"policies:\n  - {{key: p, rules: [{{key: a, definition: {RULE}}}]}}\n  - 7\n",
        "c.yaml": f"- key: p\n  rules: [{{key: a, definition: {RULE}}}]\n",
        "d.yaml": TASK,
        "e.yaml": "policies: []\n",
        "f.yaml": f"policies: [{{key: q, rules: [{{key: a, definition: {RULE}}}]}}]\nname: F\n",
    }
    folder = written(tmp_path, files)
    names = [str(folder / name) for name in (*files, "none.yaml")]

    assert sorted(told(read_policies(names, environment={}).problems), key=str) == [
        ("a.yaml", 4, "duplicate_key", "rules[1].key"),
        ("a.yaml", 4, "missing_key", "rules[1].definition"),
        ("b.yaml", 2, "duplicate_key", "policies[0].key"),
        ("b.yaml", 3, "wrong_type", "policies[1]"),
        ("c.yaml", 1, "duplicate_key", "[0].key"),
        ("d.yaml", 2, "wrong_kind", None),
        ("e.yaml", 1, "no_policy", None),
        ("f.yaml", 2, "unknown_key", "name"),
        ("none.yaml", 1, "unreadable", None),
    ]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = str(written(tmp_path, {"x.yaml": POLICY}) / "x.yaml")
    read = read_policies([path, path], environment={})

    assert (len(read.policies), read.problems) == (1, [])


def test_a_run_file_has_policies_and_their_mistakes(tmp_path: Path) -> None:
    run = f"{RUN}policies:\n  - {indented(POLICY)}\n  - $ref: parts/p.yaml\n"
    bad = POLICY.replace("key: release", "key: other").replace("threshold: 0.8", "threshold: x")
    made = project(tmp_path, {**PARTS, "run.yaml": run, "parts/p.yaml": bad}, "run.yaml")

    assert [one.key for one in made.policies] == ["release"]
    assert told(made.problems) == [("p.yaml", 7, "wrong_type", "rules[0].definition.threshold")]
    assert told(made.specs()[1]) == told(made.problems)


def test_a_run_file_may_have_nothing_but_policies(tmp_path: Path) -> None:
    files = {**PARTS, "run.yaml": f"policies:\n  - {indented(POLICY)}\n"}
    made = project(tmp_path, files, "run.yaml")

    assert (made.kind, [one.key for one in made.policies]) == ("run", ["release"])
    assert made.problems == []


def test_a_file_of_policies_can_be_checked_by_itself(tmp_path: Path) -> None:
    made = project(tmp_path, {"x.yaml": f"policies:\n  - {indented(POLICY)}\n"}, "x.yaml")

    assert (made.kind, made.problems) == ("policy", [])


@pytest.mark.parametrize("value", ["3", "text"])
def test_policies_are_a_list(tmp_path: Path, value: str) -> None:
    made = project(tmp_path, {**PARTS, "run.yaml": f"{RUN}policies: {value}\n"}, "run.yaml")

    assert told(made.problems) == [("run.yaml", 7, "wrong_type", "policies")]


# Metrics that no task gives


def warned(folder: Path, metric: str, *, task: str = TASK, scope: str = "{}") -> list[str]:
    text = f"""{RUN}policies:
  - key: p
    rules: [{{key: a, definition: {{type: exists, metric: {metric}}}, scope: {scope}}}]
"""
    made = project(folder, {**PARTS, "tasks/t.yaml": task, "run.yaml": text}, "run.yaml")
    problems = [*made.problems, *made.specs()[1]]
    assert {one.level for one in problems} <= {"warning"}
    return [f"{one.rule}: {one.hint}" for one in problems]


def test_a_metric_that_no_task_gives_is_a_warning(tmp_path: Path) -> None:
    said = warned(tmp_path, "is_corect_mean")

    assert said == ["unknown_metric: did you mean `is_correct_mean`?"] * 2


@pytest.mark.parametrize(
    ("metric", "scope"),
    [
        pytest.param("is_correct_mean", "{}", id="the name of a figure"),
        pytest.param("mean_is_correct_mean", "{}", id="both, as two of one name have it"),
        pytest.param("pass@3", "{}", id="of trials"),
        pytest.param("other", "{evaluation_keys: [weekly]}", id="of another evaluation"),
    ],
)
def test_no_warning_is_given_for(tmp_path: Path, metric: str, scope: str) -> None:
    assert warned(tmp_path, metric, scope=scope) == []


@pytest.mark.parametrize(
    ("scope", "rule", "hint"),
    [
        ("{task_specification_keys: [a, aa]}", "unknown_task_specification", "`a`"),
        ("{scorer_keys: [string_equal]}", "unknown_scorer", "`string_equals`"),
        ("{metric_keys: [men]}", "unknown_metric", "`mean`"),
    ],
)
def test_a_key_of_a_scope_that_no_task_has_is_a_warning(
    tmp_path: Path, scope: str, rule: str, hint: str
) -> None:
    said = warned(tmp_path, "is_correct_mean", scope=scope)

    assert said == [f"{rule}: did you mean {hint}?"] * 2


def test_a_broken_task_is_enough_to_be_told(tmp_path: Path) -> None:
    rule = "{key: a, definition: {type: exists, metric: other}}"
    text = f"{RUN}policies: [{{key: p, rules: [{rule}]}}]\n"
    files = {**PARTS, "tasks/t.yaml": TASK.replace("scorers:", "scorrs:"), "run.yaml": text}
    made = project(tmp_path, files, "run.yaml")

    assert [one.rule for one in made.problems] == ["unknown_key"]


def test_what_only_a_run_shows_is_not_warned_of(tmp_path: Path) -> None:
    metrics = "metrics: [{type: frequency, field: is_correct}]}"
    task = TASK.replace('capital }}"}', f'capital }}}}", {metrics}')

    assert warned(tmp_path, "is_correct_True", task=task) == []


METRICS = "metrics: [{type: mean, field: is_correct, key: accuracy, name: total}]"


def with_metrics(more: str = "") -> str:
    return TASK.replace('capital }}"}', f'capital }}}}", {METRICS}{more}}}')


@pytest.mark.parametrize("metric", ["total", "accuracy", "accuracy_total"])
def test_a_key_that_an_author_wrote_is_a_name_too(tmp_path: Path, metric: str) -> None:
    assert warned(tmp_path, metric, task=with_metrics()) == []


def test_an_automatic_key_is_no_name_of_a_metric_but_may_be_in_a_scope(tmp_path: Path) -> None:
    assert [one[:14] for one in warned(tmp_path / "a", "mean")] == ["unknown_metric"] * 2
    assert warned(tmp_path / "b", "is_correct_mean", scope="{metric_keys: [mean]}") == []


def test_a_check_has_no_metric_unless_its_scorer_is_named(tmp_path: Path) -> None:
    task = with_metrics(", purpose: qa")
    named = "{scorer_keys: [string_equals]}"

    assert [one[:14] for one in warned(tmp_path / "a", "total", task=task)] == [
        "unknown_metric",
        "unknown_metric",
    ]
    assert warned(tmp_path / "b", "total", task=task, scope=named) == []


# Where the two commands agree, and what policies do not have


@pytest.mark.parametrize("text", ["policies: []\n", "policies:\n", "policies: [[]]\n"])
def test_a_file_without_any_policy_is_wrong_for_everybody(tmp_path: Path, text: str) -> None:
    made = project(tmp_path, {"x.yaml": text}, "x.yaml")
    read = read_policies([str(tmp_path / "x.yaml")], environment={})

    assert [one.rule for one in made.problems] == ["no_policy"]
    assert [one.rule for one in read.problems] == ["no_policy"]


def test_a_run_file_may_be_without_policies(tmp_path: Path) -> None:
    made = project(tmp_path, {**PARTS, "run.yaml": f"{RUN}policies: []\n"}, "run.yaml")

    assert made.problems == []


def test_a_policy_has_no_configuration(tmp_path: Path) -> None:
    text = POLICY.replace("0.8", "<< config.least >>").replace("Release", "<<config.name>>")
    read = read_policies([str(written(tmp_path, {"x.yaml": text}) / "x.yaml")], environment={})

    assert told(read.problems) == [
        ("x.yaml", 3, "no_config", "display_name"),
        ("x.yaml", 7, "no_config", "rules[0].definition.threshold"),
    ]
    assert "`<< config.least >>` has no value" in read.problems[1].detail


def test_the_schema_of_policies_has_no_configuration_either() -> None:
    assert "ConfigPlaceholder" not in json.dumps(json_schema("policy"))
    rule = json_schema("run")["$defs"]["ThresholdDefinition"]
    assert "ConfigPlaceholder" not in json.dumps(rule)


def test_two_policies_of_one_key_are_told_whatever_else_is_wrong_with_them(tmp_path: Path) -> None:
    files = {"a.yaml": "- {key: p, rule: []}\n- {key: p, rules: []}\n"}
    read = read_policies([str(written(tmp_path, files) / "a.yaml")], environment={})

    assert [one.rule for one in read.problems if one.line == 2] == ["bad_value", "duplicate_key"]
