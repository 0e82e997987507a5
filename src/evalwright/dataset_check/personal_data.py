"""Find personal data and credentials in texts by their form.

    email        ana@example.org
    phone        with `+` and country code, or 555-010-9999
    card         13 to 19 digits that begin like a card number and pass the Luhn check
    iban         with correct check digits
    ip_address   IPv4 or IPv6, except loopback addresses
    credential   a key that begins like those of a well-known service, or a private key

Does not:   find names, postal addresses, or anything that is only personal in context. A match may
            be a coincidence.
"""

import re
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Literal, NamedTuple

from evalwright.secrets import KNOWN_KEY

PersonalDataKind = Literal["email", "phone", "card", "iban", "ip_address", "credential"]
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_PHONE = re.compile(
    r"(?<![\w+])\+[1-9](?:[ ().-]{0,2}\d){7,14}(?!\d)"
    r"|(?<![\w.+-])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])"
)
_CARD = re.compile(r"(?<![\w.-])[2-6](?:[ -]?\d){12,18}(?![\w.-]?\d)")
_CARD_LENGTHS = {"2": {16}, "3": {14, 15, 16}, "4": {13, 16, 19}, "5": {16}, "6": {16, 19}}
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)")
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_IPV6 = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![\w:])")
_DIGIT = re.compile(r"[0-9]")
_PRIVATE_KEY = "-----BEGIN "
_KEY_STARTS = (
    *("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_"),
    *("github_pat_", "glpat-", "xox", "AKIA", "ASIA", "AIza", "ya29.", "hf_", "gsk_", "r8_"),
    *("npm_", "pypi-", "dapi", "whsec_", "SG.", "eyJ"),
)
"""Texts without any of these cannot match `KNOWN_KEY`; looking for them is faster."""
_FEWEST_KEY_CHARACTERS = 16
_SHORTEST_IPV6 = 7
_SHOWN_ENDS = 2
_LETTER_A = ord("A") - 10


class PersonalDataMatch(NamedTuple):
    """Something that looks like personal data."""

    kind: PersonalDataKind
    shown: str
    """The match with most of its characters hidden."""


def find_personal_data(text: str) -> Iterator[PersonalDataMatch]:
    """Yield at most one match per kind."""
    if "@" in text and (found := _first_valid(_EMAIL, text, _is_email)):
        yield PersonalDataMatch("email", _mask(found))
    has_digits = _DIGIT.search(text) is not None
    if has_digits:
        for kind, pattern, is_valid in _NUMBERS:
            if found := _first_valid(pattern, text, is_valid):
                yield PersonalDataMatch(kind, _mask(found))
    has_key = has_digits and any(start in text for start in _KEY_STARTS)
    if has_key or _PRIVATE_KEY in text:
        yield from _find_credential(text)


def _find_credential(text: str) -> Iterator[PersonalDataMatch]:
    start = text.find(_PRIVATE_KEY)
    if start >= 0 and "PRIVATE KEY-----" in text[start : start + 60]:
        yield PersonalDataMatch("credential", f"{_PRIVATE_KEY}… PRIVATE KEY")
        return
    for match in KNOWN_KEY.finditer(text):
        begins_word = not text[max(match.start() - 1, 0) : match.start()].isalnum()
        end = match.end()
        while end < len(text) and (text[end].isalnum() or text[end] in "_-."):
            end += 1
        key = text[match.start() : end]
        is_long = len(key) >= _FEWEST_KEY_CHARACTERS and any(map(str.isdigit, key))
        if begins_word and is_long:
            yield PersonalDataMatch("credential", _mask(key))
            return


def _first_valid(pattern: re.Pattern[str], text: str, is_valid: Callable[[str], bool]) -> str:
    return next((match[0] for match in pattern.finditer(text) if is_valid(match[0])), "")


def _mask(value: str) -> str:
    return f"{value[:_SHOWN_ENDS]}…{value[-_SHOWN_ENDS:]}"


def _is_email(value: str) -> bool:
    return any(map(str.isalpha, value.rpartition(".")[2]))


def _is_phone(value: str) -> bool:
    return value.startswith("+") or not value.isdecimal()


def _is_card(value: str) -> bool:
    digits = [int(character) for character in value if character.isdecimal()]
    if len(digits) not in _CARD_LENGTHS[value[0]] or len(set(digits)) == 1:
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(value: str) -> bool:
    """Whether the check digits are correct: the number, rearranged, is 1 modulo 97."""
    compact = value.replace(" ", "")
    rearranged = compact[4:] + compact[:4]
    digits = "".join(c if c.isdecimal() else str(ord(c) - _LETTER_A) for c in rearranged)
    return int(digits) % 97 == 1


def _is_ip_address(value: str) -> bool:
    if ":" in value and (len(value) < _SHORTEST_IPV6 or not any(map(str.isdigit, value))):
        return False
    try:
        address = ip_address(value)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


_NUMBERS: tuple[tuple[PersonalDataKind, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("phone", _PHONE, _is_phone),
    ("card", _CARD, _is_card),
    ("iban", _IBAN, _is_iban),
    ("ip_address", _IPV4, _is_ip_address),
    ("ip_address", _IPV6, _is_ip_address),
)
