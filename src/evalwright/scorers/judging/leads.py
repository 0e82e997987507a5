"""What announces a verdict, what only seems to, and what takes one back.

    Verdict: correct          a lead, and what it gives
    Answer: correct           a weaker one: the answer that is judged has one, too
    The answer is correct.    a sentence that says it of the answer
    Confidence: 0.9           an aside, which is no verdict
    correct, because …        a verdict with its reason
    correct, if …             with a condition it is none
    … Wait, …                 what stands before it is taken back

Texts come here with their marks made `straight`.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from evalwright.scorers.judging.plain import bare, readings, unlisted

_SCORES = (
    "score|rating|grade|points|marks|overall|total|verdict|punktzahl|punkte|bewertung|wertung|"
    "urteil|الدرجة|التقييم|الحكم|النقاط|评分|得分|分数|总分"
)
_VERDICTS = (
    "label|prediction|classification|category|class|judge?ment|decision|conclusion|determination|"
    "evaluation|assessment|status|einstufung|entscheidung|fazit|kategorie|"
    "التصنيف|القرار|结论|裁定|类别|标签|评价|判定|判断"
)
_ANSWERS = (
    "answer|result|output|response|antwort|ergebnis|الإجابة|الاجابة|الجواب|النتيجة|答案|结果|回答"
)
_BEFORE = (
    r"(?:(?:so|therefore|thus|hence|the|my|our|final|overall|total|"
    r"der|die|das|mein|meine|endgültige[rs]?)[,\s]\s*|最终|最后|我的){0,6}"
)
_BEHIND = r"(?:\s+(?:النهائي|النهائية))?(?:\s*\([^()\n]{0,24}\))?"
_MARKED = r"[\s*_`\"'“”]{0,9}"
_COLON = rf"(?P<colon>{_MARKED}(?:(?:is|ist|هو|هي|是|为)?{_MARKED}[:=]|\s[-–—]+\s)){_MARKED}"
_IS = rf"(?:{_MARKED}(?:\b(?:is|ist)\b|\b(?:هو|هي)\b|是|为)){_MARKED}"
_LEAD = re.compile(
    rf"{_BEFORE}(?:(?P<score>{_SCORES})|(?P<verdict>{_VERDICTS})|(?P<answer>{_ANSWERS}))"
    rf"{_BEHIND}(?:{_COLON}|{_IS})",
    re.IGNORECASE,
)
_TITLE = re.compile(
    rf"{_BEFORE}(?:(?P<score>{_SCORES})|(?P<verdict>{_VERDICTS})|(?P<answer>{_ANSWERS})){_BEHIND}"
    r"[\s*_`:]*",
    re.IGNORECASE,
)
_OF_IT = re.compile(
    r"(?:so|therefore|thus|hence)?,?\s*(?:(?:the|this|that|diese|die)\s+)?"
    r"(?:(?:candidate|model|given|student|predicted|provided|submitted|proposed|assistant|final)"
    r"(?:['\u2019]s)?\s+){0,2}"
    r"(?:answer|response|output|reply|solution|prediction|antwort|it|this|that)"
    rf"(?:\s+(?:is|ist)\b|['\u2019]s\b){_MARKED}",
    re.IGNORECASE,
)
_NAMES = f"{_SCORES}|{_VERDICTS}|{_ANSWERS}"
_TAG = re.compile(rf"<({_NAMES})>\s*(.*?)\s*</\1>", re.IGNORECASE | re.DOTALL)
_HERE_IT_IS = re.compile(rf"(?:here(?:\s+is|'s)\s+)?(?:{_LEAD.pattern})", re.IGNORECASE)
_ASIDE = re.compile(
    r"(?:(?:my|the|brief|short)\s+)?(?:reason(?:s|ing)?|explanation|rationale|justification|"
    r"analysis|comments?|notes?|feedback|begründung|erklärung|السبب|التعليل|الشرح|理由|原因|解释)"
    r"[\s*_`]*:",
    re.IGNORECASE,
)
_SURE = re.compile(
    r"\(?(?:confidence|certainty|konfidenz|sicherheit|الثقة|置信度)(?:\s+\w+)?[\s*_`]*[:=]",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"[*_`\"'”]*(?:\s*[,;]|(?P<names>\s+[-–—]+\s|\s*—|\s*:)|"
    r"\s*(?=\()|\s+(?=(?:because|since|weil|denn|لأن|因为)\b))"
)
_MOST_HEADS = 5
_NAMES_A_VALUE = {"correct", "right", "true", "richtig", "korrekt", "صحيح", "正确"}
"""Labels that may also say what the answer should be: `Correct: Paris`."""
_BEGINS_A_SENTENCE = {"the", "it", "both", "they", "this", "these", "all", "candidate", "answer"}
_CONDITION = re.compile(
    r"[\s(\"'*_]*(?:if|unless|provided|assuming|but|although|though|except|only|or|and|nor|to|when|"
    r"while|however|yet|partly|partially|mostly|largely|almost|nearly|in part|maybe|perhaps|"
    r"probably|possibly|depending|minus|plus|percent|not|wenn|falls|aber|oder|teilweise|außer|"
    r"said|says|claims|claimed|according|so says|wrote|"
    r"إذا|لكن|ولكن|إلا|أو|جزئيا|但|如果|或)(?:\b|(?<=[但果或]))|"
    r".*\b(?:candidate|answer|model|user|it|they)\s+(?:says|said|claims|claimed|insists|wrote)\W*$",
    re.IGNORECASE,
)
_TOLD = (
    r"\b(?:tells?|told|asks?|asked|instructs?|instructed|orders?|ordered|wants?) (?:me|us) to\b|"
    r"\bi was (?:told|asked|instructed|ordered) to\b"
)
_TAKEN_BACK = re.compile(
    r"(?:^|[.!?…;:—])[\s*_\"']*(?:(?:but|oh|hmm|hm|well|no|and|so|ok|okay)[,.…]*\s+){0,3}"
    r"(?:wait|actually|however|but|yet|nevertheless|nonetheless|just kidding|correction|"
    r"scratch that|hold on|sorry|on (?:\w+ )?reflection|"
    r"on second thought|let me (?:re\w*|correct)|moment|doch nicht|eigentlich|allerdings|aber|"
    r"jedoch|لكن|في الواقع|等等|不对|但是)(?!\w)|"
    r",\s*(?:no,?\s+)?wait\b|"
    r"\bi(?:['\u2019]ve| have)? (?:made|was|am) (?:a mistake|an error|mistaken|wrong)\b|"
    r"\bi take (?:it|that) back\b|"
    r"\b(?:is|was) (?:just |only )?what (?:the|i|it|was|he|she|they)\b|"
    r"\b(?:this|that|it|above|which) (?:is|was) (?:the|an?) (?:\w+ )?inject|"
    rf"\bquoted from\b|{_TOLD}",
    re.IGNORECASE | re.MULTILINE,
)
_OTHERS_WORDS = re.compile(
    r"\b(?:wr[io]tes?|writing|says?|said|saying|states?|stated|answer(?:s|ed)|respon(?:d|ds|ded)|"
    r"(?:to|not) output|outputs|to reply|replies|replied|told|tells?|claims?|claimed|reads?|"
    r"prints?|printed|insists?|demands?|quotes?|according to|supposed(?:ly)?|alleged(?:ly)?|"
    r"examples?|format is|inject\w*|(?:they|it|answer|candidate) asks? for|"
    r"schreibt|schrieb|sagt|sagte|antwortet(?:e)?|كتب|قال|يقول|أجاب)\b|写道|回答说|说$",
    re.IGNORECASE,
)
_CONNECTS = re.compile(
    r"[\W_]*(?:so|therefore|thus|hence|overall|based on|given|since|because|as|in conclusion|"
    r"in summary|in short|to conclude|finally|after|considering|consequently|accordingly|"
    r"daher|deshalb|somit|also|weil|da|insgesamt|وبالتالي|لذلك|إذن|بناء على|因此|所以|综上)(?!\w)",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"\b(?:if|unless|would|were|could|had|wenn|falls|wäre|لو|إذا)\b|如果", re.IGNORECASE
)
_OPEN = re.compile(
    r"(?:\b(?P<says>says?|said|wrote|writes|writing|claims?|claimed|reads|states)|"
    r"\b(?:not|never|cannot|no|but|is|are|was|be|being|as|than|to|considered|called|deemed|judged|"
    r"give|given|nicht|kein|keine|ist|als|ليس|ليست|غير|لا)|n['\u2019]t|不|不是)$",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"(?:is|was|are|were|which|would|should|could|may|might|can)\b")
_CLAUSE_END = re.compile(r"[.,;!?。]\s")
_DOUBT = re.compile(
    r"\b(?:not|never|cannot|isn['\u2019]t|no|would|were|could|if|unless|wrong|nicht|kein|keine|wenn|"
    r"wäre|pas|ليس|ليست|غير|لا|لو)\b|n['\u2019]t\b|不|没|如果",
    re.IGNORECASE,
)


class Kind(Enum):
    """How a verdict is announced, the weakest first."""

    BARE = 0
    """Not at all."""
    OF_IT = 1
    """`It is correct.`"""
    SAID = 2
    """`The answer is correct.`"""
    ANSWER = 3
    """`Answer: correct`"""
    VERDICT = 4
    """`Label: correct`"""
    SCORE = 5
    """`Score: 8`, `Verdict: correct`"""


class Led(NamedTuple):
    """What is announced, and how."""

    kind: Kind
    given: str


def led(statement: str) -> Led | None:
    """What a statement announces: `Verdict: …`, `<label>…</label>`, `The answer is …`."""
    if tagged := _TAG.match(statement.strip()):
        behind = statement.strip()[tagged.end() :]
        return Led(_kind_of(tagged[1]), bare(tagged[2]) + behind)
    plain = bare(unlisted(statement))
    if found := _LEAD.match(plain):
        kind = _kind(found)
        if kind is Kind.ANSWER and found["colon"] is None:
            kind = Kind.SAID
        return Led(kind, plain[found.end() :])
    if found := _OF_IT.match(plain):
        return Led(Kind.OF_IT, plain[found.end() :])
    return None


def led_at_the_end(sentence: str) -> Led | None:
    """What a sentence announces behind a clause of its own: `They match, so the verdict is …`."""
    for comma in list(re.finditer(r"[,;]\s*", sentence))[-_MOST_HEADS:]:
        before, behind = sentence[: comma.start()], sentence[comma.end() :]
        found = led(behind)
        if found is None or not (_CONNECTS.match(before) or _CONNECTS.match(behind)):
            continue
        if not _SUPPOSES.search(before) and not _OTHERS_WORDS.search(before):
            return found
    return None


def titled(line: str) -> Kind | None:
    """How a line that has nothing but a lead announces what the next line says."""
    found = _TITLE.fullmatch(bare(unlisted(line)))
    closes = line.lstrip().startswith(("#", "*", "_")) or line.rstrip(" *_`").endswith(":")
    return _kind(found) if found and closes else None


def announces(text: str) -> bool:
    """Whether it says that what comes next is the verdict: `Here is my verdict:`."""
    return _HERE_IT_IS.fullmatch(text.strip(" \t*_`\"'")) is not None


def is_aside(line: str) -> bool:
    """Whether a line says why, or how sure it is."""
    return _ASIDE.match(bare(unlisted(line))) is not None or is_how_sure(line)


def is_how_sure(line: str) -> bool:
    """Whether a line says how sure the judge is, and no more."""
    return _SURE.match(bare(unlisted(line))) is not None


def heads(text: str) -> Iterator[tuple[str, str]]:
    """What may be a verdict at the start of a text, each with the reason behind it."""
    for form in dict.fromkeys(readings(text)):
        yield form, ""
    found = list(_REASON.finditer(text[:400]))[:_MOST_HEADS]
    for mark in reversed(found):
        reason = text[mark.end() :].strip()
        head = text[: mark.start()]
        if _CONDITION.match(reason) or not _is_reason(reason, head):
            continue
        if mark["names"] is not None and _is_value(reason, head, mark["names"]):
            continue
        for form in dict.fromkeys(readings(head)):
            yield form, reason


def _is_value(text: str, head: str, mark: str) -> bool:
    """Whether it is what a name has, as in `Correct: no` or `Correct - Paris`, and no reason."""
    if mark.strip() == ":" and " " not in text:
        return True
    first = text.split(maxsplit=1)[0]
    names = bare(head).casefold() in _NAMES_A_VALUE
    return names and first[0].isupper() and first.casefold() not in _BEGINS_A_SENTENCE


def _is_reason(text: str, head: str) -> bool:
    """Words; in brackets behind a word also numbers, as in `pass (3/3)`."""
    is_counted = text.startswith("(") and any(map(str.isalpha, head))
    return is_counted or any(map(str.isalpha, text[:3]))


def is_taken_back(behind: str) -> str:
    """The words by which what stands before them is taken back, or said to be another's."""
    found = _TAKEN_BACK.search(behind)
    return "" if found is None else found[0].strip(" \t\n.,;:!?…—-*_\"'")


def introduces_another(text: str) -> bool:
    """Whether the end of an unfinished text says that another's words follow, or what would be."""
    plain = text.rstrip(" *_`:")
    clause = _CLAUSE_END.split(plain)[-1]
    return bool(_OTHERS_WORDS.search(clause) or _SUPPOSES.search(clause)) or is_open(plain)


def is_open(line: str) -> bool:
    """Whether a line ends in a word that asks for more, and denies it or has others say it."""
    ending = _OPEN.search(line)
    return ending is not None and (ending["says"] is not None or _DOUBT.search(line) is not None)


def goes_on_in(line: str) -> bool:
    """Whether a line goes on with the sentence of the line before it: `is what it says`."""
    return _GOES_ON.match(line) is not None


def is_told(line: str) -> bool:
    """Whether it says what the judge was told to say."""
    return re.search(_TOLD, line, re.IGNORECASE) is not None


def announced_in(text: str, value: str) -> bool:
    """Whether a text announces this value as a verdict, anywhere."""
    pattern = rf"(?:{_SCORES}|{_VERDICTS})[\W_]{{0,9}}(?:(?:is|ist|هو|هي)[\W_]{{1,9}})?"
    return re.search(rf"{pattern}{re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _kind(found: re.Match[str]) -> Kind:
    if found["score"] is not None:
        return Kind.SCORE
    return Kind.VERDICT if found["verdict"] is not None else Kind.ANSWER


def _kind_of(name: str) -> Kind:
    found = _TITLE.fullmatch(name)
    return Kind.ANSWER if found is None else _kind(found)
