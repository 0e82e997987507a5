"""Compare the number of tickets in the form with the expected number."""

import json
from typing import Any


def compute_scores(sample: dict[str, Any], solver_output: Any) -> dict[str, Any]:
    """Return the scores, and the form as metadata."""
    form = json.loads(solver_output.output.choices[0].message.content)
    off_by = abs(form["tickets"] - sample["tickets"])
    return {
        "scores": {"tickets_right": off_by == 0, "tickets_off_by": off_by},
        "metadata": {"form": form},
    }
