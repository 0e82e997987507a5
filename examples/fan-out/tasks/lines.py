"""Split one sample and its answer into one pair per line of the answer."""

from typing import Any


def postprocess(sample: dict[str, Any], solver_output: Any) -> list[tuple[dict[str, Any], Any]]:
    """Return the new samples for the scorers, each with the whole output."""
    text = solver_output.output.choices[0].message.content
    lines = [line.removeprefix("- ") for line in text.splitlines()]
    return [({**sample, "line": line}, solver_output) for line in lines]
