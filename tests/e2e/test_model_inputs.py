"""What is written about a model on the command line: its parameters and its address."""

from pathlib import Path

import pytest
from tests.e2e.commands import evalwright, record, write_tasks
from tests.servers.model_server import ModelServer

# Parameters.


@pytest.mark.parametrize(
    ("model", "written", "right"),
    [
        pytest.param("openai/m", "temprature", "temperature", id="a letter is missing"),
        pytest.param("anthropic/m", "max_token", "max_tokens", id="another API"),
        pytest.param("scripted/oracle", "Top-P", "top_p", id="a model that takes no parameters"),
        pytest.param("openai/m", "temp", "temperature", id="cut short"),
        pytest.param("openai/m", "total_timeout", "total_timeout_s", id="a timeout"),
    ],
)
def test_a_misspelt_parameter_is_refused_with_the_nearest_name(
    tmp_path: Path, model: str, written: str, right: str
) -> None:
    write_tasks(tmp_path, [record("a")])

    with ModelServer() as server:
        done = evalwright(
            server, "run", "tasks.jsonl", "-m", model, "-p", f"{written}=1", cwd=tmp_path
        )

    assert (done.returncode, done.stdout, server.log) == (2, "", [])
    assert f"`{written}` is not a parameter of {model}; did you mean `{right}`?" in done.stderr
    assert f"hint: `-p extra.{written}=…` sends it unchanged" in done.stderr


def test_extra_sends_any_name_and_servers_have_names_of_their_own(tmp_path: Path) -> None:
    write_tasks(tmp_path, [record("a")])
    own = ("min_tokens", "stop_token_ids", "repetition_penalty", "chat_template_kwargs", "sparkle")
    parameters = [f"-p{name}=1" for name in (*own, "extra.temprature", "extra.seed")]

    with ModelServer() as server:
        done = evalwright(
            server, "run", "tasks.jsonl", "-m", "openai/m", *parameters, "-pseed=2", cwd=tmp_path
        )

    assert done.returncode == 0, done.stderr
    (asked,) = server.log
    assert set(asked.body) == {"model", "messages", "temprature", "seed", *own}
    assert asked.body["temprature"] == 1


@pytest.mark.parametrize("name", ["model", "messages", "stream"])
def test_extra_cannot_replace_what_the_task_sends(tmp_path: Path, name: str) -> None:
    write_tasks(tmp_path, [record("a")])

    with ModelServer() as server:
        done = evalwright(
            server, "run", "tasks.jsonl", "-m", "openai/m", "-p", f"extra.{name}=1", cwd=tmp_path
        )

    assert (done.returncode, server.log) == (2, [])
