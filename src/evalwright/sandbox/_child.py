"""Judge one candidate: the script that `unsafe` runs in a bare interpreter.

It imports little: `json` alone would double the interpreter's start-up time.
"""

from __future__ import annotations

import sys
from importlib import import_module
from os import path


def main(report: int, arguments: list[bytes]) -> None:
    """Judge `nonce, source, *targets`. Never returns."""
    sys.path.insert(0, path.dirname(main.__code__.co_filename))  # noqa: PTH120 - no pathlib here
    judging = import_module("inside.judging")
    del sys.path[0]
    nonce, source, *targets = [text.decode("utf-8", "surrogatepass") for text in arguments]
    judging.judge_in_process(report, nonce, source, targets)
