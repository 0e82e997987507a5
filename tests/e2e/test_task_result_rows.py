"""Results of a task as the rows of another, in the published shape."""

from pathlib import Path

from tests.e2e.commands import evalwright, report_of
from tests.e2e.projects import SOLVER, run_file, task, write_project, write_rows
from tests.servers.model_server import ModelServer, chat

SCORERS = '  scorers: [{key: exact, type: string_equals, ground_truth: "4"}]\n'
LATER = """\
key: later
display_name: Later
description: Reads what was said.
config_spec: [{type: task_result, key: earlier, display_name: Earlier}]
definition:
  dataset: {key: << config.earlier >>, source: task_result}
  scorers:
    - type: python
      metrics: [{type: mean, field: ok}]
      compute_scores_snippet: |
        def compute_scores(sample):
            output = sample["solver_output"]["output"]
            asked, answered = output["trace"]["items"]
            return {
                "ok": asked["content"][0]["text"] == sample["sample"]["question"]
                and answered["content"][0]["text"] == "4"
                and output["raw_outputs"][0]["choices"][0]["message"]["content"] == "4"
                and output["choices"][0]["message"]["content"] == "4"
                and sample["sample"]["question"] in output["direct_ios"][0]["direct_input"]["body"]
                and output["direct_ios"][0]["direct_output"]["status_code"] == 200
                and sample["scores"]["exact"]["values"] == {"is_correct": True}
                and sample["errors"] == []
            }
    - type: string_equals
      key: last
      value: "{{ sample.solver_output.output.trace.items[-1].content[0].text }}"
      ground_truth: "4"
"""


def test_rows_of_a_result_have_the_published_shape(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"question": "2 + 2?"}, {"question": "كم؟"}])
    project = write_project(
        tmp_path,
        tasks__ask=task(SOLVER + SCORERS),
        tasks__later=LATER,
        run=run_file(
            "{key: ask, task_key: ask, model_key: openai$x}",
            "{key: later, task_key: later, task_config: {earlier: ask}}",
        ),
    )
    with ModelServer(chat("4")) as server:
        done = evalwright(server, "run", "run.yaml", "--json", cwd=project)

    values = {(each["task"], each["scorer"]): each["value"] for each in report_of(done)["metrics"]}
    assert values == {("ask", "exact"): 1.0, ("later", "python"): 1.0, ("later", "last"): 1.0}
