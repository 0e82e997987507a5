"""The enumerated words of contract A, spec version 1: the only place that lists them.

The validator, the JSON Schema and the tables of the docs are generated from this module.
A new category, metric or post-process rule is a new spec version: it needs a fixture task,
a bad fixture line, tests and a line in the changelog.
"""

from typing import Literal, NamedTuple, get_args

SPEC_VERSION = 1

Category = Literal["arithmetic", "mcq", "code_exec", "classification", "summary"]
MetricName = Literal["exact_match", "f1", "bleu_4", "rouge_l", "accuracy", "code_exec"]
PostProcess = Literal[
    "none",
    "strip_whitespace",
    "lower",
    "extract_letter",
    "extract_code_block",
    "extract_first_line",
]
Rule = Literal[
    "bad_encoding",
    "bad_json",
    "not_an_object",
    "missing_required",
    "unknown_field",
    "bad_type",
    "bad_value",
    "embedded_few_shot",
    "illegal_metric",
    "illegal_post_process",
    "duplicate_task_id",
]

CATEGORIES: tuple[str, ...] = get_args(Category)
METRIC_NAMES: tuple[str, ...] = get_args(MetricName)
POST_PROCESSES: tuple[str, ...] = get_args(PostProcess)
RULES: tuple[str, ...] = get_args(Rule)
"""In the order in which a record is checked: the first rule that it breaks is reported."""

REQUIRED = ("task_id", "category", "prompt", "targets", "metric_name", "post_process")
OPTIONAL = ("few_shot_examples", "metadata")
FIELDS = REQUIRED + OPTIONAL
EXAMPLE_FIELDS = ("prompt", "completion")

LETTERS = "ABCDE"
MARKERS = ("Question:", "Q:", "Example:", "Example N:")
MAX_EXAMPLES = 8
MAX_TIMEOUT_S = 30
DEFAULT_TIMEOUT_S = 3.0
MAX_SAMPLES = 1000
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 500
"""Maximum nesting of lists and objects in a record: every parser can handle this depth."""
MAX_DIGITS = 4300
"""Maximum length of an integer, with its sign: the default limit of Python."""
MAX_RAW_CHARACTERS = 500
MAX_OUTPUT_BYTES = 256 * 1024


class Legal(NamedTuple):
    """What a category allows."""

    metrics: tuple[str, ...]
    post_processes: tuple[str, ...]


_LINES = ("none", "strip_whitespace", "lower", "extract_first_line")

LEGAL: dict[str, Legal] = {
    "arithmetic": Legal(("exact_match", "f1"), _LINES),
    "mcq": Legal(("exact_match",), ("none", "strip_whitespace", "extract_letter")),
    "code_exec": Legal(("code_exec",), ("none", "extract_code_block")),
    "classification": Legal(("exact_match", "accuracy", "f1"), _LINES),
    "summary": Legal(("exact_match", "f1", "bleu_4", "rouge_l"), _LINES),
}

EXACT_METRICS = frozenset({"exact_match", "accuracy", "code_exec"})
"""Metrics that are right only at full marks; others are graded and are right from 0.5 up."""

GRADED_CORRECT_FROM = 0.5

FIELD_RULES: dict[str, str] = {
    "task_id": "non-empty string without whitespace, unique in the file",
    "category": "one of the categories below",
    "prompt": "non-empty string without trailing whitespace and without a few-shot block",
    "targets": "non-empty list of strings; for `mcq`, exactly one letter `A`-`E`",
    "metric_name": "one of the metrics below",
    "post_process": "one post-process rule, not a list",
    "few_shot_examples": "list of at most 8 objects with exactly `prompt` and `completion`",
    "metadata": "object; only `timeout_s` and `samples` are used and checked",
}
