"""The rules of task records as a JSON Schema, for editors and other validators.

A schema applies to one record, so it cannot require unique ids, and it cannot detect duplicate
keys. All other rules are generated from the same vocabulary as the validator.
"""

from typing import Any

from evalwright.vocabulary import (
    CATEGORIES,
    EXAMPLE_FIELDS,
    FIELD_RULES,
    LEGAL,
    LETTERS,
    MAX_EXAMPLES,
    MAX_SAMPLES,
    MAX_TIMEOUT_S,
    METRIC_NAMES,
    POST_PROCESSES,
    REQUIRED,
    SPEC_VERSION,
)


def _in_any_case(word: str) -> str:
    """Return a case-insensitive pattern. JSON Schema patterns have no flags."""
    return "".join(f"[{letter.upper()}{letter}]" for letter in word)


_QUESTION, _Q, _EXAMPLE = (
    f"{_in_any_case('question')}:",
    f"{_in_any_case('q')}:",
    rf"{_in_any_case('example')}([ \t]*[0-9]+)?:",
)
_OPENS = rf"[ \t]*({_QUESTION}|{_Q}|{_EXAMPLE})"
_ANSWER = rf"\b({_in_any_case('answer')}|[Aa]):[ \t]*"
_FEW_SHOT_BLOCKS = (
    rf"(^|\n){_OPENS}[\s\S]*\n{_OPENS}",
    *(
        rf"\b{marker}[\s\S]*{_ANSWER}({marker}|[^ \t\r\n\f\v][\s\S]*\b{marker})"
        for marker in (_QUESTION, _Q, _EXAMPLE)
    ),
)


def record_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a task record."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"evalwright task record, spec version {SPEC_VERSION}",
        "type": "object",
        "additionalProperties": False,
        "required": list(REQUIRED),
        "properties": {
            name: {**shape, "description": FIELD_RULES[name]} for name, shape in _shapes().items()
        },
        "allOf": [
            *(_legal_rules(category) for category in CATEGORIES),
            _when_category("mcq", {"targets": {"maxItems": 1, "items": {"enum": list(LETTERS)}}}),
            {
                "if": {"properties": {"category": {"not": {"const": "code_exec"}}}},
                "then": {"properties": {"prompt": {"not": {"anyOf": _few_shot_blocks()}}}},
            },
        ],
    }


def _few_shot_blocks() -> list[dict[str, Any]]:
    return [{"pattern": pattern} for pattern in _FEW_SHOT_BLOCKS]


def _shapes() -> dict[str, dict[str, Any]]:
    return {
        "task_id": {"type": "string", "minLength": 1, "not": {"pattern": r"\s"}},
        "category": {"enum": list(CATEGORIES)},
        "prompt": {"type": "string", "minLength": 1, "not": {"pattern": r"\s$"}},
        "targets": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        "metric_name": {"enum": list(METRIC_NAMES)},
        "post_process": {"enum": list(POST_PROCESSES)},
        "few_shot_examples": {
            "type": "array",
            "maxItems": MAX_EXAMPLES,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": list(EXAMPLE_FIELDS),
                "properties": {name: {"type": "string"} for name in EXAMPLE_FIELDS},
            },
        },
        "metadata": {
            "type": "object",
            "properties": {
                "timeout_s": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "maximum": MAX_TIMEOUT_S,
                    "description": "time limit for a code_exec program, in seconds",
                },
                "samples": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_SAMPLES,
                    "description": "number of trials per sample for pass@k",
                },
            },
        },
    }


def _legal_rules(category: str) -> dict[str, Any]:
    legal = LEGAL[category]
    return _when_category(
        category,
        {
            "metric_name": {"enum": list(legal.metrics)},
            "post_process": {"enum": list(legal.post_processes)},
        },
    )


def _when_category(category: str, then: dict[str, Any]) -> dict[str, Any]:
    return {
        "if": {"properties": {"category": {"const": category}}, "required": ["category"]},
        "then": {"properties": then},
    }
