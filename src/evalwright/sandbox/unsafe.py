"""`rlimits`: a plain child process with limits and a deadline.

For code that means no harm but may loop, crash or use up memory. The user asks for it with
`--unsafe-code-exec`, and the report says that it was used.

Holds:      time, memory, output, file size, open files; an environment without the user's keys; a
            working directory that is deleted; every process of the candidate's group ends. An
            exit, a crash, a closed descriptor or a verdict printed on stdout is never a pass.
Does not:   isolate. A candidate can read and write what the user can, use the network, signal the
            user's processes, and leave one behind (`setsid`). It shares an interpreter with its
            targets, so it can forge its verdict. Hence `verified = False`.
"""

import math
import os
import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from evalwright import processes
from evalwright.processes import Launch
from evalwright.sandbox import verdict
from evalwright.sandbox.inside import judging
from evalwright.sandbox.turns import Turns
from evalwright.types import Execution, Program
from evalwright.vocabulary import MAX_OUTPUT_BYTES

ADDRESS_SPACE_BYTES = 1024**3
FILE_BYTES = 16 * 1024**2
OPEN_FILES = 64

_SCRIPT = Path(judging.__file__)


class Unsafe:
    """Judges programs in child processes, one per core at a time: deadlines are wall-clock."""

    tier = "rlimits"
    verified = False
    only_verified = False
    packages: Collection[str] = ()

    def __init__(self, workers: int | None = None) -> None:
        # Its own threads: a program waits here for its turn, before its clock starts.
        self._threads = ThreadPoolExecutor(workers or os.cpu_count(), thread_name_prefix="sandbox")
        self._turns = Turns()

    async def judge(self, program: Program) -> Execution:
        """Run the candidate and its targets. Raise ValueError for a target that does not compile.

        Raise ChildProcessError when no interpreter could be started: nothing was judged.
        """
        if not program.targets:
            raise ValueError("a program without targets cannot be judged")
        nonce = os.urandom(16).hex()
        texts = (nonce, program.source, *program.targets)
        launch = Launch(
            script=_SCRIPT,
            arguments=tuple(text.encode("utf-8", "surrogatepass") for text in texts),
            limits={
                "RLIMIT_CPU": math.ceil(program.timeout_s) + 1,
                "RLIMIT_AS": ADDRESS_SPACE_BYTES,
                "RLIMIT_FSIZE": FILE_BYTES,
                "RLIMIT_NOFILE": OPEN_FILES,
            },
            timeout_s=program.timeout_s,
            max_output_bytes=MAX_OUTPUT_BYTES,
            max_report_bytes=verdict.max_report_bytes(program),
        )
        judge = partial(self._judge, program, launch, nonce)
        stop = threading.Event()
        return await processes.run_in_thread(self._threads, partial(judge, stop), stop.set)

    def _judge(
        self, program: Program, launch: Launch, nonce: str, stop: threading.Event
    ) -> Execution:
        """Run a program; once more, alone, if it may have been starved."""
        with self._turns.take_shared_turn():
            ended = processes.Child(launch, stop).run()
        execution = verdict.judge_report(program, ended, nonce)
        if not verdict.ran_out_of_wall_time(program, ended) or stop.is_set():
            return execution
        with self._turns.take_alone(stop) as is_alone:
            if not is_alone:
                return execution
            ended = processes.Child(launch, stop).run()
        execution = verdict.judge_report(program, ended, nonce)
        if verdict.ran_out_of_wall_time(program, ended):
            return verdict.rest_on_wall_clock(execution)
        return execution

    async def close(self) -> None:
        """Do not wait: every child ends with its program."""
        self._threads.shutdown(wait=False)
