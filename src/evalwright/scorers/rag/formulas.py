"""Formulas of eleven scores for an answer that is based on retrieved chunks.

    G  claims of the target        c(m)    m is entailed by the whole target
    M  claims of the response      u(g)    g is entailed by the whole response
    K  retrieved chunks            A[g,k]  g is entailed by chunk k
                                   B[m,k]  m is entailed by chunk k

    found(g) = any_k A[g,k]     relevant(k) = any_g A[g,k]     faithful(m) = any_k B[m,k]

    precision                        mean_m c
    recall                           mean_g u
    f1_score                         2 · precision · recall / (precision + recall), 0 if either is 0
    claim_recall                     mean_g found
    context_precision                mean_k relevant
    context_utilization              #(found and u) / #found
    noise_sensitivity_in_relevant    mean_m [not c, and a relevant chunk entails m]
    noise_sensitivity_in_irrelevant  mean_m [not c, and only irrelevant chunks entail m]
    hallucination                    mean_m [not c and not faithful]
    self_knowledge                   mean_m [c and not faithful]
    faithfulness                     mean_m faithful

Only "entailed" counts as true. The mean of an empty set is None, not 0, so that an undefined score
does not lower the average over samples. Scores about relevant chunks are also None if the target
has no claims.

Ru et al. (2024), RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented
Generation, NeurIPS Datasets and Benchmarks, section 3.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, get_args

from msgspec import Struct

Check = Literal["in_target", "in_response", "target_in_chunks", "response_in_chunks"]
"""The checks c, u, A and B."""
ScoreName = Literal[
    "precision",
    "recall",
    "f1_score",
    "claim_recall",
    "context_precision",
    "context_utilization",
    "noise_sensitivity_in_relevant",
    "noise_sensitivity_in_irrelevant",
    "hallucination",
    "self_knowledge",
    "faithfulness",
]
SCORES: tuple[ScoreName, ...] = get_args(ScoreName)
VERSION = 1
"""Version of the formulas. When it changes, values are recomputed from stored evidence."""

Row = Sequence[bool]


class Checks(Struct, frozen=True, kw_only=True):
    """The entailments. Those that no score needs are empty."""

    in_target: Row = ()
    """c: one value per claim of the response."""
    in_response: Row = ()
    """u: one value per claim of the target."""
    target_in_chunks: Sequence[Row] = ()
    """A: one row per claim of the target, with one value per chunk."""
    response_in_chunks: Sequence[Row] = ()
    """B: one row per claim of the response, with one value per chunk."""


def compute_score(score: ScoreName, checks: Checks) -> float | None:
    """Return a score from 0 to 1; None if undefined."""
    return _FORMULAS[score][1](checks)


def _share(row: Iterable[bool]) -> float | None:
    flags = list(row)
    return sum(flags) / len(flags) if flags else None


def _f1_score(checks: Checks) -> float | None:
    precision, recall = _share(checks.in_target), _share(checks.in_response)
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def _context_utilization(checks: Checks) -> float | None:
    pairs = zip(checks.target_in_chunks, checks.in_response, strict=True)
    return _share(used for chunks, used in pairs if any(chunks))


def _noise_in_relevant(checks: Checks) -> float | None:
    return _share(relevant and not right for right, relevant, _ in _noise(checks))


def _noise_in_irrelevant(checks: Checks) -> float | None:
    return _share(
        irrelevant and not relevant and not right for right, relevant, irrelevant in _noise(checks)
    )


def _unfaithful(checks: Checks, *, is_right: bool) -> float | None:
    """Return the share of response claims that are right (or wrong) and in no chunk."""
    pairs = zip(checks.in_target, checks.response_in_chunks, strict=True)
    return _share(right == is_right and not any(chunks) for right, chunks in pairs)


def _relevant(checks: Checks) -> list[bool]:
    """Return a flag per chunk; an empty list if there are no claims."""
    return [any(column) for column in zip(*checks.target_in_chunks, strict=True)]


def _noise(checks: Checks) -> list[tuple[bool, bool, bool]]:
    """Return for each response claim: right, in a relevant chunk, in an irrelevant chunk."""
    if not checks.target_in_chunks:
        return []
    relevant = _relevant(checks)
    return [
        (
            right,
            any(inside and wanted for inside, wanted in zip(chunks, relevant, strict=True)),
            any(inside and not wanted for inside, wanted in zip(chunks, relevant, strict=True)),
        )
        for right, chunks in zip(checks.in_target, checks.response_in_chunks, strict=True)
    ]


_NOISE: tuple[Check, ...] = ("in_target", "target_in_chunks", "response_in_chunks")
_KNOWN: tuple[Check, ...] = ("in_target", "response_in_chunks")
_FORMULAS: Mapping[ScoreName, tuple[tuple[Check, ...], Callable[[Checks], float | None]]] = {
    "precision": (("in_target",), lambda checks: _share(checks.in_target)),
    "recall": (("in_response",), lambda checks: _share(checks.in_response)),
    "f1_score": (("in_target", "in_response"), _f1_score),
    "claim_recall": (("target_in_chunks",), lambda c: _share(map(any, c.target_in_chunks))),
    "context_precision": (("target_in_chunks",), lambda checks: _share(_relevant(checks))),
    "context_utilization": (("target_in_chunks", "in_response"), _context_utilization),
    "noise_sensitivity_in_relevant": (_NOISE, _noise_in_relevant),
    "noise_sensitivity_in_irrelevant": (_NOISE, _noise_in_irrelevant),
    "hallucination": (_KNOWN, lambda checks: _unfaithful(checks, is_right=False)),
    "self_knowledge": (_KNOWN, lambda checks: _unfaithful(checks, is_right=True)),
    "faithfulness": (("response_in_chunks",), lambda c: _share(map(any, c.response_in_chunks))),
}
NEEDS: Mapping[ScoreName, frozenset[Check]] = {
    score: frozenset(needed) for score, (needed, _) in _FORMULAS.items()
}
"""The checks that each score needs; the judge performs no others."""
