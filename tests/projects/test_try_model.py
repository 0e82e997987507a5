import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.api.demo import demo, files_in
from tests.local_model import needs_local_model
from tests.servers.model_server import Behaviour, ModelServer, chat, embeddings, status
from tests.servers.model_server import json as json_reply

from evalwright import api
from evalwright.errors import UnknownName, UsageError
from evalwright.projects.try_model import ModelPreview

KEY = "sk-test-9d7fA+/Kq2"
ADAPTER = """\
key: wrapped
process_input:
  source_code: |
    {"question": {{ input.messages[-1].content | tojson }},
     "messages": {{ input.messages | tojson }}}
process_output:
  source_code: |
    {% set said = (body | fromjson).choices[0].message.content %}
    {"choices": [{"message": {"role": "assistant", "content": {{ said | upper | tojson }}}}]}
"""


def model(url: str) -> str:
    return f"""\
key: bot
display_name: Bot
config:
  url: {url}/chat/completions
  api_key: $BOT_KEY
  adapter: {{key: wrapped}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(demo(tmp_path))
    return tmp_path


@pytest.fixture
def server(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model of the project stands behind it, with an adapter."""
    monkeypatch.setenv("BOT_KEY", KEY)
    with ModelServer(chat("four")) as server:
        (project / "models" / "bot.yaml").write_text(model(server.url))
        (project / "model_adapters").mkdir()
        (project / "model_adapters" / "wrapped.yaml").write_text(ADAPTER)
        yield server


def steps(trial: ModelPreview) -> dict[str, object]:
    return {one.step: one.value for one in trial.steps}


def test_a_model_shows_what_its_adapter_makes_of_both_ways(server: ModelServer) -> None:
    trial = api.try_model("bot", given="two and two?")

    asked = {"messages": [{"role": "user", "content": "two and two?"}]}
    assert steps(trial)["Input"] == asked
    sent = {"question": "two and two?", **asked}
    assert steps(trial)["Request, after process_input"] == sent == server.log[0].body
    back = steps(trial)["Response, before process_output"]
    assert "four" in json.dumps(back)
    assert trial.steps[-1].value["text"] == "FOUR"
    assert trial.ok


def test_no_key_is_shown(server: ModelServer, project: Path) -> None:
    server.behave(chat(f"your key is {KEY}"))

    trial = api.try_model("bot")

    assert server.log[0].headers["Authorization"] == f"Bearer {KEY}"
    page = "\n".join(trial.to_lines())
    assert KEY not in page
    assert trial.connection["api_key"] == "[redacted]"
    assert not [name for name in files_in(project) if name.startswith(".evalwright/runs")]


def test_no_secret_of_the_run_file_or_of_a_file_with_variables_is_shown(project: Path) -> None:
    secrets = {
        "TOKEN_OF_RUN": "of-the-run-file-1",
        "OWN_TOKEN": "of-dot-env-22",
        "MORE_KEY": "of-env-333",
    }
    run = project / "run.yaml"
    run.write_text("secrets: {TOKEN_OF_RUN: of-the-run-file-1}\n" + run.read_text())
    (project / ".env").write_text("OWN_TOKEN=of-dot-env-22\n")
    (project / "more.env").write_text("MORE_KEY=of-env-333\n")
    code = project / "models" / "responder.py"
    said = " ".join(secrets.values())
    told = f"print({said!r})\n    messages = json"
    code.write_text(code.read_text().replace("messages = json", told))

    trial = api.try_model("responder", given=said, env=["more.env"])

    page = "\n".join(trial.to_lines())
    assert not [one for one in secrets.values() if one in page]
    assert trial.printed == ["models/responder.py: [redacted] [redacted] [redacted]"]
    assert trial.ok


def test_a_model_that_fails_is_asked_once_and_says_why(server: ModelServer) -> None:
    server.behave(status(500, "out of order"))

    trial = api.try_model("bot")

    assert not trial.ok
    assert trial.error is not None
    assert "500" in trial.error.message
    assert len(server.log) == 1
    assert "Request, after process_input" in steps(trial)
    assert "  Error:" in "\n".join(trial.to_lines())


def test_an_adapter_that_cannot_be_rendered_is_the_error(
    server: ModelServer, project: Path
) -> None:
    adapter = project / "model_adapters" / "wrapped.yaml"
    adapter.write_text(ADAPTER.replace("messages[-1]", "massages[-1]"))

    trial = api.try_model("bot")

    assert trial.error is not None
    assert "`process_input` of `wrapped`" in trial.error.message
    assert server.log == []


@pytest.mark.parametrize(
    ("task", "behaviour", "given", "sent"),
    [
        ("embeddings", embeddings(), None, {"input": ["one short text"]}),
        ("embeddings", embeddings(), "three", {"input": ["three"]}),
        ("custom", json_reply({"label": "spam"}), '{"mail": "x"}', {"mail": "x"}),
    ],
    ids=["embeddings", "embeddings of a text", "custom"],
)
def test_a_model_for_another_task_is_asked_for_that(
    task: str, behaviour: Behaviour, given: str | None, sent: object, project: Path
) -> None:
    with ModelServer(behaviour) as server:
        (project / "models" / "other.yaml").write_text(
            f"key: other\ntask: {task}\nconfig: {{url: {server.url}/it}}\n"
        )
        trial = api.try_model("other", given=given)
        (asked,) = server.log

    assert trial.ok, trial.error
    assert steps(trial)["Request, after process_input"] == sent == asked.body


@pytest.mark.usefixtures("project")
def test_a_model_that_is_a_snippet_is_asked_and_heard(project: Path) -> None:
    code = project / "models" / "responder.py"
    code.write_text(
        code.read_text().replace("messages = json", "print('asked')\n    messages = json")
    )

    trial = api.try_model("responder", given='[{"role": "user", "content": "capital of Peru?"}]')

    assert trial.steps[-1].value["text"] == "Lima"
    assert trial.printed == ["models/responder.py: asked"]
    assert trial.connection["run_inference_snippet"] == "models/responder.py:1"


def test_a_provider_needs_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    trial = api.try_model("scripted/echo", given="hello")

    assert trial.steps[-1].value["text"] == "hello"
    with pytest.raises(UsageError, match="not a project"):
        api.try_model("bot")


@pytest.mark.usefixtures("project")
def test_a_model_that_is_not_there_is_met_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no model `responer`") as raised:
        api.try_model("responer")

    assert raised.value.hint == "did you mean `responder`?"


@pytest.mark.parametrize("given", ['{"message": []}', '[{"role": "nobody", "content": ""}]', "3"])
@pytest.mark.usefixtures("project")
def test_an_input_that_is_no_chat_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="the input"):
        api.try_model("responder", given=given)


@needs_local_model
def test_a_model_that_would_end_a_run_is_a_model_that_gave_no_answer(project: Path) -> None:
    (project / "broken.gguf").write_bytes(b"GGUF")

    trial = api.try_model("local/broken.gguf")

    assert trial.error is not None
    assert "local/broken.gguf could not be loaded" in "\n".join(trial.to_lines())
    assert not trial.ok
