"""`evalwright gate`, and what policies do to the exit code of a run."""

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from msgspec import structs
from tests.e2e.test_runs import COMMAND, environment, evalwright, refused, said
from tests.living import PATIENCE_S
from tests.report.made import outcome, report_of
from tests.report.test_policies import verdict

from evalwright.cli.output import exit_with_report
from evalwright.session.stores import open_store

EXAMPLE = Path(__file__).parents[2] / "examples" / "gate"
LAUNCH = ("--policy", "policies/launch.yaml")
RTL = "\u202e\u0645\u0642\u064a\u0627\u0633"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "gate"))


def change(folder: Path, name: str, before: str, after: str) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


def test_a_run_whose_policies_hold_ends_well_and_one_whose_do_not_with_1(folder: Path) -> None:
    assert "2 rules, none fails" in said("run", "run.yaml", cwd=folder)
    change(folder, "policies/nightly.yaml", "0.8", "0.95")

    table = said("run", "run.yaml", cwd=folder, exit_code=1)

    assert "2 rules, 1 fails" in table
    assert "FAILS" in table
    assert "2 rules, 1 fails" in said("report", cwd=folder)
    shown = json.loads(said("run", "run.yaml", "--json", cwd=folder, exit_code=1))
    assert [row["holds"] for row in shown["policies"]] == [True, False]


def test_a_failing_rule_weighs_more_than_failing_samples(folder: Path) -> None:
    change(folder, "tasks/routing.yaml", "{{ sample.queue }}", "{{ sample.queue[9:] | int + '' }}")

    done = evalwright("run", "run.yaml", cwd=folder)

    assert done.returncode == 1, done.stderr
    assert "FAILS" in done.stdout


def test_some_failed_samples_do_not_fail_a_rule_unless_it_is_strict(folder: Path) -> None:
    broken = "{{ sample.queue if sample.queue == sample.sent_to else 1 / 0 }}"
    change(folder, "tasks/routing.yaml", "{{ sample.queue }}", broken)
    rows = said("run", "run.yaml", cwd=folder, exit_code=3)

    assert "7 samples failed, and are not included" in rows
    said("gate", cwd=folder)
    assert "no sample may fail" in said("gate", "--strict", cwd=folder, exit_code=1)


@pytest.mark.parametrize(
    ("holds", "unfinished", "interrupted", "exit_code"),
    [
        pytest.param(True, 0, False, 0, id="all is well"),
        pytest.param(False, 0, False, 1, id="a rule fails"),
        pytest.param(False, 2, False, 1, id="a rule fails, and a cap was reached"),
        pytest.param(False, 2, True, 130, id="interrupted"),
        pytest.param(True, 2, False, 3, id="a cap was reached"),
    ],
)
def test_the_exit_code_of_a_run_with_policies(
    *, holds: bool, unfinished: int, interrupted: bool, exit_code: int
) -> None:
    stopped = report_of([outcome("m", "1", 1.0)], unfinished=unfinished, stopped=bool(unfinished))
    report = structs.replace(stopped, policies=[verdict("rule", holds=holds)])

    with pytest.raises(SystemExit) as ended:
        exit_with_report(report, as_json=True, markdown=None, interrupted=interrupted)

    assert ended.value.code == exit_code


def test_a_gate_prints_every_verdict_with_its_reason(folder: Path) -> None:
    said("run", "run.yaml", cwd=folder)

    lines = said("gate", cwd=folder).splitlines()
    assert lines[:4] == [
        "holds  nightly/measured  accuracy exists",
        "       0.825, interval [0.681, 0.913]",
        "holds  nightly/accurate  is_correct_mean >= 0.8",
        "       0.825 ≥ 0.800, but the interval reaches down to 0.681",
    ]
    failed = said("gate", *LAUNCH, cwd=folder, exit_code=1)
    assert "0.825 < 0.900, but the interval reaches up to 0.913" in failed
    said("gate", "--strict", cwd=folder, exit_code=1)


def test_verdicts_are_to_be_had_as_json_and_as_a_page(folder: Path) -> None:
    said("run", "run.yaml", cwd=folder)

    told = said("gate", *LAUNCH, "--json", "--markdown", "v.md", cwd=folder, exit_code=1)

    judged = json.loads(told)
    assert (judged["holds"], judged["strict"], len(judged["policies"])) == (False, False, 1)
    assert judged["policies"][0]["figures"][0]["value"] == 33 / 40
    assert (folder / "v.md").read_text("utf-8").startswith("# The policies do not hold\n")


def test_policies_of_several_files_are_judged_together(folder: Path) -> None:
    said("run", "run.yaml", cwd=folder)

    told = said("gate", *LAUNCH, "--policy", "run.yaml", cwd=folder, exit_code=1)

    assert "3 rules, 1 fails" in told


def test_mistakes_of_policies_are_all_told_at_their_places(folder: Path) -> None:
    said("run", "run.yaml", cwd=folder)
    change(folder, "policies/launch.yaml", '">="', '"=>"')
    change(folder, "policies/launch.yaml", "all_latest", "al_latest")
    (folder / "other.yaml").write_text("key: p\nrule: []\n")

    told = refused("gate", *LAUNCH, "--policy", "other.yaml", "--json", cwd=folder)

    assert "policies/launch.yaml:8:68: bad_value: expected one of" in told
    assert "did you mean `>=`?" in told
    assert "policies/launch.yaml:9:16: bad_value" in told
    assert "other.yaml:2:1: unknown_key" in told
    assert "3 errors; nothing was checked" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gate",), "no such file"),
        (("gate", "--policy", "nope.yaml"), "nope.yaml: no such file"),
        (("gate", "--policy", "policies"), "policies"),
        (("gate", "--markdown", "no/where.md"), "no/where.md: cannot be written"),
    ],
)
def test_what_is_not_there_is_used_wrongly(
    folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    assert words in refused(*arguments, cwd=folder)


def test_a_page_that_cannot_be_written_is_told_after_the_verdicts(folder: Path) -> None:
    said("run", "run.yaml", cwd=folder)

    done = evalwright("gate", "--markdown", "/dev/full", cwd=folder)

    assert done.returncode == 4
    assert "2 rules, none fails" in done.stdout
    assert "/dev/full: cannot be written: no space left" in done.stderr


def test_garbage_for_a_policy_is_told_in_a_line(folder: Path) -> None:
    said("run", "run.yaml", cwd=folder)
    (folder / "garbage.yaml").write_bytes(bytes(range(256)) * 40)

    told = refused("gate", "--policy", "garbage.yaml", cwd=folder)

    assert "garbage.yaml" in told


def test_names_in_another_direction_turn_no_terminal(folder: Path) -> None:
    said("run", "run.yaml", cwd=folder)
    change(folder, "policies/launch.yaml", "metric: accuracy", f'metric: "{RTL}"')

    told = said("gate", *LAUNCH, cwd=folder, exit_code=1)

    assert "\u202e" not in told
    assert RTL[1:] in told


def test_a_policy_file_can_be_validated(folder: Path) -> None:
    done = evalwright("validate", "policies/launch.yaml", "policies/nightly.yaml", cwd=folder)

    assert (done.returncode, done.stderr) == (0, "2 valid documents, 0 errors\n")


def test_policies_may_come_through_a_pipe_and_are_read_once(folder: Path) -> None:
    said("run", "run.yaml", cwd=folder)
    text = (folder / "policies" / "launch.yaml").read_text(encoding="utf-8")

    def piped(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, "gate", *arguments],
            cwd=folder,
            env=environment(),
            input=text,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
        )

    for path in ("-", "/dev/stdin"):
        done = piped(text, "--policy", path)
        assert (done.returncode, done.stderr) == (1, "")
        assert "1 rule, 1 fails" in done.stdout
    twice = piped(text, "--policy", "-", "--policy", "-", "--policy", "policies/nightly.yaml")
    assert "3 rules, 1 fails" in twice.stdout
    wrong = piped(text.replace("definition", "definitoin"), "--policy", "-")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "/dev/stdin:" in wrong.stderr


def test_a_named_pipe_is_read_once_even_if_what_comes_is_wrong(folder: Path) -> None:
    said("run", "run.yaml", cwd=folder)
    pipe = folder / "pipe.yaml"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("key: p\nrule: []\n",), daemon=True)
    writer.start()

    told = refused("gate", "--policy", "pipe.yaml", cwd=folder)

    writer.join()
    assert "pipe.yaml:2:" in told


def test_a_report_that_cannot_be_read_is_told_in_a_line(folder: Path) -> None:
    said("run", "run.yaml", cwd=folder)
    store = open_store(folder / ".evalwright" / "runs.db")
    run = store.find("latest")
    store.update(run.id, status=run.status, manifest={**run.manifest, "report": {"run_id": 1}})
    store.close()

    for command in ("gate", "report"):
        told = refused(command, cwd=folder)
        assert f"the report of run {run.id} was written by a different version" in told
        assert "hint: run it again" in told


def test_a_file_without_policies_is_refused_by_both_commands(folder: Path) -> None:
    said("run", "run.yaml", cwd=folder)
    (folder / "none.yaml").write_text("policies: []\n")

    assert "no_policy" in refused("gate", "--policy", "none.yaml", cwd=folder)
    assert "no_policy" in said("validate", "none.yaml", cwd=folder, exit_code=1)
