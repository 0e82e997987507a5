"""Adapters and messages whose templates build lists, against a real endpoint."""

import json
from pathlib import Path

from tests.e2e.commands import evalwright, outcomes_in, report_of
from tests.e2e.projects import SOLVER, run_file, task, write_project, write_rows
from tests.servers import model_server as serve
from tests.servers.model_server import ModelServer

ADAPTER = """\
key: turns
display_name: Turns
process_input:
  language: jinja
  source_code: |
    {% set turns = [] %}
    {% set options = {"language": "en"} %}
    {% for message in input.messages %}
      {% if message.role == "system" %}
        {% set _ = options.update({"instructions": message.content}) %}
        {% continue %}
      {% endif %}
      {% do turns.append([message.role, message.content]) %}
    {% endfor %}
    {% do input.messages.clear() %}
    {{ {"turns": turns, "options": options} | tojson }}
process_output:
  language: jinja
  source_code: |
    {% set texts = [] %}
    {% for part in (body | fromjson).parts %}{% do texts.append(part) %}{% endfor %}
    {% do texts.sort() %}
    {"choices": [{"message": {"role": "assistant", "content": {{ texts | join(" ") | tojson }}}}]}
"""
MODEL = """\
key: bot
display_name: Bot
config:
  connection_type: custom_connection
  url: ADDRESS
  adapter: {key: turns}
"""
ASK = task("""\
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - role: system
          content: |-
            {% do sample.words.append("please") %}{{ sample.words | join(" ") }}
        - role: user
          content: "{{ sample.words | join(', ') }}"
  scorers:
    - type: string_equals
      value: "{% do messages.clear() %}{{ solver_output.output }}"
      ground_truth: "{% do sample.words.sort() %}{{ sample.words | join(' ') }}"
    - type: string_equals
      key: later
      value: "{{ messages | length }}"
      ground_truth: "3"
""")


def test_templates_build_requests_and_no_template_sees_what_another_changed(
    tmp_path: Path,
) -> None:
    run = run_file("{key: ask, task_key: ask, model_key: bot}")
    with ModelServer(serve.json({"parts": ["up", "it", "clear"]})) as server:
        model = MODEL.replace("ADDRESS", f"{server.origin}/bot")
        write_project(tmp_path, run=run, models__bot=model, tasks__ask=ASK)
        write_project(tmp_path, model_adapters__turns=ADAPTER)
        write_rows(tmp_path, [{"words": ["up", "clear", "it"]}])
        report = report_of(evalwright(server, "run", "run.yaml", "--json", cwd=tmp_path))

    (asked,) = server.log
    assert json.loads(asked.raw) == {
        "turns": [["user", "up, clear, it"]],
        "options": {"language": "en", "instructions": "up clear it please"},
    }
    assert [row["value"] for row in report["metrics"]] == [1.0, 1.0]
    (outcome,) = outcomes_in(tmp_path)
    assert outcome.sample["words"] == ["up", "clear", "it"]


def test_a_template_that_changes_a_trace_fails_with_its_place_and_what_to_write(
    tmp_path: Path,
) -> None:
    scorer = """\
  scorers:
    - type: string_equals
      value: |
        {% set items = trace.items | list %}{% do items.clear() %}
        {% do solver_output.append_user_message("x") %}
      ground_truth: "4"
"""
    run = run_file("{key: ask, task_key: ask, model_key: openai$x}")
    write_project(tmp_path, run=run, tasks__ask=task(SOLVER + scorer))
    write_rows(tmp_path, [{"question": "2 + 2"}])
    with ModelServer() as server:
        evalwright(server, "run", "run.yaml", cwd=tmp_path)

    (outcome,) = outcomes_in(tmp_path)
    assert outcome.failure is not None
    assert "`append_user_message` changes a trace" in outcome.failure.message
    assert "copy what it needs first" in outcome.failure.message
    assert "(tasks/ask.yaml:16)" in outcome.failure.message
