import gzip
import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.e2e import in_process
from tests.spec.records.made import record, written

from evalwright.spec.records.fixtures import TASKS, TASKS_BAD

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMMAND = [sys.executable, "-m", "evalwright", "validate"]
GOOD, BAD = str(TASKS), str(TASKS_BAD)
SUMMARY_BAD = (
    "0 valid records, 70 errors: bad_value 20, bad_type 17, bad_json 10, missing_required 6, "
    "illegal_metric 5, illegal_post_process 4, embedded_few_shot 3, unknown_field 2, "
    "bad_encoding 1, duplicate_task_id 1, not_an_object 1\n"
)


def validate(
    *arguments: str, stdin: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    done = in_process.evalwright(
        "validate", *arguments, stdin=stdin or b"", env=os.environ | environment
    )
    assert "Traceback" not in done.stderr
    return done


# Data on stdout, talk on stderr, the answer in the exit code


def test_a_good_file_is_exit_0_and_nothing_on_stdout() -> None:
    done = validate(GOOD)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "10 valid records, 0 errors\n")


def test_a_bad_file_is_exit_1_with_a_line_for_every_mistake() -> None:
    done = validate(BAD)

    places = [line for line in done.stdout.splitlines() if line.startswith(f"{BAD}:")]
    assert done.returncode == 1
    assert len(places) == 70
    assert places[-1].split(": ")[1] == "duplicate_task_id"
    assert done.stderr == SUMMARY_BAD


def test_an_empty_file_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.touch()

    done = validate(str(path))

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "0 valid records, 0 errors\n")


def test_one_of_each_is_counted_in_the_singular(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(written(record()) + b"\n\n7")

    done = validate(str(path))

    assert done.returncode == 1
    assert done.stdout.startswith(f"{path}:3: not_an_object: a record must be a JSON object")
    assert done.stderr == "1 valid record, 1 error: not_an_object 1\n"


def test_json_is_one_object_of_the_pinned_shape() -> None:
    done = validate("--json", GOOD, BAD)

    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert set(found) == {"files", "valid", "errors"}
    assert (found["valid"], found["errors"]) == (10, 70)
    assert [set(file) for file in found["files"]] == [{"file", "kind", "valid", "errors"}] * 2
    assert {frozenset(error) for file in found["files"] for error in file["errors"]} == {
        frozenset({"line", "column", "rule", "field", "task_id", "detail", "raw", "also"})
    }
    assert validate("--format", "json", GOOD, BAD).stdout == done.stdout


def test_github_has_an_annotation_for_every_mistake() -> None:
    done = validate("--format", "github", BAD)

    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert len(lines) == 70
    assert all(line.startswith(f"::error file={BAD},line=") for line in lines)


def test_junit_can_be_parsed() -> None:
    done = validate("--format", "junit", GOOD, BAD)

    suites = ET.fromstring(done.stdout.encode())  # noqa: S314 - it is our own
    assert done.returncode == 1
    assert [suite.get("failures") for suite in suites] == ["0", "70"]


@pytest.mark.parametrize("form", ["text", "json", "github", "junit"])
def test_one_missing_file_hides_no_other(tmp_path: Path, form: str) -> None:
    gone = str(tmp_path / "gone.jsonl")

    done = validate("--format", form, gone, BAD, GOOD)

    assert done.returncode == 2
    assert "duplicate_task_id" in done.stdout
    assert done.stderr == SUMMARY_BAD.replace("0 valid", "10 valid", 1) + (
        f"evalwright: {gone}: no such file\n"
    )


# Everything that is wrong, and what the file really is


def test_every_problem_of_a_record_is_reported_and_the_first_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    broken = record(category="mcq", prompt="", metric_name="bleu_4", extra=1)
    broken["metadata"] = {"timeout_s": 99, "samples": 0}
    path.write_bytes(written(record()) + b"\n" + written(broken))

    text, machine = validate(str(path)), validate("--json", str(path))

    (error,) = json.loads(machine.stdout)["files"][0]["errors"]
    assert (error["rule"], error["field"], error["task_id"]) == ("unknown_field", "extra", "a")
    assert [(other["rule"], other["field"]) for other in error["also"]] == [
        ("bad_value", "prompt"),
        ("bad_value", "targets"),
        ("bad_value", "metadata"),
        ("bad_value", "metadata"),
        ("illegal_metric", "metric_name"),
        ("duplicate_task_id", "task_id"),
    ]
    assert {frozenset(other) for other in error["also"]} == {
        frozenset({"column", "rule", "field", "detail"})
    }
    assert written(broken).decode()[error["also"][0]["column"] - 1 :].startswith('"", "targets"')
    assert text.stderr == "1 valid record, 1 error: unknown_field 1\n"
    assert "\n  also bad_value: `prompt` is empty\n" in text.stdout
    assert text.stdout.count("\n  also ") == 6


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param("id", "task_id", id="the name of other formats"),
        pytest.param("question", "prompt", id="another name of other formats"),
        pytest.param("metrc_name", "metric_name", id="misspelt"),
    ],
)
def test_a_wrong_key_is_answered_with_the_right_one(wrong: str, right: str) -> None:
    renamed = {wrong if key == right else key: value for key, value in record().items()}

    done = validate("-", stdin=written(renamed))

    assert done.stdout.splitlines()[0].endswith(
        f"missing_required: `{right}` is missing, but there is `{wrong}`; did you mean `{right}`?"
    )
    assert "also" not in done.stdout


def test_a_field_that_is_there_is_not_suggested() -> None:
    done = validate("-", stdin=written(record(id=7)))

    assert "`id` is not a field of a record; put additional fields under `metadata`" in done.stdout


CSV = (
    "task_id,category,prompt,targets,metric_name,post_process\n"
    'a,arithmetic,"2 + 2, please",4,exact_match,none\n'
)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        pytest.param("t.csv", CSV, "CSV", id="CSV"),
        pytest.param("t.txt", CSV.replace(",", ";"), "CSV", id="CSV with semicolons"),
        pytest.param("t.tsv", CSV.replace(",", "\t"), "CSV", id="CSV with tabs"),
        pytest.param(
            "t.csv", CSV.replace(",4,", ',"[""4"", ""four""]",'), "CSV", id="CSV with a list"
        ),
        pytest.param("t.json", json.dumps([record()]), "a JSON array", id="an array on a line"),
        pytest.param("t.json", json.dumps([record()], indent=1), "a JSON array", id="an array"),
        pytest.param(
            "an array.json", f"[\n{json.dumps(record())}\n]\n", "a JSON array", id="a line per item"
        ),
    ],
)
def test_another_format_is_named_and_the_command_converts_it(
    tmp_path: Path, name: str, content: str, kind: str
) -> None:
    path = tmp_path / name
    path.write_text(content)

    done = validate(str(path))
    lint = in_process.evalwright("lint", str(path))

    assert done.returncode == 1
    assert done.stdout.startswith(f"{path}:1: ")
    assert f": this is {kind}, not JSON Lines; " in done.stdout
    assert done.stderr.startswith("0 valid records, 1 error: ")
    assert f"note: {path}:1: this is {kind}, not JSON Lines; " in lint.stderr
    assert f"1 invalid record skipped; `evalwright validate {path}` explains why" in lint.stderr
    command = done.stdout.split("convert it: `")[1].splitlines()[0].removesuffix("`")
    subprocess.run(["/bin/sh", "-c", command], check=True)
    assert validate(str(path.with_suffix(".jsonl"))).stderr == "1 valid record, 0 errors\n"


def test_a_csv_file_is_recognized_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "sums.csv"
    path.write_text("What is asked,what is right\n2 + 2,4\n")

    assert f"{path}:1: bad_json: this is CSV, not JSON Lines; " in validate(str(path)).stdout


@pytest.mark.parametrize("first", [b"[", b"[{", b"task_id,prompt", b"[1, 2", b"[]"])
def test_a_bad_first_line_before_records_costs_that_record_only(first: bytes) -> None:
    done = validate("-", stdin=first + b"\n" + TASKS.read_bytes())

    assert done.stderr.startswith("10 valid records, 1 error: ")


# Where a file comes from


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress])
def test_a_file_may_be_compressed_and_come_by_pipe(tmp_path: Path, pack: type[bytes]) -> None:
    data = pack(TASKS.read_bytes())
    path = tmp_path / "any-name-at-all"
    path.write_bytes(data)

    for done in (validate(str(path)), validate("-", stdin=data)):
        assert (done.returncode, done.stderr) == (0, "10 valid records, 0 errors\n")


def test_a_mistake_in_standard_input_is_placed() -> None:
    done = validate("-", stdin=b"\xef\xbb\xbf\r\n{}\r\n")

    assert done.returncode == 1
    assert done.stdout.startswith("-:2: missing_required: `task_id` is missing\n  also missing_")


def test_standard_input_can_be_read_once() -> None:
    done = validate("-", "-", stdin=TASKS.read_bytes())

    assert (done.returncode, done.stderr) == (0, "10 valid records, 0 errors\n")


# Whatever is handed to it


DEEP = b"[" * 10_000 + b"]" * 10_000
NESTED = json.dumps(record(metadata={"a": "DEEP"})).encode().replace(b'"DEEP"', DEEP)


@pytest.mark.parametrize(
    ("data", "code", "told"),
    [
        pytest.param(b"", 0, "", id="an empty file"),
        pytest.param(b"\n\r\n \n", 0, "", id="blank lines"),
        pytest.param(
            bytes(range(256)) * 99,
            1,
            "1: bad_encoding: this is a binary file, not JSON Lines; the rest was not read",
            id="a binary file",
        ),
        pytest.param(
            '{"task_id": "a"}\n'.encode("utf-16"),
            1,
            "1: bad_encoding: this file is UTF-16, save it as UTF-8; the rest was not read",
            id="a UTF-16 file",
        ),
        pytest.param(b"[" * 10_000_000, 1, "1: bad_json: nested too deeply", id="10 MB of ["),
        pytest.param(NESTED, 1, "1: bad_json: nested too deeply", id="nested 10,000 deep"),
        pytest.param(
            b"x" * (16 * 1024 * 1024 + 1),
            1,
            "1: bad_json: the line is longer than 16 MiB",
            id="a line longer than 16 MiB",
        ),
        pytest.param(b"[]", 1, "1: not_an_object: a record must be a JSON object, not a list"),
    ],
)
def test_bad_content_is_one_line_on_stdout(
    tmp_path: Path, data: bytes, code: int, told: str
) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(data)

    done = validate(str(path))

    assert done.returncode == code
    assert done.stdout == (f"{path}:{told}\n" if told else "")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("gone", "no such file", id="a missing file"),
        pytest.param(
            "cut.gz", "the compressed data ends early: the file is truncated", id="a cut gzip"
        ),
        pytest.param("hurt.gz", "the compressed data is damaged: ", id="a damaged gzip"),
        pytest.param("hurt.zst", "the compressed data is damaged: ", id="a damaged zstd"),
    ],
)
def test_what_cannot_be_read_is_one_line_on_stderr(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TASKS.read_bytes())[:300])
    (tmp_path / "hurt.gz").write_bytes(gzip.compress(b"")[:10] + b"\xff" * 99)
    (tmp_path / "hurt.zst").write_bytes(zstd.compress(b"abc")[:6] + b"\xff" * 99)
    path = str(tmp_path / name)

    done = validate(path)

    first, second = done.stderr.splitlines()
    assert done.returncode == 2
    assert done.stdout == ""
    assert first == "0 valid records, 0 errors"
    assert second.startswith(f"evalwright: {path}: {told}")


def test_a_file_without_permission_is_one_line_on_stderr(tmp_path: Path) -> None:
    path = tmp_path / "secret.jsonl"
    path.touch(mode=0)
    code = (
        "import os, sys\n"
        "from evalwright.cli import main\n"
        "import evalwright.cli.validate, evalwright.report.issues\n"
        "import evalwright.spec.records.check\n"
        "if os.getuid() == 0: os.setuid(65534)\n"  # root may read everything
        "main()\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, "validate", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert done.stderr == (f"0 valid records, 0 errors\nevalwright: {path}: permission denied\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param([], "missing argument", id="no file"),
        pytest.param(["--nope", GOOD], "no such option", id="an option that is none"),
        pytest.param(["--format", "xml", GOOD], "'xml' is not one of", id="a format that is none"),
    ],
)
def test_used_wrongly_is_exit_2_and_a_hint(arguments: list[str], told: str) -> None:
    done = validate(*arguments)

    first, second = done.stderr.splitlines()
    assert done.returncode == 2
    assert done.stdout == ""
    assert first.startswith("evalwright: ")
    assert told in first
    assert not first.endswith(".")
    assert second == "  hint: evalwright validate --help"


def test_a_name_of_odd_bytes_is_no_obstacle(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/a\n\x1b\xff.jsonl"
    Path(os.fsdecode(path)).write_bytes(b"{}\n")

    for form in ("text", "json", "github", "junit"):
        done = subprocess.run(
            [*COMMAND, "--format", form, path, path + b"x"], capture_output=True, check=False
        )

        assert done.returncode == 2
        assert b"missing_required" in done.stdout
        assert done.stderr.count(b"\n") == 2
        assert b"Traceback" not in done.stderr


# Whatever it writes to


def test_a_reader_that_goes_away_is_left_in_peace() -> None:
    with subprocess.Popen(
        [*COMMAND, *[BAD] * 40], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()

        assert first.startswith(BAD.encode())
        assert err == b""
        assert process.wait() == 141


def in_shell(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *COMMAND, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_full_disk_is_one_line_and_exit_4() -> None:
    done = in_shell(">/dev/full", BAD)

    assert done.returncode == 4
    assert done.stderr == (
        "evalwright: standard output cannot be written: no space left on device\n"
    )


def test_closed_streams_are_no_obstacle() -> None:
    assert in_shell(">&-", BAD).returncode == 1
    assert in_shell(">&-", GOOD).returncode == 0
    assert in_shell("2>&-", GOOD).returncode == 0
    closed = in_shell("<&-", "-")
    assert closed.returncode == 2
    assert closed.stderr.endswith("evalwright: -: standard input is closed\n")


@pytest.mark.parametrize("form", ["json", "github", "junit"])
def test_machines_get_utf_8_whatever_the_terminal_speaks(tmp_path: Path, form: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(written(record(漢字=1)))

    plain = validate("--format", form, str(path), PYTHONIOENCODING="ascii")

    assert plain.returncode == 1
    assert "`漢字` is not a field" in plain.stdout


def test_a_terminal_that_cannot_show_a_character_shows_another(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(written(record(漢字=1)))

    done = validate(str(path), PYTHONIOENCODING="ascii")

    assert done.returncode == 1
    assert "`??` is not a field" in done.stdout


def on_a_terminal(**environment: str) -> bytes:
    """What `validate` writes when its stdout is a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, BAD],
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env={key: value for key, value in os.environ.items() if key != "NO_COLOR"} | environment,
    ) as process:
        os.close(follower)
        chunks = []
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # how Linux says that nobody holds the other end
                break
            if not chunk:
                break
            chunks.append(chunk)
        assert process.wait() == 1
    os.close(leader)
    return b"".join(chunks)


def test_colours_are_for_terminals_that_want_them() -> None:
    assert b"\x1b[" in on_a_terminal()
    assert b"\x1b[" in on_a_terminal(NO_COLOR="")
    assert b"\x1b[" not in on_a_terminal(NO_COLOR="1")
    assert "\x1b[" not in validate(BAD).stdout


def test_an_interrupt_is_one_word_and_exit_130() -> None:
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job ignores it
        "from evalwright.cli import main\n"
        "main()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, "validate", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"\n" * 200_000)  # more than a pipe holds: it has begun to read
        process.stdin.flush()
        for _ in range(30):  # Python misses one that comes between two reads of a pipe
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
                break

        assert process.returncode == 130
        assert process.stderr.read().split() == [b"interrupted"]


# Size


# A child begins with the peak of its parent, so a small one must stand between it and pytest.
PEAK = (
    "import resource, subprocess, sys\n"
    "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
)


def test_memory_stays_flat(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    with path.open("wb") as file:
        for number in range(200_000):
            broken = number % 10 == 0
            task = record(task_id=f"task_{number:07d}", prompt="" if broken else "x" * 200)
            file.write(written(task) + b"\n")

    done = subprocess.run(
        [sys.executable, "-c", PEAK, *COMMAND, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stderr == "180,000 valid records, 20,000 errors: bad_value 20000\n"
    assert int(done.stdout) < 120 * 1024
