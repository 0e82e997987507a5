"""What a judge said, read: tolerant of form, strict about the verdict.

Where a verdict is looked for, in this order:

    {"prediction": "correct", …}     JSON objects, in fences or in prose (`embedded`)
    correct                          the whole reply, but for what says nothing (`plain`)
    Verdict: correct                 the first or the last statement (`sentences`): bare, announced,
    It is correct.                   or said of the answer (`leads`), with a reason or without
    Correct, because …

What is never a verdict:

    not correct, partly correct      a label is a whole word, alone, and not negated
    correct … incorrect              two different verdicts, in JSON or in words (`mentions`)
    correct … Wait, …                one that is taken back
    correct … Wrong!                 one that is denied in other words (`denials`)
    {"prediction": "corr             half an object, or one that is no JSON
    He wrote: {"prediction": …}      another's words, or what stands word for word in what the
                                     judge was shown, with words beside it: it may be a quotation

What is announced as the verdict at the end of a reply counts whatever the prose before it weighs
up, since that is how a judge reasons aloud. A reply without a verdict is `NoVerdict`, with the
judge's words in it: a failure, never a score.
"""

import re
from collections.abc import Sequence

from evalwright.scorers.judging.embedded import (
    Embedded,
    given_by,
    objects_in,
    verdict_of_objects,
)
from evalwright.scorers.judging.leads import led
from evalwright.scorers.judging.plain import ended, readings, straight, unfenced, unmarked
from evalwright.scorers.judging.readers import Reader, Unclear, Value, Verdict, attempt, spelt
from evalwright.scorers.judging.said import verdict_of_statements

_MOST_CHARACTERS = 200_000
_MOST_QUOTED = 500
_THINKING = re.compile(r"\s*<(think|thinking|thought|reasoning)>")
_END_OF_THOUGHT = re.compile(r"\n\s*</think>|</think>\s*\n")


class NoVerdict(ValueError):
    """A reply that is no verdict; the text says why, and what the judge said."""

    def __init__(self, why: str, reply: str, *, hint: str = "") -> None:
        said = reply.strip()
        if len(said) > _MOST_QUOTED:
            said = f"{said[:_MOST_QUOTED]}…"
        quoted = f"; it said: {said}" if said else ""
        super().__init__(f"the judge gave no verdict: {why}{quoted}")
        self.hint = hint


def verdict_in(reply: str, reader: Reader[Value], *, shown: Sequence[str] = ()) -> Verdict[Value]:
    """The one verdict of a reply, or `NoVerdict`.

    `shown` is what the judge was given to judge. What stands there word for word may be a
    quotation, if there are words beside it.
    """
    said = spoken(reply, shown)
    objects: list[Embedded] = []
    judging: list[Embedded] = []
    try:
        objects = attempt(lambda text: [*objects_in(text)], said)
        judging = [one for one in objects if given_by(one.value, reader)]
        if judging:
            return verdict_of_objects(said, judging, reader, shown)
        plain = unmarked(said).strip()
        if (whole := _whole(plain, reader)) is not None:
            _check_signs(plain, whole, reader)
            return Verdict(whole, {}, closed=False, alone=True)
        return verdict_of_statements(straight(plain), reader, shown)
    except Unclear as error:
        why = str(error)
        if objects and not judging:
            why = f"its JSON has no `{reader.keys[0]}`"
        raise NoVerdict(why, reply) from None


def spoken(reply: str, shown: Sequence[str] = ()) -> str:
    """What was said aloud, without what a model thinks first."""
    said = ended(_thought_out(reply, shown)).strip()
    if not unmarked(said).strip():
        raise NoVerdict("its reply is empty", reply)
    if len(said) > _MOST_CHARACTERS:
        raise NoVerdict(f"its reply has more than {_MOST_CHARACTERS:,} characters", reply)
    return said


def _thought_out(reply: str, shown: Sequence[str]) -> str:
    """What stands behind a model's thoughts; some servers send only the end of them.

    An answer may have such an end in it, too: where the judge could be quoting it, it is none.
    """
    if begun := _THINKING.match(reply):
        _, over, said = reply.rpartition(f"</{begun[1]}>")
        if not over:
            raise NoVerdict("it never stopped thinking", reply)
        return said
    ends = [found.end() for found in _END_OF_THOUGHT.finditer(reply)]
    quoting = any("</think>" in text for text in shown)
    return reply[ends[-1] :] if ends and not quoting else reply


def _check_signs(said: str, verdict: Value, reader: Reader[Value]) -> None:
    """`Unclear` where a sign beside a verdict denies it: `Correct ❌`."""
    signs = [char for char in said if not char.isalnum()]
    if denial := reader.denied(signs, verdict):
        raise Unclear(f"it says {spelt(verdict)}, and beside it {denial}")


def _whole(said: str, reader: Reader[Value]) -> Value | None:
    """The verdict that the reply is, with nothing beside it."""
    plain = unfenced(said).strip()
    for text in dict.fromkeys((said, *readings(plain))):
        if (found := attempt(reader.bare, text)) is not None:
            return found
    announced = led(straight(plain)) if plain[:1] == "<" or "\n" not in plain else None
    if announced is None or announced.kind not in reader.announced_by:
        return None
    for text in readings(announced.given):
        if (found := attempt(reader.bare, text)) is not None:
            return found
    return None
