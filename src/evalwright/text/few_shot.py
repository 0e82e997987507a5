"""What a model is asked: the examples of a task, then its prompt.

    Question: 2 + 2
    Answer: 4

    Question: 17 + 24
    Answer:

An example is its prompt, one space, its completion. Parts are joined by one blank line, and
nothing else is added: the same text goes to every model.
"""

from collections.abc import Mapping
from typing import Any

from evalwright.types import TaskSpec


def render(task: TaskSpec | Mapping[str, Any]) -> str:
    """Return the text of a task: a `TaskSpec`, or a plain record that follows the spec."""
    if isinstance(task, TaskSpec):
        shown = [(example.prompt, example.completion) for example in task.few_shot_examples]
        prompt = task.prompt
    else:
        examples = task.get("few_shot_examples", ())
        shown = [(example["prompt"], example["completion"]) for example in examples]
        prompt = task["prompt"]
    return "\n\n".join([*(f"{asked} {answered}" for asked, answered in shown), prompt])
