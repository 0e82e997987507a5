"""What a store remembers: list, find, report again, export, delete, tidy."""

from collections.abc import Iterator
from pathlib import Path

from evalwright.plan.options import parse_options
from evalwright.report.report import Report
from evalwright.session.memory import RunOutcomes
from evalwright.session.reports import load_report
from evalwright.session.stores import open_store
from evalwright.types import Outcome, Run


def runs(store: str | Path | None = None) -> list[Run]:
    """Every run, newest first."""
    opened = open_store(store, create=False)
    try:
        return opened.runs()
    finally:
        opened.close()


def find(name: str = "latest", store: str | Path | None = None) -> Run:
    """One run by its id, the start of it, or `latest`."""
    opened = open_store(store, create=False)
    try:
        return opened.find(name)
    finally:
        opened.close()


def load(
    name: str = "latest",
    store: str | Path | None = None,
    *,
    seed: int | None = None,
    bins: int | None = None,
    calibrate: bool | None = None,
) -> Report:
    """The report of a run, made again from what is stored; with its seed and bins, or others.

    Metrics that were made when the run ended stay as they were.
    """
    changes = {"seed": seed, "bins": bins, "calibrate": calibrate}
    parse_options({option: value for option, value in changes.items() if value is not None})
    opened = open_store(store, create=False)
    try:
        run = opened.find(name)
        report = load_report(opened, run, seed=seed, bins=bins, calibrate=calibrate)
        return RunOutcomes(opened, store, run.id).attach(report)
    finally:
        opened.close()


def export(
    name: str = "latest", store: str | Path | None = None, *, failed: bool | None = None
) -> Iterator[Outcome]:
    """Every outcome of a run, one after another."""
    opened = open_store(store, create=False)
    try:
        yield from opened.outcomes(opened.find(name).id, failed=failed)
    finally:
        opened.close()


def delete(name: str, store: str | Path | None = None) -> tuple[str, int]:
    """Forget a run: its id, and how many outcomes went with it."""
    opened = open_store(store, create=False)
    try:
        run = opened.find(name)
        return run.id, opened.delete(run.id)
    finally:
        opened.close()


def collect_garbage(store: str | Path | None = None) -> int:
    """Give disk space back; how many bytes."""
    opened = open_store(store, create=False)
    try:
        return opened.gc()
    finally:
        opened.close()
