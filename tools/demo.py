"""What `make demo` shows: mistakes explained, scripts ranked, a liar caught, a project run.

Every line that begins with `$` is a command that you can type. Nothing leaves the machine.
"""

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from evalwright.spec.records.fixtures import TASKS_BAD

BIN = Path(sys.executable).parent
LIAR = """\
class Anything:
    def __eq__(self, other):
        return True

def add(a, b):
    return Anything()
"""


def main() -> int:
    """Run the tour; stop where a step does not end as it should."""
    with tempfile.TemporaryDirectory(prefix="evalwright-demo-") as folder:
        bad = TASKS_BAD.read_bytes().splitlines(keepends=True)
        some = [bad[index] for index in (1, 2, 19, 39, 48, 57)]
        Path(folder, "broken.jsonl").write_bytes(b"".join(some))

        say("Ten tasks, two of every category.")
        step(folder, ["init", "."])
        step(folder, ["validate", "tasks.jsonl"])

        say("A file with mistakes: each one is pointed out, with its place and what is allowed.")
        step(folder, ["validate", "broken.jsonl"], expected=1)

        say("Three scripts stand in for models here, so that this runs without a key or a network.")
        models = [
            part for name in ("oracle", "noisy", "biased") for part in ("-m", f"scripted/{name}")
        ]
        # What these scripts answer is ours, so it may run where nothing isolates, too.
        walls = has_walls()
        step(folder, ["run", "tasks.jsonl", *models, *([] if walls else ["--unsafe-code-exec"])])

        if walls:
            say("Two of the tasks run a program: behind walls, where it cannot forge its verdict.")
            Path(folder, "liar.py").write_text(LIAR)
            step(folder, ["exec", "liar.py", "--target", "add(1, 2) == 3"], expected=1)

        say("A project of YAML documents: one task of each kind, its model a snippet beside it.")
        step(folder, ["validate", "."])
        step(folder, ["run", "run.yaml"])
        step(folder, ["task", "test", "capitals"])

        say("Next, with your own tasks and recorded outputs:")
    print("    .venv/bin/evalwright init my-benchmark")
    print("    .venv/bin/evalwright run my-benchmark/run.yaml")
    print("    .venv/bin/evalwright lint my-benchmark/tasks.jsonl")
    print("    .venv/bin/evalwright run my-benchmark/tasks.jsonl -m replay/outputs.jsonl")
    print("    docs/start.md goes on from here")
    return 0


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
