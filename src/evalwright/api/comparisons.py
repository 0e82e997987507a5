"""Compare stored runs."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from evalwright.comparison.compare import ComparisonOptions, compare_runs
from evalwright.comparison.report import ComparisonReport
from evalwright.errors import UsageError
from evalwright.session.stores import open_store

if TYPE_CHECKING:
    from evalwright.report.report import Report


def compare(  # noqa: PLR0913 - one keyword per option of the command
    a: "str | Report" = "latest",
    b: "str | Report | None" = None,
    *others: "str | Report",
    store: str | Path | None = None,
    models: tuple[str, ...] | list[str] = (),
    tasks: tuple[str, ...] | list[str] = (),
    margin: float = 0.0,
    by: str = "",
    cluster: str = "",
    seed: int = 0,
    flips: int = 10,
) -> ComparisonReport:
    """Compare runs sample by sample; the first is A, the baseline.

    A run is given by its id, a prefix of the id, its name, a tag, `latest`, `baseline:NAME`, or a
    report. With only one run, its models and variants are compared with each other.

    >>> report = ew.run("tasks.jsonl", models=["scripted/oracle", "scripted/noisy"])
    >>> [row.verdict for row in ew.compare(report)]
    ['worse']
    """
    if margin < 0:
        raise UsageError(f"the margin must be 0 or more, got {margin:g}")
    if flips < 0:
        raise UsageError(f"the number of flips must be 0 or more, got {flips}")
    options = ComparisonOptions(
        models=tuple(models),
        tasks=tuple(tasks),
        margin=margin,
        by=by,
        cluster=cluster,
        seed=seed,
        flips=flips,
    )
    names = [_run_id(run) for run in (a, b, *others) if run is not None]
    with closing(open_store(store, create=False)) as opened:
        return compare_runs(opened, [opened.find(name) for name in names], options)


def _run_id(run: "str | Report") -> str:
    return run if isinstance(run, str) else run.run_id
