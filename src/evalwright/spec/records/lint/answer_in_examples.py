"""`answer_in_examples`: a few-shot example asks the record's own question.

Why:    the model is shown the answer and copies it.
Wrong:  for an example that is nearly the question and means another thing.

Said when an example's prompt is the record's prompt, case, whitespace and punctuation aside; or
when its completion is a target and its prompt stands inside the record's, or at most one word in
twenty differs (words that all examples have do not count). That a completion is a target says
nothing alone: there are only so many letters and labels.
"""

from functools import lru_cache

from evalwright.spec.records.lint.findings import Record, normal
from evalwright.spec.records.lint.words import Words, words
from evalwright.types import Example

NAME = "answer_in_examples"
_ONE_IN = 20
_FEWEST_WORDS_INSIDE = 3
_LONGEST_REMEMBERED = 10_000
_EDGES = " .()[]*"


def judge(record: Record) -> str | None:
    """Return which example gives the answer away."""
    task = record.task
    if not task.few_shot_examples:
        return None
    targets = {normal(target).strip(_EDGES) for target in task.targets}
    for number, example in enumerate(task.few_shot_examples):
        right = normal(example.completion).strip(_EDGES) in targets
        asked = _words(example.prompt)
        if (asked == record.words and asked.all) or (right and _asks(asked, record)):
            shows = "shows its answer" if right else "shows another answer"
            asks = f"`few_shot_examples[{number}]` asks the record's own question"
            return f"{asks} and {shows}; replace it"
    return None


def _asks(asked: Words, record: Record) -> bool:
    """Whether an example with the right completion asks the question, inside or nearly."""
    here = record.words
    if len(asked.all) >= _FEWEST_WORDS_INSIDE and _inside(asked.all, here.all):
        return True
    if asked.exact != here.exact:
        return False
    template = _in_all(record.task.few_shot_examples)
    one = [word for word in asked.all if word not in template]
    other = [word for word in here.all if word not in template]
    most = max(len(one), len(other)) // _ONE_IN
    return bool(most) and _distance(one, other, most) <= most


def _inside(some: list[bytes], all_: list[bytes]) -> bool:
    return b" %b " % b" ".join(some) in b" %b " % b" ".join(all_)


def _in_all(examples: tuple[Example, ...]) -> set[bytes]:
    """Return the words that every example has; of one example alone nothing is a template."""
    if len(examples) == 1:
        return set()
    return set.intersection(*(set(_words(example.prompt).all) for example in examples))


def _distance(one: list[bytes], other: list[bytes], most: int) -> int:
    from rapidfuzz.distance.LCSseq import distance

    return distance(
        [word.decode() for word in one], [word.decode() for word in other], score_cutoff=most
    )


def _words(prompt: str) -> Words:
    return _remembered(prompt) if len(prompt) <= _LONGEST_REMEMBERED else words(prompt)


@lru_cache(maxsize=256)  # a file's records mostly share their examples
def _remembered(prompt: str) -> Words:
    return words(prompt)
