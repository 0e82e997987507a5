"""Tests of tasks: `@ew.test(task, min_mean=0.8)`, for pytest or any other runner."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack

from evalwright.api.gates import AnyPolicies, gate
from evalwright.api.run_tasks import Paths, run
from evalwright.errors import UsageError
from evalwright.event_loop import run_async
from evalwright.plan.options import RunKeywords
from evalwright.report.report import Report
from evalwright.report.requirements import describe_unmet, find_unmet
from evalwright.session.stores import MEMORY, store_name

if TYPE_CHECKING:
    from evalwright.functions.model import AnyModel
    from evalwright.functions.task import Task

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_MODEL_PARAMETERS = ("prompt", "messages")
_REPORT = "report"


def test(
    task: "Paths | Task | Sequence[Task]",
    *,
    models: "AnyModel | Sequence[AnyModel]" = (),
    min_mean: float | None = None,
    policies: AnyPolicies = (),
    strict: bool = False,
    **options: Unpack[RunKeywords],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Make a function a test that runs a task and fails if its results are not good enough.

    A function with a parameter `prompt` or `messages` is the model that is tested. Any other
    function is called after the checks, with the report if it has a parameter `report`; pass the
    `models`. All other parameters are pytest fixtures.

    The test fails if a sample fails, if the first metric of a task is below `min_mean` for any
    model, or if a policy in the run file or in `policies` fails. With `strict`, whole
    confidence intervals must meet the thresholds. The other options are those of `run`. Results are
    stored: a test that runs again requests only what has changed or failed.

    >>> rows = [{"country": "France", "city": "Paris"}]
    >>> task = ew.Task("capitals", rows, prompt="Capital of {country}?", scorers=["contains"])
    >>> @ew.test(task, min_mean=0.8)
    ... def test_assistant(prompt):
    ...     return "I think it is Paris."
    >>> test_assistant()
    """

    def decorate(function: Any) -> Any:
        parameters = inspect.signature(function).parameters
        is_model = any(name in _MODEL_PARAMETERS for name in parameters)
        takes_report = _REPORT in parameters
        if is_model and takes_report:
            raise UsageError(
                f"the test `{function.__name__}` takes a prompt and the report",
                hint="a test with `prompt` or `messages` is the model; check the report in another",
            )

        def check(*arguments: Any, **fixtures: Any) -> None:
            __tracebackhide__ = True  # of pytest: its output starts with the message
            bound = functools.partial(function, *arguments, **fixtures)
            tested: Any = [bound if arguments or fixtures else function] if is_model else []
            several = isinstance(models, Sequence) and not isinstance(models, str)
            tested += models if several else [models]
            keywords: RunKeywords = {"retry_failed": True, **options}
            report = run(task, tested, **keywords)
            check_report(report, min_mean=min_mean, policies=policies, strict=strict, **options)
            if not is_model:
                returned = bound(report=report) if takes_report else bound()
                if inspect.isawaitable(returned):
                    run_async(_wait_for(returned))

        functools.update_wrapper(check, function)
        hidden = {*_MODEL_PARAMETERS, _REPORT}
        fixtures = [each for name, each in parameters.items() if name not in hidden]
        check.__signature__ = inspect.Signature(fixtures)  # type: ignore[attr-defined] # of inspect
        return check

    return decorate


test.__test__ = False  # type: ignore[attr-defined] # of pytest: this function is not a test


def check_report(
    report: Report,
    *,
    task: str = "",
    min_mean: float | None = None,
    policies: AnyPolicies = (),
    strict: bool = False,
    **options: Unpack[RunKeywords],
) -> None:
    """Raise `AssertionError` if the report, or one of its tasks, does not meet the requirements."""
    __tracebackhide__ = True
    store = options.get("store")
    rows = report.policies
    if policies or (strict and rows):
        env = options.get("env", ())
        rows = gate(report, policies, store=store, strict=strict, env=env).policies
    unmet = find_unmet(report, task=task, min_mean=min_mean, strict=strict, policies=rows)
    if unmet:
        where = None if store_name(store) == MEMORY else str(store or "")
        raise AssertionError(describe_unmet(report, unmet, store=where))


async def _wait_for(returned: Any) -> None:
    await returned
