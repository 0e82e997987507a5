"""`near_duplicate`: a record asks nearly what another asks, and the same answer is right.

Why:    the question counts nearly twice, and a model that has seen one has seen the other.
Wrong:  for questions made alike on purpose whose answers happen to agree (one passage, two short
        questions, both `yes`), and for questions about punctuation.

Nearly: the same words but for punctuation; or at most one word in twenty differs, four at most,
and some target is right for both. Numbers and symbols must be equal: `17 + 24` is not nearly
`17 + 25`. Where targets differ, the small difference is what the question is about, and nothing
is said. `similar` says how templates are told from questions.
"""

from collections.abc import Iterable

from evalwright.spec.records.lint.corpus import Corpus
from evalwright.spec.records.lint.findings import Finding, Places, Record, counts_twice

_FEWEST_PROMPTS = 2


class NearDuplicate:
    """What is kept is the corpus's: four bytes a word."""

    name = "near_duplicate"

    def __init__(self, places: Places, corpus: Corpus) -> None:
        self._places = places
        self._corpus = corpus

    def look(self, record: Record) -> Iterable[Finding]:
        """Name the first record with the same words, where it is not a plain duplicate."""
        first = record.seen.same_words
        if first is None or record.seen.same_text is not None:
            return
        detail = f"the same words as {self._places.named(first)}, {counts_twice(record)}"
        yield Finding(record.number, self.name, "prompt", detail)

    def end(self) -> Iterable[Finding]:
        """Name, of each group of prompts that are nearly the same, all but the first."""
        if len(self._corpus) < _FEWEST_PROMPTS:
            return
        from evalwright.spec.records.lint.similar import Similar

        beside: dict[int, set[int]] = {}
        for one, other in Similar(self._corpus).pairs():
            beside.setdefault(one, set()).add(other)
            beside.setdefault(other, set()).add(one)
        for prompt in _all_but_the_first(beside):
            nearest = self._places.named(self._corpus.first(min(beside[prompt])))
            detail = (
                f"nearly the same words as {nearest}, the same numbers and a target in common: "
                "the question counts twice; remove one, or make them differ"
            )
            yield Finding(self._corpus.first(prompt), self.name, "prompt", detail)


def _all_but_the_first(beside: dict[int, set[int]]) -> Iterable[int]:
    """Yield the members of each connected group but its smallest."""
    seen: set[int] = set()
    for start in sorted(beside):
        if start in seen:
            continue
        seen.add(start)
        waiting = [start]
        while waiting:
            for neighbour in beside[waiting.pop()] - seen:
                seen.add(neighbour)
                waiting.append(neighbour)
                yield neighbour
