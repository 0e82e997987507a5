"""The command without a process of its own: same arguments, output and exit code, and faster.

For every test that is about what the command says and does. A test about the process itself
(signals, pipes, limits, what a start imports) starts one.
"""

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from typing import BinaryIO, TextIO, cast

from evalwright import cli


def evalwright(
    *arguments: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | bytes = b"",
    merged: bool = False,
    stdout: str = "",
    stderr: str = "",
) -> CompletedProcess[str]:
    """Run the command in that folder and environment, from its start to its end.

    `merged`: stderr goes to stdout, as by `2>&1`. `stdout` and `stderr` are files to write to, as
    by `> FILE` and `2> FILE`: their content is not returned.
    """
    data = BytesIO(stdin.encode() if isinstance(stdin, str) else stdin)
    with ExitStack() as stack:
        out, err = (stack.enter_context(_open_file(path)) for path in (stdout, stderr))
        streams = data, out, out if merged else err
        exit_code = run_with_streams(arguments, streams, cwd=cwd, env=env)
        texts = ("" if path else _read_text(file) for path, file in ((stdout, out), (stderr, err)))
        return CompletedProcess(arguments, exit_code, *texts)


def _open_file(path: str) -> BinaryIO:
    return cast("BinaryIO", Path(path).open("wb", 0) if path else TemporaryFile())


def run_with_streams(
    arguments: tuple[str, ...],
    streams: tuple[BinaryIO, BinaryIO, BinaryIO],
    *,
    cwd: Path | None,
    env: Mapping[str, str] | None,
) -> int:
    """Run the command with these files as stdin, stdout and stderr; return its exit code."""
    environment = os.environ if env is None else env
    with _surroundings(cwd or Path.cwd(), environment), _streams(*streams):
        return _exit_code(arguments)


def _exit_code(arguments: tuple[str, ...]) -> int:
    before = sys.argv
    sys.argv = ["evalwright", *arguments]
    try:
        cli.main()
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.argv = before
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    return 0


@contextmanager
def _surroundings(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """The folder, the variables, the path of imports and the warnings of a fresh process."""
    before = Path.cwd(), dict(os.environ), [*sys.path]
    _set_environment(dict(environment))
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.resetwarnings()
            for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning):
                warnings.simplefilter("ignore", category)
            yield
    finally:
        os.chdir(before[0])
        _set_environment(before[1])
        sys.path[:] = before[2]


def _set_environment(variables: dict[str, str]) -> None:
    for name in [*os.environ]:
        if name not in variables:
            del os.environ[name]
    os.environ.update(variables)


@contextmanager
def _streams(stdin: BinaryIO, out: BinaryIO, err: BinaryIO) -> Iterator[None]:
    before = sys.stdin, sys.stdout, sys.stderr
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    streams = (
        TextIOWrapper(stdin, encoding),
        TextIOWrapper(out, encoding),
        TextIOWrapper(err, encoding, errors="backslashreplace", write_through=True),
    )
    sys.stdin, sys.stdout, sys.stderr = (cast("TextIO", stream) for stream in streams)
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for stream in streams:
            stream.detach()


def _read_text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode()
