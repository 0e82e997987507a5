"""Keys of a project, wherever it has them from, are written nowhere, whoever says them back."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.e2e.commands import evalwright, finished, start
from tests.e2e.projects import SOLVER, run_file, scorer, task, write_project, write_rows
from tests.e2e.test_secrets import leaks, written
from tests.living import wait_until
from tests.servers.model_server import Asked, ModelServer, chat, never

OURS = {
    "environment": "sk-env-Zq7Lw2Tn9Xc4",
    "dot_env": "sk-dot-Hf3Rk8Pd1Vs6",
    "named_file": "sk-file-Bg5Ny0Jm2Qe",
    "run_file": "sk-run-Wt4Ua7Ki9Zo1",
    "model": "sk-mod-Lx6Ec2Gv5Mb8",
    "inference": "sk-inf-Sj1Do4Th7Cw3",
    "url": "Nz4Yb8Xe1Uo6Gk",
    "variable": "Vr2Mx7Kc5Jh9Wd",
    "literal": "gsk_Ar5Tp0Fs3Lq",
    "plain_variable": "of-plain-words",
}
DOCUMENTS = {"run.yaml", ".env", "more.env", "rows.jsonl", "here.yaml", "there.yaml"}
"""Where the author has written them down."""
HERE = """\
key: here
secrets: {OWN: sk-mod-Lx6Ec2Gv5Mb8}
config:
  connection_type: custom_inference
  timeout: 60
  environment: {LOGIN_KEY: sk-inf-Sj1Do4Th7Cw3, OWN_KEY: << secrets.OWN >>}
  run_inference_snippet: |
    import json

    def run_inference(body, environment):
        print("asked with", environment)
        if "fail" in body:
            raise ValueError(f"refused {environment}")
        said = f"{body} {environment}"
        return json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]})
"""
THERE = """\
key: there
config:
  url: $WHERE
  api_key: << secrets.FROM_RUN >>
  custom_headers: {X-Token: $FILE_TOKEN, X-Other: $DOT_TOKEN, X-Id: $TENANT, X-Lit: gsk_Ar5Tp0Fs3Lq,
    X-Plain: $PLAIN}
"""
EACH = """
import os

def compute_scores(sample, trace):
    print(dict(os.environ), sample)
    if sample["question"] == "raise":
        raise ValueError(str(sample))
    return {"scores": {"ok": 1}, "metadata": {"seen": str(dict(os.environ)) + str(sample)}}
"""
ALL = """
def compute_scores(samples, solver_outputs):
    raise ValueError(f"{samples} {solver_outputs[0].messages}")
"""
ENVIRONMENT = """
import os

def compute_scores(sample, trace):
    return {"ok": sorted(os.environ)}
"""


def project(folder: Path, server: ModelServer) -> None:
    every = " ".join(OURS.values())
    hidden = b64encode(every.encode()).decode()
    rows = [{"question": text, "note": f"{every} {hidden}"} for text in (every, "raise", "fail")]
    write_rows(folder, rows)
    asks = task(
        SOLVER.replace("{{ sample.question }}", "{{ sample.question }} << config.hint >>")
        + '  scorers:\n    - {type: string_equals, ground_truth: "{{ sample.note }}"}\n'
        + scorer(EACH)
        + scorer(ALL, kind="python_all_samples", key="together")
    ).replace(
        "definition:", "config_spec: [{type: string, key: hint, display_name: H}]\ndefinition:"
    )
    values = "task_config: {hint: $DOT_TOKEN}"
    write_project(
        folder,
        run=f"secrets: {{FROM_RUN: {OURS['run_file']}}}\n"
        + run_file(
            f"{{key: first, task_key: ask, model_key: openai$x, {values}}}",
            f"{{key: second, task_key: ask, model_key: here, {values}}}",
            f"{{key: third, task_key: ask, model_key: there, {values}}}",
        ),
        tasks__ask=asks,
        models__here=HERE,
        models__there=THERE,
    )
    (folder / ".env").write_text(f"DOT_TOKEN={OURS['dot_env']}\n")
    (folder / "more.env").write_text(
        f"FILE_TOKEN={OURS['named_file']}\nWHERE={server.url}/chat/completions?c={OURS['url']}\n"
        f"TENANT={OURS['variable']}\nPLAIN={OURS['plain_variable']}\n"
    )


async def tell_tale(asked: Asked) -> web.StreamResponse:
    """Says all its headers back."""
    return await chat(str(dict(asked.headers)))(asked)


def assert_silent(name: str, content: bytes) -> None:
    for where, key in OURS.items():
        assert leaks(key, content) == [], f"{name} has the key of the {where}"


RUN = ("run", "run.yaml", "--env", "more.env", "--cache", "--retries", "0")


def test_the_keys_of_a_project_are_nowhere_but_in_requests(tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": OURS["environment"]}
    commands: list[tuple[str, ...]] = [
        (*RUN, "--markdown", "report.md"),
        (*RUN, "--json"),
        ("show", "latest"),
        ("show", "latest", "--failed", "--json"),
        ("report", "latest", "--json"),
        ("export", "latest", "-o", "export.jsonl"),
    ]
    with ModelServer(tell_tale) as server:
        project(tmp_path, server)
        said = [evalwright(server, *command, cwd=tmp_path, env=env) for command in commands]
        sent = " ".join(str(dict(one.headers)) for one in server.log)

    assert [one.returncode for one in said[:2]] == [3, 3], said[0].stderr
    assert all(one.returncode in {0, 3} for one in said), [one.stderr for one in said]
    for where in ("environment", "dot_env", "named_file", "run_file"):
        assert OURS[where] in sent, "it was there to be told"
    assert "asked with" in said[0].stderr, "the snippets have printed"
    for command, one in zip(commands, said, strict=True):
        assert_silent(f"stdout of {command}", one.stdout.encode())
        assert_silent(f"stderr of {command}", one.stderr.encode())
    files = {name: text for name, text in written(tmp_path) if name not in DOCUMENTS}
    assert {"runs.db", "cache.db", "report.md", "export.jsonl", "runs.db, unpacked"} <= files.keys()
    for name, content in files.items():
        assert_silent(name, content)
    assert b"[redacted]" in files["runs.db, unpacked"]


def test_the_keys_of_a_project_are_nowhere_while_it_is_under_way(tmp_path: Path) -> None:
    async def mostly(asked: Asked) -> web.StreamResponse:
        return await (never if "fail" in asked.prompt else tell_tale)(asked)

    with ModelServer(mostly) as server:
        project(tmp_path, server)
        process = start(server, *RUN, cwd=tmp_path, env={"OPENAI_API_KEY": OURS["environment"]})
        wait_until(lambda: len(server.log) == 6 or process.poll() is not None)
        process.kill()
        said = finished(process)

    assert_silent("what was said", f"{said.stdout}{said.stderr}".encode())
    files = {path.name: path.read_bytes() for path in (tmp_path / ".evalwright").iterdir()}
    assert files["runs.db-wal"]
    for name, content in (files | dict(written(tmp_path))).items():
        if name not in DOCUMENTS:
            assert_silent(name, content)


def test_a_snippet_sees_nothing_of_the_environment_but_what_python_needs(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"question": "q"}])
    asks = task(f"{SOLVER}  scorers:\n{scorer(ENVIRONMENT)}").replace(
        "{type: mean, field: ok}", "{type: frequency, field: ok}"
    )
    specification = "{key: ask, task_key: ask, model_key: openai$x}"
    write_project(tmp_path, run=run_file(specification), tasks__ask=asks)
    (tmp_path / ".env").write_text("FROM_FILE_KEY=abcdefghijkl\n")
    with ModelServer() as server:
        done = evalwright(server, "run", "run.yaml", cwd=tmp_path, env={"MINE": "abcdefghijkl"})
        shown = evalwright(server, "export", "latest", cwd=tmp_path)

    assert done.returncode in {0, 3}, done.stderr
    assert '"PATH"' in shown.stdout
    for name in ("MINE", "FROM_FILE_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        assert name not in shown.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("-p", f"user={OURS['dot_env']}"), id="in a parameter"),
        pytest.param(("--set", f"hint={OURS['dot_env']}"), id="as a value"),
    ],
)
def test_a_key_of_a_file_that_was_typed_where_it_would_be_kept_is_refused(
    tmp_path: Path, arguments: tuple[Any, ...]
) -> None:
    with ModelServer(tell_tale) as server:
        project(tmp_path, server)
        done = evalwright(server, *RUN, *arguments, cwd=tmp_path)

    assert done.returncode == 2, done.stderr
    assert "contains a secret from the environment" in done.stderr
    assert_silent("what was said", f"{done.stdout}{done.stderr}".encode())
    assert not (tmp_path / ".evalwright").exists()
    assert server.log == []
