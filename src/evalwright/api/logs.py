"""Results that move: a run as a folder of result logs, and result logs as a run."""

from pathlib import Path

from evalwright.report.report import Report
from evalwright.result_logs import export_run
from evalwright.result_logs.export_run import ExportedLogs
from evalwright.result_logs.import_run import import_logs
from evalwright.session.progress import Progress, SilentProgress


def export_logs(
    folder: str | Path,
    name: str = "latest",
    store: str | Path | None = None,
    *,
    link_logs: bool = False,
) -> ExportedLogs:
    """Write the logs of a run into a folder, which must be new or empty."""
    return export_run.export_logs(folder, name, store, link_logs=link_logs)


def import_results(
    path: str | Path, store: str | None = None, *, progress: Progress | None = None, seed: int = 0
) -> Report:
    """Report on a run with the results of a log, or of every log of a folder.

    Nothing is asked or measured again. The same logs, imported again, are the same run.
    """
    return import_logs(path, store, progress=progress or SilentProgress(), seed=seed)
