"""`replay/FILE.jsonl`: answers from recorded outputs.

    {"id": "arith_001", "output": "41"}
    {"id": "arith_002", "output": "7", "logprobs": [-0.1, -0.2]}

    {"id": "row_7", "output": {"choices": [{"message": {"role": "assistant", "content": "7"}}]}}

    {"id": 7, "judged": {"model": "openai/gpt-4.1"}, "output": "correct"}

Each line contains one answer. `id` is the id of the sample, a string or an integer. `output` is the
text of the answer, or a whole output as JSON (embeddings, tool calls, references or the result of a
custom task). Lines with the same id are trials of the same sample, in order. `logprobs` is
optional: it contains one log-probability (a natural logarithm) per token, from which the confidence
of the answer is computed. Other keys are ignored. If an id is not in the file, or its `output` is
null, the sample fails and does not count as a wrong answer.

In a recording of a judge, `judged` says which answer the output is about. All of its keys are
optional: `model`, `task` and `scorer` are names in the report, `answer` is the text of the answer,
`shown_first` is `answer` or `opponent`, and `prompt` is the last message to the judge. A line is
used if all of its keys match. If several lines match, the one with the most keys is used. A run
stops before the first request if one line would be used for the answers of two models, tasks or
scorers.
"""

from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

import msgspec

from evalwright.clients.replies import parse_completion
from evalwright.errors import Unreadable, UsageError
from evalwright.lines import BadLine, read_lines, show_path
from evalwright.types import Completion, JudgedAnswer, ModelOptions, Request, Usage

_ANY = JudgedAnswer()
_HINT = 'expected a line such as {"id": "…", "output": "…"}'


class RecordedAnswer(msgspec.Struct, frozen=True, gc=False):
    """A line of the file."""

    id: str | int
    output: str | dict[str, Any] | list[Any] | None
    logprobs: tuple[Annotated[float, msgspec.Meta(le=0)], ...] | None = None
    judged: JudgedAnswer = _ANY


class RecordedTrials(msgspec.Struct, frozen=True):
    """The answers of a file to one question about one sample, trial by trial."""

    judged: JudgedAnswer
    line: int
    """The line of the first answer, from 1."""
    answers: list[RecordedAnswer]

    def answers_question(self, asked: JudgedAnswer) -> bool:
        """Whether everything that the file says about the question holds."""
        return all(
            recorded in {None, getattr(asked, name)} for name, recorded in _items(self.judged)
        )

    @property
    def precision(self) -> int:
        """The number of keys that must match."""
        return sum(recorded is not None for _, recorded in _items(self.judged))


class Replay:
    """Returns recorded answers by sample id, by what is judged, and by trial."""

    caveat = "recorded outputs, replayed"

    def __init__(
        self, answers: dict[str, list[RecordedTrials]], *, name: str = "", fingerprint: str = ""
    ) -> None:
        self._answers = answers
        self._name = name
        self.fingerprint = fingerprint

    async def complete(self, request: Request) -> Completion:
        """Return the recorded answer for this sample and trial."""
        recorded = self._find(request.sample.id, request.judged or _ANY)
        which = f"{request.sample.id!r}, trial {request.trial + 1}"
        if recorded is None or request.trial >= len(recorded.answers):
            raise LookupError(f"no output is recorded for {which}{_describe(request.judged)}")
        answer = recorded.answers[request.trial]
        if answer.output is None:
            raise LookupError(f"the output recorded for {which} is null")
        if request.task != "chat_completion" or not isinstance(answer.output, str):
            completion = parse_completion(answer.output, request.task, takes_all=request.takes_all)
            return msgspec.structs.replace(completion, usage=Usage())
        tokens = len(answer.logprobs) if answer.logprobs else 0
        return Completion(
            text=answer.output,
            logprobs=answer.logprobs,
            usage=Usage(requests=0, completion_tokens=tokens),
        )

    def refuse_shared_answers(
        self, questions: Sequence[tuple[JudgedAnswer | None, Collection[str] | None]]
    ) -> None:
        """Raise `UsageError` if one answer would be used for two questions about a sample.

        Each question comes with the ids of its samples, or None if they are not known yet. A
        question of None is that for the answer itself.
        """
        for id_, several in self._answers.items():
            users: dict[int, JudgedAnswer | None] = {}
            asked = (question for question, ids in questions if ids is None or id_ in ids)
            for question in asked:
                for trials in _find_candidates(several, question):
                    other = users.setdefault(trials.line, question)
                    if not _is_same_use(trials.judged, question, other):
                        raise UsageError(
                            f"{self._name}:{trials.line}: this output for the sample `{id_}` would "
                            f"be used twice, {_name_use(other)} and {_name_use(question)}",
                            hint="say in each line which answer it judges: "
                            f"{_show_example(id_, question, other)}",
                        )

    def _find(self, id_: str, asked: JudgedAnswer) -> RecordedTrials | None:
        matches = [each for each in self._answers.get(id_, ()) if each.answers_question(asked)]
        return max(matches, key=lambda each: each.precision, default=None)

    async def close(self) -> None:
        """Do nothing."""


def connect(name: str, options: ModelOptions = ModelOptions()) -> Replay:  # noqa: ARG001
    """Read the file at the path `name`."""
    if not name:
        raise UsageError("`replay/` needs a file name", hint="write replay/outputs.jsonl")
    inside = f"replay/{name}"
    if not Path(name).exists() and Path(inside).is_file():
        raise Unreadable(f"{show_path(name)}: no such file", hint=f"write replay/{inside}")
    answers: dict[str, dict[JudgedAnswer, RecordedTrials]] = {}
    decoder = msgspec.json.Decoder(RecordedAnswer)
    content = blake2b(digest_size=16)
    for number, line in enumerate(read_lines(name), start=1):
        if isinstance(line, BadLine):
            raise UsageError(f"{name}:{number}: not a line of JSON ({line.why.replace('_', ' ')})")
        if not line.strip():
            continue
        try:
            recorded = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{name}:{number}: {error}", hint=_HINT) from error
        trials = answers.setdefault(str(recorded.id), {}).setdefault(
            recorded.judged, RecordedTrials(recorded.judged, number, [])
        )
        trials.answers.append(recorded)
        content.update(line + b"\n")
    grouped = {id_: [*several.values()] for id_, several in answers.items()}
    return Replay(grouped, name=name, fingerprint=content.hexdigest())


def _items(judged: JudgedAnswer) -> Iterator[tuple[str, str | None]]:
    return ((name, getattr(judged, name)) for name in JudgedAnswer.__struct_fields__)


def _find_candidates(
    several: Sequence[RecordedTrials], question: JudgedAnswer | None
) -> Iterator[RecordedTrials]:
    """Yield the answers that may be used for a question whose texts are not known yet."""
    asked = question or _ANY
    matches = [
        trials
        for trials in several
        if all(
            recorded is None or (question and known in {None, recorded})
            for (_, recorded), (_, known) in zip(_items(trials.judged), _items(asked), strict=True)
        )
    ]
    # A line that matches for certain hides lines with fewer keys.
    certain = [
        trials.precision
        for trials in matches
        if all(
            recorded is None or known is not None
            for (_, recorded), (_, known) in zip(_items(trials.judged), _items(asked), strict=True)
        )
    ]
    least = max(certain, default=0)
    return (trials for trials in matches if trials.precision >= least)


def _is_same_use(
    recorded: JudgedAnswer, question: JudgedAnswer | None, other: JudgedAnswer | None
) -> bool:
    """Whether two questions may share an answer: those about one prompt, or one answer, may."""
    if question is None or other is None:
        return question is other
    if recorded.prompt is not None:
        return True
    if recorded.answer is not None:  # whichever model gave it
        question, other = (msgspec.structs.replace(each, model=None) for each in (question, other))
    return question == other


def _name_use(question: JudgedAnswer | None) -> str:
    if question is None:
        return "as an answer"
    order = f" with the {question.shown_first} first" if question.shown_first else ""
    of = f" on the answer of `{question.model}`" if question.model else ""
    return f"as the verdict of `{question.scorer}` in `{question.task}`{of}{order}"


def _describe(judged: JudgedAnswer | None) -> str:
    return f", judged by `{judged.scorer}` in `{judged.task}`" if judged else ""


def _show_example(id_: str, question: JudgedAnswer | None, other: JudgedAnswer | None) -> str:
    """Return a line with the keys that tell two questions apart."""
    judged = question or other or _ANY
    apart = {
        name: value
        for name, value in _items(judged)
        if value is not None and (other is None or value != getattr(other, name))
    }
    if question is None or other is None:
        apart = {"scorer": judged.scorer or ""}
    line = {"id": id_, "judged": apart, "output": "…"}
    return msgspec.json.encode(line).decode()
