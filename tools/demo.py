"""What `make demo` shows: ten tasks validated, a broken file explained, three scripts ranked.

Every line that begins with `$` is a command that you can type. Nothing leaves the machine.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from evalwright.spec.records.fixtures import TASKS_BAD

BIN = Path(sys.executable).parent


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
        step(folder, ["run", "tasks.jsonl", *models, "--unsafe-code-exec"])

        say("Next, with your own tasks and recorded outputs:")
    print("    .venv/bin/evalwright init my-benchmark")
    print("    .venv/bin/evalwright lint my-benchmark/tasks.jsonl")
    print("    .venv/bin/evalwright run my-benchmark/tasks.jsonl -m replay/outputs.jsonl")
    print("    docs/start.md goes on from here")
    return 0


def say(text: str) -> None:
    """A heading."""
    print(f"\n{text}\n", flush=True)


def step(folder: str, arguments: list[str], *, expected: int = 0) -> None:
    """Show a command, run it, and make sure that it ends as the tour says."""
    print(f"$ evalwright {' '.join(arguments)}", flush=True)
    done = subprocess.run([BIN / "evalwright", *arguments], cwd=folder, check=False)
    if done.returncode != expected:
        sys.exit(f"the demo expected exit code {expected}, it was {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
