"""What is written about a model on the command line: its parameters and its address."""

from pathlib import Path

import pytest
from tests.e2e.commands import KEY, evalwright, outcomes_in, record, report_of, write_tasks
from tests.servers.model_server import ModelServer, chat

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


# Addresses.


def test_two_addresses_of_one_provider_are_two_models(tmp_path: Path) -> None:
    write_tasks(tmp_path, [record("a"), record("b")])

    with ModelServer(chat("4")) as right, ModelServer(chat("5")) as wrong, ModelServer() as other:
        models = [f"openai/org/m@{right.url}", f"openai:org/m@{wrong.url}"]
        done = evalwright(
            other, "run", "tasks.jsonl", "-m", models[0], "-m", models[1], "--json", cwd=tmp_path
        )

    report = report_of(done)
    names = [f"openai/org/m@{server.url}" for server in (right, wrong)]
    assert other.log == []
    assert [asked.body["model"] for asked in (*right.log, *wrong.log)] == ["org/m"] * 4
    assert {asked.headers["Authorization"] for asked in right.log} == {f"Bearer {KEY}"}
    assert [row["model"] for row in report["leaderboard"]] == names
    assert [row["mean"] for row in report["leaderboard"]] == [1.0, 0.0]
    assert {outcome.model for outcome in outcomes_in(tmp_path)} == set(names)


@pytest.mark.parametrize(
    ("arguments", "answers"),
    [
        pytest.param(
            ("-m", "http://host/v1"),
            ("`http://host/v1` is an address", "openai/MODEL@http://host/v1", "OPENAI_BASE_URL"),
            id="an address instead of a model",
        ),
        pytest.param(
            ("-m", "openai/m", "-p", "base_url=http://host/v1"),
            ("`base_url` is not a parameter", "`-m openai/m@http://…`", "OPENAI_BASE_URL"),
            id="an address as a parameter",
        ),
        pytest.param(
            ("-m", "vllm/m", "-p", "api_base=http://host/v1"),
            ("`-m vllm/m@http://…`", "VLLM_BASE_URL"),
            id="of another provider",
        ),
        pytest.param(
            ("-m", "scripted/oracle@http://host/v1"),
            ("scripted models have no address", "write scripted/oracle"),
            id="a model without an address",
        ),
        pytest.param(
            ("-m", "openai/m@http://user:pass@host/v1"),
            ("the address after `@` must not contain", "set the key in its variable"),
            id="with a password",
        ),
        pytest.param(
            ("-m", "https://user:pass@host/v1"), ("is an address, not a model",), id="a password"
        ),
    ],
)
def test_a_misplaced_address_is_answered_with_its_place(
    tmp_path: Path, arguments: tuple[str, ...], answers: tuple[str, ...]
) -> None:
    write_tasks(tmp_path, [record("a")])

    with ModelServer() as server:
        done = evalwright(server, "run", "tasks.jsonl", *arguments, cwd=tmp_path)

    assert (done.returncode, done.stdout, server.log) == (2, "", [])
    assert all(answer in done.stderr for answer in answers), done.stderr
    assert "pass" not in done.stderr


def test_a_server_that_is_not_there_is_looked_for_where_it_was_written(tmp_path: Path) -> None:
    write_tasks(tmp_path, [record("a")])
    with ModelServer() as gone:
        model = f"openai/m@{gone.url}"

    with ModelServer() as server:
        done = evalwright(
            server, "run", "tasks.jsonl", "-m", model, "--retries", "0", "--json", cwd=tmp_path
        )

    (failure,) = report_of(done, exit_code=done.returncode)["failures"]
    assert server.log == []
    assert failure["hint"] == "is the server running? check the address after `@`"
