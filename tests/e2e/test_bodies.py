"""Snippets of a project see the bodies of requests and replies, whatever connects the model."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, outcomes_in
from tests.servers.model_server import ModelServer, by_path, chat
from tests.servers.model_server import json as reply_json

KEY = "sk-test-of-bodies-123"
TASK = """\
key: t
display_name: T
description: D
definition:
  dataset: {key: rows}
  solver: SOLVER
  scorers:
    - type: python
      metrics: []
      compute_scores_snippet: |
        import json
        def compute_scores(sample, solver_output):
            part = getattr(solver_output, "solver_outputs", {"only": solver_output})["only"]
            (io,) = part.direct_ios
            assert io.model_validate(io.model_dump()) == io
            return {
                "status": io.direct_output.status_code,
                "sent": json.loads(io.direct_input.body),
                "came": json.loads(io.direct_output.body),
            }
"""
SINGLE = (
    "{type: single_turn_solver, input_builder: {type: chat_completion, input_messages: "
    "[{role: user, content: 'Hi {{ sample.name }}'}]}}"
)
GROUPED = (
    "{type: grouped_single_turn_solver, input_builder: {type: generic, template: "
    """'{"only": {"messages": [{"role": "user", "content": "Hi {{ sample.name }}"}]}}'}}"""
)
PYTHON = """
    type: python
    run_solver_snippet: |
      async def run_solver(sample, model, trace):
          trace.append_user_message("Hi " + sample["name"])
          trace.add_model_response(await model.predict(trace.items))
          return trace
"""
DATASET = "key: rows\ndisplay_name: R\nsource: {type: local, file_path: rows.jsonl}\n"
RUN = """\
models: [{$provider: PROVIDER}, {$provider: openai/gpt-4o}]
evaluation:
  key: e
  display_name: E
  task_specifications: [{task_key: t, model_key: KEY}]
"""
ANTHROPIC = {
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
    "unread": 7,
}


@pytest.mark.parametrize(
    ("provider", "solver"),
    [
        pytest.param("openai/gpt-4o", SINGLE, id="one turn"),
        pytest.param("openai/gpt-4o", GROUPED, id="a group"),
        pytest.param("openai/gpt-4o", PYTHON, id="a function"),
        pytest.param("anthropic/claude", SINGLE, id="another protocol"),
    ],
)
def test_a_provider_s_bodies_are_what_was_sent_and_received(
    tmp_path: Path, provider: str, solver: str
) -> None:
    key = provider.replace("/", "$")
    write(tmp_path, "tasks/t.yaml", TASK.replace("SOLVER", solver))
    write(tmp_path, "datasets/rows.yaml", DATASET)
    write(tmp_path, "datasets/rows.jsonl", '{"name": "Ada"}\n')
    write(tmp_path, "run.yaml", RUN.replace("PROVIDER", provider).replace("KEY", key))
    behaviour = by_path(completions=chat("Hello"), messages=reply_json(ANTHROPIC))
    with ModelServer(behaviour) as server:
        env = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url}
        done = evalwright(server, "run", "run.yaml", cwd=tmp_path, env=env)
        (asked,) = server.log

    assert done.returncode == 0, done.stderr
    (outcome,) = outcomes_in(tmp_path)
    scores: Any = outcome.scores["python"].values
    assert scores["status"] == 200
    assert scores["sent"] == asked.body
    assert scores["sent"]["messages"] == [{"role": "user", "content": "Hi Ada"}]
    assert "usage" in scores["came"]
    assert KEY not in json.dumps(scores)


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
