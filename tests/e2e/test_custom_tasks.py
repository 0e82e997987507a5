"""A task of kind `custom` asks a chat model for a chat, and a custom model for what it renders."""

from pathlib import Path

import pytest
from tests.e2e.commands import evalwright, report_of
from tests.e2e.projects import run_file, task, write_project, write_rows
from tests.servers.model_server import Behaviour, ModelServer, chat, json

CHAT_BUILDER = """\
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "{{ sample.question }}"}
"""
GENERIC_BUILDER = """\
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: generic
      template: '{"messages": [{"role": "user", "content": {{ sample.question | tojson }}}]}'
"""
OF_CHAT = '  scorers: [{type: string_equals, ground_truth: "4"}]\n'
OF_TEXT = (
    '  scorers: [{type: string_equals, ground_truth: "4", value: "{{ solver_output.output }}"}]\n'
)
OF_CUSTOM = (
    '  scorers: [{type: string_equals, ground_truth: "4", '
    'value: "{{ solver_output.output.label }}"}]\n'
)
MODEL = """\
  - key: mine
    display_name: Mine
    task: {task}
    config: {{connection_type: custom_connection, url: "{url}/ask"}}
"""


@pytest.mark.parametrize(
    ("builder", "model", "scorers", "behaviour"),
    [
        pytest.param(CHAT_BUILDER, "openai$x", OF_CHAT, chat("4"), id="a provider's model"),
        pytest.param(
            CHAT_BUILDER, "mine:chat_completion", OF_CHAT, chat("4"), id="a chat model of a project"
        ),
        pytest.param(
            GENERIC_BUILDER, "mine:chat_completion", OF_TEXT, chat("4"), id="messages of a template"
        ),
        pytest.param(
            CHAT_BUILDER, "mine:custom", OF_CUSTOM, json({"label": "4"}), id="a custom model"
        ),
    ],
)
def test_a_custom_task_asks_for_what_its_model_is_for(
    tmp_path: Path, builder: str, model: str, scorers: str, behaviour: Behaviour
) -> None:
    key, _, declared = model.partition(":")
    with ModelServer(behaviour) as server:
        more = MODEL.format(task=declared, url=server.url) if declared else ""
        project = write_project(
            tmp_path,
            tasks__ask="tasks: [custom]\n" + task(builder + scorers),
            run=run_file(f"{{key: ask, task_key: ask, model_key: {key}}}", more=more),
        )
        write_rows(tmp_path, [{"question": "2 + 2?"}])

        checked = evalwright(server, "validate", ".", cwd=project)
        done = evalwright(server, "run", "run.yaml", "--json", cwd=project)

    assert checked.returncode == 0, checked.stdout
    assert [metric["value"] for metric in report_of(done)["metrics"]] == [1.0]
    assert server.log[-1].body["messages"] == [{"role": "user", "content": "2 + 2?"}]
