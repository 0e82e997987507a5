"""Run `make demo`: find mistakes, evaluate a model, catch a cheating program, try a judge.

Every line that begins with `$` is a command that you can type. Nothing leaves the machine: the
model runs locally, from the files that `make setup` installs.
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
    """Run the demo; stop if a step does not exit as expected."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="evalwright-demo-") as folder:
        records(folder)
        project(folder)
    took = time.monotonic() - started
    say(f"The demo took {took:.0f} s. Commands to try next:")
    for words in (
        "init my-benchmark",
        f"run my-benchmark/tasks.jsonl -m {MODEL}",
        "run my-benchmark/run.yaml",
        f"perplexity README.md --split paragraphs --limit 5 -m {MODEL}",
        "run my-benchmark/tasks.jsonl -m openai/gpt-4.1-mini    # with OPENAI_API_KEY set",
    ):
        print(f"    .venv/bin/evalwright {words}")
    print("For a tutorial, see docs/start.md.")
    return 0


def records(folder: str) -> None:
    """Show task records: validate them, run a real model and three scripts, judge a program."""
    bad = TASKS_BAD.read_bytes().splitlines(keepends=True)
    some = [bad[index] for index in (1, 2, 19, 39, 48, 57)]
    Path(folder, "broken.jsonl").write_bytes(b"".join(some))

    say("Ten task records, two per category.")
    step(folder, ["init", "."])
    step(folder, ["validate", "tasks.jsonl"])

    say("A file with mistakes. Each error shows where the mistake is and how to correct it.")
    step(folder, ["validate", "broken.jsonl"], expected=1)

    say(
        "A real model with 135 million parameters runs here, without a key or a network.\n"
        "For comparison, three scripted models know the targets; two of them make mistakes.\n"
        "In multiple-choice tasks, the answer is the option that the model considers most likely."
    )
    scripts = [f"scripted/{name}" for name in ("oracle", "biased", "noisy")]
    models = [part for name in (MODEL, *scripts) for part in ("-m", name)]
    isolated = has_isolation()
    unsafe = [] if isolated else ["--unsafe-code-exec"]
    options = ["-p", "max_tokens=48", "--mcq", "loglikelihood", *unsafe]
    step(folder, ["run", "tasks.jsonl", *models, *options])

    if isolated:
        say("Programs run in a sandbox. This one returns an object that equals everything.")
        Path(folder, "liar.py").write_text(LIAR)
        step(folder, ["exec", "liar.py", "--target", "add(1, 2) == 3"], expected=1)


def project(folder: str) -> None:
    """Show projects: a model that is a snippet, and a model that judges itself."""
    say("A project of YAML documents with one task of each kind. Its model is a Python snippet.")
    step(folder, ["validate", "."])
    step(folder, ["run", "run.yaml"])

    say(
        "In this project, a model answers questions and then judges its own answers.\n"
        "Compare the judge with the exact comparison to see how reliable it is."
    )
    shutil.copytree(EXAMPLES / "local-judge", Path(folder, "judge"), dirs_exist_ok=True)
    step(f"{folder}/judge", ["run", "run.yaml"])


def has_isolation() -> bool:
    """Return whether programs can be isolated on this machine."""
    done = subprocess.run([BIN / "evalwright", "doctor", "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)["tier"] is not None


def say(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n", flush=True)


def step(folder: str, arguments: list[str], *, expected: int = 0) -> None:
    """Print a command, run it, and stop if its exit code is not the expected one."""
    print(f"$ evalwright {shlex.join(arguments)}", flush=True)
    done = subprocess.run([BIN / "evalwright", *arguments], cwd=folder, check=False)
    if done.returncode != expected:
        sys.exit(f"the demo expected exit code {expected}, but got {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
