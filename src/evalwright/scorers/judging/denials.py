"""Where the words beside a verdict deny it without naming another label.

    correct             a word alone that is the other verdict in other words (`wrong`, `false`,
    Wrong!              `not`), or neither (`partly`)
    pass                an inflection of another label, or the opposite of this one (`irrelevant`)
    failed
    Correct. This does not match the ground truth.    a sentence, of a label that means right

`Incorrect. This does not match the ground truth.` is no denial, and neither is a sentence about
the form: `Correct. It does not match word for word.` Of a label that means neither right nor
wrong, as those of a labeler, no sentence is one.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from evalwright.scorers.judging.leads import Kind, led
from evalwright.scorers.judging.plain import readings


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_RIGHT = _words(
    "right true correct correctly accurate valid pass passed passes passing match matches matched "
    "matching equivalent identical yes yep agree agreed agrees ✅ ✓ ✔ ☑ 👍 "
    "richtig korrekt stimmt wahr ja vrai correcte oui correcto verdadero sí "
    "صحيح صحيحة صواب نعم 正确 对 是 一致 匹配"
)
_WRONG = _words(
    "wrong wrongly false falsely incorrect incorrectly inaccurate invalid untrue mistaken not no "
    "nope nah never fail failed fails failing failure mismatch mismatched mismatches mismatching "
    "different differs differ disagree disagreed disagrees rejected ❌ ✗ ✘ ❎ ✖ 👎 "
    "falsch inkorrekt nicht nein unwahr faux incorrecte non incorrecto falso "
    "خطأ خاطئ خاطئة لا كلا ليس 错误 错 不 不对 不是 不正确 不一致 不匹配"
) | {"no match", "not a match", "not at all", "not so", "not really", "غير صحيح", "غير صحيحة"}
_NEITHER = _words(
    "partly partially partial mostly half almost nearly mixed maybe perhaps possibly unsure "
    "uncertain undecided teilweise vielleicht جزئيا جزئيًا ربما 部分正确 不确定 也许"
)
_PARTLY = re.compile(r"(?:partly|partially|mostly|half|almost|nearly|somewhat|teilweise)\s+\S+")
_ENDINGS = re.compile(r"(?:ingly|edly|ures?|ing|ed|es|ly|s|e)$")
_SHORTEST_STEM = 4
_LONGEST = 80
"""Of a line that may be a word alone, in characters."""
_OPPOSITE = r"(?:in|un|im|ir|il|dis|mis|non|non-|not-|anti-)"
_WELL = re.compile(
    r"^(?:(?:well|hmm?|oh|so|okay|ok|no,|sorry|i mean|or rather|rather|clearly|obviously|simply|"
    r"just|totally|completely|entirely|very|definitely)[,.…—-]*\s+){1,3}"
)
_ANSWERS = frozenset({"true", "false", "yes", "no"})
"""What an answer that is judged may be: `Answer: false` is no verdict."""
_OFF = " \t.,;:!?…。()[]\ufe0f"
_ASKED = frozenset({"yes", "ja", "oui", "sí", "نعم", "是"})
"""Labels that answer a question, which may also be whether two things differ."""

_ONE = (
    r"(?:(?:the|this|that|its|their)\s+)?"
    r"(?:(?:candidate|model|given|student|predicted|provided|submitted|proposed|assistant|final|"
    r"generated)(?:'s)?\s+){0,2}"
    r"(?:answer|response|output|reply|solution|prediction|candidate|model|student|it|this|that|"
    r"which)\s+"
)
_TWO = r"(?:they|these|those|both|(?:the\s+|these\s+)?(?:two|answers)(?:\s+answers)?)\s+"
_BEGIN = (
    r"(?:^|[.,;:!?…—–]\s*|\b(?:and|so|because|since|as|thus|therefore|hence)\s+)[\s*_\"'(>-]*"
    r"(?:(?:so|and|also|thus|therefore|hence|clearly|unfortunately|sadly|in fact),?\s+){0,2}"
)
_AT_ALL = r"(?:\w+ly\s+|at all\s+|quite\s+)?"
_SAME = r"(?:match|same|equal|equivalent|identical|consistent|what)\b"
_MATCH = r"(?:match|agree|correspond|coincide|fit|equal|align)\b"
_WORSE = r"(?:wrong|false|incorrect|inaccurate|mistaken|untrue|invalid)\b(?!\s+to\b)"
_BETTER = r"(?:right|correct|true|accurate|valid)\b"
_DOES_NOT = (
    rf"(?:(?:does|did)(?:\s+not|n't)\s+{_AT_ALL}{_MATCH}|fail(?:s|ed)\s+to\s+{_MATCH}|"
    r"contradict(?:s|ed)\b|mismatche[sd]\b|"
    r"(?:differ(?:s|ed)\s+from|conflict(?:s|ed)\s+with|disagree[sd]\s+with)\b)"
)
_IS_NOT = (
    rf"(?:(?:is|was)|'s)\s*(?:(?:\s*not|n't)\s+{_AT_ALL}(?:an?\s+|the\s+)?(?:{_SAME}|{_BETTER})|"
    rf"\s+{_AT_ALL}(?:a\s+mismatch\b|different\s+from\b|{_WORSE}))"
)
_DO_NOT = (
    rf"(?:(?:do|did)(?:\s+not|n't)\s+{_AT_ALL}{_MATCH}|differ\b|disagree\b|contradict\b|"
    rf"are(?:\s+not|n't)\s+{_AT_ALL}(?:the\s+|an?\s+)?{_SAME}|are\s+{_AT_ALL}different\b)"
)
_OF_ONE = re.compile(rf"{_BEGIN}(?:{_ONE}(?:{_DOES_NOT}|{_IS_NOT})|it{_IS_NOT}|that{_IS_NOT})")
_OF_NONE = re.compile(rf"^[\s*_\"'(>-]*(?:{_DOES_NOT}|not\s+a\s+match\b|no\s+match\b)")
_OF_TWO = re.compile(rf"{_BEGIN}{_TWO}{_DO_NOT}")
_ELSEWHERE = re.compile(
    r"\bstimm(?:t|en)\s+nicht\b|\bلا\s+[يت]ت?طابق(?:ان)?\b|\bغير\s+مطابقة?\b|不匹配|不一致|不相符|不符合"  # noqa: RUF001 - as it is written
)
_OF_FORM = re.compile(
    r"\b(?:word for word|word-for-word|verbatim|literally|letter for letter|wording|phrasing|"
    r"spelling|spelled|spelt|format(?:ting)?|punctuation|capitali[sz]ation|case)\b|"
    r"\bexactly,?\s+(?:but|yet|though|although)\b"
)


class Denials:
    """Finds what denies a label; `labels` and `right`, those that mean so, as they are compared."""

    def __init__(self, labels: Collection[str], right: Collection[str]) -> None:
        self._labels, self._right = frozenset(labels), frozenset(right)

    def against(self, lines: Sequence[str], verdict: str) -> str:
        """A word or a sentence that denies the verdict; else empty."""
        for line in lines:
            for text in _alone(line):
                if self._is_another(text, verdict):
                    return f"`{text}`"
        if verdict not in self._right or verdict in _WRONG:
            return ""
        return next((f"`{found}`" for line in lines if (found := _denial(line, verdict))), "")

    def _is_another(self, text: str, verdict: str) -> bool:
        if text in self._labels:  # what it is called itself, or what is found by its name
            return False
        if text in _NEITHER or _PARTLY.fullmatch(text):
            return True
        if _are_inflected(text, verdict):
            return False
        if _are_opposite(text, verdict):
            return True
        if any(_are_inflected(text, label) for label in self._labels):
            return True
        means_right = self._means_right(verdict)
        return (text in _WRONG and means_right is not False) or (
            text in _RIGHT and means_right is False
        )

    def _means_right(self, verdict: str) -> bool | None:
        """By the word itself; by the author's lists where it is no such word."""
        if verdict in _RIGHT or verdict in _WRONG:
            return verdict in _RIGHT
        return verdict in self._right if self._right else None


def _alone(line: str) -> Iterator[str]:
    """A short line with ever less around it, and what it announces as a verdict."""
    yield from _forms(line)
    announced = led(line)
    if announced is None or announced.kind not in (Kind.ANSWER, Kind.VERDICT, Kind.SCORE):
        return
    for form in _forms(announced.given):
        if announced.kind is not Kind.ANSWER or form not in _ANSWERS:
            yield form


def _forms(text: str) -> Iterator[str]:
    for form in readings(text) if len(text) <= _LONGEST else ():
        plain = form.strip(_OFF)
        if plain:
            yield plain
            yield _WELL.sub("", plain)


def _denial(line: str, verdict: str) -> str:
    patterns = [_OF_ONE, _OF_NONE, _ELSEWHERE]
    if verdict not in _ASKED:
        patterns.append(_OF_TWO)
    for pattern in patterns:
        for found in pattern.finditer(line):
            sentence = re.split(r"[.!?;。]", line[found.end() :], maxsplit=1)[0]
            if not _OF_FORM.search(sentence):
                return found[0].strip(f"{_OFF}*_\"'>—–-")
    return ""


def _are_inflected(word: str, label: str) -> bool:
    """Whether both are forms of one word: `failed`, `failure` and `fail`."""
    return word == label or (
        min(len(word), len(label)) >= _SHORTEST_STEM and _stem(word) == _stem(label)
    )


def _are_opposite(word: str, label: str) -> bool:
    """Whether one is the other with a denial before it: `irrelevant` and `relevant`."""
    short, long = sorted((_stem(word), _stem(label)), key=len)
    return len(short) >= _SHORTEST_STEM and bool(re.fullmatch(_OPPOSITE + re.escape(short), long))


def _stem(word: str) -> str:
    found = _ENDINGS.sub("", word)
    return found if len(found) >= _SHORTEST_STEM else word
