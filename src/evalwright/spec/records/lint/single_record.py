"""Rules that look at one record alone: `RECORD_RULES`.

`duplicate_options`: a multiple-choice prompt offers the same text under two letters.

Why:    a model that knows the answer cannot know which of the two letters counts as correct.
Wrong:  when options differ in something that the text does not show, or only in whitespace (a
        question about indentation).

`target_not_an_option`: the letter of the target is not among the options of the prompt.

Why:    no answer to the question can be correct.
Wrong:  when not all options were found; a prompt in which the letter
        looks like an option in any form is skipped.

`empty_target`: an empty answer gets full marks.

Why:    an empty target equals an empty answer: a model that refuses, fails or is cut off scores 1.
Wrong:  when silence is the right answer, as it may be in a record that tests a stop.

`unreachable_target`: no output can get full marks.

Why:    the record costs every model the same points, and looks like a hard question. Either the
        post-process step makes answers that no target equals (`lower` and a target with a capital,
        `extract_first_line` and a target of several lines), or a `code_exec` target is not Python,
        always fails (`assert False`) or imports a module that is not installed, which makes the
        record fail at the stage `score` for every candidate, or a `bleu_4` target has no word.
Wrong:  never, where the sandbox runs the Python that lints.

One target that can be reached is enough, except in `code_exec`, where all must pass.

`answer_in_examples`: a few-shot example asks the record's own question.

Why:    the model is shown the answer and copies it.
Wrong:  for an example that is nearly the question and means another thing.

Reported if an example's prompt is the record's prompt, ignoring case, whitespace and punctuation;
or if its completion is a target and its prompt is inside the record's, or at most one word in
twenty differs (words that all examples have do not count). That a completion is a target means
nothing by itself: there are only a few letters and labels.

`embedded_examples`: the prompt shows a worked example between `Input:` and `Output:`, `Text:` and
`Label:` or `Problem:` and `Solution:`, and opens the next one.

Why:    examples belong in `few_shot_examples`: there they are counted, and rendered the same way
        for every model.
Wrong:  when the pairs are what the question is about, such as a function in a table of values.
"""

import re
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache

from evalwright.impossible_targets import explain_impossible
from evalwright.spec.records.few_shot import find_answered_pair
from evalwright.spec.records.lint.findings import Finding, LintedRecord, Rule, normalize, quote_text
from evalwright.spec.records.lint.words import PromptWords, split_words
from evalwright.text.prompt import find_options
from evalwright.text.similarity import tokens
from evalwright.types import Example, TaskSpec

_CLOSED = re.compile(r"(?<![^\W_])([A-Ea-e])\s*[*]*[).:、\]|=\uff08-\uff1a-]")
_ONE_IN = 20
_FEWEST_WORDS_INSIDE = 3
_LONGEST_CACHED = 10_000
_EDGES = " .()[]*"
_EXACT = ("exact_match", "accuracy")
_NOT_COMPILED = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)


class RecordRule(Rule):
    """A rule that needs no other record: `judge` returns what is suspicious, or None."""

    def __init__(self, name: str, field: str, judge: Callable[[LintedRecord], str | None]) -> None:
        self.name = name
        self._field = field
        self._judge = judge

    def look(self, record: LintedRecord) -> Iterable[Finding]:
        """Return the finding of `judge`."""
        detail = self._judge(record)
        return (Finding(record.number, self.name, self._field, detail),) if detail else ()


def find_duplicate_options(record: LintedRecord) -> str | None:
    """Return the first two equal options; case counts, empty options do not."""
    if record.task.category != "mcq":
        return None
    first: dict[str, str] = {}
    for letter, text in find_options(record.task.prompt):
        if text and (other := first.setdefault(text, letter)) != letter:
            either = record.task.targets[0] in (letter, other)
            harm = "only one of them counts as correct" if either else "one of them is redundant"
            return f"options {other} and {letter} both say {quote_text(text)}: {harm}; change one"
    return None


def explain_missing_option(record: LintedRecord) -> str | None:
    """Return the finding if there are at least two options and the target is not among them."""
    if record.task.category != "mcq":
        return None
    prompt, target = record.task.prompt, record.task.targets[0]
    offered = [option.letter for option in find_options(prompt)]
    if not offered or target in offered:
        return None
    if any(match[1].upper() == target for match in _CLOSED.finditer(prompt)):
        return None
    return (
        f"the target is {target}, but the prompt offers {', '.join(offered)}: "
        "no answer can be correct; fix the target or the options"
    )


def find_empty_target(record: LintedRecord) -> str | None:
    """Return the finding for a target that an empty answer matches."""
    metric = record.task.metric_name
    if metric in ("bleu_4", "code_exec"):
        return None
    for number, target in enumerate(record.task.targets):
        if not target.strip():
            return f"`targets[{number}]` is empty: an empty answer counts as correct; remove it"
    return None


def _is_lower(target: str) -> bool:
    return target.lower() == target


def _is_one_line(target: str) -> bool:
    return len(target.splitlines()) <= 1


# The shape of what a post-process step returns; the others can return any stripped text.
_SHAPES: dict[str, tuple[Callable[[str], bool], str]] = {
    "lower": (
        _is_lower,
        "`lower` leaves no capital letters in an answer; write the target in lower case",
    ),
    "extract_first_line": (
        _is_one_line,
        "`extract_first_line` keeps one line; shorten the target or use a different rule",
    ),
}


def explain_unreachable(record: LintedRecord) -> str | None:
    """Return why no output gets full marks, or None."""
    task = record.task
    if task.metric_name == "code_exec":
        return _explain_not_python(task) or _explain_impossible(task)
    if task.metric_name == "bleu_4" and not any(map(tokens, task.targets)):
        why = "`bleu_4` compares words and the target has none; change the target or the metric"
        return f"no answer can match {quote_text(task.targets[0])}: {why}"
    if task.metric_name not in _EXACT or task.post_process not in _SHAPES:
        return None
    can_be, why = _SHAPES[task.post_process]
    if any(can_be(target.strip()) for target in task.targets):
        return None
    return f"no answer can equal {quote_text(task.targets[0])}: {why}"


def _explain_not_python(task: TaskSpec) -> str | None:
    with warnings.catch_warnings():  # a target's style is not reported
        warnings.simplefilter("ignore")
        for number, target in enumerate(task.targets):
            if error := _find_syntax_error(target):
                return (
                    f"`targets[{number}]` is not Python ({error}): the record fails for every "
                    "program; fix the target"
                )
    return None


def _explain_impossible(task: TaskSpec) -> str | None:
    for number, target in enumerate(task.targets):
        if why := explain_impossible(target):
            return (
                f"no program can pass `targets[{number}]`: {why}: the record fails for every "
                "candidate; fix the target"
            )
    return None


def _find_syntax_error(target: str) -> str | None:
    """Return why a target does not compile, as statements or, whatever its indent, as one value."""
    try:
        compile(target, "<target>", "exec", dont_inherit=True)
    except _NOT_COMPILED as error:
        try:
            compile(target.lstrip(" \t"), "<target>", "eval", dont_inherit=True)
        except _NOT_COMPILED:
            return error.msg if isinstance(error, SyntaxError) else str(error) or "too deep"
    return None


def find_shown_answer(record: LintedRecord) -> str | None:
    """Return the finding for an example that gives the answer away."""
    task = record.task
    if not task.few_shot_examples:
        return None
    targets = {normalize(target).strip(_EDGES) for target in task.targets}
    for number, example in enumerate(task.few_shot_examples):
        right = normalize(example.completion).strip(_EDGES) in targets
        asked = _words(example.prompt)
        if (asked == record.words and asked.all) or (right and _asks_same(asked, record)):
            shows = "shows its answer" if right else "shows a different answer"
            asks = f"`few_shot_examples[{number}]` asks the record's own question"
            return f"{asks} and {shows}; replace it"
    return None


def find_embedded_examples(record: LintedRecord) -> str | None:
    """Return which word opens another example after an answer; code may show examples."""
    if record.task.category == "code_exec":
        return None
    word = find_answered_pair(record.task.prompt)
    if not word:
        return None
    return (
        f"`{word}:` occurs again after an answer, as in a few-shot block: examples are rendered "
        "and counted only in `few_shot_examples`; put them there"
    )


def _asks_same(asked: PromptWords, record: LintedRecord) -> bool:
    """Whether an example with the right completion asks the question, inside or nearly."""
    from rapidfuzz.distance.LCSseq import distance

    here = record.words
    inside = b" %b " % b" ".join(asked.all) in b" %b " % b" ".join(here.all)
    if inside and len(asked.all) >= _FEWEST_WORDS_INSIDE:
        return True
    if asked.exact != here.exact:
        return False
    template = _shared_words(record.task.few_shot_examples)
    first = [word.decode() for word in asked.all if word not in template]
    second = [word.decode() for word in here.all if word not in template]
    most = max(len(first), len(second)) // _ONE_IN
    return bool(most) and distance(first, second, score_cutoff=most) <= most


def _shared_words(examples: tuple[Example, ...]) -> set[bytes]:
    if len(examples) == 1:
        return set()
    return set.intersection(*(set(_words(example.prompt).all) for example in examples))


def _words(prompt: str) -> PromptWords:
    return _cached_words(prompt) if len(prompt) <= _LONGEST_CACHED else split_words(prompt)


@lru_cache(maxsize=256)  # a file's records mostly share their examples
def _cached_words(prompt: str) -> PromptWords:
    return split_words(prompt)


RECORD_RULES = (
    RecordRule("duplicate_options", "prompt", find_duplicate_options),
    RecordRule("target_not_an_option", "targets", explain_missing_option),
    RecordRule("answer_in_examples", "few_shot_examples", find_shown_answer),
    RecordRule("embedded_examples", "prompt", find_embedded_examples),
    RecordRule("unreachable_target", "targets", explain_unreachable),
    RecordRule("empty_target", "targets", find_empty_target),
)
