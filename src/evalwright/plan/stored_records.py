"""The records (contract A) of a stored run, read from its task files again.

A store has the answers of models, not the records, which are in their files. A file that has
changed since the run, or is missing, is not used: its records are not what was scored.
"""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from evalwright.lines import read_batches
from evalwright.plan.manifest import Manifest
from evalwright.plan.outline import TaskOutline
from evalwright.plan.records import RecordSamples, digest_batches
from evalwright.types import Outcome, TaskSpec


class StoredRecords:
    """The unchanged task files of a run."""

    def __init__(self, manifest: Manifest) -> None:
        self.changed: list[str] = []
        """The other files, as the command named them."""
        self._samples: dict[str, RecordSamples] = {}
        for task in manifest.plan.tasks:
            if task.path and task.digest and not task.finalized:
                path = Path(manifest.folder, task.path)
                if _has_same_content(path, task):
                    bad = frozenset(issue.line for issue in task.issues)
                    self._samples[task.name] = RecordSamples(path=str(path), bad_lines=bad)
                else:
                    self.changed.append(task.path)

    def attach(self, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        """Yield each outcome, with its record as sample if the file is unchanged.

        Outcomes must be ordered by task and sample, so that a file is read once.
        """
        task, place = "", -1
        records: Iterator[TaskSpec] = iter(())
        sample: dict[str, Any] = {}
        for outcome in outcomes:
            if outcome.task not in self._samples:
                yield outcome
                continue
            if outcome.task != task or outcome.ordinal < place:
                task, place = outcome.task, -1
                planned = self._samples[task].planned_samples()
                records = (sample.sample.data for sample in planned)
            while place < outcome.ordinal:
                record, place = next(records, None), place + 1
                sample = msgspec.to_builtins(record) if record else {}
            yield structs.replace(outcome, sample=sample)


def _has_same_content(path: Path, task: TaskOutline) -> bool:
    content = blake2b(digest_size=16)
    try:
        for _ in digest_batches(read_batches(str(path)), content):
            pass
    except (OSError, ValueError, EOFError):
        return False
    return content.hexdigest() == task.digest
