"""Name the script of most letters of a text."""

import unicodedata
from collections import Counter
from typing import Any


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Return the first word of the Unicode names of most letters, such as `arabic`."""
    letters = filter(str.isalpha, str(sample.get("<< config.field >>") or ""))
    scripts = Counter(unicodedata.name(letter, "OTHER").split()[0].lower() for letter in letters)
    return {"script": scripts.most_common(1)[0][0] if scripts else "none"}
