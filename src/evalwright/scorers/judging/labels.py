"""Labels as verdicts: one of a few, or any text that is short enough to be one."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from evalwright.scorers.judging.denials import Denials
from evalwright.scorers.judging.leads import Kind, led
from evalwright.scorers.judging.mentions import Mentions
from evalwright.scorers.judging.plain import MARKS, bare, unlisted, unmarked

MOST_CHARACTERS = 200
MOST_WORDS = 8
"""Of a label that a judge may choose freely."""
_REFUSES = re.compile(
    r"(?:i'?m |i am |so |very )*sorry\b|i can'?t\b|i cannot\b|i(?:'m| am) (?:not able|unable)\b|"
    r"unable to\b|i won't\b|as an ai\b|i refuse\b|عذرًا|عذرا|آسف|أعتذر|لا أستطيع|لا يمكنني|"
    r"es tut mir leid|tut mir leid|entschuldigung|ich kann (?:das |es |dies )?nicht|"
    r"je suis désolée?|désolée?\b|je ne peux pas|lo siento|no puedo|mi dispiace|"
    r"抱歉|对不起|我无法|我不能|申し訳"
)


def folded(text: str) -> str:
    """As labels are compared: composed, one apostrophe, one space between words, no case."""
    plain = unicodedata.normalize("NFC", unmarked(text)).replace("\u2019", "'")
    return " ".join(plain.split()).casefold()


def alike(label: str) -> str:
    """What is left of a label where quotes, bold and a last period are taken off."""
    plain = folded(label)
    return plain.strip(f"{MARKS} ").rstrip(".!。").strip(f"{MARKS} ") or plain


class Labels:
    """One of these labels, in any case; the author's spelling is what comes out.

    `right` are those that mean that an answer is; of labels that mean no such thing, none.
    """

    announced_by = frozenset(Kind) - {Kind.BARE}

    def __init__(
        self,
        labels: Sequence[str],
        *,
        keys: tuple[str, ...],
        also: tuple[str, ...] = (),
        right: Sequence[str] = (),
    ) -> None:
        self.keys, self.also = keys, also
        self._labels = {folded(label): label for label in labels}
        self._exact = frozenset(labels)
        self.expected = f"one of {', '.join(f'`{label}`' for label in labels)}"
        self.stands_out = True
        self._mentions = Mentions(self._labels)
        self._denials = Denials(self._labels, [folded(label) for label in right])

    def value(self, given: Any) -> str:
        """A text, or the number or truth value that is spelt like a label."""
        if isinstance(given, float) and given.is_integer():
            given = int(given)
        if isinstance(given, bool):
            given = str(given).lower()
        if isinstance(given, str | int) and (found := self._in_a_field(str(given))) is not None:
            return found
        raise ValueError(f"`{given}` is none of the labels")

    def bare(self, text: str) -> str | None:
        """The label that the text is."""
        if text in self._exact:
            return text
        return self._labels.get(folded(text)) or self._labels.get(alike(text))

    def alone(self, text: str) -> bool:
        """A label is, unless it could be the number of an item of a list."""
        return not text.isdigit()

    def ends(self, verdict: str) -> bool:
        """Unless it is the beginning of another label."""
        own = folded(verdict)
        return not any(one != own and one.startswith(own) for one in self._labels)

    def another(self, prose: Sequence[str], verdict: str, *, is_led: bool) -> str:
        """Another label, or this one denied."""
        del is_led
        return self._mentions.against(map(folded, prose), verdict)

    def denied(self, prose: Sequence[str], verdict: str) -> str:
        """A word or a sentence that says the opposite."""
        return self._denials.against([folded(line) for line in prose], folded(verdict))

    def _in_a_field(self, text: str) -> str | None:
        found = self.bare(text)
        announced = led(text) if found is None else None
        return found if announced is None else self.bare(bare(announced.given))


class AnyLabel:
    """Any text of one line that is not too long, and no refusal."""

    announced_by = frozenset({Kind.SCORE, Kind.VERDICT, Kind.ANSWER})

    def __init__(self, *, keys: tuple[str, ...]) -> None:
        self.keys = keys
        self.also: tuple[str, ...] = ()
        self.expected = f"a label: one line of at most {MOST_WORDS} words"
        self.stands_out = False

    def value(self, given: Any) -> str:
        """A text that is one; a number or a truth value as JSON spells it."""
        if isinstance(given, bool):
            given = str(given).lower()
        if isinstance(given, str | int | float) and (found := self.bare(str(given))):
            return found
        raise ValueError(f"`{given}` is no label: expected one line of text")

    def bare(self, text: str) -> str | None:
        """The text without quotes, bold, the mark of a list and a last period, if it is a label."""
        plain = unmarked(text).strip()
        announced = led(plain) if "\n" not in plain else None
        if announced is not None and announced.kind not in self.announced_by:
            raise ValueError("a sentence about the answer is no label")
        if announced is not None:
            plain = announced.given
        label = bare(unlisted(plain))
        if "\n" in label or not any(map(str.isalnum, label)) or label.startswith(("{", "[", "<")):
            return None
        if len(label) > MOST_CHARACTERS:
            raise ValueError(f"a label has at most {MOST_CHARACTERS} characters")
        if _REFUSES.match(folded(label)):
            raise ValueError("it refused")
        if len(label.split()) > MOST_WORDS:
            raise ValueError(f"a label has at most {MOST_WORDS} words")
        return label

    def alone(self, text: str) -> bool:
        """Never: any sentence would be one."""
        del text
        return False

    def ends(self, verdict: str) -> bool:
        """Never: any text may go on."""
        del verdict
        return False

    def another(self, prose: Sequence[str], verdict: str, *, is_led: bool) -> str:
        """Nothing is known of other labels."""
        del prose, verdict, is_led
        return ""

    def denied(self, prose: Sequence[str], verdict: str) -> str:
        """Nothing is known of what it means."""
        del prose, verdict
        return ""
