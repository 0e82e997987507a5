"""Resume a run: which jobs have stored outcomes, and which remain.

Memory: one byte per job.
"""

from collections.abc import Iterable, Iterator

from evalwright.plan.plan import Job


class FinishedJobs:
    """The progress of a stored run; `remaining_jobs` yields the jobs that are not done."""

    def __init__(
        self, rows: Iterable[tuple[str, str, int, int, bool]], *, retry_failed: bool = False
    ) -> None:
        self._marks: dict[tuple[str, str, int], bytearray] = {}
        self.count = 0
        for task, model, ordinal, trial, failed in rows:
            if failed and retry_failed:
                continue
            marks = self._marks.setdefault((task, model, trial), bytearray())
            if ordinal >= len(marks):
                marks.extend(bytes(ordinal + 1 - len(marks)))
            self.count += not marks[ordinal]
            marks[ordinal] = 1

    def mark(self, task: str, model: str, ordinal: int, trial: int) -> None:
        """Mark a job as taken, so that `remaining_jobs` does not yield it again."""
        marks = self._marks.get((task, model, trial))
        if marks is None:
            marks = self._marks[task, model, trial] = bytearray()
        if ordinal >= len(marks):
            marks.extend(bytes(ordinal + 1 - len(marks)))
        marks[ordinal] = 1

    def forget(self, task: str) -> int:
        """Mark all jobs of a task as not done because it has changed; return their number."""
        gone = [self._marks.pop(key) for key in list(self._marks) if key[0] == task]
        forgotten = sum(sum(marks) for marks in gone)
        self.count -= forgotten
        return forgotten

    def remaining_jobs(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Yield the jobs that are not done, in order."""
        if not self._marks:
            yield from jobs
            return
        for job in jobs:
            marks = self._marks.get((job.task, job.model, job.trial), b"")
            if job.ordinal >= len(marks) or not marks[job.ordinal]:
                yield job
