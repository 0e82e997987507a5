"""What an author's code cannot read of the engine that runs it."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, outcomes_in, report_of
from tests.e2e.projects import of_rows, write_project, write_rows
from tests.servers.model_server import ModelServer

KEY = "sk-proj-4fTq8Zx0LmWv7RkY2bNc"
SPY = """
import ctypes, os, subprocess, sys

def attempt(action):
    try:
        return action()
    except OSError as error:
        return type(error).__name__

def read(path):
    with open(path, "rb") as file:
        return f"read {len(file.read(100))}"

def execute(code):
    command = [sys.executable, "-c", f"print(open({code!r}, 'rb').read(9))"]
    done = subprocess.run(command, capture_output=True, text=True)
    return "PermissionError" if "PermissionError" in done.stderr else f"read {done.stdout}"

def attach(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    return "attached" if libc.ptrace(0x4206, pid, 0, 0) == 0 else "PermissionError"

def unshare(path):
    command = ["unshare", "--user", "--map-root-user", "cat", path]
    done = subprocess.run(command, capture_output=True)
    return f"read {len(done.stdout)}" if done.stdout else "PermissionError"

def compute_scores(sample):
    engine = os.getppid()
    places = {name: f"/proc/{engine}/{name}" for name in ("environ", "mem", "auxv", "maps")}
    tried = {name: attempt(lambda path=path: read(path)) for name, path in places.items()}
    tried["exec"] = execute(places["environ"])
    tried["attach"] = attach(engine)
    tried["unshare"] = attempt(lambda: unshare(places["environ"]))
    tried["itself"] = attempt(lambda: read("/proc/self/maps"))
    return {"scores": {"ok": 1}, "metadata": tried}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_a_snippet_cannot_read_the_environment_or_the_memory_of_the_engine(tmp_path: Path) -> None:
    write_project(tmp_path, tasks__ask=of_rows(SPY))
    write_rows(tmp_path, [{"n": 1}])
    with ModelServer() as server:
        done = evalwright(
            server, "run", "tasks/ask.yaml", "--json", cwd=tmp_path, env={"OPENAI_API_KEY": KEY}
        )

    report_of(done)
    (outcome,) = outcomes_in(tmp_path)
    tried: dict[str, Any] = dict(outcome.scores["judged"].metadata)
    assert tried.pop("itself").startswith("read"), "its own entry is readable"
    assert tried.pop("unshare") in {"PermissionError", "FileNotFoundError"}
    assert tried == dict.fromkeys(
        ("environ", "mem", "auxv", "maps", "exec", "attach"), "PermissionError"
    )
