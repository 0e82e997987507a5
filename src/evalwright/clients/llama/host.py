"""Load a model and serve it on a socket until stdin is closed. Runs in a separate process.

The script is started with the one package that it needs. The first line on stdin is JSON with the
paths of the model and the socket, and the settings. The script writes `ready` to stdout when the
model is loaded. When stdin is closed, the process ends and removes the folder of the socket. Both
are therefore cleaned up even if the engine is killed.
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
    _end_with_parent(None)  # from here, stdin signals the end, and the folder can be removed
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    shutil.rmtree(os.path.dirname(settings["socket"]), ignore_errors=True)  # noqa: PTH120 - the path is a string
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
    params.cache_ram_mib = 0  # disables the cache of past prompts, by default 8 GiB
    params.ui = False
    # Both are faster on some machines, but make probabilities depend on what is computed together:
    # the first on the number of threads, the second on the number of concurrent answers.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.no_extra_bufts = True
    params.fit_params = False  # use exactly the requested settings
    return xllamacpp.Server(params)


def _wait_for_log() -> None:
    """Wait until a thread of llama.cpp has written the reason to the log."""
    deadline = time.monotonic() + _LONGEST_LOG_S
    while not os.fstat(sys.stderr.fileno()).st_size and time.monotonic() < deadline:
        time.sleep(_SHORTEST_LOG_S)
    time.sleep(_SHORTEST_LOG_S)


def _end_with_parent(sign: signal.Signals | None) -> None:
    """Linux only: end with the parent while the model is loading and stdin is not read."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, sign or 0)


if __name__ == "__main__":
    main()
