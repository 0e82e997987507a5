"""The check digit of an ISBN-13: alternating weights 1 and 3, and a sum divisible by ten."""

from typing import Any


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Return whether the ISBN is valid, and the problem if it is not."""
    digits = [int(one) for one in str(sample["isbn"]) if one.isdigit()]
    total = sum(digit * (3 if place % 2 else 1) for place, digit in enumerate(digits))
    problem = "length" if len(digits) != 13 else "check digit" if total % 10 else "none"
    return {"is_valid": problem == "none", "problem": problem}
