from pathlib import Path

import pytest
from tests.session.made import Jail, jailed_by, model, record, run_records, write_records

from evalwright.errors import EvalwrightError, UsageError
from evalwright.plan.options import RunOptions
from evalwright.ports import Sandbox
from evalwright.sandbox.unsafe import Unsafe
from evalwright.session.sandboxes import describe_sandbox, open_sandbox
from evalwright.store.memory import MemoryStore


def test_no_sandbox_is_opened_where_no_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jailed_by(monkeypatch, "Jail")
    tasks = write_records(tmp_path / "tasks.jsonl", record("a"))

    report = run_records(tasks, {"m": model()}, MemoryStore(), sandbox_packages=["numpy"])

    assert (report.code_execution, Jail.made) == (None, [])
    assert describe_sandbox(None, ()) is None


def told_by(options: RunOptions) -> tuple[Sandbox, list[str]]:
    told: list[str] = []
    return open_sandbox(options, tell=told.append), told


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

    def test_may_be_told_to_take_verified_verdicts_only(self) -> None:
        sandbox, _ = told_by(RunOptions(require_verified=True))

        assert sandbox.only_verified
        with pytest.raises(UsageError, match="cannot be combined"):
            told_by(RunOptions(require_verified=True, in_process_targets=True))


class TestWithoutASandboxThatIsolates:
    @pytest.fixture(autouse=True)
    def _none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        jailed_by(monkeypatch, "no_jail")

    def test_nothing_is_run_and_it_is_said_why_and_what_to_do(self) -> None:
        with pytest.raises(EvalwrightError) as refused:
            told_by(RunOptions())

        assert refused.value.message == (
            "no sandbox that isolates programs is available: "
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
            "warning: programs run in a plain child process with your permissions"
        )

    def test_packages_cannot_be_had(self) -> None:
        with pytest.raises(EvalwrightError, match="`--sandbox-package` needs a sandbox"):
            told_by(RunOptions(unsafe_code_exec=True, sandbox_packages=("numpy",)))
