"""`evalwright doctor`, on this machine."""

import json
import os
from pathlib import Path

from tests.e2e import in_process

KEY = "sk-0123456789abcdef"


def doctor(*arguments: str, cwd: Path) -> str:
    without_keys = {name: one for name, one in os.environ.items() if not name.endswith("_API_KEY")}
    environment = {**without_keys, "OPENAI_API_KEY": KEY}
    done = in_process.evalwright("doctor", *arguments, cwd=cwd, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert KEY not in done.stdout
    return done.stdout


def test_it_says_what_is_there(tmp_path: Path) -> None:
    said = doctor("--store", "runs.db", cwd=tmp_path)

    assert f"store       {tmp_path / 'runs.db'}, created by the first run\n" in said
    assert "\nsandbox     " in said
    assert "\nnamespaces+seccomp: " in said
    assert "\nlandlock+seccomp: " in said
    assert "\nlocal models\n  xllamacpp      " in said
    assert "  OPENAI_API_KEY       set                  openai, openai-responses\n" in said
    assert list(tmp_path.iterdir()) == []


def test_json_says_the_same_for_tools(tmp_path: Path) -> None:
    found = json.loads(doctor("--json", cwd=tmp_path))

    available = [one["tier"] for one in found["tiers"] if one["available"]]
    assert found["tier"] == (available[0] if available else None)
    assert [one["tier"] for one in found["tiers"]] == ["namespaces+seccomp", "landlock+seccomp"]
    for one in found["tiers"]:
        assert bool(one["why"]) is not one["available"]
        attempts = {"read", "write", "connect", "fork", "signal"}
        assert set(one["canaries"]) == (attempts if one["available"] else set())
    assert [key["variable"] for key in found["keys"] if key["given"]] == ["OPENAI_API_KEY"]
    assert [part["name"] for part in found["local"]["parts"]] == [
        *("xllamacpp", "local/smollm2", "wordllama")
    ]
    for part in found["local"]["parts"]:
        assert bool(part["install"]) is not part["there"]
    assert 1 <= found["local"]["threads"]["now"] <= max(1, found["local"]["threads"]["cores"])
