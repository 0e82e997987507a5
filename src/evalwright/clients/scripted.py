"""`scripted/…`: answers written by a script. They are not models, and every report says so.

    scripted/oracle   the first target, in the shape the post-process rule expects
    scripted/noisy    mostly wrong, and sure of itself
    scripted/biased   good at arithmetic, poor at everything else
    scripted/echo     the prompt, word for word

Asked for embeddings, each gives a vector of hashed words: texts that share words are near each
other, and that is all it knows of meaning. Given an answer to weigh, each finds likely what it
would say itself. Asked anything custom, `echo` gives it back. The first three know the records of
contract A alone; `echo` answers any row.

They know the targets, so they show what a report looks like, never how good anything is. They
are deterministic: an answer depends on the script, the record and the trial alone. For a
code_exec record the right answer is the program in `metadata.solution`.
"""

import hashlib
import math
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from evalwright.clients.parameters import texts_to_embed
from evalwright.clients.replies import embedding_completion
from evalwright.errors import ModelError, UnknownName
from evalwright.nearest import nearest
from evalwright.types import Completion, ModelOptions, Request, TaskSpec, Usage
from evalwright.vocabulary import LETTERS

_DIMENSIONS = 64
_WORD = re.compile(r"\w+")


class Answer(NamedTuple):
    """What a script says, and how sure it claims to be."""

    text: str
    confidence: float


Script = Callable[[Request], Answer]


class Scripted:
    """Answer with `script(request)`; remember every request in `calls` if asked to."""

    fingerprint = "1"
    weighs = True

    def __init__(self, name: str, script: Script, *, remember: bool = False) -> None:
        self._name = name
        self._script = script
        what = "repeats the question" if name == "echo" else "knows the targets"
        self.caveat = f"answers by a script that {what}, not by a model"
        self._remember = remember
        self.calls: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        """Answer, with token counts and log-probabilities as a real model would give them."""
        if self._remember:
            self.calls.append(request)
        if request.task == "embeddings":
            return _embedded(request)
        if request.task == "custom":
            return self._echoed(request)
        if request.given:
            return self._weighed(request)
        answer = self._script(request)
        asked = sum(len(message.content.split()) for message in request.messages)
        tokens = max(1, len(answer.text.split()))
        return Completion(
            text=answer.text,
            usage=Usage(requests=1, prompt_tokens=asked, completion_tokens=tokens, cost=0.0),
            logprobs=(math.log(answer.confidence),) * tokens,
        )

    async def close(self) -> None:
        """Nothing to let go of."""

    def _echoed(self, request: Request) -> Completion:
        if self._script is not echo:
            raise ModelError(
                "unsupported", f"scripted/{self._name} has no `custom`: it is for chat"
            )
        text = msgspec.json.encode(request.input).decode()
        return Completion(text=text, output=request.input, usage=Usage(requests=1, cost=0.0))

    def _weighed(self, request: Request) -> Completion:
        """A given answer is likely where the script itself would say it, alone or as a word."""
        asks = bool(request.messages)  # else a text is given, and nothing is asked
        own = self._script(request) if asks else Answer("", 0.5)
        words = {own.text.strip(), *_WORD.findall(own.text)}

        def of(text: str) -> tuple[float, ...]:
            chance = own.confidence if text.strip() in words else (1 - own.confidence) / 4
            return (math.log(chance),) * max(1, len(text.split()))

        asked = sum(len(message.content.split()) for message in request.messages)
        weighed = tuple(map(of, request.given))
        usage = Usage(requests=1, prompt_tokens=asked + sum(map(len, weighed)), cost=0.0)
        return Completion(text="", usage=usage, given=weighed)


def oracle(request: Request) -> Answer:
    """Right, and nearly sure."""
    randomness = _randomness("oracle", request)
    return Answer(_right(_record(request)), 0.95 + 0.04 * randomness.random())


def noisy(request: Request) -> Answer:
    """Right one time in ten, and sure either way."""
    randomness = _randomness("noisy", request)
    return _sometimes(_record(request), randomness, chance=0.1, confidence=0.9)


def biased(request: Request) -> Answer:
    """Nearly always right in arithmetic, seldom elsewhere."""
    task, randomness = _record(request), _randomness("biased", request)
    if task.category == "arithmetic":
        return _sometimes(task, randomness, chance=0.95, confidence=0.85)
    return _sometimes(task, randomness, chance=0.35, confidence=0.6)


def echo(request: Request) -> Answer:
    """The last message, word for word."""
    return Answer(request.messages[-1].content, 0.5)


def _randomness(script: str, request: Request) -> random.Random:
    """Random numbers of one script for one trial of one sample, the same in every run."""
    name = f"{script}\0{request.sample.id}\0{request.trial}"
    return random.Random(hashlib.sha256(name.encode(errors="surrogatepass")).digest())  # noqa: S311 - reproducible, not secret


SCRIPTS: dict[str, Script] = {"biased": biased, "echo": echo, "noisy": noisy, "oracle": oracle}


def connect(name: str, options: ModelOptions = ModelOptions()) -> Scripted:  # noqa: ARG001
    """The script of that name; it takes no parameters."""
    if name not in SCRIPTS:
        known = ", ".join(f"`scripted/{known}`" for known in SCRIPTS)
        suggestion = nearest(name, tuple(SCRIPTS))
        raise UnknownName(
            f"`scripted/{name}` is not a script; there are {known}",
            hint=f"did you mean `scripted/{suggestion}`?" if suggestion else "",
        )
    return Scripted(name, SCRIPTS[name])


def _embedded(request: Request) -> Completion:
    texts, _ = texts_to_embed(request)
    tokens = sum(len(text.split()) for text in texts)
    usage = Usage(requests=1, prompt_tokens=tokens, cost=0.0)
    return embedding_completion([_vector(text) for text in texts], usage)


def _vector(text: str) -> list[float]:
    """How often words of each of so many sorts are in it, scaled to length 1."""
    found = [0.0] * _DIMENSIONS
    for word in text.lower().split() or [""]:
        digest = hashlib.sha256(word.encode(errors="surrogatepass")).digest()
        found[digest[0] % _DIMENSIONS] += 1.0
    length = math.sqrt(sum(value * value for value in found))
    return [value / length for value in found]


def _sometimes(
    task: TaskSpec, randomness: random.Random, *, chance: float, confidence: float
) -> Answer:
    right = randomness.random() < chance
    said = min(0.99, confidence + 0.1 * (randomness.random() - 0.5))
    return Answer(_right(task) if right else _wrong(task, randomness), said)


def _record(request: Request) -> TaskSpec:
    found: Any = request.sample.data
    if not isinstance(found, TaskSpec):
        raise TypeError("this script knows the targets of records alone: scripted/echo takes any")
    return found


def _right(task: TaskSpec) -> str:
    if task.category == "code_exec":
        program = task.metadata.get("solution")
        if not isinstance(program, str):
            raise LookupError("this record has no program in `metadata.solution` to answer with")
        return (
            f"```python\n{program}\n```" if task.post_process == "extract_code_block" else program
        )
    if task.post_process == "extract_letter":
        return f"The answer is {task.targets[0]}."
    if task.post_process == "extract_first_line":
        return f"{task.targets[0]}\nThat is my answer."
    if task.post_process == "strip_whitespace":
        return f" {task.targets[0]}\n"
    return task.targets[0]


def _wrong(task: TaskSpec, randomness: random.Random) -> str:
    target = task.targets[0]
    if task.category == "mcq":
        return randomness.choice([letter for letter in LETTERS if letter != target])
    if task.category == "code_exec":
        return "```python\ndef solve():\n    return None\n```"
    if task.category == "arithmetic":
        return str(randomness.randint(1000, 9999))
    words = target.split()
    kept = words[: randomness.randint(0, len(words) // 2)]
    return " ".join([*kept, "unsure"])
