"""`duplicate_prompt`: a record asks word for word what an earlier one asks.

Why:    the question counts twice in every mean, and the interval around the mean takes two copies
        for two observations. If the targets differ as well, one of the two is wrong.
Wrong:  when a question stands twice on purpose, to be scored by two metrics; for questions about
        capitals.

The same is the text that a model gets, examples included, case and whitespace aside.
"""

from collections.abc import Iterable

from evalwright.spec.records.lint.findings import Finding, Places, Record, counts_twice


class DuplicatePrompt:
    """What is kept is the corpus's: a number of 64 bits a text."""

    name = "duplicate_prompt"

    def __init__(self, places: Places) -> None:
        self._places = places

    def look(self, record: Record) -> Iterable[Finding]:
        """Name the first record with the same text."""
        first, end = record.seen.same_text, counts_twice(record)
        if first is None:
            first, end = record.seen.elsewhere, "in another category; remove one"
        if first is not None:
            detail = f"the same prompt as {self._places.named(first)}, {end}"
            yield Finding(record.number, self.name, "prompt", detail)

    def end(self) -> Iterable[Finding]:
        """Nothing: duplicates were named as they came."""
        return ()
