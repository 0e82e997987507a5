"""What is known about a column after its values have streamed by.

Types of values: `int`, `float`, `bool`, `date` (2026-03-01), `datetime`, `other_date` (1.3.2026,
03/01/2026), `text`, `list` and `object`. In a CSV file, the spelling of a cell determines its type.
In other formats, text is text or a date.

Memory: up to 1,000 values, 1,024 hashes, two samples of 2,000 numbers, and a few examples.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from typing import Any
from zlib import crc32

from evalwright.dataset_check.languages import MIXED_WORD, find_language, find_script
from evalwright.dataset_check.personal_data import find_personal_data
from evalwright.dataset_check.report import ColumnProfile, ProblemExample, ValueCount, shorten_value
from evalwright.dataset_check.spread import Spread

NUMBERS = frozenset({"int", "float"})
DATES = frozenset({"date", "datetime", "other_date"})
_LONGEST_TYPED = 40
_MOST_VALUES = 1_000
_LONGEST_VALUE = 80
_SKETCH = 1_024
_HASHES = 1 << 32
_MOST_EXAMPLES = 5
_MOST_LABELS = 50
_ROWS_PER_LABEL = 5
_FEWEST_ROWS = 10
_SHOWN_VALUES = 20
_ALWAYS_SAMPLED, _SAMPLED_EVERY = 1_000, 16
_TYPED = re.compile(
    r"(?P<int>[+-]?[0-9]{1,18})"
    r"|(?P<float>[+-]?(?:[0-9]{1,18}\.[0-9]*|\.[0-9]+|[0-9]{1,18}(?=[eE]))(?:[eE][+-]?[0-9]{1,2})?)"
    r"|(?P<bool>(?i:true|false))"
    r"|(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"|(?P<datetime>[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}[0-9:.]*(?:Z|[+-][0-9:]{4,6})?)"
    r"|(?P<other_date>[0-9]{1,2}[./-][0-9]{1,2}[./-](?:[0-9]{4}|[0-9]{2})|[0-9]{4}/[0-9]{1,2}/[0-9]{1,2})"
)
_PLACEHOLDERS = frozenset(
    {
        "n/a",
        "na",
        "nan",
        "null",
        "none",
        "nil",
        "-",
        "--",
        "?",
        "unknown",
        "undefined",
        "tbd",
        "#n/a",
    }
)
_MOJIBAKE = re.compile("\ufffd|Ã[\x80-\xbf]|â€|[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Replacement characters, UTF-8 that was read as Windows-1252, and control characters."""


class Findings:
    """The number of values with a problem, and the first of them."""

    def __init__(self) -> None:
        self.count = 0
        self.examples: list[ProblemExample] = []

    def add(self, position: int, value: str = "") -> None:
        """Count a value."""
        self.count += 1
        if len(self.examples) < _MOST_EXAMPLES:
            self.examples.append(ProblemExample(position=position, value=shorten_value(value)))


class ColumnTracker:
    """Call `add` for each value of the column that is not missing, and `skip` for missing ones."""

    def __init__(self, name: str, *, is_typed_text: bool) -> None:
        """`is_typed_text`: the spelling of text determines its type, as in a CSV file."""
        self.name = name
        self._is_typed_text = is_typed_text
        self.present = 0
        self.missing = Findings()
        self.kinds: Counter[str] = Counter()
        self.examples_of: dict[str, list[ProblemExample]] = {}
        self.numbers, self.lengths = Spread(), Spread()
        self._words = 0
        self._dates: list[str] = []
        self.findings: dict[str, Findings] = {}
        """By check: `placeholder`, `whitespace`, `encoding`, `mixed_scripts`, `personal_data:…`."""
        self.scripts: Counter[str] = Counter()
        self.languages: Counter[str] = Counter()
        self._values: Counter[str] | None = Counter()
        self._sketch: set[int] = set()
        self._largest = _HASHES

    def skip(self, position: int) -> None:
        """Count a missing value."""
        self.missing.add(position)

    def add(self, value: Any, position: int) -> str:
        """Add a value; return its text, which is empty if it has none."""
        kind, text = self._classify(value)
        if not kind:
            self.missing.add(position)
            return ""
        self.present += 1
        self.kinds[kind] += 1
        examples = self.examples_of.setdefault(kind, [])
        if len(examples) < _MOST_EXAMPLES:
            examples.append(ProblemExample(position=position, value=shorten_value(text)))
        self._count_value(text)
        if kind in NUMBERS:
            number = float(text)
            if math.isfinite(number):
                self.numbers.add(number, position)
        elif kind in {"date", "datetime"}:
            self._add_date(text)
        if kind in {"text", "list", "object"}:
            self._look_at_text(text, position)
        elif len(text) > _FEWEST_ROWS:
            self._look_for_personal_data(text, position)
        return text if kind in {"text", "list", "object"} else ""

    def _classify(self, value: Any) -> tuple[str, str]:
        """Return the type and the text of a value; an empty type for a missing one."""
        if isinstance(value, str):
            stripped = value.strip()
            if not stripped:
                return "", ""
            match = _TYPED.fullmatch(stripped) if len(stripped) <= _LONGEST_TYPED else None
            kind = str(match.lastgroup) if match else "text"
            if not self._is_typed_text and kind not in DATES:
                kind = "text"
            if kind == "date" and not _is_date(stripped):
                kind = "text"
            return kind, value if kind == "text" else stripped
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "", ""
        if isinstance(value, bool):
            return "bool", "true" if value else "false"
        if isinstance(value, int | float):
            return type(value).__name__, repr(value)
        return ("list" if isinstance(value, list) else "object"), "\n".join(leaf_texts(value))

    def _look_at_text(self, text: str, position: int) -> None:
        self.lengths.add(len(text), position)
        self._words += text.count(" ") + 1
        if len(text) <= _LONGEST_TYPED and text.strip().lower() in _PLACEHOLDERS:
            self._find("placeholder", position, text)
        if text[:1].isspace() or text[-1:].isspace():
            self._find("whitespace", position, text)
        if not text.isascii() or not text.isprintable():
            if _MOJIBAKE.search(text):
                self._find("encoding", position, text)
            elif match := MIXED_WORD.search(text):
                around = text[max(match.start() - 20, 0) : match.end() + 20]
                self._find("mixed_scripts", position, around)
        self._look_for_personal_data(text, position)
        if self.present <= _ALWAYS_SAMPLED or self.present % _SAMPLED_EVERY == 0:
            if script := find_script(text):
                self.scripts[script] += 1
            if language := find_language(text):
                self.languages[language] += 1

    def _look_for_personal_data(self, text: str, position: int) -> None:
        for match in find_personal_data(text):
            self._find(f"personal_data:{match.kind}", position, match.shown)

    def _find(self, check: str, position: int, value: str) -> None:
        self.findings.setdefault(check, Findings()).add(position, value)

    def _add_date(self, text: str) -> None:
        if not self._dates:
            self._dates = [text, text]
        elif text < self._dates[0]:
            self._dates[0] = text
        elif text > self._dates[1]:
            self._dates[1] = text

    def _count_value(self, text: str) -> None:
        if self._values is not None:
            if len(text) <= _LONGEST_VALUE:
                self._values[text] += 1
                if len(self._values) <= _MOST_VALUES:
                    return
            known, self._values = self._values, None
            for value in known:
                self._add_to_sketch(value)
        self._add_to_sketch(text)

    def _add_to_sketch(self, text: str) -> None:
        mark = crc32(text.encode(errors="replace"))
        if mark < self._largest:
            self._sketch.add(mark)
            if len(self._sketch) > 2 * _SKETCH:
                self._sketch = set(sorted(self._sketch)[:_SKETCH])
                self._largest = max(self._sketch)

    @property
    def groups(self) -> dict[str, int]:
        """Number of values per type, with all numbers as one, if the column should have one type.

        A column of texts may contain texts that look like numbers or dates.
        """
        groups = Counter[str]()
        for kind, count in self.kinds.items():
            groups[group_of(kind)] += count
        if groups and groups.most_common(1)[0][0] == "text":
            if self._is_typed_text:
                return {"text": self.present}
            groups = Counter({kind: n for kind, n in groups.items() if kind not in DATES})
        return dict(groups)

    @property
    def mean_words(self) -> float:
        """Mean number of words in the texts."""
        return self._words / self.lengths.count if self.lengths.count else 0.0

    @property
    def distinct(self) -> int:
        """Number of distinct values; an estimate if there are more than 1,000.

        The estimate is (k - 1) / U(k), where U(k) is the k-th smallest hash in (0, 1]; its standard
        error is about 3 %. Bar-Yossef et al. (2002), Counting distinct elements in a data stream.
        """
        if self._values is not None:
            return len(self._values)
        smallest = sorted(self._sketch)[:_SKETCH]
        if len(smallest) < _SKETCH:
            return len(smallest)
        return round((_SKETCH - 1) * _HASHES / (smallest[-1] + 1))

    @property
    def labels(self) -> list[ValueCount]:
        """The values, most frequent first, if there are few of them; otherwise empty."""
        if self._values is None or self.present < _FEWEST_ROWS:
            return []
        few = min(_MOST_LABELS, max(self.present // _ROWS_PER_LABEL, 1))
        if len(self._values) > few or "float" in self.kinds:
            return []
        return [
            ValueCount(value=value, count=count, share=count / self.present)
            for value, count in sorted(self._values.items(), key=lambda item: (-item[1], item[0]))
        ]

    def profile(self) -> ColumnProfile:
        """Return what is known."""
        is_numeric = self.numbers.count > 0
        low: Any = self.numbers.lowest[0].value if is_numeric else None
        high: Any = self.numbers.highest[-1].value if is_numeric else None
        if not is_numeric and self._dates:
            low, high = self._dates
        lengths = self.lengths
        return ColumnProfile(
            name=self.name,
            values=self.present,
            missing=self.missing.count,
            types=dict(self.kinds.most_common()),
            distinct=self.distinct,
            is_estimate=len(self._sketch) >= _SKETCH,
            minimum=low,
            maximum=high,
            mean=self.numbers.mean,
            shortest=int(lengths.lowest[0].value) if lengths.count else None,
            longest=int(lengths.highest[-1].value) if lengths.count else None,
            mean_length=lengths.mean,
            labels=self.labels[:_SHOWN_VALUES],
            scripts=dict(self.scripts.most_common()),
            languages=dict(self.languages.most_common()),
        )


def group_of(kind: str) -> str:
    """Return the type, or `number` for all numbers."""
    return "number" if kind in NUMBERS else kind


def leaf_texts(value: Any) -> Iterator[str]:
    """Yield the texts in a list or an object, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value if isinstance(value, list) else value.values():
            yield from leaf_texts(item)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
