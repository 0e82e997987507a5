"""How the models of a run of task records were asked, where that is not the usual way.

    mcq          by likelihood: the answer is the letter that the model finds likeliest
    confidence   self: the model was asked about each of its answers, beside them

Not folded with the rows: what was asked beside an answer is in its body. So only a run that asked
so is read whole, once more, in flat memory.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from evalwright.report.fold import Folded
from evalwright.report.report import UsageRow
from evalwright.report.usage import Account, usage_rows
from evalwright.types import Outcome

_CONFIDENCE = "confidence"
_MCQ = "mcq"
_ITS_SHARE = "; its confidence is its share of the likelihoods of all letters"


class Asked:
    """What a report says about it."""

    def __init__(self, *, mcq: str = "letter", confidence: str = "logprobs") -> None:
        self._by_likelihood = mcq == "loglikelihood"
        self._by_itself = confidence == "self"
        self._account = Account()
        self._silent: Counter[str] = Counter()

    def read(self, samples: Callable[..., Iterator[Outcome]]) -> None:
        """Every outcome, if there is anything in them."""
        if self._by_itself:
            self._account.landed(map(self._heard, samples()))

    def beside(self) -> dict[str, UsageRow]:
        """What was asked beside the answers."""
        return usage_rows(self._account.beside)

    def notes(self, folded: Folded) -> Iterator[str]:
        """One for each thing that is not as usual."""
        chosen = int(folded.of_group(_MCQ).sum()) if self._by_likelihood else 0
        if chosen:
            yield (
                f"`--mcq loglikelihood`: {chosen} multiple-choice record{'s'[: chosen != 1]} "
                f"answered by the likeliest letter{'' if self._by_itself else _ITS_SHARE}"
            )
        if self._by_itself:
            yield "`--confidence self`: confidences are what each model says of its own answers"
        for model, count in self._silent.items():
            yield f"{model}: replies without a number when asked how sure it is: {count}"

    def _heard(self, outcome: Outcome) -> Outcome:
        said = outcome.scores.get(_CONFIDENCE)
        if said is not None and said.values.get(_CONFIDENCE) is None:
            self._silent[outcome.model] += 1
        return outcome
