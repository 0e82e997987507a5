"""Options of `evalwright judge check`. The module has few imports, so the command starts fast."""

from msgspec import Struct

from evalwright.errors import UnknownName, UsageError
from evalwright.nearest import suggest

PROBES = ("swap", "pad", "fence")


class JudgeCheckOptions(Struct, frozen=True, kw_only=True):
    """Labels to compare a judge with, and how to query it again."""

    labels: str | None = None
    """File with human labels."""
    id_column: str = "sample_id"
    label_column: str = "label"
    column: str | None = None
    """Column of the dataset with the labels, instead of a file."""
    task: str | None = None
    scorer: str | None = None
    model: str | None = None
    """Model whose answers' verdicts are checked; None for all models."""
    probes: tuple[str, ...] = ()
    repeat: int = 1
    """Verdicts per sample, including the verdict of the run. With 1, the judge is not queried."""
    samples: int = 50
    """Number of samples for probes and repeats."""
    next: int = 0
    """Number of samples to propose for labels."""

    @property
    def asks_judge(self) -> bool:
        """Whether the judge is queried again."""
        return bool(self.probes) or self.repeat > 1

    def validate(self) -> None:
        """Raise `UsageError` if the options contradict each other or leave nothing to do."""
        if self.labels and self.column:
            raise UsageError("use either `--labels` or `--column`")
        for name in self.probes:
            if name not in PROBES:
                raise UnknownName(
                    f"unknown probe `{name}`; the probes are {', '.join(PROBES)}",
                    hint=suggest(name, PROBES),
                )
        if self.repeat < 1 or self.samples < 1:
            raise UsageError("`repeat` and `samples` must be at least 1")
        if not (self.labels or self.column or self.asks_judge or self.next):
            raise UsageError(
                "no check was selected",
                hint="add `--labels FILE`, `--column NAME`, `--probe swap|pad|fence|all`, "
                "`--repeat N` or `--next N`",
            )
