"""A bare interpreter, as the zygote is, in which a test can give up what it will not get back."""

import subprocess
import sys
from pathlib import Path

from tests.living import PATIENCE_S

from evalwright.sandbox import inside

SANDBOX = Path(inside.__file__).parents[1]


def run(script: str, *arguments: object, cwd: Path | None = None) -> str:
    """What the script prints. It must end by itself, and well."""
    ended = ended_with(script, *arguments, cwd=cwd)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def ended_with(
    script: str, *arguments: object, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """How the script ended. Its arguments are in `sys.argv`, from 1 on."""
    preamble = f"import sys; sys.path.insert(0, {str(SANDBOX)!r})\n"
    return subprocess.run(
        [sys.executable, "-s", "-S", "-P", "-c", preamble + script, *map(str, arguments)],
        cwd=cwd,
        env={},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
