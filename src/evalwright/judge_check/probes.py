"""Judge a sample again with something changed that should not matter.

    swap    the parts of the author's prompt that carry values change places, each with its label
            (`prompt_swap`), and so do the labels of a structured reply: finds a judge that prefers
            the first or the last thing
    pad     sentences that say nothing new follow the answer: finds a judge that likes length
    fence   the answer stands between unguessable marks, with a sentence that it is data: finds a
            judge that the answer talked into its verdict
    again   nothing is changed: measures how far a judge agrees with itself

The scorer and its prompts stay the author's in every run; only a probe asks in another way. Where a
change would change nothing that the judge sees, the probe does not apply, and nothing is asked.

Does not:   know which verdict is right. A flip may also be the judge's own noise: `again` measures
            that.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from evalwright.judge_check.prompt_swap import NotApplicable, swap_prompt
from evalwright.ports import Case, Model
from evalwright.scorers.base import answer_text
from evalwright.scorers.judging.ask import DATA_NOTE, fence_text, make_mark
from evalwright.scorers.judging.judge_spec import JudgeSpec
from evalwright.templates import Template
from evalwright.types import Completion, Request, Sample, Score, Trace

Change = Callable[[JudgeSpec, Case], tuple[JudgeSpec, Case]]
NOT_APPLICABLE = "not_applicable"
"""Metadata key of a score without values: says why the probe does not apply."""
_FILLER = (
    "This is the answer to what was asked. "
    "It is given here as it stands, and it is meant as it is written. "
    "The answer has been stated above, and this sentence does not change it. "
    "Nothing that follows is different from what was said before. "
)
_MIN_FILLER = 200
_TRIAL_STEP = 1_000_000
"""No run has so many trials, so no cache takes one of them for a repeated question."""
_TEXT_KEYS = {"content", "text"}
"""Keys under which a conversation has the text of a message."""
_NO_ANSWER = "the judge is shown no answer that could be changed"


class ProbeScorer:
    """A scorer that judges a changed case; its score may say that the change does not apply."""

    version = 1

    def __init__(self, name: str, judge: JudgeSpec, change: Change) -> None:
        self.name, self._judge, self._change = name, judge, change
        self.first_failure = ""
        """Why it gave no verdict, the first time that it gave none."""

    def describe_inputs(self, sample: Sample) -> str:
        """Return the probe's name; nothing is stored under this key."""
        del sample
        return self.name

    def reuse(self, score: Score) -> Score:
        """Return the score unchanged."""
        return score

    async def score(self, case: Case) -> Score:
        """Judge the changed case; return a score without values where the change does not apply."""
        try:
            judge, case = self._change(self._judge, case)
        except NotApplicable as error:
            return Score(values={}, metadata={NOT_APPLICABLE: str(error)})
        with self:
            return await judge.score(case)

    def __enter__(self) -> None:
        """Do nothing: `__exit__` records the failure."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception):
            self.first_failure = self.first_failure or str(error) or type(error).__name__


def build_probe(name: str, judge: JudgeSpec) -> ProbeScorer:
    """Build the probe of that name; `NotApplicable` if it applies to no sample of this judge."""
    if name == "swap":
        swapped_judge = _swap_judge_prompt(judge)
        return ProbeScorer(name, judge, lambda _, case: _swap_case(swapped_judge, case))
    change = {"pad": pad_answer, "fence": fence_answer}[name]
    return ProbeScorer(name, judge, lambda judge, case: _change_answer(judge, case, change))


def build_repeat(number: int, judge: JudgeSpec) -> ProbeScorer:
    """Build a scorer that asks the same once more; `number` tells one repeat from another."""

    def change(judge: JudgeSpec, case: Case) -> tuple[JudgeSpec, Case]:
        return judge, structs.replace(case, trial=case.trial + number * _TRIAL_STEP)

    return ProbeScorer(f"again {number}", judge, change)


def pad_answer(answer: str) -> str:
    """Append about as much text again that says nothing."""
    length = max(_MIN_FILLER, len(answer))
    filler = _FILLER * (length // len(_FILLER) + 1)
    end = filler.find(". ", length - 1)
    return f"{answer}\n\n{filler[: end + 1] if end >= 0 else filler.rstrip()}"


def fence_answer(answer: str) -> str:
    """Put the answer between marks that say it is data."""
    return f"{DATA_NOTE}\n{fence_text(answer, make_mark(answer))}"


def _swap_judge_prompt(judge: JudgeSpec) -> JudgeSpec:
    """Swap the prompt; return the judge itself if only the labels of its replies can be swapped."""
    try:
        prompt = Template(swap_prompt(judge.user_prompt.source))
    except NotApplicable:
        if judge.use_structured_outputs and _has_labels(judge):
            return judge
        raise
    return judge.model_copy(update={"user_prompt": prompt})


def _has_labels(judge: JudgeSpec) -> bool:
    properties = judge.reply_schema.properties.values()
    return any(len(schema.get("enum", ())) > 1 for schema in properties)


def _swap_case(judge: JudgeSpec, case: Case) -> tuple[JudgeSpec, Case]:
    models = dict(case.models)
    if judge.model_key in models and judge.use_structured_outputs:
        models[judge.model_key] = _ReversedLabels(models[judge.model_key])
    return judge, structs.replace(case, models=models)


def _change_answer(
    judge: JudgeSpec, case: Case, change: Callable[[str], str]
) -> tuple[JudgeSpec, Case]:
    try:
        answer = answer_text(case)
    except ValueError as error:  # no solver, or no chat
        raise NotApplicable(_NO_ANSWER) from error
    if not answer:
        raise NotApplicable(_NO_ANSWER)
    changed_case = case.with_trace(_replace_answer(case.trace, answer, change(answer)))
    if judge.prompts(changed_case) == judge.prompts(case):
        raise NotApplicable(_NO_ANSWER)
    return judge, changed_case


def _replace_answer(trace: Trace, old: str, new: str) -> Trace:
    """Replace the last answer wherever it is a whole text of the last message or output."""
    conversation = dict(trace.conversation)
    items = list(conversation.get("items") or ())
    for index in reversed(range(len(items))):
        if isinstance(items[index], Mapping) and items[index].get("role") == "assistant":
            items[index] = _replace_text(items[index], old, new)
            break
    outputs = list(conversation.get("raw_outputs") or ())
    if outputs:
        outputs[-1] = _replace_text(outputs[-1], old, new)
    conversation["items"], conversation["raw_outputs"] = items, outputs
    return structs.replace(trace, output=new, post_processed=new, conversation=conversation)


def _replace_text(value: Any, old: str, new: str, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _replace_text(child, old, new, name) for name, child in value.items()}
    if isinstance(value, list):
        return [_replace_text(child, old, new, key) for child in value]
    return new if key in _TEXT_KEYS and value == old else value


class _ReversedLabels:
    """A judge's model that gets the labels of the reply schema in reverse order."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.caveat, self.fingerprint = model.caveat, model.fingerprint

    async def complete(self, request: Request) -> Completion:
        """Ask with the labels reversed."""
        return await self._model.complete(
            structs.replace(request, input=_reverse_enums(request.input))
        )

    async def close(self) -> None:
        """Do nothing: the owner of the model closes it."""


def _reverse_enums(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _reverse_enums(child, name) for name, child in value.items()}
    if isinstance(value, list) and key == "enum":
        return value[::-1]
    return value
