"""Check an ISBN-13: the sum of its digits, with weights 1 and 3 in turn, is divisible by ten."""

from typing import Any


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Return whether the ISBN is valid, and the problem if it is not."""
    digits = [int(digit) for digit in str(sample["isbn"]) if digit.isdigit()]
    total = sum(digit * (3 if place % 2 else 1) for place, digit in enumerate(digits))
    problem = "length" if len(digits) != 13 else "check digit" if total % 10 else "none"
    return {"is_valid": problem == "none", "problem": problem}
