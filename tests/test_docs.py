"""Every example in the README and the docs runs.

```console   each `$ ` line is run in a shell of its own folder; the lines below it must appear
             in the output, in order; `…` matches anything, `$ … # exit 3` is the exit code;
             docs/start.md is run from top to bottom in one folder
```python    is executed
```pycon     is a session of Python after `import evalwright as ew`, whose output is compared
```jsonl     every line is a valid record
```json      parses, as does ```toml
```yaml      parses; what is a whole document (a task, a dataset, a model…) has no error, but for
             files that only a project would have
"""

import doctest
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.e2e import in_process
from tests.local_model import BESIDE, missing

import evalwright
from evalwright import validate_task
from evalwright.spec.documents.project import read_project
from evalwright.spec.documents.resolve.layout import detect_kind
from evalwright.spec.documents.yaml.reader import read_document
from evalwright.spec.records.fixtures import TASKS, TASKS_BAD

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KNOWN = {"console", "python", "pycon", "jsonl", "json", "text", "toml", "yaml", "make"}
BIN = Path(sys.executable).parent
ADD = "def add(a, b):\n    return a + b\n"
SHELL = set("|&;<>()$`*?[]{}~!")
"""With any of these outside quotes, a line is for a shell."""
QUOTED = re.compile(r"'[^']*'")
OUTPUTS = '{"id": "arith_001", "output": "95"}\n{"id": "arith_002", "output": "84"}\n'


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    text: str


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(page, line, match[1], match[2]))
    return found


def named(block: Block) -> str:
    return f"{block.page.relative_to(ROOT)}:{block.line}"


def of(*languages: str) -> list[Block]:
    return [block for block in blocks() if block.language in languages]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a reader would be after `evalwright init`, with a few files to try things on."""
    (tmp_path / "tasks.jsonl").write_bytes(TASKS.read_bytes())
    (tmp_path / "tasks_bad.jsonl").write_bytes(TASKS_BAD.read_bytes())
    (tmp_path / "outputs.jsonl").write_text(OUTPUTS)
    (tmp_path / "add.py").write_text(ADD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


TUTORIAL = ROOT / "docs/start.md"


@pytest.mark.parametrize(
    "block", [block for block in of("console") if block.page != TUTORIAL], ids=named
)
def test_a_console_example_does_what_it_shows(block: Block, folder: Path) -> None:
    if needs_local_model(block) and (why := missing()):
        pytest.skip(why)
    for command, shown in steps(block.text):
        follow(command, shown, folder)


def test_the_tutorial_can_be_followed_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path
    for block in of("console"):
        if block.page != TUTORIAL or (needs_local_model(block) and missing()):
            continue
        for command, shown in steps(block.text):
            if command.startswith("cd "):
                folder /= command.removeprefix("cd ")
            else:
                follow(command, shown, folder)

    assert folder != tmp_path


def needs_local_model(block: Block) -> bool:
    return any("local/smollm2" in command for command, _ in steps(block.text))


def follow(command: str, shown: list[str], folder: Path) -> None:
    """Type a command as a reader would; its exit code and its output are as shown."""
    typed, _, exit_code = command.partition("  # exit ")
    path = f"{BIN}:{os.environ['PATH']}"
    environment = {**os.environ, **BESIDE, "PATH": path, "NO_COLOR": "1"}
    done = type_command(typed, folder, environment)
    assert done.returncode == int(exit_code or 0), f"{shlex.quote(typed)}: {done.stdout}"
    appears(shown, done.stdout)


def type_command(
    typed: str, folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell; `cd … && evalwright …`, which needs none, without a process."""
    parts = typed.split(" && ")
    if all(map(needs_no_shell, parts)):
        return run_in_process(parts, folder, environment)
    return subprocess.run(
        ["bash", "-c", typed],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def needs_no_shell(command: str) -> bool:
    words = QUOTED.sub("", command).partition("#")[0]
    return command.split(maxsplit=1)[0] in {"cd", "evalwright"} and not SHELL & set(words)


def run_in_process(
    commands: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run commands until one fails, and join what they print."""
    printed, exit_code = "", 0
    for command in commands:
        name, *arguments = shlex.split(command, comments=True)
        if name == "cd":
            folder /= arguments[0]
        elif not exit_code:
            done = in_process.evalwright(*arguments, cwd=folder, env=environment, merged=True)
            printed, exit_code = printed + done.stdout, done.returncode
    return subprocess.CompletedProcess(commands, exit_code, printed)


def steps(text: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    assert found, "a console block has at least one `$ ` line"
    return found


def appears(shown: list[str], output: str) -> None:
    at = 0
    for line in shown:
        words = (".*".join(re.escape(part) for part in word.split("…")) for word in line.split())
        pattern = r"[ ]+".join(words).replace(r"[ ]+.*[ ]+", ".*").removesuffix(r"[ ]+.*") + ".*"
        match = re.compile(rf"^[ ]*{pattern}$", re.MULTILINE).search(output, at)
        assert match, f"{line!r} is not in the output, or not in this order:\n{output}"
        at = match.end()


@pytest.mark.parametrize("block", of("python"), ids=named)
def test_a_python_example_runs(block: Block, folder: Path) -> None:
    script = folder / "example.py"
    script.write_text(block.text, encoding="utf-8")

    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("block", of("pycon"), ids=named)
@pytest.mark.usefixtures("folder")
def test_a_session_of_python_prints_what_it_shows(block: Block) -> None:
    session = doctest.DocTestParser().get_doctest(
        block.text, {"ew": evalwright}, named(block), str(block.page), block.line
    )
    printed: list[str] = []

    assert doctest.DocTestRunner().run(session, out=printed.append).failed == 0, "".join(printed)


@pytest.mark.parametrize("block", of("json", "jsonl"), ids=named)
def test_a_json_example_is_json_and_a_record_is_valid(block: Block) -> None:
    if block.language == "json":
        assert json.loads(block.text) is not None
        return
    for line in block.text.splitlines():
        record = json.loads(line)
        assert "output" in record or validate_task(record).task_id


def test_every_block_names_a_language_that_is_checked() -> None:
    assert {block.language for block in blocks()} <= KNOWN


ELSEWHERE = {"unknown_evaluation", "missing_file", "bad_include", "bad_ref", "unknown_secret"}


@pytest.mark.parametrize("block", of("toml"), ids=named)
def test_a_toml_example_parses(block: Block) -> None:
    assert tomllib.loads(block.text)


# Its YAML needs the package of the same page: tests/e2e/test_plugins.py installs that and runs it.
PLUGINS = ROOT / "docs/guides/plugins.md"


@pytest.mark.parametrize(
    "block", [block for block in of("yaml") if block.page != PLUGINS], ids=named
)
def test_a_yaml_example_is_right(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(block.text, encoding="utf-8")
    read = read_document(path, environment={})
    problems = [*read.problems]
    if isinstance(read.data, dict) and detect_kind(read.data) is not None:
        problems += read_project(path, environment={}).problems

    wrong = [one for one in problems if one.level == "error" and one.rule not in ELSEWHERE]

    assert [f"{one.line}: {one.detail}" for one in wrong] == []


PLAIN = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/start.md")),
    *sorted(
        page
        for folder in ("guides", "concepts", "adr", "reference")
        for page in (ROOT / "docs" / folder).glob("*.md")
    ),
    *sorted((ROOT / "examples").rglob("*.md")),
    ROOT / "src/evalwright/starter/README.md",
]
"""The reference has every `--help` and every description of a field."""
NOT_IDIOMATIC = re.compile(
    r"gone on with|\bis no (?!longer)|beside the answers|\bwhom\b|\bmend(?:s|ed|ing)?\b"
    r"|\b(?:requests|tokens|dollars|bits|bytes|seconds|calls|one|line|file|row|ms)"
    r" an? (?:minute|second|million|weight|task|sample|answer|row)\b",
    re.IGNORECASE,
)


def test_no_page_and_no_help_has_a_phrase_that_is_not_idiomatic() -> None:
    assert [
        f"{page.relative_to(ROOT)}:{number}: {line.strip()}"
        for page in PLAIN
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1)
        if NOT_IDIOMATIC.search(line)
    ] == []


LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def test_every_link_inside_the_docs_leads_to_a_file_and_a_heading() -> None:
    pages = sorted({*PAGES, *PLAIN})
    links = [(page, *link) for page in pages for link in LINK.findall(page.read_text("utf-8"))]

    assert [
        f"{page.relative_to(ROOT)}: {target}#{anchor}"
        for page, target, anchor in links
        if not (page.parent / target).exists()
        or (anchor and anchor not in anchors(page.parent / target if target else page))
    ] == []


def anchors(page: Path) -> set[str]:
    """Return the anchors that a page's headings get on GitHub."""
    headings = HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
