"""The program of the process that a model runs in: load it, serve it on a socket, end with stdin.

It is started as a script, with the one package that it needs. The first line of stdin is JSON: the
path of the model, of the socket, and how to run it. `ready` on stdout says that it can be asked.
The end of stdin ends the process and removes the folder of the socket: neither outlives an engine
that was killed.
"""

import ctypes
import json
import os
import shutil
import signal
import sys
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG = 1
_ERRORS_ONLY = 1


def main() -> None:
    """Serve until nobody holds the other end of stdin."""
    _end_with_parent(signal.SIGKILL)
    told = json.loads(sys.stdin.buffer.readline())
    try:
        server = serve(told)
    except RuntimeError:  # llama.cpp has said why
        os._exit(1)
    _end_with_parent(None)  # from here on the end of stdin says so, and the folder can be removed
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    shutil.rmtree(os.path.dirname(told["socket"]), ignore_errors=True)  # noqa: PTH120 - it is a string
    del server
    os._exit(0)


def serve(told: dict[str, Any]) -> Any:
    """The server, loaded; it raises where the file cannot be."""
    import xllamacpp

    asked = xllamacpp.CommonParams()
    asked.model.path = told["model"]
    asked.hostnames = [told["socket"]]
    asked.n_parallel = told["slots"]
    asked.n_ctx = told["slots"] * told["context"]
    asked.cpuparams.n_threads = told["threads"]
    asked.cpuparams_batch.n_threads = told["threads"]
    asked.verbosity = _ERRORS_ONLY
    asked.cache_ram_mib = 0  # prompts of the past, by default in 8 GiB of memory
    asked.ui = False
    # Both are faster on some machines. But then a probability depends on what is computed together:
    # on the number of threads with the first, on how many answers are under way with the second.
    asked.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    asked.no_extra_bufts = True
    asked.fit_params = False  # what was asked for is what runs
    return xllamacpp.Server(asked)


def _end_with_parent(sign: signal.Signals | None) -> None:
    """Linux only. While a model is loaded, nothing reads stdin."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, sign or 0)


if __name__ == "__main__":
    main()
