"""Plain Python's verdict on many programs: one process, one fork per program, no sandbox."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from tests.sandbox.corpus import CorpusProgram

_SCRIPT = r"""
import json, os, sys

def judge(source, targets):
    module = type(sys)("candidate")
    sys.modules["candidate"] = module
    exec(compile(source, "<candidate>", "exec"), module.__dict__)
    verdicts = []
    for text in targets:
        try:
            code = compile(text.lstrip(" \t"), "<target>", "eval")
        except SyntaxError:
            code = compile(text, "<target>", "exec")
        try:
            value = eval(code, module.__dict__)
            verdicts.append(bool(value) or not is_expression(text))
        except BaseException:
            verdicts.append(False)
    return verdicts

def is_expression(text):
    try:
        compile(text.lstrip(" \t"), "<target>", "eval")
    except SyntaxError:
        return False
    return True

os.environ.clear()
results = []
programs = json.load(sys.stdin)
sys.stdin = open(os.devnull)
out = os.dup(1)
null = os.open(os.devnull, os.O_WRONLY)
os.dup2(null, 1)
os.dup2(null, 2)
for source, targets in programs:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            verdicts = judge(source, targets)
            os.write(writing, json.dumps(verdicts).encode())
        except BaseException:
            os.write(writing, b"null")
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        results.append(json.loads(pipe.read() or "null"))
    os.waitpid(child, 0)
os.write(out, json.dumps(results).encode())
"""


def judge_plainly(programs: Sequence[CorpusProgram]) -> list[list[bool] | None]:
    """The verdict on every target of each program; None where the program itself fails."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", _SCRIPT],
        input=json.dumps([[program.source, list(program.targets)] for program in programs]),
        capture_output=True,
        check=True,
        text=True,
        cwd=tempfile.gettempdir(),
    )
    results: list[list[bool] | None] = json.loads(done.stdout)
    return results
