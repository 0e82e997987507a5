import os
from pathlib import Path

import pytest
from tests.api.made import Jail, jailed_by, model, record, written

from evalwright.api.assembly import (
    canonical,
    connect,
    crew_of,
    equipped,
    notes_on,
    open_store,
    sandbox_for,
    store_name,
    workers_for,
)
from evalwright.api.options import RunOptions
from evalwright.clients.scripted import Scripted
from evalwright.engine.models.stack import Shared
from evalwright.errors import EvalwrightError, UsageError
from evalwright.plan.plan import Plan, PlannedTask, make_plan
from evalwright.ports import Sandbox
from evalwright.sandbox.unsafe import Unsafe
from evalwright.store.memory import MemoryStore
from evalwright.store.sqlite import SqliteStore


def plan_of(path: Path) -> str:
    return written(path / "tasks.jsonl", record("a"))


@pytest.mark.parametrize(
    ("name", "variable", "expected"),
    [
        pytest.param("a.db", "b.db", "a.db", id="what was said"),
        pytest.param(Path("x", "a.db"), "b.db", str(Path("x", "a.db")), id="also as a path"),
        pytest.param(None, "b.db", "b.db", id="else the environment"),
        pytest.param("", "", str(Path(".evalwright", "runs.db")), id="else a place of our own"),
    ],
)
def test_a_store_is_named_by(
    monkeypatch: pytest.MonkeyPatch, name: str | Path | None, variable: str, expected: str
) -> None:
    monkeypatch.setenv("EVALWRIGHT_STORE", variable)

    assert store_name(name) == expected


def test_a_store_is_a_file_or_nothing_but_memory(tmp_path: Path) -> None:
    kept, forgotten = open_store(tmp_path / "new" / "runs.db"), open_store("memory:")

    assert isinstance(kept, SqliteStore)
    assert isinstance(forgotten, MemoryStore)
    kept.close()
    assert (tmp_path / "new" / "runs.db").exists()


def test_a_server_is_no_store_here() -> None:
    with pytest.raises(UsageError, match="only files are stores here") as refused:
        open_store("postgresql://localhost/runs")

    assert refused.value.hint == "give the path of a file"


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        pytest.param("openai/gpt-4.1", ["openai/gpt-4.1"], id="one"),
        pytest.param(["openai:gpt-4.1"], ["openai/gpt-4.1"], id="with a colon"),
        pytest.param(["a/x", "a:x", "b/y"], ["a/x", "b/y"], id="the same one twice"),
        pytest.param(["ollama/llama3:8b"], ["ollama/llama3:8b"], id="a colon in its own name"),
        pytest.param(["ollama:llama3:8b"], ["ollama/llama3:8b"], id="both"),
        pytest.param(["a/b/c"], ["a/b/c"], id="a slash in its own name"),
        pytest.param(["b/y", "a/x"], ["b/y", "a/x"], id="in the order in which they were named"),
    ],
)
def test_a_model_has_one_name(models: str | list[str], expected: list[str]) -> None:
    assert canonical(models) == expected


@pytest.mark.parametrize("models", ["", []])
def test_no_model_is_an_error(models: str | list[str]) -> None:
    with pytest.raises(UsageError, match="no model was named"):
        canonical(models)


@pytest.mark.parametrize("name", ["oracle", "/oracle", "scripted/", ""])
def test_what_is_no_provider_and_model_is_an_error(name: str) -> None:
    with pytest.raises(UsageError, match=f"`{name}` is not a model"):
        connect(name, RunOptions())


def test_a_name_becomes_a_client() -> None:
    assert isinstance(connect("scripted/oracle", RunOptions()), Scripted)


def test_models_with_the_same_caveat_share_a_note() -> None:
    clients = {"a": model(), "b": model(), "c": model(), "d": model()}
    clients["b"].caveat = "recorded outputs"
    clients["d"].caveat = ""

    assert notes_on(clients) == (
        "a, c: answers by a script that knows the targets, not by a model",
        "b: recorded outputs",
    )


@pytest.mark.parametrize(
    ("names", "code", "concurrency", "expected"),
    [
        pytest.param(["local/x"], 1, None, 8, id="two for each slot of a local model"),
        pytest.param(["local/x", "openai/x"], 0, None, 64, id="a server takes more than a machine"),
        pytest.param(["openai/x"], 0, 3, 3, id="as many as asked for"),
        pytest.param(["openai/x"], 0, None, 64, id="as many as a server may take"),
        pytest.param(["scripted/x"], 0, None, 64, id="a script takes any number"),
        pytest.param(["openai/x", "scripted/x"], 1, None, 64, id="a server is slower than code"),
        pytest.param(["scripted/x"], 1, None, 4 * (os.cpu_count() or 1), id="programs of a script"),
    ],
)
def test_there_are_so_many_workers(
    names: list[str], code: int, concurrency: int | None, expected: int
) -> None:
    task = PlannedTask(name="t", path="t.jsonl", records=1, code_exec=code, trials=1)
    plan = Plan(tasks=(task,), models=tuple(names))

    assert workers_for(plan, RunOptions(concurrency=concurrency)) == expected


def test_a_model_with_more_slots_has_more_workers() -> None:
    plan = Plan(tasks=(), models=("local/x",))

    assert workers_for(plan, RunOptions(parameters={"slots": 6})) == 12


def test_models_keep_their_face_under_what_is_put_around_them(tmp_path: Path) -> None:
    clients = {"acme/m": model()}
    clients["acme/m"].fingerprint = "temperature=0"
    crew = crew_of(make_plan([plan_of(tmp_path)], list(clients)), clients, RunOptions())

    stacked = equipped(crew, RunOptions(), Shared()).models["acme/m"]

    assert crew.models["acme/m"] is clients["acme/m"]
    assert stacked is not clients["acme/m"]
    assert (stacked.fingerprint, stacked.caveat) == ("temperature=0", clients["acme/m"].caveat)


def test_a_script_needs_no_patience(tmp_path: Path) -> None:
    clients = {"scripted/oracle": model()}
    crew = crew_of(make_plan([plan_of(tmp_path)], list(clients)), clients, RunOptions())

    assert equipped(crew, RunOptions(), Shared()).models == clients


def test_no_sandbox_is_made_where_no_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jailed_by(monkeypatch, "Jail")
    plan = make_plan([plan_of(tmp_path)], ["m"])

    crew = crew_of(plan, {"m": model()}, RunOptions(sandbox_packages=("numpy",)))

    assert (crew.sandbox, crew.packages, Jail.made) == (None, (), [])


def told_by(options: RunOptions) -> tuple[Sandbox, list[str]]:
    told: list[str] = []
    return sandbox_for(options, tell=told.append), told


class TestASandbox:
    @pytest.fixture(autouse=True)
    def _available(self, monkeypatch: pytest.MonkeyPatch) -> None:
        jailed_by(monkeypatch, "Jail")

    def test_isolates_and_is_not_talked_about(self) -> None:
        sandbox, told = told_by(RunOptions())

        assert (sandbox.tier, sandbox.verified, told) == ("namespaces+seccomp", True, [])

    def test_isolates_also_if_the_user_would_do_without(self) -> None:
        sandbox, told = told_by(RunOptions(unsafe_code_exec=True))

        assert sandbox.tier == "namespaces+seccomp"
        assert told == [
            "`--unsafe-code-exec` is not needed here: programs are isolated (namespaces+seccomp)"
        ]

    def test_is_told_what_programs_may_do_and_where_they_are_judged(self) -> None:
        wanted = RunOptions(in_process_targets=True, sandbox_packages=("b", "a", "b"))

        sandbox, _ = told_by(wanted)

        assert not sandbox.verified
        assert [made.packages for made in Jail.made] == [("a", "b")]


class TestWithoutASandboxThatIsolates:
    @pytest.fixture(autouse=True)
    def _none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        jailed_by(monkeypatch, "no_jail")

    def test_nothing_is_run_and_it_is_said_why_and_what_to_do(self) -> None:
        with pytest.raises(EvalwrightError) as refused:
            told_by(RunOptions())

        assert str(refused.value) == (
            "no sandbox that isolates a program is available here: "
            "namespaces+seccomp: forbidden; landlock+seccomp: too old a kernel"
        )
        assert "`evalwright doctor`" in refused.value.hint
        assert "`--unsafe-code-exec`" in refused.value.hint
        assert refused.value.exit_code == 4

    def test_a_plain_process_is_used_if_the_user_says_so_with_a_warning(self) -> None:
        sandbox, told = told_by(RunOptions(unsafe_code_exec=True))

        assert isinstance(sandbox, Unsafe)
        assert (sandbox.tier, sandbox.verified) == ("rlimits", False)
        (warning,) = told
        assert warning.startswith(
            "warning: programs run in a plain child process, with your rights"
        )

    def test_packages_cannot_be_had(self) -> None:
        with pytest.raises(EvalwrightError, match="`--sandbox-package` needs a sandbox"):
            told_by(RunOptions(unsafe_code_exec=True, sandbox_packages=("numpy",)))
