"""Nothing that a program, a model or an author wrote acts on the terminal of the reader."""

from pathlib import Path

import pytest
from tests.e2e.in_process import evalwright

CLEAR = "\x1b[2J\x1b]0;title\x07\x9b31m"
PROGRAM = f"""
print({CLEAR!r})
class Odd(Exception): pass
Odd.__name__ = {CLEAR!r}
def f(): raise Odd({CLEAR!r})
"""


@pytest.mark.parametrize("target", ["f()", f"'{CLEAR}' == 1", "f"])
def test_a_program_shows_its_escapes_written_out(tmp_path: Path, target: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")

    done = evalwright("exec", str(program), "--target", target)

    assert "\\x1b[2J" in done.stdout
    assert not set("\x1b\x07\x9b") & set(done.stdout + done.stderr)


def test_an_error_shows_the_escapes_of_a_name_written_out(tmp_path: Path) -> None:
    done = evalwright("exec", str(tmp_path / f"{CLEAR}.py"), "--target", "1")

    assert done.returncode != 0
    assert "\\x1b[2J" in done.stderr
    assert not set("\x1b\x07\x9b") & set(done.stdout + done.stderr)
