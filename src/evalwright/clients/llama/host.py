"""The program of the process that a model runs in: load, serve on a socket, end with stdin.

It is started as a script, with the one package that it needs. The first line of stdin is JSON: the
paths of the model and the socket, and the settings. `ready` on stdout says that it is loaded.
The end of stdin ends the process and removes the folder of the socket: neither outlives an engine
that was killed.
"""

import ctypes
import json
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG = 1
_ERRORS_ONLY = 1
_LONGEST_LOG_S, _SHORTEST_LOG_S = 5.0, 0.05


def main() -> None:
    """Serve until stdin is closed."""
    _end_with_parent(signal.SIGKILL)
    settings = json.loads(sys.stdin.buffer.readline())
    try:
        server = serve(settings)
    except RuntimeError:
        _wait_for_log()
        os._exit(1)
    _end_with_parent(None)  # from here on the end of stdin says so, and the folder can be removed
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    shutil.rmtree(os.path.dirname(settings["socket"]), ignore_errors=True)  # noqa: PTH120 - it is a string
    del server
    os._exit(0)


def serve(settings: dict[str, Any]) -> Any:
    """Load the model and return its server; RuntimeError if the file cannot be loaded."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.hostnames = [settings["socket"]]
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["slots"] * settings["context"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.verbosity = _ERRORS_ONLY
    params.cache_ram_mib = 0  # prompts of the past, by default in 8 GiB of memory
    params.ui = False
    # Both are faster on some machines. But then a probability depends on what is computed together:
    # on the number of threads with the first, on how many answers are under way with the second.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.no_extra_bufts = True
    params.fit_params = False  # what was asked for is what runs
    return xllamacpp.Server(params)


def _wait_for_log() -> None:
    """Wait until the reason is in the log: a thread of llama.cpp writes it."""
    deadline = time.monotonic() + _LONGEST_LOG_S
    while not os.fstat(sys.stderr.fileno()).st_size and time.monotonic() < deadline:
        time.sleep(_SHORTEST_LOG_S)
    time.sleep(_SHORTEST_LOG_S)


def _end_with_parent(sign: signal.Signals | None) -> None:
    """Linux only: end with the parent while a model is loading and nothing reads stdin."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, sign or 0)


if __name__ == "__main__":
    main()
