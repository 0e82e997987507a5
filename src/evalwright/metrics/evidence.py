"""The figures of a system task: as they were found, one a metric."""

from evalwright.metrics.scores import Measure, Scores
from evalwright.ports import Snippets

_NO_SAMPLES = "a system task has no samples"
_NO_NUMBER = "undefined: the snippet gave no number"


class EvidenceMetric:
    """Passes on what the snippet has found."""

    type = "evidence"

    def fields(self) -> None:
        """Everything: the names are the snippet's."""

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """One a name, with the reason that was given."""
        del seed, snippets
        return [
            Measure(
                name=name,
                value=value,
                interval=None,
                n=0,
                reason=_reason(value, record.metadata.get(name)),
            )
            for record in scores.records()
            for name, value in record.values.items()
        ]


def _reason(value: float | None, given: str | None) -> str:
    return given or (_NO_NUMBER if value is None else _NO_SAMPLES)
