"""Fields that an endpoint adds to its messages, such as a session id, are sent back to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.e2e.commands import evalwright, report_of
from tests.e2e.projects import run_file, task, write_project, write_rows
from tests.servers.model_server import Asked, ModelServer

ROWS = [{"question": "My name is Leïla"}, {"question": "My name is ليلى"}]

TURNS = """\
  dataset: {key: rows}
  solver:
    type: multi_turn_solver
    message_builders:
      - {type: chat_message, role: user, content: "{{ sample.question }}"}
      - {type: generate}
      - {type: chat_message, role: user, content: "Session {{ messages[-1].session_id }}?"}
      - {type: generate}
"""
PYTHON = """\
  dataset: {key: rows}
  solver:
    type: python
    run_solver_snippet: |
      async def run_solver(sample, model, trace):
          trace.append_user_message(sample["question"])
          trace.add_model_response(await model.predict(trace.items))
          session = trace.messages[-1].session_id
          trace.append_user_message(f"Session {session}?")
          trace.add_model_response(await model.predict(trace.items))
          return trace
"""
SCORER = """\
  scorers:
    - type: string_equals
      ground_truth: "2 turns of {{ sample.question }}"
"""
CONNECTION = """\
    config:
      connection_type: custom_connection
      url: {url}/talk
"""
ADAPTER = """\
      adapter: {{key: sessions}}
"""
INFERENCE = """\
    config:
      connection_type: custom_inference
      timeout: 60
      environment: {{URL: "{url}/talk"}}
      run_inference_snippet: |
        import urllib.request

        def run_inference(body: str, environment: dict) -> str:
            with urllib.request.urlopen(environment["URL"], data=body.encode()) as reply:
                return reply.read().decode()
"""
ADAPTERS = """\
model_adapters:
  - key: sessions
    display_name: Sessions
    process_input:
      language: jinja
      source_code: |
        {% set named = input.messages | selectattr("session_id", "defined") | list %}
        {"session": {{ (named | last).session_id | tojson if named else "null" }},
         "messages": {{ input.messages | tojson }}}
"""


class Sessions:
    """An endpoint with a memory: it answers by the session, which only its own messages name."""

    def __init__(self) -> None:
        self.heard: dict[str, list[str]] = {}

    async def __call__(self, asked: Asked) -> web.StreamResponse:
        *before, last = asked.body["messages"]
        named = [message["session_id"] for message in before if "session_id" in message]
        session = named[-1] if named else f"s{len(self.heard)}"
        heard = self.heard.setdefault(session, [])
        heard.append(last["content"])
        message = {
            "role": "assistant",
            "content": f"{len(heard)} turns of {heard[0].removesuffix('?')}",
            "session_id": session,
            "reasoning_content": "They told me their name.",
            "audio": None,
        }
        return web.json_response({"choices": [{"message": message}]})


@pytest.mark.parametrize("solver", [TURNS, PYTHON], ids=["multi_turn_solver", "python"])
@pytest.mark.parametrize(
    ("config", "more"),
    [
        pytest.param(CONNECTION, "", id="the identity adapter"),
        pytest.param(CONNECTION + ADAPTER, ADAPTERS, id="an adapter of the project"),
        pytest.param(INFERENCE, "", id="custom inference"),
    ],
)
def test_the_fields_of_a_message_are_sent_back_on_the_next_turn(
    tmp_path: Path, solver: str, config: str, more: str
) -> None:
    sessions = Sessions()
    with ModelServer(sessions) as server:
        model = "  - key: talker\n    display_name: Talker\n" + config.format(url=server.url)
        specification = "{key: ask, task_key: ask, model_key: talker}"
        run = run_file(specification, more=model + more)
        project = write_project(tmp_path, tasks__ask=task(solver + SCORER), run=run)
        write_rows(tmp_path, ROWS)

        done = evalwright(server, "run", "run.yaml", "--json", cwd=project)

    report = report_of(done)
    assert [metric["value"] for metric in report["metrics"]] == [1.0]
    assert sorted(sessions.heard) == ["s0", "s1"]
    assert all(heard[1] == f"Session {name}?" for name, heard in sessions.heard.items())
    second = [asked.body for asked in server.log if len(asked.body["messages"]) > 1]
    assert all(body["messages"][1]["session_id"] in sessions.heard for body in second)
    assert not any("reasoning_content" in body["messages"][1] for body in second)
    if more:
        assert [body["session"] for body in second] == [
            body["messages"][1]["session_id"] for body in second
        ]


def test_a_provider_is_sent_its_own_protocol_alone(tmp_path: Path) -> None:
    sessions = Sessions()
    with ModelServer(sessions) as server:
        specification = "{key: ask, task_key: ask, model_key: openai$x}"
        turns = TURNS.replace("{{ messages[-1].session_id }}", "1")
        project = write_project(tmp_path, tasks__ask=task(turns), run=run_file(specification))
        write_rows(tmp_path, ROWS[:1])

        done = evalwright(server, "run", "run.yaml", cwd=project)

    assert done.returncode == 0, done.stderr
    sent: list[dict[str, Any]] = server.log[-1].body["messages"]
    assert [set(message) for message in sent] == [{"role", "content"}] * 3, json.dumps(sent)


AGENT = """\
        import json
        import urllib.request

        from latticeflow.core.dtypes import AssistantMessage, ChatCompletionInput, FunctionCall
        from latticeflow.core.dtypes import FunctionCallOutput, FunctionCallStatus, MessageStatus
        from latticeflow.core.dtypes import OpenResponsesModelOutput, OutputTextContent

        def run_inference(body: str, environment: dict) -> str:
            asked = ChatCompletionInput.model_validate(json.loads(body))
            last = next(m for m in reversed(asked.messages) if m.role == "user")
            before = [m for m in asked.messages if m.role == "assistant"]
            session = getattr(before[-1], "session_id", "") if before else ""
            own = [{"role": "assistant", "content": "", "session_id": session}] if session else []
            sent = {"messages": [*own, {"role": "user", "content": last.content}]}
            data = json.dumps(sent).encode()
            with urllib.request.urlopen(environment["URL"], data=data) as reply:
                said = json.load(reply)["choices"][0]["message"]
            done = FunctionCallStatus.completed
            return OpenResponsesModelOutput(items=[
                FunctionCall(id="f", call_id="c", name="recall", arguments="{}", status=done),
                FunctionCallOutput(id="o", call_id="c", output="known", status=done),
                AssistantMessage.model_validate({
                    "id": "m",
                    "status": MessageStatus.completed,
                    "content": [OutputTextContent(text=said["content"])],
                    "session_id": said["session_id"],
                }),
            ]).model_dump_json()
"""


def write_agent(folder: Path, server: ModelServer, snippet: str) -> Path:
    """A project whose model is a Python function that talks to the server."""
    connection = INFERENCE[: INFERENCE.index("        import")]
    inference = connection.format(url=server.url) + snippet
    model = f"  - key: agent\n    display_name: Agent\n{inference}"
    run = run_file("{key: ask, task_key: ask, model_key: agent}", more=model)
    write_rows(folder, ROWS)
    return write_project(folder, tasks__ask=task(TURNS + SCORER), run=run)


def test_an_agent_in_python_passes_on_the_fields_that_its_endpoint_adds(tmp_path: Path) -> None:
    sessions = Sessions()
    with ModelServer(sessions) as server:
        project = write_agent(tmp_path, server, AGENT)

        done = evalwright(server, "run", "run.yaml", "--json", cwd=project)

    assert [metric["value"] for metric in report_of(done)["metrics"]] == [1.0]
    assert all(heard[1] == f"Session {name}?" for name, heard in sessions.heard.items())


def test_a_field_that_an_author_misspells_in_a_constructor_fails_with_advice(
    tmp_path: Path,
) -> None:
    misspelt = AGENT.replace('call_id="c", output=', 'callid="c", output=')
    with ModelServer(Sessions()) as server:
        project = write_agent(tmp_path, server, misspelt)
        evalwright(server, "run", "run.yaml", cwd=project)
        done = evalwright(server, "export", "latest", cwd=project)

    failure = json.loads(done.stdout.splitlines()[0])["failure"]
    assert "FunctionCallOutput: " in failure["message"]
    assert "unknown field `callid`: expected `id`" in failure["message"]
    assert "`FunctionCallOutput.model_validate({…})` keeps other fields" in failure["message"]
