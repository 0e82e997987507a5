"""`self_report`: ask the evaluated model how confident it is in its answer (`--confidence self`).

P(True) of Kadavath et al. (2022), arXiv 2207.05221. If the model provides likelihoods, those of
`True` and `False` are compared, and the confidence is the share of `True`. Other models are asked
for a probability in percent. A reply must contain exactly one number from 0 to 100; otherwise, the
value is None.

    85      85 %      **85**      85/100      I would say 85 percent.      one number
    80 to 90      150      0.85      high                                  none

`0.85` may be a fraction or less than one percent, so it does not count.

Does not:   see the targets or the post-processed answer. Changing the targets, the metric or the
            post-process rule therefore does not change the confidence.
"""

import re

from msgspec import structs

from evalwright.ports import Case, weighs
from evalwright.scorers.judging.verdicts import NoVerdict, final_text
from evalwright.stats.likelihood import log_likelihoods, shares
from evalwright.types import SELF_REPORT, Message, Request, Sample, Score

KEY = "$confidence"
"""Key of this scorer in task documents; authors cannot use this key."""
VALUE = "confidence"
_MARK = {SELF_REPORT: True}
_SHOWN = "Question:\n{question}\n\nProposed answer:\n{answer}\n\n"
_IS_IT = _SHOWN + "Is the proposed answer right? Answer True or False."
_HOW_SURE = _SHOWN + (
    "How likely is it that the proposed answer is right? Give the probability in percent: a number "
    "from 0 to 100 and nothing else."
)
_VERDICTS = ("True", "False")
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<sign>[-−–])?(?P<number>\d+(?:[.,]\d+)?)(?![.,]?\d|[^\W\d])"
    r"(?P<percent>\s*(?:%|per\s?cent\b))?(?:\s*(?:/|out\s+of)\s*100\b)?",
    re.IGNORECASE,
)
_MOST_QUOTED = 80


class SelfReport:
    """A scorer that asks the model about its own answer."""

    name = "confidence"
    version = 1

    def describe_inputs(self, sample: Sample) -> str:
        """Return nothing, because every key already contains the question and the answer."""
        del sample
        return ""

    def reuse(self, score: Score) -> Score:
        """Return the stored score; earlier versions did not mark it as a self-report."""
        return structs.replace(score, metadata=_MARK)

    async def score(self, case: Case) -> Score:
        """Query the model once about one answer; raise if it cannot be queried."""
        if weighs(case.model):
            completion = await case.model.complete(_build_request(case, _IS_IT, given=_VERDICTS))
            options = shares(log_likelihoods(_VERDICTS, completion.given))
            return Score(values={VALUE: options["True"]}, metadata=_MARK)
        reply = (await case.model.complete(_build_request(case, _HOW_SURE))).text
        confidence = parse_confidence(reply)
        reason = ""
        if confidence is None:
            quoted = reply if len(reply) <= _MOST_QUOTED else f"{reply[:_MOST_QUOTED]}…"
            reason = f"expected one number from 0 to 100, got {quoted!r}"
        return Score(values={VALUE: confidence}, reason=reason, metadata=_MARK)


def _build_request(case: Case, words: str, *, given: tuple[str, ...] = ()) -> Request:
    trace = case.trace
    text = words.format(question=trace.input, answer=trace.output.strip())
    return Request(
        messages=(Message("user", text),),
        sample=case.sample,
        trial=case.trial,
        given=given,
        takes_all=True,  # a reply without a number is not a failure: it has no confidence
    )


def parse_confidence(reply: str) -> float | None:
    """Return the only percentage in a reply as a fraction; None if there is not exactly one."""
    try:
        text = final_text(reply)
    except NoVerdict:  # the reply is empty
        return None
    values = {_parse_share(match) for match in _NUMBER.finditer(text)}
    return values.pop() if len(values) == 1 else None


def _parse_share(match: re.Match[str]) -> float | None:
    text = match["number"].replace(",", ".")
    number = float(text)
    if match["sign"] or number > 100:  # noqa: PLR2004 - percent
        return None
    if 0 < number <= 1 and "." in text and not match["percent"]:  # a fraction or a percentage?
        return None
    return number / 100
