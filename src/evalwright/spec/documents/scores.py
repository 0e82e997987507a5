"""Whether metrics ask for scores that there are.

A built-in scorer says which scores it gives; what an author's own gives, only a run shows. A metric
of a score that no sample has would fail when everything else was paid for.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from evalwright.scorers.base import ScorerSpec
from evalwright.spec.documents.faults import Fault, did_you_mean, listed
from evalwright.spec.documents.parts import located
from evalwright.spec.documents.problems import Path
from evalwright.spec.documents.trials import names_after, wrong_aggregators
from evalwright.spec.documents.values import is_stand_in


def unknown_scores(document: Any) -> Iterator[Fault]:
    """A fault for every field of a metric that its scorer does not give."""
    definition = getattr(document, "definition", None)
    scorers = getattr(definition, "scorers", None)
    trials = getattr(definition, "trials", None)
    for path, scorer in located(scorers, ScorerSpec, ("definition", "scorers")):
        if scorer.gives is not None:
            gives = names_after(trials, scorer.gives, scorer.texts)
            for number, metric in enumerate(scorer.metrics or ()):
                yield from _unknown(metric, scorer, gives, (*path, "metrics", number))
    if scorers is not None:
        yield from wrong_aggregators(trials, scorers)


def _unknown(metric: Any, scorer: ScorerSpec, gives: Sequence[str], path: Path) -> Iterator[Fault]:
    for name in sorted(metric.fields() or ()):
        if name in gives or is_stand_in(name):
            continue
        key = next((key for key in type(metric).model_fields if getattr(metric, key) == name), "")
        detail = f"`{scorer.type}` gives no score `{name}`; it gives {listed(list(gives))}"
        yield Fault((*path, key), "unknown_score", detail, did_you_mean(name, list(gives)))
