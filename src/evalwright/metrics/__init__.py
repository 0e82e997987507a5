"""Scores to numbers, one class per metric of a task document; and the metrics of records.

    ew.metrics.f1("the cat sat", ["a cat sat down"])

The functions are in `answer_metrics` and are imported when they are first used. The other modules
are components: the registry finds their classes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalwright.metrics.answer_metrics import (
        accuracy,
        bleu_4,
        code_exec,
        corpus_bleu,
        exact_match,
        f1,
        pass_at_k,
        rouge_l,
    )

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
    value = getattr(import_module("evalwright.metrics.answer_metrics"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
