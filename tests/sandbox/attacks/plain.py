"""How much of the field runs candidates: three ways to be fooled, to try the attacks on.

None of them is meant to hold anything. An attack that fails even here is no attack.
"""

import json
import subprocess
import sys
import tempfile

from tests.living import PATIENCE_S

_BY_STATUS = """
import json, sys
job = json.load(sys.stdin)
names = {'__name__': 'candidate'}
exec(job['source'], names)
for target in job['targets']:
    try: code = compile(target, '<target>', 'eval')
    except SyntaxError: exec(target, names)
    else: assert eval(code, names)
"""
_BY_OUTPUT = """
import json, os, sys
job = json.load(sys.stdin)
names = {'__name__': 'candidate'}
exec(job['source'], names)
passed = all(eval(target, names) for target in job['targets'])
os.write(1, json.dumps({'passed': passed}).encode())
"""
_ONE_AFTER_ANOTHER = """
import json, sys, types
job = json.load(sys.stdin)
exec(job['first'], globals())
exec(job['second'], globals())
sys.__stdout__.write(str(bool(found())))
"""


def _run(script: str, **job: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", script]
    text = json.dumps(job)
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
            cwd=folder,
        )


def output_of(source: str, targets: tuple[str, ...]) -> str:
    """What it prints in a child with our own environment."""
    return _run(_BY_STATUS, source=source, targets=targets).stdout


def believed_by_status(source: str, targets: tuple[str, ...]) -> bool:
    """Whether a child ends as if all had passed."""
    return _run(_BY_STATUS, source=source, targets=targets).returncode == 0


def believed_by_output(source: str, targets: tuple[str, ...]) -> bool:
    """Whether the last line of a child says that all has passed."""
    last = _run(_BY_OUTPUT, source=source, targets=targets).stdout.strip().rpartition("\n")[2]
    return last == '{"passed": true}'


def kept(first: str, second: str) -> bool:
    """Whether one interpreter for two candidates lets the second see the first."""
    return _run(_ONE_AFTER_ANOTHER, first=first, second=second).stdout.endswith("True")
