"""How many samples there are, where each may be tried several times.

A sample counts when all its tries have landed; it has failed if one of them has.
"""

from collections.abc import Iterable, Iterator

from evalwright.plan.documents import DocumentPlan
from evalwright.types import Row


class Counts:
    """Counts samples as their rows pass by."""

    def __init__(self, plan: DocumentPlan) -> None:
        self._tries = {task.name: 1 if task.landed else task.tries for task in plan.tasks}
        self.noun = plan.noun
        """What has landed."""
        self._place: tuple[str, int] | None = None
        self._here: dict[str, tuple[int, bool]] = {}
        """Of each model: the tries of the sample at this place, and whether one has failed."""
        self.samples = self.failed = self._landed = 0

    @property
    def trials(self) -> int:
        """Tries that have landed; 0 where every sample is tried once."""
        return self._landed if self.noun == "trials" else 0

    def seen(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows, which come by task, sample, trial and model."""
        for row in rows:
            place = (row.task, row.ordinal)
            if place != self._place:
                self._close()
                self._place = place
            tries, failed = self._here.get(row.model, (0, False))
            self._here[row.model] = tries + 1, failed or row.failure_type is not None
            self._landed += 1
            yield row
        self._close()

    def _close(self) -> None:
        if self._place is not None:
            wanted = self._tries.get(self._place[0], 1)
            for tries, failed in self._here.values():
                self.samples += tries >= wanted
                self.failed += failed and tries >= wanted
        self._here.clear()
