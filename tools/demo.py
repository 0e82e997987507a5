"""What `make demo` shows: mistakes explained, a real model measured, a liar caught, a judge tried.

Every line that begins with `$` is a command that you can type. Nothing leaves the machine: the
model runs here, from the files that `make setup` has brought.
"""

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evalwright.spec.records.fixtures import TASKS_BAD

BIN = Path(sys.executable).parent
EXAMPLES = Path(__file__).parent.parent / "examples"
MODEL = "local/smollm2"
LIAR = """\
class Anything:
    def __eq__(self, other):
        return True

def add(a, b):
    return Anything()
"""


def main() -> int:
    """Run the tour; stop where a step does not end as it should."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="evalwright-demo-") as folder:
        records(folder)
        project(folder)
    took = time.monotonic() - started
    say(f"That took {took:.0f} s. Next:")
    for words in (
        "init my-benchmark",
        f"run my-benchmark/tasks.jsonl -m {MODEL}",
        "run my-benchmark/run.yaml",
        f"perplexity README.md --split paragraphs --limit 5 -m {MODEL}",
        "run my-benchmark/tasks.jsonl -m openai/gpt-4.1-mini    # with OPENAI_API_KEY set",
    ):
        print(f"    .venv/bin/evalwright {words}")
    print("    for the next steps, see docs/start.md")
    return 0


def records(folder: str) -> None:
    """Task records: checked, run with a real model beside three scripts, a program held."""
    bad = TASKS_BAD.read_bytes().splitlines(keepends=True)
    some = [bad[index] for index in (1, 2, 19, 39, 48, 57)]
    Path(folder, "broken.jsonl").write_bytes(b"".join(some))

    say("Ten tasks, two of every category.")
    step(folder, ["init", "."])
    step(folder, ["validate", "tasks.jsonl"])

    say("A file with mistakes: each one is pointed out, with its place and what is allowed.")
    step(folder, ["validate", "broken.jsonl"], expected=1)

    say(
        "A real model: 135 million parameters, on this machine, without a key or a network.\n"
        "Three scripts beside it that know the answers show what a report can tell apart.\n"
        "Multiple choice is answered by the likeliest option."
    )
    scripts = [f"scripted/{name}" for name in ("oracle", "biased", "noisy")]
    models = [part for name in (MODEL, *scripts) for part in ("-m", name)]
    # What the scripts answer is ours, what a model answers is not: it runs behind walls, or not.
    walls = has_walls()
    unsafe = [] if walls else ["--unsafe-code-exec"]
    told = ["-p", "max_tokens=48", "--mcq", "loglikelihood", *unsafe]
    step(folder, ["run", "tasks.jsonl", *models, *told])

    if walls:
        say("Two of the tasks run a program: behind walls, where it cannot forge its verdict.")
        Path(folder, "liar.py").write_text(LIAR)
        step(folder, ["exec", "liar.py", "--target", "add(1, 2) == 3"], expected=1)


def project(folder: str) -> None:
    """Task documents: one project whose model is a snippet, one whose model judges itself."""
    say("A project of YAML documents: one task of each kind, its model a snippet beside it.")
    step(folder, ["validate", "."])
    step(folder, ["run", "run.yaml"])

    say(
        "A project whose model answers, and then judges its own answers by a second prompt.\n"
        "Compare what it says of itself with the exact comparison: a judge wants checking."
    )
    shutil.copytree(EXAMPLES / "local-judge", Path(folder, "judge"), dirs_exist_ok=True)
    step(f"{folder}/judge", ["run", "run.yaml"])


def has_walls() -> bool:
    """Whether programs can be isolated on this machine."""
    done = subprocess.run([BIN / "evalwright", "doctor", "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)["tier"] is not None


def say(text: str) -> None:
    """A heading."""
    print(f"\n{text}\n", flush=True)


def step(folder: str, arguments: list[str], *, expected: int = 0) -> None:
    """Show a command, run it, and make sure that it ends as the tour says."""
    print(f"$ evalwright {shlex.join(arguments)}", flush=True)
    done = subprocess.run([BIN / "evalwright", *arguments], cwd=folder, check=False)
    if done.returncode != expected:
        sys.exit(f"the demo expected exit code {expected}, it was {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
