"""What a store remembers: find, report again, export, delete, tidy."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from evalwright.engine.redact import make_redactor, redact
from evalwright.plan.manifest import read_manifest_if_readable
from evalwright.plan.options import parse_options
from evalwright.plan.records import StoredRecords
from evalwright.report.report import Report
from evalwright.session.memory import RunOutcomes
from evalwright.session.reports import add_moved_scores, load_report
from evalwright.session.stores import open_store
from evalwright.types import Outcome, Run


def find(name: str = "latest", store: str | Path | None = None) -> Run:
    """One run by its id, the start of it, or `latest`."""
    with closing(open_store(store, create=False)) as opened:
        return opened.find(name)


def load(
    name: str = "latest",
    store: str | Path | None = None,
    *,
    seed: int | None = None,
    bins: int | None = None,
    calibrate: bool | None = None,
) -> Report:
    """Return the report for a stored run, with the run's own seed and bins unless you set them.

    Metrics that were computed at the end of the run are not recomputed.

    >>> run_id = ew.run("tasks.jsonl", models=["scripted/oracle"], limit=2).run_id
    >>> ew.load(run_id).leaderboard[0].mean
    1.0
    """
    changes = {"seed": seed, "bins": bins, "calibrate": calibrate}
    parse_options({option: value for option, value in changes.items() if value is not None})
    with closing(open_store(store, create=False)) as opened:
        run = opened.find(name)
        report = load_report(opened, run, seed=seed, bins=bins, calibrate=calibrate)
        return RunOutcomes(opened, store, run.id).attach(add_moved_scores(report, run, opened))


def export(
    name: str = "latest", store: str | Path | None = None, *, failed: bool | None = None
) -> Iterator[Outcome]:
    """Every outcome of a run, one after another; with its record, where its file is unchanged."""
    with closing(open_store(store, create=False)) as opened:
        run = opened.find(name)
        manifest = read_manifest_if_readable(run)
        outcomes = opened.outcomes(run.id, failed=failed)
        if manifest:  # a task file may quote a secret, which nothing stored does
            redactor = make_redactor()
            outcomes = (redact(each, redactor) for each in StoredRecords(manifest).attach(outcomes))
        yield from outcomes


def find_changed_files(name: str = "latest", store: str | Path | None = None) -> list[str]:
    """The task files of a run of records that have changed since, or are gone."""
    manifest = read_manifest_if_readable(find(name, store))
    return StoredRecords(manifest).changed if manifest else []


def delete(name: str, store: str | Path | None = None) -> tuple[str, int]:
    """Forget a run: its id, and how many outcomes went with it."""
    with closing(open_store(store, create=False)) as opened:
        run = opened.find(name)
        return run.id, opened.delete(run.id)


def collect_garbage(store: str | Path | None = None) -> int:
    """Give disk space back; how many bytes."""
    with closing(open_store(store, create=False)) as opened:
        return opened.gc()
