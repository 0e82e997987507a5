"""`pairwise_judge`: which of two answers a judge model prefers.

    scorers:
      - type: pairwise_judge
        model_key: openai/gpt-4.1-mini
        opponent: "{{ sample.reference }}"      # the other answer

    scorers:
      - type: pairwise_judge
        model_key: openai/gpt-4.1-mini
        opponent: "{{ sample.old_answer }}"
        rubric: The better answer is shorter and still complete.
        both_orders: true                       # query the judge twice, in both orders

The score is 1 if the judge prefers the answer, 0 if it prefers the opponent's, and 0.5 for a tie.
The judge sees the answers as `A` and `B`, enclosed in markers. Their order is random, but depends
only on `seed` and the sample's id: the answer is `A` if the first byte of the BLAKE2b hash of
`pairwise_judge SEED ID` is even. If the two answers are equal, the result is a tie, and the judge
is not queried.

With `both_orders: true`, the score is the mean of both verdicts. `is_consistent` is 1 if both
orders gave the same verdict. `prefers_first` is the share of verdicts, not counting ties, that
prefer the answer shown first; for a judge without position bias, its mean is 0.5. This scorer is an
evalwright extension.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, ClassVar, Literal, Self

from pydantic import PrivateAttr

from evalwright.components import Flag
from evalwright.ports import Case
from evalwright.scorers.base import render_value, template_variables
from evalwright.scorers.judging.judge_spec import JudgeVerdict
from evalwright.scorers.judging.ready_judge import (
    PromptPart,
    ReadyJudge,
    Rubric,
    build_prompt,
    explain_reply,
    show_parts,
)
from evalwright.scorers.judging.shown_text import ShownText
from evalwright.templates import Template
from evalwright.types import JudgedAnswer, Message, Sample, Score

_TASK = "You are a fair judge. You compare two answers to the same question by a rubric."
_FIRST, _SECOND, _TIE = "A", "B", "tie"
_VERDICTS = {1.0: "win", 0.5: "tie", 0.0: "loss"}


class PairwiseJudge(ReadyJudge):
    """Scores `score`: 1 if the judge prefers the answer, 0.5 for a tie, 0 otherwise."""

    text_scores: ClassVar[tuple[str, ...]] = ("verdict",)
    score_ranges: ClassVar[dict[str, tuple[float | None, float | None]]] = {
        "score": (0.0, 1.0),
        "prefers_first": (0.0, 1.0),
    }

    type: Literal["pairwise_judge"]
    opponent: Template
    """The other answer. May refer to the same names as `value`."""
    rubric: Rubric = Template("The better answer is more correct, more complete and clearer.")
    """What makes an answer better. May refer to `sample`."""
    value: Template | None = None
    """The answer. May refer to `sample` and `solver_output`. Default: the text of the last
    assistant message. Required in tasks without a solver."""
    ties: Flag = True
    """Whether the judge may declare a tie."""
    both_orders: Flag = False
    """Whether the judge is queried in both orders, which needs two requests per sample. The report
    then shows the judge's position bias."""
    seed: int = 0
    """Seed for the order in which the two answers are shown."""

    _is_reversed: bool = PrivateAttr(default=False)

    @property
    def score_names(self) -> tuple[str, ...]:  # type: ignore[override] # its fields decide
        """The names of the values."""
        bias = ("prefers_first", "is_consistent") if self.both_orders else ("prefers_first",)
        return ("score", "verdict", *bias)

    @property
    def default_metrics(self) -> tuple[tuple[str, str], ...]:  # type: ignore[override] # the same
        """The mean score and, with both orders, what they say about the judge."""
        bias = ("prefers_first", "is_consistent") if self.both_orders else ()
        return tuple(("mean", name) for name in ("score", *bias))

    @property
    def orders(self) -> tuple[Literal["answer", "opponent"] | None, ...]:  # type: ignore[override] # the same
        """Both orders, or one that the sample decides."""
        return ("answer", "opponent") if self.both_orders else (None,)

    @property
    def labels(self) -> tuple[str, ...]:
        """The two answers, and a tie if it is allowed."""
        return (_FIRST, _SECOND, _TIE) if self.ties else (_FIRST, _SECOND)

    @property
    def valid_labels(self) -> tuple[str, ...]:
        """The verdicts on a sample, from the view of the answer."""
        return tuple(_VERDICTS.values())

    def shows_answer_first(self, sample: Sample) -> bool:
        """Whether the answer is `A`: it is random, but the same every time."""
        text = f"pairwise_judge {self.seed} {sample.id}"
        digest = blake2b(text.encode("utf-8", "surrogatepass")).digest()
        return (digest[0] % 2 == 0) is not self._is_reversed

    def swap_parts(self) -> Self | None:
        """Return the judge with the two answers in the other order; None if it sees both."""
        if self.both_orders:
            return None
        swapped = self.model_copy()
        swapped._is_reversed = True  # noqa: SLF001 - its own private attribute
        return swapped

    def prompts(self, case: Case) -> tuple[Message, ...]:
        """Return the rubric and the fenced material, in the order that is queried first."""
        is_first = self.shows_answer_first(case.sample)
        return self._prompt(case, self._render_pair(case), answer_first=is_first)

    def shown_text(self, case: Case) -> ShownText:
        """Return all of the material."""
        return show_parts(self._parts(case, *self._render_pair(case)))

    async def score(self, case: Case) -> Score:
        """Query the judge, in both orders if that is asked for; equal answers are a tie."""
        pair = self._render_pair(case)
        if pair[0] == pair[1]:
            values = {"score": 0.5, "verdict": _TIE, "prefers_first": None}
            values |= {"is_consistent": 1.0} if self.both_orders else {}
            return Score(
                values=values,
                reason="both answers are the same",
                metadata={"label": _TIE},
            )
        is_first = self.shows_answer_first(case.sample)
        orders = (is_first, not is_first) if self.both_orders else (is_first,)
        shown = self.shown_text(case)
        replies = [
            await self.ask_verdict(
                case,
                self._prompt(case, pair, answer_first=order),
                shown,
                judged=JudgedAnswer(shown_first="answer" if order else "opponent"),
            )
            for order in orders
        ]
        return self._combine(orders, replies)

    def _combine(self, orders: Sequence[bool], replies: Sequence[JudgeVerdict]) -> Score:
        scores = [
            _score_verdict(reply.value, answer_first=order)
            for order, reply in zip(orders, replies, strict=True)
        ]
        score = sum(scores) / len(scores)
        decided = [reply.value == _FIRST for reply in replies if reply.value != _TIE]
        values: dict[str, Any] = {
            "score": score,
            "verdict": _describe_score(score),
            "prefers_first": sum(decided) / len(decided) if decided else None,
        }
        if self.both_orders:
            values["is_consistent"] = float(len(set(scores)) == 1)
        described = [
            {
                "verdict": _describe_score(own),
                "shown_first": "answer" if order else "opponent",
                "reasoning": reply.reasoning,
                **reply.metadata,
            }
            for own, order, reply in zip(scores, orders, replies, strict=True)
        ]
        metadata = {**described[0], "label": values["verdict"]}
        if self.both_orders:
            metadata["other_order"] = described[1]
        return Score(values=values, reason=replies[0].reasoning or "", metadata=metadata)

    def make_score(self, verdict: str) -> Score:
        """Score one verdict on two answers of which the first is the answer."""
        return Score(values={"score": _score_verdict(verdict, answer_first=True)})

    def _prompt(
        self, case: Case, pair: tuple[str, str], *, answer_first: bool
    ) -> tuple[Message, ...]:
        first, second = pair if answer_first else pair[::-1]
        rubric = self.rubric.render(sample=case.sample.data)
        ask = "Which answer is better?"
        if not self.ties:
            ask += " One of them must be."
        reply = explain_reply(ask, self.labels)
        return build_prompt(_TASK, rubric, self._parts(case, first, second), reply)

    def _parts(self, case: Case, first: str, second: str) -> list[PromptPart]:
        return [
            PromptPart("Question", self.render_question(case)),
            PromptPart(f"Answer {_FIRST}", first, is_required=True),
            PromptPart(f"Answer {_SECOND}", second, is_required=True),
        ]

    def _render_pair(self, case: Case) -> tuple[str, str]:
        """Return the answer and the opponent's; ValueError if there is nothing to compare with."""
        opponent = self.opponent.render(**template_variables(case))
        if not opponent.strip():
            raise ValueError("`opponent` rendered to an empty text: there is nothing to compare")
        return render_value(self.value, case), opponent


def _score_verdict(verdict: str, *, answer_first: bool) -> float:
    if verdict == _TIE:
        return 0.5
    return float((verdict == _FIRST) is answer_first)


def _describe_score(score: float) -> str:
    """Return the verdict; a win in one order and a tie in the other is a win."""
    return _VERDICTS[0.5 if score == 0.5 else float(score > 0.5)]  # noqa: PLR2004 - a tie
