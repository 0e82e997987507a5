"""`replay/FILE.jsonl`: answers from recorded outputs.

    {"id": "arith_001", "output": "41"}
    {"id": "arith_002", "output": "7", "logprobs": [-0.1, -0.2]}

    {"id": "row_7", "output": {"choices": [{"message": {"role": "assistant", "content": "7"}}]}}

Each line contains one answer. `output` is the text of the answer, or a whole output as JSON
(embeddings, tool calls, references or the result of a custom task). Lines with the same id are
trials of the same sample, in order. `logprobs` is optional: it contains one log-probability (a
natural logarithm) per token, from which the confidence of the answer is computed. If an id is not
in the file, the sample fails and does not count as a wrong answer.
"""

from hashlib import blake2b
from typing import Annotated, Any

import msgspec

from evalwright.clients.replies import parse_completion
from evalwright.errors import UsageError
from evalwright.lines import BadLine, read_lines
from evalwright.types import Completion, ModelOptions, Request, Usage


class RecordedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A line of the file."""

    id: str
    output: str | dict[str, Any] | list[Any]
    logprobs: tuple[Annotated[float, msgspec.Meta(le=0)], ...] | None = None


class Replay:
    """Returns recorded answers by sample id and trial."""

    caveat = "recorded outputs, replayed"

    def __init__(self, answers: dict[str, list[RecordedAnswer]], *, fingerprint: str = "") -> None:
        self._answers = answers
        self.fingerprint = fingerprint

    async def complete(self, request: Request) -> Completion:
        """Return the recorded answer for this sample and trial."""
        answers = self._answers.get(request.sample.id, [])
        if request.trial >= len(answers):
            which = f"{request.sample.id!r}, trial {request.trial + 1}"
            raise LookupError(f"no output is recorded for {which}")
        answer = answers[request.trial]
        if request.task != "chat_completion" or not isinstance(answer.output, str):
            completion = parse_completion(answer.output, request.task, takes_all=request.takes_all)
            return msgspec.structs.replace(completion, usage=Usage())
        tokens = len(answer.logprobs) if answer.logprobs else 0
        return Completion(
            text=answer.output,
            logprobs=answer.logprobs,
            usage=Usage(requests=0, completion_tokens=tokens),
        )

    async def close(self) -> None:
        """Do nothing."""


def connect(name: str, options: ModelOptions = ModelOptions()) -> Replay:  # noqa: ARG001
    """Read the file at the path `name`."""
    if not name:
        raise UsageError("`replay/` needs a file name", hint="write replay/outputs.jsonl")
    answers: dict[str, list[RecordedAnswer]] = {}
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
            raise UsageError(
                f"{name}:{number}: {error}",
                hint='expected a line such as {"id": "…", "output": "…"}',
            ) from error
        answers.setdefault(recorded.id, []).append(recorded)
        content.update(line + b"\n")
    return Replay(answers, fingerprint=content.hexdigest())
