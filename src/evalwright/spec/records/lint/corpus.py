"""Compact storage of prompts for lint, and queries on it.

Kept:       three 64-bit digests per record (of its text and words), and one per target; the words
            of each distinct prompt, four bytes each. No text is kept.
Limit:      10,000,000 words (200,000 prompts of 50 words), which need 40 MB, and 300 MB more during
            the comparison. Further prompts are counted but not compared.

A word is represented by its CRC-32. Two words with the same CRC-32 (a chance of one in four billion
per pair) count as equal.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from zlib import crc32

from evalwright.spec.records.lint.findings import Seen, normalize
from evalwright.spec.records.lint.words import PromptWords
from evalwright.stats.arrays import Integers, np
from evalwright.text.prompt import render
from evalwright.types import TaskSpec

MOST_WORDS = 10_000_000
LONGEST_PHRASE = 3
_BLOCK = 1 << 20
_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
"""Odd multipliers: a phrase is the sum of its words times their multipliers, modulo 2^64."""

Phrase = tuple[int, ...]
"""A few words, each represented by its CRC-32."""


def phrase(words: Iterable[bytes]) -> Phrase:
    """Convert words to numbers."""
    return tuple(map(crc32, words))


class WordTable:
    """The words of texts, four bytes per word, up to a limit."""

    def __init__(self, most_words: int = MOST_WORDS) -> None:
        self.most_words = most_words
        self.kinds = array("Q")
        """Text → what must be equal for a comparison, such as its numbers and symbols."""
        self.words = array("I")
        self.starts = array("Q", [0])
        """Start of each text's words, and the end of the last text's."""
        self.left_out = 0
        """Number of texts beyond the limit."""

    def append(self, kind: int, words: "array[int]") -> None:
        """Add a text; beyond the limit, without its words."""
        self.kinds.append(kind)
        if len(self.words) + len(words) > self.most_words:
            self.left_out += 1
        else:
            self.words.extend(words)
        self.starts.append(len(self.words))


class PromptCorpus(WordTable):
    """The prompts so far, each distinct wording once. `add` returns the number of a prompt.

    Their kinds consist of category, examples, numbers and symbols.
    """

    def __init__(self, most_words: int = MOST_WORDS) -> None:
        super().__init__(most_words)
        self._texts: dict[int, int] = {}
        """Rendered text, alone and with its category → first record with it."""
        self._wordings: dict[int, int] = {}
        """Words, category and examples of a prompt → its number."""
        self._targets: list[Phrase] = []
        self._records = array("Q")
        self.categories: list[str] = []

    def __len__(self) -> int:
        return len(self._records)

    def first(self, prompt: int) -> int:
        """Return the first record that has this prompt."""
        return self._records[prompt]

    def share_a_target(self, first: int, second: int) -> bool:
        """Whether an answer is correct for both prompts."""
        return not set(self._targets[first]).isdisjoint(self._targets[second])

    def add(self, record: int, task: TaskSpec, words: PromptWords) -> tuple[int, Seen]:
        """Add a record; return the number of its prompt and its similarities to earlier records."""
        text = digest(normalize(render(task)).encode())
        anywhere = self._texts.setdefault(text, record)
        first_record = self._texts.setdefault(text ^ crc32(task.category.encode()), record)
        same_text = None if first_record == record else first_record
        elsewhere = None if first_record != record or anywhere == record else anywhere
        spoken = array("I", map(crc32, words.all))
        examples = [
            text for shot in task.few_shot_examples for text in (shot.prompt, shot.completion)
        ]
        kind = digest("\0".join([task.category, *examples, ""]).encode() + words.exact)
        targets = phrase(normalize(target).encode() for target in task.targets)
        # A prompt without words is compared only as text.
        wording = digest(b"%d " % kind + (spoken.tobytes() or task.prompt.encode()))
        prompt = self._wordings.setdefault(wording, len(self))
        if prompt == len(self):
            self.categories.append(task.category)
            self._targets.append(targets)
            self._records.append(record)
            self.append(kind, spoken)
            return prompt, Seen(same_text, elsewhere)
        known = self._targets[prompt]
        contradicts = set(known).isdisjoint(targets)
        self._targets[prompt] = known + tuple(target for target in targets if target not in known)
        return prompt, Seen(same_text, elsewhere, self.first(prompt), contradicts)

    def find_phrases(self, phrases: Sequence[Phrase]) -> Iterator[tuple[int, int]]:
        """Yield (index of the phrase, prompt) once for each prompt that contains a phrase.

        A phrase has one to three words.
        """
        words = np.frombuffer(self.words, np.uint32)
        starts = np.frombuffer(self.starts, np.uint64).astype(np.int64)
        for size in range(1, LONGEST_PHRASE + 1):
            indices = [index for index, phrase in enumerate(phrases) if len(phrase) == size]
            if not indices:
                continue
            phrase_codes = codes(np.array([phrases[index] for index in indices], np.uint32).T)
            order = np.argsort(phrase_codes)
            phrase_codes = phrase_codes[order]
            for begin, end in blocks(starts):
                ends = range(end - size + 1, end + 1)
                block_codes = codes(
                    [words[begin + i : max(begin, stop)] for i, stop in enumerate(ends)]
                )
                nearest = np.searchsorted(phrase_codes, block_codes).clip(max=len(phrase_codes) - 1)
                at = np.flatnonzero(phrase_codes[nearest] == block_codes)
                prompts = np.searchsorted(starts, at + begin, side="right") - 1
                inside = at + begin + size <= starts[prompts + 1]
                pairs = order[nearest[at[inside]]] << 32 | prompts[inside]
                for pair in np.unique(pairs).tolist():
                    yield indices[pair >> 32], pair & 0xFFFFFFFF


def codes(columns: Sequence[Integers] | Integers) -> Integers:
    """Return one number per row of at most three words."""
    total = np.zeros(len(columns[0]), np.uint64)
    for column, factor in zip(columns, _FACTORS, strict=False):
        total += column.astype(np.uint64) * np.uint64(factor)
    return total


def blocks(starts: Integers) -> Iterator[tuple[int, int]]:
    """Yield ranges of whole prompts, each about one block of words long."""
    begin, last = 0, int(starts[-1])
    while begin < last:
        end = int(starts[starts.searchsorted(min(begin + _BLOCK, last))])
        yield begin, end
        begin = end


def digest(data: bytes) -> int:
    """Return a 64-bit hash that is the same on every machine."""
    return int.from_bytes(blake2b(data, digest_size=8).digest())
