"""`rag_checker`: what an answer from retrieved texts owes to them, and what is wrong with it.

    scorers:
      - type: rag_checker
        judge_model_key: my-judge
        query_column: question
        target_column: answer
        scores_to_compute: [faithfulness, hallucination]

The judge takes target and response apart into claims, and checks the claims against each other's
text and against every chunk that the model returned as `references`. Scores are shares of claims
or of chunks, by the formulas of `rag.formulas`; one that is not defined is null, which a mean
leaves out and counts. Only what the wanted scores are made of is asked.

Claims and verdicts are kept, so that other scores of the same answers cost nothing.
"""

from functools import cached_property
from json import dumps
from typing import Annotated, Literal

from pydantic import Field, model_validator

from evalwright.components import FOR_KEYS, ColumnName, ModelKey
from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec
from evalwright.scorers.rag.formulas import SCORES, ScoreName
from evalwright.types import Sample, Score

Mode = Literal["all_claims", "required_only", "required_and_optional"]

DEFAULT_TARGET = "target"
"""The column that is the target where none is named, if the sample has it."""
REQUIRED = "required_"
"""How the names of scores begin that are of required claims alone."""
_NOT_ASKED = {"key", "purpose", "display_name", "metrics", "scores_to_compute", "mode"}


class RagChecker(ScorerSpec):
    """Scores an answer that was made from retrieved texts, claim by claim."""

    type: Literal["rag_checker"]
    """The kind of scorer."""
    judge_model_key: ModelKey
    """The model that finds and checks claims: a key of the project, or `provider/model`."""
    query_column: ColumnName = "query"
    """The column with the question. It is read where claims are extracted or labelled."""
    target_column: ColumnName | None = None
    """The column with the right answer. Without it, `target`, where the sample has such a column;
    else the claims of `target_claims_column` stand for the target."""
    scores_to_compute: Annotated[list[ScoreName], Field(min_length=1)] | None = None
    """The scores; without it, all eleven."""
    target_claims_column: ColumnName | None = None
    """The column with the claims of the target: a list of objects with `subject`, `predicate` and
    `object`, or the JSON of one. Without it, the judge extracts them."""
    response_claims_column: ColumnName | None = None
    """The same for the claims of the response, for answers that were recorded."""
    claim_extraction_instructions: str | None = None
    """More that the judge is told when it extracts claims."""
    mode: Mode = "all_claims"
    """`all_claims`: scores of all claims. `required_only`: of the required ones alone, under names
    that begin with `required_`. `required_and_optional`: both."""
    target_labels_column: ColumnName | None = None
    """The column with `REQUIRED` or `OPTIONAL` for each claim of `target_claims_column`. Without
    it, the judge labels them; where all claims count, nobody does."""
    response_labels_column: ColumnName | None = None
    """The same for `response_claims_column`."""
    claim_labeling_instructions: str | None = None
    """More that the judge is told when it labels claims."""

    @model_validator(mode="after")
    def _labels_are_of_claims(self) -> "RagChecker":
        for side in ("target", "response"):
            labels, claims = f"{side}_labels_column", f"{side}_claims_column"
            if getattr(self, labels) is not None and getattr(self, claims) is None:
                raise ValueError(
                    f"`{labels}` needs `{claims}`: labels of claims that are not known yet would "
                    "belong to none"
                )
        return self

    @property
    def scores(self) -> tuple[ScoreName, ...]:
        """Those that are wanted, each once."""
        return tuple(dict.fromkeys(self.scores_to_compute or SCORES))

    @property
    def gives(self) -> tuple[str, ...]:  # type: ignore[override] # its fields decide
        """The names of the values, by the mode."""
        plain = self.scores if self.mode != "required_only" else ()
        required = self.scores if self.mode != "all_claims" else ()
        return (*plain, *(f"{REQUIRED}{one}" for one in required))

    @property
    def default_metrics(self) -> tuple[tuple[str, str], ...]:  # type: ignore[override] # the same
        """The mean of each."""
        return tuple(("mean", one) for one in self.gives)

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The judge."""
        return (self.judge_model_key,)

    @property
    def needs(self) -> tuple[str, ...]:
        """Its columns that the wanted scores are made of."""
        from evalwright.scorers.rag.evidence import Wanted

        wanted = Wanted.by(self.scores, labels=self.mode != "all_claims")
        claims = {"target": self.target_claims_column, "response": self.response_claims_column}
        labels = {"target": self.target_labels_column, "response": self.response_labels_column}
        found = [claims[side] for side in wanted.sides]
        if wanted.labels:
            found += [labels[side] for side in wanted.sides]
        if not all(found):
            found.append(self.query_column)
        extracted = "target" in wanted.sides and not self.target_claims_column
        if extracted or "in_target" in wanted.checks:
            found.append(self.target_column or (DEFAULT_TARGET if not claims["target"] else None))
        return tuple(one for one in dict.fromkeys(found) if one)

    @cached_property
    def settings(self) -> str:
        """All of its fields that change what is found; which scores are made of it does not."""
        fields = self.model_dump(mode="json", exclude=_NOT_ASKED, context=FOR_KEYS)
        return dumps(fields, sort_keys=True, ensure_ascii=False)

    def reads(self, sample: Sample) -> str:
        """Its settings and its columns."""
        columns = (
            *(self.query_column, self.target_column or DEFAULT_TARGET),
            *(self.target_claims_column, self.response_claims_column),
            *(self.target_labels_column, self.response_labels_column),
        )
        cells = {one: sample.data[one] for one in columns if one in sample.data}
        return f"{self.settings}{dumps(cells, sort_keys=True, default=str)}"

    def revised(self, score: Score) -> Score | None:
        """The wanted scores of what was found then; None if it lacks what one of them needs."""
        from evalwright.scorers.rag.scoring import revised

        return revised(self, score)

    async def score(self, case: Case) -> Score:
        """Ask for what is wanted; raise where something of it cannot be had."""
        from evalwright.scorers.rag.scoring import score

        return await score(self, case)
