"""All exceptions of the package.

    EvalwrightError            anything we raise on purpose
    ├── UsageError             a request that cannot be fulfilled: exit 2
    │   ├── NoInput            no file, no model or no task; also a `ValueError`
    │   ├── Unreadable         a file that does not exist, is a directory, is cut short
    │   └── UnknownName        an unknown name; the message suggests the nearest known one
    ├── InvalidTask            one record that breaks a rule of contract A: exit 1
    ├── BadTasks               a task file with errors that `run` refuses: exit 1
    ├── BadDataset             rows that cannot be read or distinguished, or no rows: exit 1
    │   ├── BadLog             a damaged result log, or a file that is not one: exit 1
    │   └── FileChanged        a file of rows or records that changed while it was in use
    ├── ModelError             a model call without a usable answer; `kind` says why
    ├── SnippetFailed          an author's function without a usable result; `kind` says why
    ├── BrokenPlugin           a name that comes from a plugin that cannot be loaded: exit 4
    ├── StoreError             a store that cannot be used now: full, locked, damaged, too new
    ├── Stopped                a run that ends early and can be resumed: exit 3
    │   └── BudgetSpent        the cap on cost or tokens is reached
    └── StageError             a stage that failed; the engine turns it into a Failure

Components (models, solvers, scorers, plugins) raise plain Python exceptions and need none of these.
Each `message` is one line: where, what. `hint` says what to do next. `str` has both.
"""

from evalwright.types import Issue, Stage


class EvalwrightError(Exception):
    """Base class for the errors that evalwright raises."""

    exit_code = 4

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def message(self) -> str:
        """What is wrong, without the hint."""
        return str(self.args[0])

    def __str__(self) -> str:
        """Return the message, and the hint on a line of its own."""
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class UsageError(EvalwrightError):
    """A request that cannot be fulfilled."""

    exit_code = 2


class NoInput(UsageError, ValueError):
    """Nothing to work on: no file, no model, or a file without tasks."""


class Unreadable(UsageError):
    """A file that does not exist, is a directory, may not be read or is cut short."""


class UnknownName(UsageError):
    """An unknown name."""


class InvalidTask(EvalwrightError, ValueError):
    """A record that breaks a rule; `issue` says which one."""

    exit_code = 1

    def __init__(self, issue: Issue) -> None:
        super().__init__(f"{issue.rule}: {issue.detail}", hint=issue.hint)
        self.issue = issue


class BadTasks(EvalwrightError):
    """A task file with errors: `run` does not start."""

    exit_code = 1


class BadDataset(EvalwrightError):
    """Rows that cannot be read or distinguished, or no rows: `run` does not start."""

    exit_code = 1


class BadLog(BadDataset):
    """A damaged result log, or a file that is not one: nothing is imported."""


class FileChanged(BadDataset):
    """A file of rows or records that changed while it was in use: the run stops."""


class ModelError(EvalwrightError):
    """A model call without a usable answer."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after_s: float | None = None,
        hint: str = "",
        attempts: int = 1,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.attempts = attempts


class SnippetFailed(EvalwrightError):
    """An author's function without a usable result; the message begins with its place."""

    def __init__(self, kind: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        """The name of the exception, or `timeout`, `crashed`, `result`."""


class BrokenPlugin(EvalwrightError):
    """A name that comes from an installed plugin that cannot be used."""


class PluginWarning(UserWarning):
    """A plugin that cannot be used, whether or not anything needs it."""


class StoreError(EvalwrightError):
    """A store that cannot be used now: full, locked, damaged, or of a newer version."""


class Stopped(EvalwrightError):
    """A run that ends early, not because of a sample, and can be resumed."""

    exit_code = 3


class BudgetSpent(Stopped):
    """The cap on cost or tokens is reached, or can no longer be enforced."""


class StageError(EvalwrightError):
    """A stage that failed, with its name."""

    def __init__(self, stage: Stage, cause: BaseException) -> None:
        hint = getattr(cause, "hint", "")  # foreign exceptions may have one, of any type
        message = cause.message if isinstance(cause, EvalwrightError) else str(cause)
        super().__init__(
            _text(message or type(cause).__name__),
            hint=_text(hint) if isinstance(hint, str) else "",
        )
        self.stage = stage
        self.type = type(cause).__name__
        if isinstance(cause, ModelError | SnippetFailed):
            self.type = cause.kind
        self.attempts = cause.attempts if isinstance(cause, ModelError) else 1
        rule = getattr(cause, "rule", "")
        self.rule = _text(rule) if isinstance(rule, str) else ""


def _text(message: str) -> str:
    """Return one line without control characters and lone surrogates, which break reports."""
    whole = message.encode("utf-8", "replace").decode()
    if whole.isprintable():
        return whole
    return "".join(char if char.isprintable() else " " for char in whole)


class boundary:  # noqa: N801 - it is used as a function is, and costs less than a generator
    """Attribute any exception to `stage`. The only place that catches everything."""

    __slots__ = ("_stage",)

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, place: object) -> None:
        if error is None or isinstance(error, Stopped) or not isinstance(error, Exception):
            return  # `Stopped` is the run's business, not this sample's
        raise StageError(self._stage, error) from error
