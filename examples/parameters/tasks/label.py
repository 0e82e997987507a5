"""A label for an answer.

Parameter values are inserted into the text before it is run as Python. Lists are inserted as JSON;
in quotes, so that editors still see valid Python.
"""

import json
import re
from typing import Any

BANNED = json.loads("""<< config.banned >>""")
NEAR = "<< config.strictness >>"
TOLERANCE = float("<< config.tolerance >>")
MOST_WORDS = int("<< config.most_words >>")


def compute_scores(sample: dict[str, Any], solver_output: Any) -> dict[str, Any]:
    """Return a label, and two checks of the wording."""
    said = solver_output.output.choices[0].message.content
    found = re.search(r"\d+", said)
    off = abs(int(found[0]) - sample["<< config.column >>"]) if found else float("inf")
    label = "right" if off == 0 else NEAR if off <= TOLERANCE else "wrong"
    return {
        "label": label,
        "is_brief": len(said.split()) <= MOST_WORDS,
        "is_clean": not any(word in said for word in BANNED),
    }
