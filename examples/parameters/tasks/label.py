"""Label an answer.

Parameter values are inserted into this text before it is run as Python. Lists are inserted as JSON.
The placeholders are in quotes so that editors still see valid Python.
"""

import json
import re
from typing import Any

BANNED = json.loads("""<< config.banned >>""")
NEAR = "<< config.strictness >>"
TOLERANCE = float("<< config.tolerance >>")
MOST_WORDS = int("<< config.most_words >>")


def compute_scores(sample: dict[str, Any], solver_output: Any) -> dict[str, Any]:
    """Return a label and the results of two checks of the wording."""
    answer = solver_output.output.choices[0].message.content
    match = re.search(r"\d+", answer)
    off = abs(int(match[0]) - sample["<< config.column >>"]) if match else float("inf")
    label = "right" if off == 0 else NEAR if off <= TOLERANCE else "wrong"
    return {
        "label": label,
        "is_brief": len(answer.split()) <= MOST_WORDS,
        "is_clean": not any(word in answer for word in BANNED),
    }
