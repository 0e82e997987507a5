"""Rules about single records: `RECORD_RULES`.

`duplicate_options`: a multiple-choice prompt offers the same text under two letters.

Why:    a model that knows the answer cannot know which of the two letters counts as correct.
Wrong:  if options differ in something that is not in the text, or only in whitespace (a question
        about indentation).

`target_not_an_option`: the letter of the target is not among the options of the prompt.

Why:    no answer to the question can be correct.
Wrong:  if not all options were found. A prompt in which the letter looks like an option in any
        format is skipped.

`empty_target`: an empty answer scores 1.

Why:    an empty target equals an empty answer: a model that refuses, fails or is cut off scores 1.
Wrong:  if an empty answer is correct, such as in a record that tests a stop sequence.

`unreachable_target`: no output can score 1.

Why:    the record lowers the score of every model equally, and looks like a hard question. The
        causes are: the post-process rule never returns the target (`lower` and a target with a
        capital letter, `extract_first_line` and a target with several lines); a `code_exec` target
        is not valid Python, always fails (`assert False`) or imports a module that is not
        installed, so that the record fails at stage `score` for every program; or a `bleu_4` target
        has no words.
Wrong:  never, if the sandbox uses the same Python as lint.

One reachable target is enough, except in `code_exec`, where all targets must pass.

`answer_in_examples`: a few-shot example asks the question of the record itself.

Why:    the model can copy the answer.
Wrong:  if an example is nearly the same as the question but has a different meaning.

Reported if an example's prompt equals the record's prompt, ignoring case, whitespace and
punctuation. Also reported if its completion is a target and its prompt is contained in the record's
prompt, or if at most one word in twenty differs (ignoring words that all examples share). A
completion that is a target is not suspicious by itself, because there are only a few letters and
labels.

`embedded_examples`: the prompt contains a worked example with `Input:` and `Output:`, `Text:` and
`Label:` or `Problem:` and `Solution:`, and starts another one.

Why:    examples belong in `few_shot_examples`, where they are counted and rendered in the same way
        for every model.
Wrong:  if the question is about the pairs, such as a function in a table of values.
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
    """A rule about a single record: `judge` returns a finding, or None."""

    def __init__(self, name: str, field: str, judge: Callable[[LintedRecord], str | None]) -> None:
        self.name = name
        self._field = field
        self._judge = judge

    def look(self, record: LintedRecord) -> Iterable[Finding]:
        """Return the finding of `judge`."""
        detail = self._judge(record)
        return (Finding(record.number, self.name, self._field, detail),) if detail else ()


def find_duplicate_options(record: LintedRecord) -> str | None:
    """Return a finding for two equal options. Case matters; empty options are ignored."""
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
    """Return a finding if there are at least two options and the target is not one of them."""
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
    """Return a finding for a target that an empty answer matches."""
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


# Checks of the form of post-processed answers; other rules can return any stripped text.
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
    """Return why no output can score 1, or None."""
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
    with warnings.catch_warnings():  # warnings about a target's style are ignored
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
    """Return why a target compiles neither as statements nor, unindented, as an expression."""
    try:
        compile(target, "<target>", "exec", dont_inherit=True)
    except _NOT_COMPILED as error:
        try:
            compile(target.lstrip(" \t"), "<target>", "eval", dont_inherit=True)
        except _NOT_COMPILED:
            return error.msg if isinstance(error, SyntaxError) else str(error) or "too deep"
    return None


def find_shown_answer(record: LintedRecord) -> str | None:
    """Return a finding for an example that reveals the answer."""
    task = record.task
    if not task.few_shot_examples:
        return None
    targets = {normalize(target).strip(_EDGES) for target in task.targets}
    for number, example in enumerate(task.few_shot_examples):
        right = normalize(example.completion).strip(_EDGES) in targets
        example_words = _words(example.prompt)
        if (example_words == record.words and example_words.all) or (
            right and _asks_same(example_words, record)
        ):
            shows = "shows its answer" if right else "shows a different answer"
            asks = f"`few_shot_examples[{number}]` asks the same question as the record"
            return f"{asks} and {shows}; replace it"
    return None


def find_embedded_examples(record: LintedRecord) -> str | None:
    """Return a finding for a word that starts another example after an answer, except in code."""
    if record.task.category == "code_exec":
        return None
    word = find_answered_pair(record.task.prompt)
    if not word:
        return None
    return (
        f"`{word}:` occurs again after an answer, as in a few-shot block: examples are rendered "
        "and counted only in `few_shot_examples`; put them there"
    )


def _asks_same(example_words: PromptWords, record: LintedRecord) -> bool:
    """Whether an example with the right completion asks nearly the same question."""
    from rapidfuzz.distance.LCSseq import distance

    record_words = record.words
    inside = b" %b " % b" ".join(example_words.all) in b" %b " % b" ".join(record_words.all)
    if inside and len(example_words.all) >= _FEWEST_WORDS_INSIDE:
        return True
    if example_words.exact != record_words.exact:
        return False
    template = _shared_words(record.task.few_shot_examples)
    first = [word.decode() for word in example_words.all if word not in template]
    second = [word.decode() for word in record_words.all if word not in template]
    most = max(len(first), len(second)) // _ONE_IN
    return bool(most) and distance(first, second, score_cutoff=most) <= most


def _shared_words(examples: tuple[Example, ...]) -> set[bytes]:
    if len(examples) == 1:
        return set()
    return set.intersection(*(set(_words(example.prompt).all) for example in examples))


def _words(prompt: str) -> PromptWords:
    return _cached_words(prompt) if len(prompt) <= _LONGEST_CACHED else split_words(prompt)


@lru_cache(maxsize=256)  # most records of a file share their examples
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
