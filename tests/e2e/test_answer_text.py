"""`solver_output.output` is text where text is expected, in snippets, templates and filters."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, outcomes_in, report_of
from tests.e2e.projects import ASKED, SOLVER, run_file, task, write_project, write_rows
from tests.servers.model_server import ModelServer, chat

ANSWER = "The capital of France is Paris."
RUN = ("run", "run.yaml", "--json")
SNIPPET = """\
  scorers:
    - type: python
      key: text
      metrics: []
      compute_scores_snippet: |
        import re

        def compute_scores(sample, solver_output):
            output = solver_output.output
            return {
                "contains": "Paris" in output,
                "lacks": "Rome" in output,
                "equals": output == "The capital of France is Paris.",
                "differs": output != "Paris",
                "length": len(output),
                "slice": output[:3] + output[-1],
                "method": output.lower().strip(".").split()[-1],
                "match": re.search(r"[A-Z]\\w+", output[3:]).group(),
                "key": {"The capital of France is Paris.": 1}[output],
                "attribute": output.choices[0].message.content,
                "item": output["choices"][0]["message"]["role"],
                "get": output.get("usage").num_prompt_tokens,
                "field": "choices" in output,
            }
"""
SCORES = {
    "contains": True,
    "lacks": False,
    "equals": True,
    "differs": True,
    "length": len(ANSWER),
    "slice": "The.",
    "method": "paris",
    "match": "France",
    "key": 1,
    "attribute": ANSWER,
    "item": "assistant",
    "get": 11,
    "field": True,
}


def run_task(folder: Path, definition: str, answer: str = ANSWER) -> Any:
    write_rows(folder, [{"question": "q"}])
    write_project(folder, run=run_file(ASKED), tasks__ask=task(SOLVER + definition))
    with ModelServer(chat(answer)) as server:
        return report_of(evalwright(server, *RUN, cwd=folder))


def test_an_answer_is_text_in_a_snippet_and_keeps_its_fields(tmp_path: Path) -> None:
    run_task(tmp_path, SNIPPET)

    assert outcomes_in(tmp_path)[0].scores["text"].values == SCORES


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("{{ 'Paris' in solver_output.output }}", "True"),
        ("{{ solver_output.output == 'The capital of France is Paris.' }}", "True"),
        ("{{ solver_output.output | length }}", str(len(ANSWER))),
        ("{{ solver_output.output[:3] }}", "The"),
        ("{{ solver_output.output.upper() }}", ANSWER.upper()),
        ("{{ solver_output.output is string }}", "True"),
        ("{{ model_output | replace('Paris', 'Rome') }}", ANSWER.replace("Paris", "Rome")),
        ("{{ solver_output.output.choices[0].message.content }}", ANSWER),
        ("{{ solver_output.output['usage'].num_prompt_tokens }}", "11"),
        ("{{ (solver_output.output | tojson | fromjson).usage.num_prompt_tokens }}", "11"),
    ],
)
def test_an_answer_is_text_in_a_template(tmp_path: Path, expression: str, text: str) -> None:
    scorer = f"    - {{type: string_equals, key: exact, value: {json.dumps(expression)}, "
    report = run_task(tmp_path, f"  scorers:\n{scorer}ground_truth: {json.dumps(text)}}}\n")

    assert [row["value"] for row in report["metrics"]] == [1.0]


@pytest.mark.parametrize(
    ("answer", "filter_", "excluded"),
    [
        pytest.param("Paris", "op: equals, value: Paris", 1, id="equals"),
        pytest.param("Rome", "op: equals, value: Paris", 0, id="does not equal"),
        pytest.param("Paris", "op: not_equals, value: Paris", 0, id="not_equals"),
        pytest.param("Paris", "op: in, values: [Rome, Paris]", 1, id="in"),
        pytest.param("Oslo", "op: not_in, values: [Rome, Paris]", 1, id="not_in"),
        pytest.param("4", "op: greater_than, value: 3", 1, id="greater than a number"),
        pytest.param("4", 'op: equals, value: "4"', 1, id="a number as text"),
        pytest.param("True", "op: is_true", 1, id="a boolean"),
    ],
)
def test_an_action_rule_compares_an_answer_as_text(
    tmp_path: Path, answer: str, filter_: str, excluded: int
) -> None:
    actions = (
        "  actions:\n    - key: out\n      action: exclude_from_metrics\n"
        f'      filter: {{{filter_}, expression: "{{{{ solver_output.output }}}}"}}\n'
    )
    scorers = "  scorers:\n    - {type: string_equals, key: exact, ground_truth: Paris}\n"

    report = run_task(tmp_path, scorers + actions, answer)

    assert report["summary"]["excluded"] == excluded
