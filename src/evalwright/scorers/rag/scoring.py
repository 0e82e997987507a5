"""Make the scores of a `rag_checker`: look up what there is, ask for what is not, compute.

It is imported when something is scored: who only reads documents needs none of it.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from evalwright.objects import ChatCompletion
from evalwright.ports import Case
from evalwright.scorers.rag import formulas
from evalwright.scorers.rag.claims import Claim, Label, claims_from, labels_from, listed_in
from evalwright.scorers.rag.columns import chunks_of, completion_of, target_in, text_in
from evalwright.scorers.rag.evidence import Evidence, Side, Wanted
from evalwright.scorers.rag.formulas import NEEDS, Check, ScoreName
from evalwright.scorers.rag.gathering import Material, gather
from evalwright.scorers.rag.judge import Judge
from evalwright.scorers.rag.reasons import reason_of
from evalwright.scorers.rag_checker import REQUIRED, RagChecker
from evalwright.types import Score

_OF_TARGET: frozenset[Check] = frozenset({"in_target", "in_response", "target_in_chunks"})
_IN_CHUNKS: frozenset[Check] = frozenset({"target_in_chunks", "response_in_chunks"})


def revised(checker: RagChecker, score: Score) -> Score | None:
    """The wanted scores of what was found then; None if it lacks what one of them needs."""
    evidence, wanted = Evidence.kept_in(score.metadata), _wanted(checker)
    if not evidence.has(wanted):
        return None
    return structs.replace(
        score,
        values=_values(checker, evidence),
        reason=reason_of(evidence, wanted),
        metadata={**score.metadata, "formulas": formulas.VERSION},
    )


async def score(checker: RagChecker, case: Case) -> Score:
    """Ask for what is wanted; raise where something of it cannot be had."""
    wanted = _wanted(checker)
    material = _Sources(checker, wanted).material(case)
    judge = Judge(case, checker.judge_model_key)
    before = case.known.metadata if case.known else {}
    evidence = await gather(judge, material, wanted, Evidence.kept_in(before))
    told: dict[str, Any] = {
        "judge": checker.judge_model_key,
        "structured": judge.structured and before.get("structured", True),
    }
    if note := judge.note or before.get("note"):
        told["note"] = note
    return Score(
        values=_values(checker, evidence),
        reason=reason_of(evidence, wanted),
        metadata={**evidence.kept(), **told, "formulas": formulas.VERSION},
    )


def _wanted(checker: RagChecker) -> Wanted:
    return Wanted.by(checker.scores, labels=checker.mode != "all_claims")


def _values(checker: RagChecker, evidence: Evidence) -> dict[str, float | None]:
    made: dict[str, float | None] = {}
    if checker.mode != "required_only":
        checks = evidence.checks()
        made |= {one: formulas.value(one, checks) for one in checker.scores}
    if checker.mode != "all_claims":
        checks = evidence.required()
        made |= {f"{REQUIRED}{one}": formulas.value(one, checks) for one in checker.scores}
    return made


class _Sources:
    """Where a checker finds what it looks at."""

    def __init__(self, checker: RagChecker, wanted: Wanted) -> None:
        self._checker, self._wanted = checker, wanted

    def material(self, case: Case) -> Material:
        """All that is looked at, before anybody is asked."""
        completion, row = completion_of(case), case.sample.data
        checker, wanted = self._checker, self._wanted
        claims = {side: self._claims(row, side) for side in wanted.sides if self._has(side)}
        labels = {
            side: self._labels(row, side, len(claims[side]))
            for side in wanted.sides
            if wanted.labels and self._has(side, "labels")
        }
        labelled = wanted.labels and len(labels) < len(wanted.sides)
        asks = labelled or len(claims) < len(wanted.sides)
        return Material(
            query=text_in(row, checker.query_column, may_be_empty=not labelled) if asks else "",
            target=self._target(row, claims.get("target")),
            response=str(completion),
            chunks=self._chunks(completion),
            claims=claims,
            labels=labels,
            claim_extraction_instructions=checker.claim_extraction_instructions,
            claim_labeling_instructions=checker.claim_labeling_instructions,
        )

    def _has(self, side: Side, what: str = "claims") -> bool:
        return getattr(self._checker, f"{side}_{what}_column") is not None

    def _claims(self, row: Mapping[str, Any], side: Side) -> tuple[Claim, ...]:
        column: str = getattr(self._checker, f"{side}_claims_column")
        return tuple(claims_from(listed_in(row, column), f"column `{column}`"))

    def _labels(self, row: Mapping[str, Any], side: Side, count: int) -> tuple[Label, ...]:
        column: str = getattr(self._checker, f"{side}_labels_column")
        return tuple(labels_from(listed_in(row, column), count, f"column `{column}`"))

    def _target(self, row: Mapping[str, Any], claims: tuple[Claim, ...] | None) -> str:
        """Its text, or its claims, one a line; empty where nobody looks at it."""
        extracted = "target" in self._wanted.sides and claims is None
        if not extracted and "in_target" not in self._wanted.checks:
            return ""
        if text := target_in(row, self._checker.target_column):
            return text
        if claims is None and self._has("target"):
            claims = self._claims(row, "target")
        if claims:
            return "\n".join(map(str, claims))
        needing = [one for one in self._checker.scores if NEEDS[one] & _OF_TARGET]
        raise ValueError(
            "the sample has no target: name its column in `target_column`, or that of its claims "
            f"in `target_claims_column`; {_named(needing)} one"
        )

    def _chunks(self, completion: ChatCompletion) -> list[str]:
        """The retrieved texts; none where nobody looks at them."""
        needing = [one for one in self._checker.scores if NEEDS[one] & _IN_CHUNKS]
        if not needing:
            return []
        found = chunks_of(completion)
        if found is None:
            raise ValueError(
                "the output of the model has no `references`, the texts that were retrieved: its "
                'first choice must have them, a list of `{"content": "…"}`; '
                f"{_named(needing)} them"
            )
        return found


def _named(scores: list[ScoreName]) -> str:
    listed = ", ".join(f"`{one}`" for one in scores)
    return f"{listed} need{'s'[: len(scores) == 1]}"
