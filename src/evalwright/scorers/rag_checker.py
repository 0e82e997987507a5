"""`rag_checker`: how well retrieved chunks support an answer, and which claims are wrong.

    scorers:
      - type: rag_checker
        judge_model_key: my-judge
        query_column: question
        target_column: answer
        scores_to_compute: [faithfulness, hallucination]

The judge model splits the target and the response into claims. It checks the claims from each of
the two against the text of the other, and against every chunk that the evaluated model returned in
`references`. Scores are proportions of claims or chunks; the `evalwright.scorers.rag.formulas`
module documents the formulas. An undefined score is null. It is excluded from means, and the report
counts it. Only the checks that the requested scores need are sent to the judge. Claims and verdicts
are stored, so requests that were already answered are not repeated when you add scores.
"""

from collections.abc import Mapping
from functools import cached_property
from json import dumps, loads
from math import isnan
from typing import Annotated, Any, Literal

from msgspec import structs
from pydantic import Field, model_validator

from evalwright.components import FOR_KEYS, ColumnName, ModelKey
from evalwright.objects import ChatCompletion, SolverTrace
from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, short
from evalwright.scorers.rag import formulas
from evalwright.scorers.rag.evidence import (
    SIDES,
    EvidenceNeeds,
    RagEvidence,
    Side,
    explain_score,
    parse_claims,
    parse_labels,
)
from evalwright.scorers.rag.formulas import NEEDS, SCORES, Check, ScoreName
from evalwright.scorers.rag.judge import RagJudge, RagMaterial
from evalwright.types import Sample, Score

Mode = Literal["all_claims", "required_only", "required_and_optional"]

DEFAULT_TARGET = "target"
"""Default column of the target, if the sample has it."""
REQUIRED = "required_"
"""Prefix of the names of scores that include only required claims."""
_PREFIXES: Mapping[Mode, tuple[str, ...]] = {
    "all_claims": ("",),
    "required_only": (REQUIRED,),
    "required_and_optional": ("", REQUIRED),
}
_OF_TARGET: frozenset[Check] = frozenset({"in_target", "in_response", "target_in_chunks"})
_IN_CHUNKS: frozenset[Check] = frozenset({"target_in_chunks", "response_in_chunks"})
_NOT_ASKED = {"key", "purpose", "display_name", "metrics", "scores_to_compute", "mode"}


class RagChecker(ScorerSpec):
    """Scores an answer that is based on retrieved chunks, claim by claim."""

    type: Literal["rag_checker"]
    judge_model_key: ModelKey
    """Judge model that extracts and checks claims: the key of a model in the project, or
    `provider/model`."""
    query_column: ColumnName = "query"
    """Column with the question, which is part of the prompts that extract and label claims."""
    target_column: ColumnName | None = None
    """Column with the correct answer. Default: the column `target`. If the sample has no such
    column, the claims in `target_claims_column` replace the target."""
    scores_to_compute: Annotated[list[ScoreName], Field(min_length=1)] | None = None
    """Scores to compute. Default: all eleven scores."""
    target_claims_column: ColumnName | None = None
    """Column with the target's claims: a list of objects with `subject`, `predicate` and `object`,
    or the same list as a JSON string. Default: the judge extracts the claims."""
    response_claims_column: ColumnName | None = None
    """Column with the response's claims, for recorded answers."""
    claim_extraction_instructions: str | None = None
    """Additional instructions for extracting claims."""
    mode: Mode = "all_claims"
    """Claims to include. `all_claims`: all claims. `required_only`: only the required claims, in
    scores whose names start with `required_`. `required_and_optional`: the scores of the
    other two modes."""
    target_labels_column: ColumnName | None = None
    """Column with `REQUIRED` or `OPTIONAL` for each claim in `target_claims_column`. Default: the
    judge labels the claims. Labels are not used with `all_claims`."""
    response_labels_column: ColumnName | None = None
    """Column with `REQUIRED` or `OPTIONAL` for each claim in `response_claims_column`."""
    claim_labeling_instructions: str | None = None
    """Additional instructions for labeling claims."""

    @model_validator(mode="after")
    def _check_labels_have_claims(self) -> "RagChecker":
        for side in ("target", "response"):
            labels, claims = f"{side}_labels_column", f"{side}_claims_column"
            if getattr(self, labels) is not None and getattr(self, claims) is None:
                raise ValueError(f"`{labels}` needs `{claims}`, whose claims the labels belong to")
        return self

    @property
    def scores(self) -> tuple[ScoreName, ...]:
        """The scores to compute, without duplicates."""
        return tuple(dict.fromkeys(self.scores_to_compute or SCORES))

    @property
    def score_names(self) -> tuple[str, ...]:  # type: ignore[override] # its fields decide
        """Names of the scores, which depend on the mode."""
        return tuple(f"{prefix}{name}" for prefix in _PREFIXES[self.mode] for name in self.scores)

    @property
    def default_metrics(self) -> tuple[tuple[str, str], ...]:  # type: ignore[override] # the same
        """The mean of each score."""
        return tuple(("mean", name) for name in self.score_names)

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The key of the judge model."""
        return (self.judge_model_key,)

    @property
    def required_columns(self) -> tuple[str, ...]:
        """Columns that the scores need."""
        needs = self._evidence_needs
        kinds = ("claims", "labels") if needs.labels else ("claims",)
        columns = [self._column(side, kind) for kind in kinds for side in needs.sides]
        if not all(columns):
            columns.append(self.query_column)
        has_claims = self.target_claims_column is not None
        if "in_target" in needs.checks or ("target" in needs.sides and not has_claims):
            columns.append(self.target_column or (None if has_claims else DEFAULT_TARGET))
        return tuple(column for column in dict.fromkeys(columns) if column)

    @cached_property
    def settings(self) -> str:
        """All fields that change the evidence. The selected scores do not."""
        fields = self.model_dump(mode="json", exclude=_NOT_ASKED, context=FOR_KEYS)
        return dumps(fields, sort_keys=True, ensure_ascii=False)

    def describe_inputs(self, sample: Sample) -> str:
        """Return the settings and the columns."""
        kinds = ("claims", "labels")
        columns = [self.query_column, self.target_column or DEFAULT_TARGET]
        columns += filter(None, (self._column(side, kind) for kind in kinds for side in SIDES))
        cells = {column: sample.data[column] for column in columns if column in sample.data}
        return f"{self.settings}{dumps(cells, sort_keys=True, default=str)}"

    def reuse(self, score: Score) -> Score | None:
        """Compute the scores from stored evidence; None if the evidence is incomplete."""
        evidence, needs = RagEvidence.from_metadata(score.metadata), self._evidence_needs
        if not evidence.covers(needs):
            return None
        return structs.replace(
            score,
            values=self._compute_values(evidence),
            reason=explain_score(evidence, needs),
            metadata={**score.metadata, "formulas": formulas.VERSION},
        )

    async def score(self, case: Case) -> Score:
        """Query the judge for the needed evidence; raise if the sample is incomplete."""
        needs = self._evidence_needs
        completion, row = _read_completion(case), case.sample.data
        columns = self._read_claim_columns(row, needs)
        material = self._read_material(completion, row, needs, columns)
        judge = RagJudge(case, self.judge_model_key, material)
        before = case.known.metadata if case.known else {}
        known = structs.replace(RagEvidence.from_metadata(before), **columns)
        evidence = await judge.gather_evidence(needs, known)
        metadata: dict[str, Any] = {
            "judge": self.judge_model_key,
            "structured": judge.structured and before.get("structured", True),
        }
        if note := judge.note or before.get("note"):
            metadata["note"] = note
        return Score(
            values=self._compute_values(evidence),
            reason=explain_score(evidence, needs),
            metadata={**evidence.to_metadata(), **metadata, "formulas": formulas.VERSION},
        )

    @property
    def _evidence_needs(self) -> EvidenceNeeds:
        checks = frozenset[Check]().union(*(NEEDS[name] for name in self.scores))
        return EvidenceNeeds(checks=checks, labels=self.mode != "all_claims")

    def _compute_values(self, evidence: RagEvidence) -> dict[str, float | None]:
        values: dict[str, float | None] = {}
        for prefix in _PREFIXES[self.mode]:
            checks = evidence.checks(required_only=prefix == REQUIRED)
            for name in self.scores:
                values[f"{prefix}{name}"] = formulas.compute_score(name, checks)
        return values

    def _column(self, side: Side, kind: str) -> str | None:
        column: str | None = getattr(self, f"{side}_{kind}_column")
        return column

    def _read_claim_columns(self, row: Mapping[str, Any], needs: EvidenceNeeds) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for side in needs.sides:
            if column := self._column(side, "claims"):
                claims = parse_claims(_read_list_column(row, column), f"column `{column}`")
                values[f"{side}_claims"] = claims
                if needs.labels and (column := self._column(side, "labels")):
                    labels = _read_list_column(row, column)
                    where = f"column `{column}`"
                    values[f"{side}_labels"] = parse_labels(labels, len(claims), where)
        return values

    def _read_material(
        self,
        completion: ChatCompletion,
        row: Mapping[str, Any],
        needs: EvidenceNeeds,
        columns: Mapping[str, Any],
    ) -> RagMaterial:
        """Read all texts before querying the judge; `columns` has the given claims and labels."""
        extracts = [side for side in needs.sides if f"{side}_claims" not in columns]
        labels = needs.labels and any(f"{side}_labels" not in columns for side in needs.sides)
        query = ""
        if extracts or labels:
            query = _read_text_column(row, self.query_column, may_be_empty=not labels)
        needs_target = "target" in extracts or "in_target" in needs.checks
        return RagMaterial(
            query=query,
            target=self._read_target(row) if needs_target else "",
            response=str(completion),
            chunks=self._find_chunks(completion),
            extraction_instructions=self.claim_extraction_instructions,
            labeling_instructions=self.claim_labeling_instructions,
        )

    def _read_target(self, row: Mapping[str, Any]) -> str:
        column = self.target_column or DEFAULT_TARGET
        if self.target_column or column in row:
            text = _read_text_column(row, column, may_be_empty=self.target_column is None)
            if text:
                return text
        if column := self.target_claims_column or "":
            claims = parse_claims(_read_list_column(row, column), f"column `{column}`")
            if claims:
                return "\n".join(map(str, claims))
        raise ValueError(
            "the sample has no target: set `target_column` to its column, or "
            f"`target_claims_column` to that of its claims; {self._name_scores(_OF_TARGET)} one"
        )

    def _find_chunks(self, completion: ChatCompletion) -> list[str]:
        if not self._evidence_needs.checks & _IN_CHUNKS:
            return []
        chunks = _read_chunks(completion)
        if chunks is None:
            raise ValueError(
                "the model's output has no `references` (the retrieved chunks): its "
                'first choice must have them, as a list of `{"content": "…"}`; '
                f"{self._name_scores(_IN_CHUNKS)} them"
            )
        return chunks

    def _name_scores(self, checks: frozenset[Check]) -> str:
        """Return the names of the scores that need any of the checks, followed by the verb."""
        names = [name for name in self.scores if NEEDS[name] & checks]
        listed = ", ".join(f"`{name}`" for name in names)
        return f"{listed} need{'s'[: len(names) == 1]}"


def _read_list_column(row: Mapping[str, Any], column: str) -> Any:
    """Return the value of a column; a string, as in a CSV file, is parsed as JSON."""
    value = _read_cell(row, column)
    if value is None:
        raise ValueError(f"{_explain_missing(row, column)}; an empty list is `[]`")
    if not isinstance(value, str):
        return value
    try:
        return loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"column `{column}` must hold JSON, got {short(value)}: {error}") from None


def _read_text_column(row: Mapping[str, Any], column: str, *, may_be_empty: bool = False) -> str:
    """Return the text of a column; ValueError if it is not text, or is empty but required."""
    value = _read_cell(row, column)
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        if may_be_empty:
            return ""
        raise ValueError(_explain_missing(row, column))
    if not isinstance(value, str):
        raise ValueError(  # noqa: TRY004 - invalid data in a row
            f"column `{column}` of the sample must be text, got {short(value)}"
        )
    return value


def _read_completion(case: Case) -> ChatCompletion:
    if case.answer is None:
        raise ValueError("`rag_checker` needs a model's answer, but the task has no solver")
    output = SolverTrace.from_json(case.answer.conversation).read_output()
    if isinstance(output, ChatCompletion) and output.get("choices"):
        return output
    raise ValueError(
        f"`rag_checker` needs a chat completion, but the model's output is {short(output)}"
    )


def _read_chunks(completion: ChatCompletion) -> list[str] | None:
    """Return the retrieved texts of the first choice; None if it has no `references`."""
    choices: list[dict[str, Any]] = completion["choices"]
    references = dict.get(choices[0], "references")
    if references is None:
        return None
    if not isinstance(references, list):
        raise ValueError(  # noqa: TRY004 - invalid output of a model
            f"`references` must be a list, but the model returned {short(references)}"
        )
    chunks: list[Any] = [
        item.get("content") if isinstance(item, dict) else item for item in references
    ]
    for number, chunk in enumerate(chunks, start=1):
        if not isinstance(chunk, str):
            raise ValueError(  # noqa: TRY004 - the same
                f'reference {number} must be `{{"content": "…"}}`, but the model returned '
                f"{short(references[number - 1])}"
            )
    return chunks


def _read_cell(row: Mapping[str, Any], column: str) -> Any:
    """Return the value of a column; None if it is empty, such as an empty cell of a CSV file."""
    value = row.get(column)
    if isinstance(value, str) and not value.strip():
        return None
    return None if isinstance(value, float) and isnan(value) else value


def _explain_missing(row: Mapping[str, Any], column: str) -> str:
    columns = ", ".join(f"`{name}`" for name in sorted(map(str, row))) or "none"
    return f"column `{column}` is empty or missing in this sample, whose columns are {columns}"
