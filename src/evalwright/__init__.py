"""Evaluate models and datasets from declarative tasks.

    import evalwright as ew

    records, errors = ew.validate_file("tasks.jsonl")
    report = ew.run("tasks.jsonl", models=["scripted/oracle"])
    print(report.to_markdown())

Functions for individual steps are `score_answer`, `execute`, `post_process` and `render`, and those
in the modules `metrics`, `calibration`, `intervals` and `leaderboard`, such as `ew.metrics.f1`.

Names are imported when they are first used, which keeps `import evalwright` fast.

PYTEST_DONT_REWRITE: pytest would warn if a program has imported this package before it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from evalwright._version import __version__

if TYPE_CHECKING:
    from evalwright import calibration, intervals, leaderboard, metrics
    from evalwright.api import (
        acompare,
        agate,
        aload,
        arun,
        aruns,
        ascore,
        avalidate,
        check_dataset,
        compare,
        execute,
        gate,
        lint,
        load,
        perplexity,
        run,
        runs,
        schema,
        score,
        score_answer,
        test,
        validate,
    )
    from evalwright.comparison.baseline import GateResult
    from evalwright.comparison.report import ComparisonReport, ComparisonRow, Flip
    from evalwright.errors import EvalwrightError, InvalidTask
    from evalwright.functions.metric import metric
    from evalwright.functions.postprocessor import postprocessor
    from evalwright.functions.scorer import scorer
    from evalwright.functions.solver import AsyncModel, BlockingModel, solver
    from evalwright.functions.task import Task
    from evalwright.perplexity.report import PerplexityReport
    from evalwright.ports import Model
    from evalwright.report.programs import JudgedProgram
    from evalwright.report.report import Report
    from evalwright.report.runs import ListedRun
    from evalwright.spec.records.check import validate_file, validate_task
    from evalwright.spec.records.fixtures import load_fixtures
    from evalwright.stats.bootstrap import bootstrap_mean_ci
    from evalwright.text.post_process import post_process
    from evalwright.text.prompt import render
    from evalwright.types import (
        Completion,
        Failure,
        Issue,
        Message,
        Outcome,
        Request,
        Score,
        TaskSpec,
        Usage,
    )

_HOMES = {
    "api": (
        *("acompare", "agate", "aload", "arun", "aruns", "ascore", "avalidate", "check_dataset"),
        *("compare", "execute", "gate", "lint", "load", "perplexity", "run", "runs", "schema"),
        *("score", "score_answer", "test", "validate"),
    ),
    "comparison.baseline": ("GateResult",),
    "comparison.report": ("ComparisonReport", "ComparisonRow", "Flip"),
    "errors": ("EvalwrightError", "InvalidTask"),
    "functions.metric": ("metric",),
    "functions.postprocessor": ("postprocessor",),
    "functions.scorer": ("scorer",),
    "functions.solver": ("AsyncModel", "BlockingModel", "solver"),
    "functions.task": ("Task",),
    "ports": ("Model",),
    "perplexity.report": ("PerplexityReport",),
    "report.programs": ("JudgedProgram",),
    "report.report": ("Report",),
    "report.runs": ("ListedRun",),
    "spec.records.check": ("validate_file", "validate_task"),
    "spec.records.fixtures": ("load_fixtures",),
    "stats.bootstrap": ("bootstrap_mean_ci",),
    "text.prompt": ("render",),
    "text.post_process": ("post_process",),
}
"""The other names are in `types`."""
_MODULES = ("calibration", "intervals", "leaderboard", "metrics")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

# `perplexity` is a package and a verb. The first import of the package binds its name here, so it
# is imported now, while it costs nothing, and the name is left to the verb.
import_module("evalwright.perplexity")
del globals()["perplexity"]

__all__ = [
    "AsyncModel",
    "BlockingModel",
    "ComparisonReport",
    "ComparisonRow",
    "Completion",
    "EvalwrightError",
    "Failure",
    "Flip",
    "GateResult",
    "InvalidTask",
    "Issue",
    "JudgedProgram",
    "ListedRun",
    "Message",
    "Model",
    "Outcome",
    "PerplexityReport",
    "Report",
    "Request",
    "Score",
    "Task",
    "TaskSpec",
    "Usage",
    "__version__",
    "acompare",
    "agate",
    "aload",
    "arun",
    "aruns",
    "ascore",
    "avalidate",
    "bootstrap_mean_ci",
    "calibration",
    "check_dataset",
    "compare",
    "execute",
    "gate",
    "intervals",
    "leaderboard",
    "lint",
    "load",
    "load_fixtures",
    "metric",
    "metrics",
    "perplexity",
    "post_process",
    "postprocessor",
    "render",
    "run",
    "runs",
    "schema",
    "score",
    "score_answer",
    "scorer",
    "solver",
    "test",
    "validate",
    "validate_file",
    "validate_task",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'evalwright' has no attribute {name!r}")
    if name in _MODULES:
        return import_module(f"evalwright.{name}")
    value = getattr(import_module(f"evalwright.{_HOME_OF.get(name, 'types')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
