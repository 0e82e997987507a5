"""What the format of tasks says in sentences, run whole: documents in, a report out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import evalwright as ew
from evalwright import cli
from evalwright.plan.manifest import VERSION, Manifest
from evalwright.plan.outline import PlanOutline, TaskOutline
from evalwright.plan.task_results import result_of
from evalwright.report.report import MetricRow, Report
from evalwright.store.memory import MemoryStore
from evalwright.types import Failure, Outcome, Run, Score, Trace

HEAD = "key: t\ndisplay_name: T\ndescription: D\n"
ROWS = "[{sample_id: a, word: yes, n: 3}, {sample_id: b, word: 'no', n: 5}, {sample_id: c, n: 5}]"
DATASET = f"key: words\ndisplay_name: Words\nsource: {{type: inline, samples: {ROWS}}}\n"
OTHER = "key: others\ndisplay_name: Others\nsource: {type: inline, samples: [{n: 7}]}\n"
PARROT = """
key: parrot
display_name: Parrot
config:
  connection_type: custom_inference
  timeout: 20
  run_inference_snippet: |
    import json
    def run_inference(body, environment):
        said = json.loads(body)["messages"][-1]["content"]
        message = {"role": "assistant", "content": f"{said} back"}
        return json.dumps({"choices": [{"message": message}]})
"""
JUDGE = (
    PARROT.replace("parrot", "judge").replace("Parrot", "Judge").replace("{said} back", "{said}")
)
RUN = """
evaluation:
  key: e
  display_name: E
  task_specifications:
"""
NUMBER = """
    - type: python
      key: number
      compute_scores_snippet: |
        def compute_scores(sample):
            return {"scores": {"n": sample["n"]}, "metadata": {"tokens": 123}}
      metrics: [{type: mean, field: n}]
"""
NUMBERS = """
    - type: python_all_samples
      key: number
      compute_scores_snippet: |
        def compute_scores(samples):
            beside = {"tokens": 123}
            return [{"scores": {"n": one["n"]}, "metadata": beside} for one in samples]
      metrics: [{type: mean, field: n}]
"""
CLASSES = """
    - type: model_as_a_judge_classifier
      key: number
      model_key: judge
      user_prompt: "{{ sample.n }}"
      correct_labels: ["5"]
      incorrect_labels: ["3"]
      metrics: [{type: mean, field: is_correct}, {type: min, field: is_correct}]
"""
GRADES = """
    - type: model_as_a_judge_scorer
      key: number
      model_key: judge
      user_prompt: "{{ sample.n }}"
      score_min: 1
      score_max: 5
      metrics: [{type: mean, field: score}, {type: min, field: score}]
"""
LABELS = """
    - type: labeler_via_model
      key: number
      model_key: judge
      user_prompt: "{{ sample.n }}"
      valid_labels: ["3", "5"]
      metrics: [{type: frequency, field: label}]
"""
JUDGED = {
    "model_as_a_judge_classifier": (CLASSES, {"is_correct_mean": 2 / 3, "is_correct_min": 0}),
    "model_as_a_judge_scorer": (GRADES, {"score_mean": 2.5 / 3, "score_min": 0.5}),
    "labeler_via_model": (LABELS, {"label_3": 1 / 3, "label_5": 2 / 3}),
}
"""Each kind of judge, and its figures: the judge says what it is told."""
written = pytest.mark.parametrize(
    "scorer", [pytest.param(NUMBER, id="python"), pytest.param(NUMBERS, id="python_all_samples")]
)

Ran = Callable[..., Report]


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """The report of a task, as one specification of an evaluation runs it."""
    monkeypatch.chdir(tmp_path)

    def run(definition: str, *specifications: str) -> Report:
        files = {
            "tasks/t.yaml": f"{HEAD}definition:\n{definition}",
            "datasets/words.yaml": DATASET,
            "datasets/others.yaml": OTHER,
            "models/parrot.yaml": PARROT,
            "models/judge.yaml": JUDGE,
            "run.yaml": RUN + "".join(f"    - {{task_key: t, {one}}}\n" for one in specifications),
        }
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return ew.run("run.yaml")

    return run


def figures(report: Report) -> dict[str, float | None]:
    return {f"{row.task} {row.scorer} {row.metric}": row.value for row in report.metrics}


def by_metric(report: Report, scorer: str) -> dict[str, float | None]:
    return {row.metric: row.value for row in report.metrics if row.scorer == scorer}


def row_of(report: Report, scorer: str) -> MetricRow:
    (found,) = [row for row in report.metrics if row.scorer == scorer]
    return found


def test_the_dataset_is_given_where_a_task_for_datasets_is_used(ran: Ran) -> None:
    report = ran(
        f"  evaluated_entity_type: dataset\n  scorers:{NUMBER}",
        "key: first, dataset_key: words",
        "key: second, dataset_key: others",
    )

    assert figures(report) == {"first number n_mean": 13 / 3, "second number n_mean": 7.0}
    assert report.models == []


@written
def test_metadata_are_kept_beside_the_scores_and_are_in_no_metric(ran: Ran, scorer: str) -> None:
    report = ran(
        f"  evaluated_entity_type: dataset\n  scorers:{scorer}", "key: t, dataset_key: words"
    )

    assert figures(report) == {"t number n_mean": 13 / 3}
    first = next(report.samples())
    assert first.scores["number"].values == {"n": 3}
    assert first.scores["number"].metadata == {"tokens": 123}


@pytest.mark.parametrize(
    ("scorer", "measured"),
    [
        pytest.param(NUMBER, {"n_mean": 13 / 3}, id="python"),
        pytest.param(NUMBERS, {"n_mean": 13 / 3}, id="python_all_samples"),
        *(pytest.param(*one, id=kind) for kind, one in JUDGED.items()),
    ],
)
@pytest.mark.parametrize("purpose", ["score", "qa"])
def test_the_purpose_of_a_scorer_says_whether_its_metrics_are_results(
    ran: Ran, purpose: str, scorer: str, measured: dict[str, float]
) -> None:
    report = ran(
        f"  evaluated_entity_type: dataset\n  scorers:{scorer}      purpose: {purpose}\n"
        "    - {type: string_equals, key: exact, ground_truth: yes,"
        f" value: '{{{{ sample.n }}}}', purpose: {purpose}}}\n",
        "key: t, dataset_key: words",
    )

    assert {row.purpose for row in report.metrics if row.scorer == "number"} == {purpose}
    assert by_metric(report, "number") == pytest.approx(measured)
    by_default = [row.metric for row in report.metrics if row.scorer == "exact"]
    assert by_default == (["is_correct_mean"] if purpose == "score" else [])


@pytest.mark.parametrize(
    ("condition", "mean", "excluded"),
    [
        pytest.param("{op: exists, expression: '{{ sample.word }}'}", 5.0, 2, id="unary"),
        pytest.param(
            "{op: greater_than, expression: '{{ scores.number.n }}', value: 4}",
            3.0,
            2,
            id="comparison",
        ),
        pytest.param(
            "{op: in, expression: '{{ sample.sample_id }}', values: [a]}", 5.0, 1, id="membership"
        ),
    ],
)
def test_samples_that_match_a_filter_are_left_out_of_the_metrics_and_kept(
    ran: Ran, condition: str, mean: float, excluded: int
) -> None:
    report = ran(
        f"  evaluated_entity_type: dataset\n  scorers:{NUMBER}"
        f"  actions: [{{key: odd, action: exclude_from_metrics, filter: {condition}}}]\n",
        "key: t, dataset_key: words",
    )

    row = row_of(report, "number")
    assert (row.value, row.n, row.excluded) == (mean, 3 - excluded, excluded)
    assert [(one.rule, one.excluded) for one in report.rules] == [("odd", excluded)]
    kept = list(report.samples())
    assert len(kept) == 3
    assert all(one.scores["number"].values for one in kept)


SOLVER = """
  dataset: {key: others}
  solver:
    type: python
    run_solver_snippet: |
      async def run_solver(sample, model, trace):
          assert isinstance(sample, dict)
          trace.append_user_message(str(sample["n"]))
          trace.add_model_response(await model.predict(trace.items))
          return trace
  scorers:
"""


def test_a_solver_of_an_author_asks_the_model_and_its_trace_is_scored(ran: Ran) -> None:
    report = ran(
        SOLVER + "    - {type: string_equals, ground_truth: '{{ sample.n }} back'}\n",
        "key: t, model_key: parrot",
    )

    assert figures(report) == {"t string_equals is_correct_mean": 1.0}


def test_the_size_of_a_fast_subset_changes_nothing(ran: Ran) -> None:
    report = ran(
        SOLVER.replace("{key: others}", "{key: words, fast_subset_size: 1}")
        + "    - {type: string_equals, ground_truth: '{{ sample.n }} back'}\n",
        "key: t, model_key: parrot",
    )

    assert row_of(report, "string_equals").n == 3


LAST = """
    - type: python
      key: last
      compute_scores_snippet: |
        def compute_scores(sample, solver_output):
            texts = [message["content"] for message in solver_output.messages]
            last = solver_output.output.choices[0].message.content
            return {"messages": len(texts), "same": texts[-1] == last}
      metrics: [{type: mean, field: same}, {type: max, field: messages}]
"""


def test_each_scorer_has_its_metrics_for_the_task(ran: Ran) -> None:
    report = ran(SOLVER + LAST, "key: t, model_key: parrot")

    assert figures(report) == {"t last same_mean": 1.0, "t last messages_max": 2.0}


@pytest.mark.parametrize(
    ("scorer", "measured"), [pytest.param(*one, id=kind) for kind, one in JUDGED.items()]
)
def test_each_judge_has_its_metrics_for_the_task(
    ran: Ran, scorer: str, measured: dict[str, float]
) -> None:
    answered = scorer.replace("{{ sample.n }}", "{{ model_output | replace(' back', '') }}")
    report = ran(SOLVER.replace("others", "words") + answered, "key: t, model_key: parrot")

    assert by_metric(report, "number") == pytest.approx(measured)
    assert {row.task for row in report.metrics} == {"t"}


UNIQUE = """
  evaluated_entity_type: dataset
  scorers:
    - type: python_all_samples
      compute_scores_snippet: |
        from __future__ import annotations
        from collections import Counter
        def compute_scores(samples: list[dict]) -> list[dict]:
            times = Counter(sample["n"] for sample in samples)
            return [{"is_unique": times[sample["n"]] == 1, "at": place}
                    for place, sample in enumerate(samples)]
      metrics:
        - {type: mean, field: is_unique, name: Uniqueness Rate}
"""


def test_a_scorer_of_all_samples_gets_them_in_the_order_of_the_dataset(ran: Ran) -> None:
    report = ran(UNIQUE, "key: t, dataset_key: words")

    assert figures(report) == {"t python_all_samples Uniqueness Rate": pytest.approx(1 / 3)}
    found: list[Any] = [
        (one.sample_id, one.scores["python_all_samples"].values["at"]) for one in report.samples()
    ]
    assert found == [("a", 0), ("b", 1), ("c", 2)]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        pytest.param(["datasets"], ["others", "words"], id="every dataset"),
        pytest.param(["task", "list"], ["t"], id="the tasks"),
        pytest.param(["task", "show", "t"], ["python_all_samples"], id="one task"),
        pytest.param(
            ["task", "test", "t", "-f", "run.yaml", "-s", "t"], ["is_unique"], id="try it"
        ),
    ],
)
def test_a_task_and_the_datasets_are_reached_by_commands(
    ran: Ran, command: list[str], shown: list[str]
) -> None:
    ran(UNIQUE, "key: t, dataset_key: words")

    done = CliRunner().invoke(cli.app, command)

    assert done.exit_code == 0, done.output
    assert all(word in done.output for word in shown)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sample", {"n": 3}),
        ("sample_id", "a"),
        (
            "solver_output",
            {
                "items": [],
                "trace": {"items": []},
                "messages": [],
                "output": {"trace": {"items": []}, "raw_outputs": [], "direct_ios": []},
            },
        ),
        ("scores", {"number": {"values": {"n": 3}, "metadata": {"tokens": 1}}}),
        ("errors", [{"stage": "score", "error_type": "KeyError", "message": "'n'"}]),
    ],
)
def test_the_result_of_a_task_is_rows_with_these_columns(name: str, value: Any) -> None:
    store = MemoryStore()
    outline = PlanOutline(tasks=(TaskOutline(name="t"),), models=("",))
    store.begin(
        Run(
            id="1",
            created="",
            updated="",
            status="finished",
            plan_key="",
            manifest=Manifest(version=VERSION, plan=outline, models={}).to_builtins(),
        )
    )
    outcome = Outcome(
        task="t",
        model="",
        sample_id="a",
        ordinal=0,
        sample={"n": 3},
        trace=Trace(input="", output="", post_processed="", conversation={"items": []}),
        scores={"number": Score(values={"n": 3}, metadata={"tokens": 1})},
        failure=Failure(stage="score", type="KeyError", message="'n'"),
    )

    store.append("1", [outcome])

    (row,) = result_of("t", store=store).rows()

    assert row[name] == value
