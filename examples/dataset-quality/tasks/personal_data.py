"""Find e-mail addresses, phone numbers and card numbers."""

import re
from typing import Any

EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
PHONE = re.compile(r"\+[1-9](?:[ ().-]{0,2}\d){7,14}")
CARD = re.compile(r"\b[3-6](?:[ -]?\d){12,18}\b")


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Return the kind of the first match."""
    text = str(sample.get("<< config.field >>") or "")
    kind = "none"
    if EMAIL.search(text):
        kind = "email"
    elif PHONE.search(text):
        kind = "phone"
    elif any(passes_luhn(match) for match in CARD.findall(text)):
        kind = "card"
    return {"is_clean": kind == "none", "kind": kind}


def passes_luhn(number: str) -> bool:
    """Return whether the last digit fits the others, as on every card."""
    digits = [int(character) for character in number if character.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
