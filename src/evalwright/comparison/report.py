"""The result of a comparison: what `evalwright compare --json` prints."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from evalwright.comparison.tables import to_markdown

Verdict = Literal["better", "worse", "equivalent", "undecided"]
Test = Literal["mcnemar", "sign-flip", "bootstrap", "none"]


class ComparedRun(Struct, frozen=True, kw_only=True):
    """One of the compared runs."""

    id: str
    name: str = ""
    created: str = ""
    status: str = ""
    models: list[str] = []
    cost: float | None = None
    """In dollars; null if a price is unknown."""
    latency_s: float | None = None
    """Median time of an answer, in seconds."""
    failed: int = 0
    """Outcomes that failed."""


class ComparisonRow(Struct, frozen=True, kw_only=True):
    """One metric, compared between two runs, models or variants. `difference` is B − A."""

    task: str
    model_a: str
    model_b: str
    scorer: str
    metric: str
    value_a: float | None
    """The metric of A over the shared samples."""
    value_b: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    p_adjusted: float | None
    """Adjusted for the number of comparisons, by Holm's method."""
    test: Test
    n: int
    """Number of shared samples that both sides completed."""
    clusters: int | None
    """Number of clusters; null if samples are treated as independent."""
    wins: int
    """Samples on which B is better."""
    losses: int
    """Samples on which A is better."""
    ties: int
    verdict: Verdict
    """About B: `better` or `worse` than A, `equivalent` within the margin, or `undecided`."""
    reason: str
    """The verdict in words."""
    mde: float | None
    """The smallest difference that this number of samples shows with 80 % probability."""
    n_needed: int | None
    """Number of samples that would show the observed difference with 80 % probability; null if the
    difference is 0 or already decided."""
    flipped: int
    """Number of samples whose score changed."""
    group: str | None = None
    """The group of samples that `--by` defines; null for all samples."""
    lower_is_better: bool = False
    is_primary: bool = False
    """Whether it is the first metric of its task."""
    run_a: str = ""
    run_b: str = ""
    task_b: str = ""
    """The task on side B, if its name differs."""
    only_a: int = 0
    """Samples that only A has."""
    only_b: int = 0
    incomplete_a: int = 0
    """Shared samples without a score from A: failed, excluded or not run."""
    incomplete_b: int = 0


class Flip(Struct, frozen=True, kw_only=True):
    """A sample whose score differs between A and B."""

    task: str
    sample_id: str
    model_a: str
    model_b: str
    scorer: str
    metric: str
    a: float
    """The score of A; the mean over the trials if there are several."""
    b: float
    kind: Literal["worse", "better"]
    share: float
    """Its share of the difference: 0.1 is a tenth of the whole difference."""
    is_flaky: bool
    """Whether the trials of one side disagree."""
    run_a: str
    run_b: str
    output_a: str = ""
    """What was scored: the output, or the post-processed output of a record."""
    output_b: str = ""
    target: str = ""
    """What the scorer compared the answer with, if the scorer reports it."""


class ComparisonReport(Struct, frozen=True, kw_only=True):
    """The comparison of two or more runs, or of the models and variants in one run."""

    a: str
    """The first run: the baseline of the comparison."""
    b: str
    """The last run. If there are more than two, `runs` lists all of them."""
    runs: list[ComparedRun]
    comparisons: list[ComparisonRow]
    flips: list[Flip]
    """The samples that changed most in the primary metric of each task."""
    flipped: int
    """Number of samples that changed in these metrics."""
    warnings: list[str]
    margin: float
    confidence: float = 0.95
    version: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {name: msgspec.to_builtins(getattr(self, name)) for name in self.__struct_fields__}

    def to_json(self) -> str:
        """Return that object as a JSON string."""
        return msgspec.json.format(msgspec.json.encode(self.to_dict()), indent=2).decode()

    def to_markdown(self) -> str:
        """Return the comparison as Markdown, for a pull request."""
        return to_markdown(self)

    def __iter__(self) -> Iterator[ComparisonRow]:
        """Yield the comparisons."""
        return iter(self.comparisons)

    def __len__(self) -> int:
        """Return the number of comparisons."""
        return len(self.comparisons)

    def __repr__(self) -> str:
        """Return a short description; `to_markdown` has the tables."""
        verdicts = Counter(row.verdict for row in self.comparisons)
        counts = "".join(f", {count} {verdict}" for verdict, count in sorted(verdicts.items()))
        return (
            f"<ComparisonReport {self.a} and {self.b}: {len(self)} comparisons{counts}, "
            f"{self.flipped} samples changed>"
        )
