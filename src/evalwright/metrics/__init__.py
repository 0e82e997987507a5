"""Metrics: functions for records, and one class per metric for task documents.

    ew.metrics.f1("the cat sat", ["a cat sat down"])

The functions are in `answer_metrics` and `program_metrics` and are imported when they are first
used. The other modules of this package contain the classes, which `metrics` in a task document
refers to by their `type`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalwright.metrics.answer_metrics import (
        accuracy,
        bleu_4,
        corpus_bleu,
        exact_match,
        f1,
        pass_at_k,
        rouge_l,
    )
    from evalwright.metrics.program_metrics import code_exec

__all__ = [
    "accuracy",
    "bleu_4",
    "code_exec",
    "corpus_bleu",
    "exact_match",
    "f1",
    "pass_at_k",
    "rouge_l",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'evalwright.metrics' has no attribute {name!r}")
    home = "program_metrics" if name == "code_exec" else "answer_metrics"
    value = getattr(import_module(f"evalwright.metrics.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
