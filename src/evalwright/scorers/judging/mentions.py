"""Where the words beside a verdict name another one.

    Incorrect. It is correct.                  another label
    Incorrect. The correct answer is Paris.    what the answer should be, and no label
    Incorrect. So it is not correct.           another label, denied
    Correct. It is not correct.                its own label, denied
    Correct. The answer is wrong.              the same in other words

A label of up to three letters (`no`, `A`) is too common a word: it counts where it ends a clause,
stands alone in one, or begins one and goes on as an answer does (`No, …`, `No it is not`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from evalwright.scorers.judging.plain import MARKS

SHORT = 3
_NEAR = 60
_NOT = (
    r"(?:\b(?:not|never|neither|nor|without|nicht|kein|keine|weder|noch|pas|ليس|ليست|غير)\b|"
    r"n't\b|cannot be\b|不|没|非)"
)
_DENIES = re.compile(
    rf"{_NOT}(?!\s+(?:only|just|merely|simply)\b)\s*(?:(?<=[不没非])|(?<=\s)(?:\w+\s+){{0,2}})[{MARKS}]*$"
)
_DENIES_OWN = re.compile(rf"(?:{_NOT}|\b(?:no|لا)\b)\s*(?:\w+\s+)?[{MARKS}]*$")
_THINGS = re.compile(
    r"\s*(?:的?(?:答案|回答|选项|值)|\s(?:answers?|one|ones|response|target|value|solution|result|"
    r"option|choice|name|year|date|number|spelling|term|word|form|label|way|order|version|"
    r"antwort|lösung|would be|would have been|wäre)\b)"
)
_THE = re.compile(r"\b(?:the|a|an|any|some|der|die|das|eine?)\s+$")
_WHAT = re.compile(r"\s+(?!(?:and|or|but|because|since|if|when|in|as|by|is|for)\b)\w")
_HAS_IT = re.compile(
    r"\b(?:gave|gives?|given|provide[sd]?|state[sd]?|matche[sd]|match|name[sd]?|contains?|reache[sd]|"
    r"identifie[sd]|has|have|chose|chooses|selected)\s+(?:the|a|an)\s+$"
)
_ENDS_A_CLAUSE = re.compile(rf"[{MARKS})\]]*\s*(?:$|[.,;:!?)…。]|[-–—]+\s)")
_IS_BETTER = re.compile(
    r"\s+(?:is|are|wins|was)\b\s*(?:the\s+|clearly\s+|much\s+)?"
    r"(?:better|best|right|correct|preferable|stronger|superior|winner)?\b"
)
_GOES_ON = re.compile(r"\s+(?:it|this|that|they|the|he|she|i|we|you|there)\b")
_BEGINS = re.compile(r"(?:^|[.,;:!?…—-])[\s\W]*$")
_SAYS_OF_IT = re.compile(
    r"\b(?:answer|response|output|solution|prediction|it|this|that|candidate|model|itself)"
    r"(?:\s+(?:is|was)|'s)\s+(?:\w+ly\s+|all\s+|just\s+)?(?P<not>not\s+)?"
    r"(?:(?P<right>right|correct|true|accurate)|wrong|false|incorrect|inaccurate|mistaken)\b(?!\s+to\b)"
)
_RIGHT = {"correct", "right", "accurate", "pass"}
_WRONG = {"incorrect", "wrong", "inaccurate", "fail"}
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


class _Mention(NamedTuple):
    label: str
    before: str
    behind: str
    text: str


class Mentions:
    """Finds labels in prose; both are given as they are compared."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = labels
        longest_first = sorted(labels, key=len, reverse=True)
        self._any = re.compile("|".join(map(_pattern, longest_first)))

    def against(self, lines: Iterable[str], verdict: str) -> str:
        """Another label that is meant, or what denies this one; else empty."""
        lines = [*lines]
        for one in self._all(lines):
            if one.label == verdict:
                if denied := _DENIES_OWN.search(one.before):
                    return f"`{one.before[denied.start() :]}{one.text}`"
            elif _is_meant(one):
                return f"`{one.label}`"
        return _in_other_words(lines, verdict.casefold())

    def _all(self, lines: Iterable[str]) -> Iterator[_Mention]:
        for line in lines:
            for found in self._any.finditer(line):
                before = line[max(0, found.start() - _NEAR) : found.start()]
                behind = line[found.end() : found.end() + _NEAR]
                if len(found[0]) > SHORT or _CJK.search(found[0]) or _answers(before, behind):
                    yield _Mention(self._labels[found[0]], before, behind, found[0])


def _in_other_words(lines: Iterable[str], verdict: str) -> str:
    if verdict not in _RIGHT | _WRONG:
        return ""
    for line in lines:
        for found in _SAYS_OF_IT.finditer(line):
            is_right = (found["right"] is not None) is (found["not"] is None)
            if is_right is not (verdict in _RIGHT):
                return f"`{found[0]}`"
    return ""


def _pattern(label: str) -> str:
    if _CJK.search(label):
        return re.escape(label)
    return rf"(?<![\w-]){re.escape(label)}(?![\w-])"


def _answers(before: str, behind: str) -> bool:
    """Whether a short label is one here, and not a word of a sentence."""
    if _ENDS_A_CLAUSE.match(behind) or (before[-1:] in MARKS and behind[:1] in MARKS):
        return True
    begins = _BEGINS.search(before) is not None
    if begins and _GOES_ON.match(behind):
        return True
    better = _IS_BETTER.match(behind)
    return begins and better is not None and better[0].split()[-1] not in ("is", "are", "was")


def _is_meant(one: _Mention) -> bool:
    if _DENIES.search(one.before):
        return False
    if _THINGS.match(one.behind) or (_THE.search(one.before) and _WHAT.match(one.behind)):
        return _HAS_IT.search(one.before) is not None
    return True
