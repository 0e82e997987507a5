"""Secrets of documents: declared, of the environment, or stored with `evalwright secret`."""

import os
from pathlib import Path

import pytest
from tests.e2e.commands import environment
from tests.e2e.in_process import evalwright
from tests.e2e.projects import SOLVER, run_file, task, write_project, write_rows
from tests.servers.model_server import ModelServer, chat

VALUE = "a-value-nobody-may-see"
SCORERS = '  scorers: [{type: string_equals, ground_truth: "4"}]\n'
MODEL = """\
  - key: agent
    display_name: Agent
    config:
      connection_type: custom_connection
      url: {url}/chat/completions
      api_key: << secrets.AGENT >>
"""


def project(folder: Path, url: str) -> Path:
    write_rows(folder, [{"question": "2 + 2?"}])
    run = run_file("{key: ask, task_key: ask, model_key: agent}", more=MODEL.format(url=url))
    return write_project(folder, tasks__ask=task(SOLVER + SCORERS), run=run)


@pytest.mark.parametrize("source", ["store", "environment"])
def test_a_secret_that_no_document_declares_is_looked_up(tmp_path: Path, source: str) -> None:
    with ModelServer(chat(VALUE)) as server:
        project(tmp_path, server.url)
        env = environment(server)
        if source == "store":
            stored = evalwright("secret", "set", "AGENT", cwd=tmp_path, env=env, stdin=VALUE + "\n")
            assert stored.returncode == 0, stored.stderr
            assert VALUE not in stored.stdout + stored.stderr
        else:
            env["AGENT"] = VALUE

        checked = evalwright("validate", ".", cwd=tmp_path, env=env)
        done = evalwright("run", "run.yaml", cwd=tmp_path, env=env)
        exported = evalwright("export", "latest", cwd=tmp_path, env=env)

    assert (checked.returncode, done.returncode) == (0, 0), checked.stdout + done.stderr
    assert server.log[0].headers["Authorization"] == f"Bearer {VALUE}"
    assert VALUE not in checked.stdout + done.stdout + done.stderr + exported.stdout
    stored_files = [path for path in tmp_path.rglob("*") if path.is_file()]
    holding = [path.name for path in stored_files if VALUE.encode() in path.read_bytes()]
    assert holding == (["secrets.json"] if source == "store" else [])


def test_a_secret_that_nothing_has_is_named_with_what_to_do(tmp_path: Path) -> None:
    with ModelServer(chat("4")) as server:
        project(tmp_path, server.url)
        done = evalwright("validate", ".", cwd=tmp_path, env=environment(server))

    assert done.returncode == 1
    assert "unknown_secret: unknown secret `AGENT`" in done.stdout
    assert "or with `evalwright secret set AGENT`" in done.stdout


def test_secrets_are_listed_by_name_and_deleted(tmp_path: Path) -> None:
    env = dict(os.environ)
    for name in ("B", "A"):
        evalwright("secret", "set", name, cwd=tmp_path, env=env, stdin=VALUE)

    listed = evalwright("secret", "list", cwd=tmp_path, env=env)
    as_json = evalwright("secret", "list", "--json", cwd=tmp_path, env=env)
    deleted = evalwright("secret", "delete", "A", cwd=tmp_path, env=env)
    again = evalwright("secret", "delete", "A", cwd=tmp_path, env=env)

    assert (listed.stdout, as_json.stdout.split()) == ("A\nB\n", ["[", '"A",', '"B"', "]"])
    assert (deleted.returncode, again.returncode) == (0, 2)
    assert evalwright("secret", "list", cwd=tmp_path, env=env).stdout == "B\n"
