"""The same sample judged again, with something changed that should not matter.

    swap    the parts of the author's prompt that carry values change places, each with what says
            what it is (`swapping`), and so do the labels of a structured reply: a judge that looks
            at the first or the last thing changes its mind
    pad     the answer is followed by sentences that say nothing new: a judge that likes length does
    fence   the answer stands between unguessable marks, with a sentence that it is data: a judge
            that was talked into its verdict by the answer does
    again   nothing is changed: how far a judge agrees with itself

The scorer and its prompts stay the author's in every run; only a probe asks in another way. Where a
change would change nothing that the judge sees, the probe does not apply, and nothing is asked.

Does not:   know which verdict is the right one. What flips may also be the judge's own noise:
            `again` says how much of that there is.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from msgspec import structs

from evalwright.ports import Case, Model
from evalwright.scorers.answers import answer_text
from evalwright.scorers.judging.base import JudgeSpec
from evalwright.scorers.judging.fences import DATA_NOTE, fenced, mark_for
from evalwright.scorers.judging.swapping import NotApplicable, swapped
from evalwright.templates import Template
from evalwright.types import Completion, Request, Sample, Score, Trace

PROBES = ("swap", "pad", "fence")
NOT_APPLICABLE = "not_applicable"
"""Where the metadata of a score that is none says why."""
_FILLER = (
    "This is the answer to what was asked. "
    "It is given here as it stands, and it is meant as it is written. "
    "The answer has been stated above, and this sentence does not change it. "
    "Nothing that follows is different from what was said before. "
)
_SHORTEST_FILLER = 200
_AGAIN = 1_000_000
"""No run has so many trials, so no cache takes one of them for a repeated question."""
_TEXTS = {"content", "text"}
"""The keys under which a conversation has what was said."""
_NO_ANSWER = "the judge is shown no answer that could be changed"


class Changed(NamedTuple):
    """Who judges, and what."""

    judge: JudgeSpec
    case: Case


class Again:
    """A scorer that judges in another way than `judge` does; its score may say: not applicable."""

    version = 1

    def __init__(
        self, name: str, judge: JudgeSpec, change: Callable[[JudgeSpec, Case], Changed]
    ) -> None:
        self.name, self._judge, self._change = name, judge, change
        self.broke = ""
        """Why it gave no verdict, the first time that it gave none."""

    def reads(self, sample: Sample) -> str:
        """Nothing is stored under its key."""
        del sample
        return self.name

    def revised(self, score: Score) -> Score:
        """As it was."""
        return score

    async def score(self, case: Case) -> Score:
        """Judge the changed case; without values where the change does not apply."""
        try:
            changed = self._change(self._judge, case)
        except NotApplicable as error:
            return Score(values={}, metadata={NOT_APPLICABLE: str(error)})
        with self:
            return await changed.judge.score(changed.case)

    def __enter__(self) -> None:
        """Nothing: it is the end that is looked at."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception):
            self.broke = self.broke or str(error) or type(error).__name__


def probe_of(name: str, judge: JudgeSpec) -> Again:
    """The probe of that name; `NotApplicable` if it applies to no sample of this judge."""
    if name == "swap":
        turned = _with_turned_prompt(judge)
        return Again(name, judge, lambda _, case: _turned(turned, case))
    answer = {"pad": padded, "fence": between_marks}[name]
    return Again(name, judge, lambda judge, case: _answering(judge, case, answer))


def _with_turned_prompt(judge: JudgeSpec) -> JudgeSpec:
    """The judge itself where only the labels of its replies can be turned."""
    try:
        prompt = Template(swapped(judge.user_prompt.source))
    except NotApplicable:
        if judge.use_structured_outputs and _has_labels(judge):
            return judge
        raise
    return judge.model_copy(update={"user_prompt": prompt})


def repeat_of(number: int, judge: JudgeSpec) -> Again:
    """The same question once more; `number` tells one time from another."""

    def change(judge: JudgeSpec, case: Case) -> Changed:
        return Changed(judge, structs.replace(case, trial=case.trial + number * _AGAIN))

    return Again(f"again {number}", judge, change)


def padded(answer: str) -> str:
    """The answer, followed by about as much again that says nothing."""
    wanted = max(_SHORTEST_FILLER, len(answer))
    filler = _FILLER * (wanted // len(_FILLER) + 1)
    end = filler.find(". ", wanted - 1)
    return f"{answer}\n\n{filler[: end + 1] if end >= 0 else filler.rstrip()}"


def between_marks(answer: str) -> str:
    """The answer as data."""
    return f"{DATA_NOTE}\n{fenced(answer, mark_for(answer))}"


def saying(trace: Trace, said: str, answer: str) -> Trace:
    """The trace as if the last answer had been another: wherever `said` stands whole in it."""
    talk = dict(trace.conversation)
    items = list(talk.get("items") or ())
    spoken = [
        place
        for place, one in enumerate(items)
        if isinstance(one, Mapping) and one.get("role") == "assistant"
    ]
    for place in spoken[-1:]:
        items[place] = _replaced(items[place], said, answer)
    outputs = list(talk.get("raw_outputs") or ())
    if outputs:
        outputs[-1] = _replaced(outputs[-1], said, answer)
    talk["items"], talk["raw_outputs"] = items, outputs
    return structs.replace(trace, output=answer, post_processed=answer, conversation=talk)


def _answering(judge: JudgeSpec, case: Case, change: Callable[[str], str]) -> Changed:
    try:
        said = answer_text(case)
    except ValueError as error:  # no solver, or no chat
        raise NotApplicable(_NO_ANSWER) from error
    if not said:
        raise NotApplicable(_NO_ANSWER)
    changed = case.solved(saying(case.trace, said, change(said)))
    if judge.prompts(changed) == judge.prompts(case):
        raise NotApplicable(_NO_ANSWER)
    return Changed(judge, changed)


def _turned(judge: JudgeSpec, case: Case) -> Changed:
    models = dict(case.models)
    if judge.model_key in models and judge.use_structured_outputs:
        models[judge.model_key] = _Turned(models[judge.model_key])
    return Changed(judge, structs.replace(case, models=models))


def _replaced(value: Any, said: str, answer: str, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _replaced(one, said, answer, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, said, answer, key) for one in value]
    return answer if key in _TEXTS and value == said else value


def _has_labels(judge: JudgeSpec) -> bool:
    properties = judge.reply_schema.properties.values()
    return any(len(one.get("enum", ())) > 1 for one in properties)


class _Turned:
    """A judge whose schema has its labels in reverse."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.caveat, self.fingerprint = model.caveat, model.fingerprint

    async def complete(self, request: Request) -> Completion:
        """Ask with the labels turned round."""
        return await self._model.complete(structs.replace(request, input=_reversed(request.input)))

    async def close(self) -> None:
        """It is another's to close."""


def _reversed(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _reversed(one, name) for name, one in value.items()}
    if isinstance(value, list) and key == "enum":
        return value[::-1]
    return value
