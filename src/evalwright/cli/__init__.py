"""The command line. Each file here translates one command: arguments in, `api.verb()`, text out.

A command is imported only when it is used: `evalwright --help` imports click and this file.
Data goes to stdout, messages to stderr.
"""

import errno
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Any

import click

from evalwright._version import __version__
from evalwright.report.messages import (
    discard,
    drop_unwritable_messages,
    print_message,
    write_message,
)
from evalwright.text.visible import visible

COMMANDS = {
    "init": "Create a small example project.",
    "validate": "Report every error in task files and projects.",
    "lint": "Report likely mistakes in valid task files and projects.",
    "run": "Run tasks with models and rank the models.",
    "perplexity": "Measure how well models predict text.",
    "score": "Score the stored outputs of a run again.",
    "exec": "Test one program the way `run` tests code answers.",
    "report": "Print a run's report.",
    "compare": "Compare runs, models or variants, sample by sample.",
    "gate": "Check a run against policies and a baseline.",
    "bless": "Make a run the baseline NAME.",
    "judge": "Measure how reliable a judge model is.",
    "list": "List runs, component types, model providers or the contents of a project.",
    "show": "Show the details of a run or the outcomes of its samples.",
    "task": "Manage a project's tasks.",
    "dataset": "Manage a project's datasets.",
    "generator": "Manage a project's dataset generators.",
    "model": "Manage a project's models.",
    "adapter": "Manage a project's model adapters.",
    "eval": "Manage a project's evaluations.",
    "secret": "Manage the secrets stored on this machine.",
    "export": "Export a run's outcomes for other tools.",
    "import": "Import results from other tools as a run.",
    "delete": "Delete a run and its outcomes.",
    "gc": "Free the disk space used by deleted runs.",
    "schema": "Print the JSON Schema for a document type.",
    "doctor": "Show what this machine supports.",
}
_ENTITIES = ("task", "dataset", "generator", "model", "adapter", "eval")
SHORTHANDS = {f"{name}s": name for name in _ENTITIES}
"""`evalwright tasks` is `evalwright task list`."""
MODULES = {"import": "import_"}
"""Commands whose name is not a valid module name."""
EXIT_CODES = """\
Exit codes: 0 success; 1 check failed; 2 usage error; 3 samples failed or a limit
was reached; 4 could not run; 5 undecided, because more samples are needed;
130 interrupted (Ctrl-C, SIGTERM or SIGHUP)."""


class Commands(click.Group):
    """A group that imports a command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order in which a new user needs them."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module of a command."""
        if cmd_name not in COMMANDS and cmd_name not in SHORTHANDS:
            return None
        name = SHORTHANDS.get(cmd_name, cmd_name)
        module = import_module(f"evalwright.cli.{MODULES.get(name, name)}")
        command: click.Command = module.command
        if cmd_name in SHORTHANDS and isinstance(command, click.Group):
            return command.commands["list"]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):  # below, `list` may be our own module
            formatter.write_dl([*COMMANDS.items()])

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse the options, and print the help if one of them asks for it."""
        with _exit_without_reader():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _exit_without_reader():
            return super().invoke(ctx)


@contextmanager
def _exit_without_reader() -> Iterator[None]:
    """Exit if the reader of our pipe has gone (`| head`); click's `main` would exit with 1."""
    try:
        yield
    except BrokenPipeError:
        discard(sys.stdout)
        sys.exit(141)


@click.group(
    cls=Commands,
    epilog=EXIT_CODES,
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="evalwright %(version)s")
def app() -> None:
    """Evaluate language models and datasets from declarative tasks."""


def main() -> None:
    """Run the command; turn each `EvalwrightError` into one line and an exit code."""
    _replace_closed_streams()
    warnings.showwarning = _show_warning
    try:
        # Only click is imported so far; the error classes are loaded before they can be needed.
        with _signals_as_interrupts():
            app(prog_name="evalwright", standalone_mode=False)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.ClickException as error:
        _show(error)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        print_message("interrupted")
        sys.exit(130)
    except OSError as error:  # a full disk; what cannot be read is `Unreadable` by now
        discard(sys.stdout)
        print_message(f"evalwright: {_explain_os_error(error)}")
        sys.exit(4)
    except Exception as error:  # noqa: BLE001 - told apart here, and none is hidden
        from evalwright.errors import EvalwrightError

        if not isinstance(error, EvalwrightError):
            import traceback

            # A bug, ours or a plugin's. Python's exit 1 is taken: "bad".
            write_message(visible(traceback.format_exc()))
            sys.exit(EvalwrightError.exit_code)
        print_message(f"evalwright: {error.message}")
        if error.hint:
            print_message(f"  hint: {error.hint}")
        sys.exit(error.exit_code)


_STOP_SIGNALS = ("SIGTERM", "SIGHUP")  # by name: Windows has no SIGHUP
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def _replace_closed_streams() -> None:
    """Open `/dev/null` for the standard streams that are closed, as by `>&-`.

    Otherwise the next file that is opened would get their number, and output would go there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number: this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115 - until the process ends


def _explain_os_error(error: OSError) -> str:
    """Name the thing: these errors come from streams and folders that have no name."""
    if error.filename is not None:
        return str(error)
    if isinstance(error, FileNotFoundError):
        return "the current folder does not exist any more: change to another one"
    if error.errno in _NO_SPACE:
        return f"standard output cannot be written: {(error.strerror or str(error)).lower()}"
    return str(error)


_show_foreign_warning = warnings.showwarning


def _show_warning(
    message: Warning | str, category: type[Warning], *place: Any, **more: Any
) -> None:
    if category.__module__.startswith("evalwright."):
        print_message(f"warning: {message}")
    else:
        _show_foreign_warning(message, category, *place, **more)


def _show(error: click.ClickException) -> None:
    """Print an error of click like any other error; without arguments, print the help."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if not sys.argv[1:] or context is None:
        with drop_unwritable_messages():
            error.show()
        return
    message = error.format_message().rstrip(".")
    print_message(f"evalwright: {message[:1].lower()}{message[1:]}")
    print_message(f"  hint: {context.command_path} --help")


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """While active, treat SIGTERM and SIGHUP as SIGINT. One that is ignored stays ignored."""
    before = {}
    for name in _STOP_SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # Ctrl-C is ignored, as in a script's background job
        raise KeyboardInterrupt
    handler(number, frame)
