"""Run task files as tests: `pytest --evalwright tasks/`.

Every task is one item. It passes if all its samples complete, the policies of its run file hold,
and its mean is at least `--evalwright-min-mean`. Without `--evalwright`, this plugin does nothing
but add the options.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from evalwright.errors import EvalwrightError
    from evalwright.report.report import Report

_NAME = "evalwright-tasks"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("evalwright", "evaluation tasks")
    group.addoption(
        "--evalwright",
        action="store_true",
        help="Collect evalwright task files: records (.jsonl), tasks and run files (.yaml).",
    )
    group.addoption(
        "--evalwright-model",
        action="append",
        default=[],
        metavar="MODEL",
        help="Model to test, such as openai/gpt-4.1-mini; repeatable. Default: the models that "
        "each run file names.",
    )
    group.addoption(
        "--evalwright-min-mean",
        type=float,
        metavar="MEAN",
        help="Fail a task if its first metric is below this mean for any model.",
    )
    group.addoption(
        "--evalwright-strict",
        action="store_true",
        help="Require whole confidence intervals to meet the thresholds.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect task files if asked to."""
    if config.getoption("evalwright"):
        config.pluginmanager.register(TaskFileCollection(), _NAME)


class TaskFileCollection:
    """The hook that finds task files."""

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> "TaskFile | None":
        """Return a collector for a file of tasks, and None for any other.

        A task of a project whose run file is collected too is a part of that run.
        """
        if file_path.suffix not in {".jsonl", ".yaml", ".yml"}:
            return None
        from evalwright import api

        if not api.has_tasks(file_path):
            return None
        run_file = api.find_run_file(file_path) if file_path.suffix != ".jsonl" else None
        if run_file and any(map(run_file.is_relative_to, _list_folders(parent.config))):
            return None
        collector: TaskFile = TaskFile.from_parent(parent, path=file_path)
        return collector


def _list_folders(config: pytest.Config) -> Iterator[Path]:
    """Yield the paths of the command line."""
    for argument in config.args:
        yield (config.invocation_params.dir / argument.partition("::")[0]).resolve()


class TaskFile(pytest.File):
    """A file of tasks. The first of its items runs all of them."""

    _models: Sequence[str] = ()
    _report: "Report | EvalwrightError | None" = None

    def collect(self) -> Iterator["TaskItem"]:
        """Yield one item per task; a file with errors is one item, which fails."""
        from evalwright import api
        from evalwright.errors import EvalwrightError

        self._models = self.config.getoption("evalwright_model")
        try:
            tasks = api.list_tasks(self.path, self._models)
        except EvalwrightError:
            yield TaskItem.from_parent(self, name=self.path.stem)
            return
        if not any(task.calls_model for task in tasks):
            self._models = []
        for task in tasks:
            yield TaskItem.from_parent(self, name=task.name)

    @property
    def report(self) -> "Report":
        """The report of the run. Failed samples of an earlier run are requested again."""
        from evalwright import api
        from evalwright.errors import EvalwrightError

        if self._report is None:
            try:
                self._report = api.run(self.path, self._models, retry_failed=True)
            except EvalwrightError as error:
                self._report = error
        if isinstance(self._report, EvalwrightError):
            raise self._report
        return self._report


class TaskItem(pytest.Item):
    """A task as a test."""

    parent: TaskFile

    def runtest(self) -> None:
        """Run the task, and check what is required of it."""
        from evalwright import api

        option = self.config.getoption
        api.check_report(
            self.parent.report,
            task=self.name,
            min_mean=option("evalwright_min_mean"),
            strict=option("evalwright_strict"),
        )

    def repr_failure(  # type: ignore[override] # of a text, which is one of the types
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> object:
        """Return the message alone, unless the exception is a bug."""
        from evalwright.errors import EvalwrightError

        if isinstance(excinfo.value, EvalwrightError):
            return str(excinfo.value).replace("-m ", "--evalwright-model ")
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where the task is."""
        return self.path, None, f"task {self.name}"
