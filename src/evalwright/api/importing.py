"""Make a run of results that were made elsewhere: a result log, or a folder of them.

    evalwright import results/                 # what `evalwright export --format logs` wrote

The run has the outcomes and the figures of the logs, so `show`, `report`, `list`, `export` and
`gate` know it as they know any other. Nothing is asked, scored or measured again. A log that is
damaged is refused, and nothing of it is kept; the same logs, imported again, are the same run.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalwright.api.assembly import open_store
from evalwright.api.crews import Here
from evalwright.api.discretion import refuse_secrets
from evalwright.api.evaluate import DocumentWork
from evalwright.api.logs import LOG, LOGS
from evalwright.api.options import RunOptions, Unwatched, Watch
from evalwright.api.prepare import Prepared
from evalwright.api.recorded import Recorded, recorded
from evalwright.errors import BadLog, EvalwrightError, Unreadable, UsageError
from evalwright.plan.documents import DocumentPlan
from evalwright.report.logs.reading import INSPECT, read_log, text_in

if TYPE_CHECKING:
    from evalwright.engine.run import Crew
    from evalwright.report.report import Report
    from evalwright.types import Run

_SUFFIXES = {".yaml", ".yml"}
_INSPECT_LOG = ".eval"


def taken_over(path: str | Path, store: str | None, watch: Watch | None, *, seed: int) -> "Report":
    """The report of a new run with the results of a log, or of every log of a folder."""
    refuse_secrets([str(path)], {})
    evaluation, logs = _found(Path(path))
    prepared = _prepared(str(path), evaluation, logs)
    opened = open_store(store)
    try:
        options = RunOptions(store=store, seed=seed)
        work = ImportWork(prepared, opened, options, watch=watch or Unwatched())
        return work.report()
    finally:
        opened.close()


class ImportWork(DocumentWork):
    """Takes results over; there is no project behind it."""

    def _manifest(self, crew: "Crew") -> dict[str, Any]:
        return {**super()._manifest(crew), "imported": self.plan.path}

    def _changes(self, manifest: dict[str, Any], earlier: "Sequence[Run]") -> Sequence[str]:
        """An earlier run of the same tasks is nothing that this one should be like."""
        del manifest, earlier
        return ()


def _found(path: Path) -> tuple[str, dict[str, Path]]:
    """The key of the evaluation, and the logs by the names of their tasks."""
    if not path.is_dir():
        if path.suffix in _SUFFIXES:
            raise UsageError(
                f"{path}: a result log is JSON",
                hint=f"import its folder, or run it: `evalwright run {path}` takes the logs that "
                "its specifications name",
            )
        if path.suffix == _INSPECT_LOG:
            raise UsageError(f"{path}: not a result log", hint=INSPECT.format(path))
        return "", {_name(path): path}
    try:
        found = {one.parent.name: one for one in sorted(path.glob(f"{LOGS}/*/{LOG}"))}
        documents = [one for one in sorted(path.iterdir()) if one.suffix in _SUFFIXES]
    except OSError as error:
        raise Unreadable(f"{path}: {(error.strerror or str(error)).lower()}") from error
    if not found:
        raise UsageError(
            f"{path}: no result logs", hint=f"they are expected as `{LOGS}/KEY/{LOG}` in it"
        )
    if len(documents) != 1:
        return "", found
    places = {key: place for place, key in enumerate(_keys_in(documents[0]))}
    ordered = sorted(found, key=lambda key: (places.get(key, len(places)), key))
    return documents[0].stem, {key: found[key] for key in ordered}


def _name(path: Path) -> str:
    """Of a log alone, if it does not say its key itself."""
    return path.absolute().parent.name if path.name == LOG else path.stem


def _keys_in(path: Path) -> list[str]:
    """The specifications of an evaluation, in their order; none, if they cannot be read."""
    from evalwright.spec.documents.reading import read_document

    data: Any = read_document(path, environment={}).data
    for name in ("evaluation", "task_specifications"):
        data = data.get(name) if isinstance(data, dict) else None
    specs = data if isinstance(data, list) else ()
    return [
        one["key"] for one in specs if isinstance(one, dict) and isinstance(one.get("key"), str)
    ]


def _prepared(path: str, evaluation: str, files: dict[str, Path]) -> Prepared:
    logs = _read(files, alone=not evaluation and len(files) == 1)
    tasks = tuple(one.planned for one in logs.values())
    return Prepared(
        plan=DocumentPlan(
            tasks=tasks,
            models=tuple(dict.fromkeys(name for task in tasks for name in task.models)),
            evaluation=evaluation,
            path=path,
        ),
        data={},
        teams={},
        finishing={},
        models={},
        snippets=(),
        recorded=logs,
        specifications={key: one.specification for key, one in logs.items()},
        here=Here(),
    )


def _read(files: dict[str, Path], *, alone: bool) -> dict[str, Recorded]:
    """Each log to its end; what is wrong with any of them at once."""
    found: dict[str, Recorded] = {}
    broken: list[EvalwrightError] = []
    for name, file in files.items():
        try:
            log = read_log(file)
            told = log.specification
            key = (text_in(told, "key") if alone else "") or name
            found[key] = recorded(log, name=key, task_key=text_in(told, "task_key") or key)
        except (BadLog, Unreadable) as error:
            broken.append(error)
    if len(broken) == 1:
        raise broken[0]
    if broken:
        raise BadLog("; ".join(map(str, broken)), hint="nothing was imported")
    return found
