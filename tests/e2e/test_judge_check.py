"""`evalwright judge check`, from the example's own files to what a terminal shows."""

import csv
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import in_process
from tests.e2e.commands import COMMAND
from tests.e2e.terminal import find_misfits, on_a_terminal
from tests.living import PATIENCE_S
from tests.servers.example_server import ExampleServer

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "judge-check"
GUIDE = ROOT / "docs" / "guides" / "judges.md"


@pytest.fixture(scope="module")
def server() -> Iterator[ExampleServer]:
    with ExampleServer() as running:
        yield running


@pytest.fixture(scope="module")
def folder(server: ExampleServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, run once."""
    made = Path(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("judge") / "judge-check"))
    done = evalwright(server, made, "run", "run.yaml", "--json")
    assert done.returncode == 0, done.stderr
    return made


def evalwright(
    server: ExampleServer, folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return in_process.evalwright(*arguments, cwd=folder, env=server.environment())


def check(server: ExampleServer, folder: Path, *arguments: str) -> Any:
    done = evalwright(server, folder, "judge", "check", "latest", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_example_gives_the_figures_of_its_readme(server: ExampleServer, folder: Path) -> None:
    before = server.asked
    found = check(
        server, folder, "--labels", "labels.csv", "--probe", "all", "--repeat", "2", "--cache"
    )

    figures = found["agreement"]["figures"]
    assert figures["agreement"]["value"] == pytest.approx(21 / 24)
    # people: 14 and 10, judge: 13 and 11
    chance = (14 * 13 + 10 * 11) / 24**2
    assert figures["kappa"]["value"] == pytest.approx((21 / 24 - chance) / (1 - chance))
    flips = {one["probe"]: one["flips"]["value"] for one in found["probes"]}
    assert flips == pytest.approx({"swap": 0, "pad": 11 / 24, "fence": 0})
    assert found["repeats"]["all_equal"]["value"] == 1.0
    assert server.asked - before == found["calls"] == 24 * 4

    again = check(server, folder, "--probe", "all", "--repeat", "2", "--cache")

    assert server.asked - before == 24 * 4, "what was kept is not asked again"
    assert again["probes"] == found["probes"]


def test_labels_in_a_column_of_the_dataset_are_those_of_a_file(
    server: ExampleServer, tmp_path: Path
) -> None:
    made = Path(shutil.copytree(EXAMPLE, tmp_path / "judge-check"))
    labels = dict(csv.reader((made / "labels.csv").read_text(encoding="utf-8").splitlines()))
    data = made / "datasets" / "answers.jsonl"
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    told = [{**row, "person": labels[row["sample_id"]]} for row in rows]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in told), encoding="utf-8")
    done = evalwright(server, made, "run", "run.yaml", "--json")
    assert done.returncode == 0, done.stderr
    before = server.asked

    by_file = check(server, made, "--labels", "labels.csv")
    by_column = check(server, made, "--column", "person")
    shown = evalwright(server, made, "judge", "check", "latest", "--column", "person")

    assert by_column["agreement"]["figures"] == by_file["agreement"]["figures"]
    assert by_column["agreement"]["figures"]["agreement"]["value"] == pytest.approx(21 / 24)
    assert shown.returncode == 0, shown.stderr
    assert "agreement      0.88 [0.69, 0.96]" in shown.stdout
    assert "egypt: people `correct`, judge `incorrect`" in shown.stdout
    assert server.asked == before, "nobody is asked to compare"


def test_labels_of_a_part_correct_the_mean_and_more_are_proposed(
    server: ExampleServer, folder: Path
) -> None:
    lines = (folder / "labels.csv").read_text(encoding="utf-8").splitlines()
    kept = [lines[0], *lines[1:17]]
    (folder / "some.csv").write_text("\n".join(kept) + "\n", encoding="utf-8")

    report = check(server, folder, "--labels", "some.csv", "--next", "3")
    shown = evalwright(server, folder, "judge", "check", "latest", "--labels", "some.csv")

    methods = {row["method"]: row for row in report["agreement"]["corrected"]}
    assert methods.keys() == {"rogan-gladen", "ppi++"}
    ppi = methods["ppi++"]
    assert ppi["raw"]["value"] == pytest.approx(13 / 24)
    assert ppi["labels"] == 16
    assert 0 <= ppi["corrected"]["ci_low"] < ppi["corrected"]["value"] < ppi["corrected"]["ci_high"]
    labelled = {line.partition(",")[0] for line in kept}
    assert len(report["to_label"]) == 3
    assert not labelled & {sample["sample_id"] for sample in report["to_label"]}
    assert "corrected with 16 labels (PPI++)" in shown.stdout


def test_the_guide_shows_what_the_example_prints(server: ExampleServer, folder: Path) -> None:
    page = GUIDE.read_text(encoding="utf-8")
    command, _, shown = page.partition("```text\nevalwright judge check")[2].partition("\n\n")
    done = evalwright(server, folder, "judge", "check", *command.split())

    expected, printed = shown.partition("\n```")[0].splitlines(), done.stdout.splitlines()
    assert printed[0].startswith(expected[0].removesuffix("…"))
    assert printed[1:] == expected[1:]


def test_a_check_fits_eighty_columns_without_a_broken_word(
    server: ExampleServer, folder: Path
) -> None:
    check = ("judge", "check", "latest", "--labels", "labels.csv", "--probe", "pad", "--cache")
    piped = in_process.evalwright(*check, cwd=folder, env=server.environment(), merged=True)

    shown = on_a_terminal(*check, cwd=folder, env=server.environment())

    assert find_misfits(shown, piped.stdout) == []


def test_people_read_it_and_the_report_remembers(server: ExampleServer, folder: Path) -> None:
    asked = ("--labels", "labels.csv", "--probe", "pad", "-n", "8")
    done = evalwright(server, folder, "judge", "check", "latest", *asked)
    report = evalwright(server, folder, "report", "latest", "--markdown", "report.md")

    assert done.returncode == 0
    assert "agreement      0.88 [0.69, 0.96]" in done.stdout
    assert "egypt: people `correct`, judge `incorrect`" in done.stdout
    assert "8 calls to openai/gpt-4.1-mini, 1 for each of 8 samples" in done.stderr
    assert "stored with run" in done.stderr
    for shown in (report.stdout, (folder / "report.md").read_text(encoding="utf-8")):
        assert "agreement with 24 human labels 0.88" in shown
        assert "probe pad changes" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "no check was selected", id="nothing"),
        pytest.param(["--labels", "nowhere.csv"], "nowhere.csv", id="no such file"),
        pytest.param(["--labels", "run.yaml"], "expected a .csv", id="no file of labels"),
        pytest.param(["--column", "refernce"], "did you mean `reference`?", id="no such column"),
        pytest.param(["--task", "capitol", "--column", "x"], "did you mean `capitals`?", id="task"),
        pytest.param(["--probe", "shout"], "is not one of", id="no such probe"),
    ],
)
def test_what_cannot_be_checked_is_said_in_a_line(
    server: ExampleServer, folder: Path, arguments: list[str], message: str
) -> None:
    done = evalwright(server, folder, "judge", "check", "latest", *arguments)

    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_check_is_shown_and_not_kept(
    server: ExampleServer, folder: Path, how: signal.Signals
) -> None:
    checks = len(kept(folder))
    # One at a time, so that there is something left to interrupt.
    child = subprocess.Popen(
        [
            *(*COMMAND, "judge", "check", "latest", "--repeat", "100"),
            *("--concurrency", "1", "-n", "24", "--json"),
        ],
        cwd=folder,
        env=server.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert child.stderr is not None
    assert "2,376 calls" in child.stderr.readline()
    os.kill(child.pid, how)
    out, _ = child.communicate(timeout=PATIENCE_S)

    assert child.returncode == 130
    if out:  # it had begun to ask
        assert json.loads(out)["kept"] is False
    assert len(kept(folder)) == checks


def kept(folder: Path) -> list[Any]:
    """The checks in the manifest of the only run."""
    from evalwright import api

    store = folder / ".evalwright" / "runs.db"
    (run,) = api.runs(store)
    return list(api.find(run.id, store).manifest.get("judge_checks", []))
