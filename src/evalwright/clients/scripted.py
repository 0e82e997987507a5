"""`scripted/…`: answers from a script. Scripts are not models, and every report notes this.

    scripted/oracle   the first target, in the shape the post-process rule expects
    scripted/noisy    mostly wrong, but confident
    scripted/biased   good at arithmetic, poor at everything else
    scripted/echo     the prompt, unchanged

Embeddings are vectors of hashed words, so strings that share words are similar. The likelihood of
an answer is high if it is the answer that the script would give. For a custom request, `echo`
returns the input. `oracle`, `noisy` and `biased` answer task records only; `echo` answers any
sample.

Scripts have access to the targets. Use them to see what a report looks like, not to measure
quality. They are deterministic: an answer depends only on the script, the sample and the trial. For
a `code_exec` record, the correct answer is the program in `metadata.solution`.
"""

import hashlib
import math
import random
import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from evalwright.clients.parameters import parse_embedding_input
from evalwright.clients.replies import embedding_completion, make_usage
from evalwright.errors import ModelError, UnknownName
from evalwright.nearest import nearest
from evalwright.types import Completion, ModelOptions, Request, TaskSpec
from evalwright.vocabulary import LETTERS

_DIMENSIONS = 64
_WORD = re.compile(r"\w+")
_AROUND_TARGET: dict[str | None, tuple[str, str]] = {
    "extract_letter": ("The answer is ", "."),
    "extract_first_line": ("", "\nThat is my answer."),
    "strip_whitespace": (" ", "\n"),
}
"""Text around an answer that the post-process rule must remove."""


class Answer(NamedTuple):
    """The answer and the confidence of a script."""

    text: str
    confidence: float


Script = Callable[[Request], Answer]


class Scripted:
    """Answers with `script(request)`; with `remember`, all requests are kept in `calls`."""

    fingerprint = "1"
    weighs = True

    def __init__(self, name: str, script: Script, *, remember: bool = False) -> None:
        self._name = name
        self._script = script
        what = "repeats the question" if name == "echo" else "knows the targets"
        self.caveat = f"the answers come from a script that {what}, not from a model"
        self._remember = remember
        self.calls: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        """Return an answer with token counts and log-probabilities, like a real model."""
        if self._remember:
            self.calls.append(request)
        if request.task == "embeddings":
            return _embed(request)
        if request.task == "custom":
            return self._return_input(request)
        if request.given:
            return self._weigh(request)
        answer = self._script(request)
        tokens = max(1, len(answer.text.split()))
        return Completion(
            text=answer.text,
            usage=make_usage(_count_words(request), tokens, cost=0.0),
            logprobs=(math.log(answer.confidence),) * tokens,
        )

    async def close(self) -> None:
        """Do nothing."""

    def _return_input(self, request: Request) -> Completion:
        if self._script is not _echo:
            raise ModelError(
                "unsupported", f"scripted/{self._name} does not support `custom`, only chat"
            )
        text = msgspec.json.encode(request.input).decode()
        return Completion(text=text, output=request.input, usage=make_usage(0, 0, cost=0.0))

    def _weigh(self, request: Request) -> Completion:
        """Return a high likelihood for answers that the script's own answer equals or contains."""
        is_chat = bool(request.messages)  # without messages, a text is scored
        own = self._script(request) if is_chat else Answer("", 0.5)
        words = {own.text.strip(), *_WORD.findall(own.text)}

        def weigh(text: str) -> tuple[float, ...]:
            chance = own.confidence if text.strip() in words else (1 - own.confidence) / 4
            return (math.log(chance),) * max(1, len(text.split()))

        weights = tuple(map(weigh, request.given))
        usage = make_usage(_count_words(request) + sum(map(len, weights)), 0, cost=0.0)
        return Completion(text="", usage=usage, given=weights)


def _answer_as_oracle(request: Request) -> Answer:
    randomness = _randomness("oracle", request)
    return Answer(_right_answer(_read_task(request)), 0.95 + 0.04 * randomness.random())


def _answer_noisily(request: Request) -> Answer:
    return _answer_by_chance("noisy", request, chance=0.1, confidence=0.9)


def _answer_with_bias(request: Request) -> Answer:
    if _read_task(request).category == "arithmetic":
        return _answer_by_chance("biased", request, chance=0.95, confidence=0.85)
    return _answer_by_chance("biased", request, chance=0.35, confidence=0.6)


def _echo(request: Request) -> Answer:
    return Answer(request.messages[-1].content, 0.5)


def _randomness(script: str, request: Request) -> random.Random:
    """Return reproducible random numbers for one trial of a sample."""
    name = f"{script}\0{request.sample.id}\0{request.trial}"
    return random.Random(hashlib.sha256(name.encode(errors="surrogatepass")).digest())  # noqa: S311 - reproducible, not secret


SCRIPTS: dict[str, Script] = {
    "biased": _answer_with_bias,
    "echo": _echo,
    "noisy": _answer_noisily,
    "oracle": _answer_as_oracle,
}


def connect(name: str, options: ModelOptions = ModelOptions()) -> Scripted:  # noqa: ARG001
    """Return the script with this name. Scripts have no parameters."""
    if name not in SCRIPTS:
        known = ", ".join(f"`scripted/{known}`" for known in SCRIPTS)
        suggestion = nearest(name, tuple(SCRIPTS))
        raise UnknownName(
            f"`scripted/{name}` is not a script; the scripts are {known}",
            hint=f"did you mean `scripted/{suggestion}`?" if suggestion else "",
        )
    return Scripted(name, SCRIPTS[name])


def _count_words(request: Request) -> int:
    return sum(len(message.content.split()) for message in request.messages)


def _embed(request: Request) -> Completion:
    texts, _ = parse_embedding_input(request)
    usage = make_usage(sum(len(text.split()) for text in texts), 0, cost=0.0)
    return embedding_completion([_vector(text) for text in texts], usage)


def _vector(text: str) -> list[float]:
    counts = [0.0] * _DIMENSIONS
    for word in text.lower().split() or [""]:
        digest = hashlib.sha256(word.encode(errors="surrogatepass")).digest()
        counts[digest[0] % _DIMENSIONS] += 1.0
    length = math.sqrt(sum(count * count for count in counts))
    return [count / length for count in counts]


def _answer_by_chance(script: str, request: Request, *, chance: float, confidence: float) -> Answer:
    task, randomness = _read_task(request), _randomness(script, request)
    is_right = randomness.random() < chance
    confidence = min(0.99, confidence + 0.1 * (randomness.random() - 0.5))
    return Answer(_right_answer(task) if is_right else _wrong_answer(task, randomness), confidence)


def _read_task(request: Request) -> TaskSpec:
    task = request.sample.data
    if not isinstance(task, TaskSpec):
        raise TypeError("this script answers only task records: use scripted/echo for other rows")
    return task


def _right_answer(task: TaskSpec) -> str:
    if task.category == "code_exec":
        program = task.metadata.get("solution")
        if not isinstance(program, str):
            raise LookupError(
                "this record has no program in `metadata.solution`, which the script needs"
            )
        return (
            f"```python\n{program}\n```" if task.post_process == "extract_code_block" else program
        )
    start, end = _AROUND_TARGET.get(task.post_process, ("", ""))
    return f"{start}{task.targets[0]}{end}"


def _wrong_answer(task: TaskSpec, randomness: random.Random) -> str:
    target = task.targets[0]
    if task.category == "mcq":
        return randomness.choice([letter for letter in LETTERS if letter != target])
    if task.category == "code_exec":
        return "```python\ndef solve():\n    return None\n```"
    if task.category == "arithmetic":
        return str(randomness.randint(1000, 9999))
    words = target.split()
    start = words[: randomness.randint(0, len(words) // 2)]
    return " ".join([*start, "unsure"])
