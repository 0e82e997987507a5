import base64
import json
import pickle
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evalwright.secrets import (
    MASK,
    Redactor,
    Secret,
    find_credentials,
    looks_like_key,
    secrets_in,
)

KEY = "sk-proj-0123456789abcdef"


def base64_after(before: int, *, url_safe: bool) -> Callable[[str], str]:
    """In base64, with so many bytes before it and one after it."""
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    return lambda value: encode(b"x" * before + value.encode() + b"y").decode()


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "URL": lambda value: quote(value, safe=""),
    "URL path": quote,
    "URL form": quote_plus,
    "URL with small hex digits": lambda value: re.sub(
        "%..", lambda escape: escape[0].lower(), quote_plus(value)
    ),
    "JSON": lambda value: json.dumps(value)[1:-1],
    "JSON with UTF-8": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "JSON with escaped slashes": lambda value: json.dumps(value)[1:-1].replace("/", r"\/"),
    "hex": lambda value: value.encode().hex(),
    "capital hex": lambda value: value.encode().hex().upper(),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    **{
        f"base64 after {before}{', URL-safe' if url_safe else ''}": base64_after(
            before, url_safe=url_safe
        )
        for before in range(5)
        for url_safe in (False, True)
    },
    "base64 in a URL": lambda value: quote(base64.b64encode(value.encode()).decode(), safe=""),
}

# Anything but the letters of the mask's brackets: no secret may be spelt with the help of a mask.
secrets = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="[]"), min_size=8, max_size=40
).filter(lambda value: value == value.strip() and value not in MASK)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def test_a_secret_shows_itself_nowhere() -> None:
    secret = Secret(KEY)

    shown = f"{secret} {secret!r} {secret!s:>30} {[secret]} {(secret,)} %s" % secret

    assert KEY not in shown
    assert repr(secret) == "Secret([redacted])"
    assert str(secret) == "[redacted]"


def test_a_secret_is_given_out_only_when_asked() -> None:
    assert Secret(KEY).reveal() == KEY


def test_a_secret_cannot_be_glued_encoded_or_taken_apart() -> None:
    secret = Secret(KEY)

    with pytest.raises(TypeError):
        "Bearer " + secret  # type: ignore[operator]
    with pytest.raises(TypeError):
        json.dumps(secret)
    with pytest.raises(TypeError):
        vars(secret)


def test_secrets_are_equal_when_their_values_are() -> None:
    assert Secret(KEY) == Secret(KEY)
    assert Secret(KEY) != Secret(KEY + "x")
    assert Secret(KEY) != KEY
    assert len({Secret(KEY), Secret(KEY)}) == 1


def test_an_empty_secret_is_false() -> None:
    assert Secret(KEY)
    assert not Secret("")


def test_a_secret_can_travel_to_a_worker() -> None:
    assert pickle.loads(pickle.dumps(Secret(KEY))) == Secret(KEY)  # noqa: S301 - our own


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
@given(value=secrets, before=texts, after=texts)
def test_a_secret_is_gone_however_it_was_written(
    encode: Callable[[str], str], value: str, before: str, after: str
) -> None:
    assume(not before.endswith("\\"))  # a backslash makes an escape of the first digits
    written = encode(value)
    text = before + written + after
    redactor = Redactor([value])

    cleaned = redactor.clean(text)

    assert MASK in cleaned
    assert not [name for name, spell in ENCODINGS.items() if spell(value) in cleaned]
    assert redactor.clean(cleaned) == cleaned


@given(
    before=st.integers(0, 5),
    after=st.integers(0, 5),
    value=st.text(st.characters(codec="ascii"), min_size=8, max_size=30),
)
def test_what_is_left_of_an_encoding_tells_nothing_of_the_secret(
    before: int, after: int, value: str
) -> None:
    assume(value == value.strip())
    encoded = base64.b64encode(b"\xff" * before + value.encode() + b"\xff" * after).decode()

    left = Redactor([value]).clean(encoded)

    start, _, end = left.partition(MASK)
    assert set(start) <= {"/"}
    assert set(end) <= {"/", "=", "w", "8"}  # what 0xff ends in, before padding


@given(values=st.lists(secrets, max_size=3), text=texts)
def test_a_text_without_secrets_is_not_touched(values: list[str], text: str) -> None:
    assume(not any(encode(value) in text for value in values for encode in ENCODINGS.values()))
    redactor = Redactor(values)

    assert redactor.clean(text) is text


@given(values=st.lists(secrets, min_size=2, max_size=4), text=texts)
def test_many_secrets_are_all_gone(values: list[str], text: str) -> None:
    cleaned = Redactor(values).clean(text.join(values))

    assert not [value for value in values if value in cleaned]


def test_the_longer_of_two_that_start_alike_goes_whole() -> None:
    assert Redactor([KEY, f"{KEY}-and-more"]).clean(f"a {KEY}-and-more b") == "a [redacted] b"


SPELLINGS: dict[str, Callable[[str], str]] = {
    "percent, every character": lambda value: "".join(f"%{ord(c):02x}" for c in value),
    "percent, here and there": lambda value: value.replace("j", "%6A").replace("-", "%2d"),
    "percent, twice": lambda value: value.replace("-", "%252D"),
    r"\u": lambda value: "".join(f"\\u{ord(c):04x}" for c in value),
    r"\u in JSON in JSON": lambda value: json.dumps("".join(f"\\u{ord(c):04X}" for c in value)),
    r"\u{}": lambda value: "".join(f"\\u{{{ord(c):x}}}" for c in value),
    r"\x": lambda value: "".join(f"\\x{ord(c):02x}" for c in value),
    "octal": lambda value: "".join(f"\\{ord(c):03o}" for c in value),
    "HTML, decimal": lambda value: "".join(f"&#{ord(c)};" for c in value),
    "HTML, hexadecimal": lambda value: "".join(f"&#x{ord(c):04X};" for c in value),
    "hex with colons": lambda value: value.encode().hex(":"),
    "hex with spaces": lambda value: value.encode().hex(" ").upper(),
    "a dump in C": lambda value: ",\n    ".join(f"0x{ord(c):02x}" for c in value),
    "base32": lambda value: base64.b32encode(b"xyz" + value.encode()).decode(),
    "small base32": lambda value: base64.b32encode(b"xy" + value.encode()).decode().lower(),
    "UTF-16": lambda value: value.encode("utf-16-le").decode("latin-1"),
    "UTF-16 in JSON": lambda value: json.dumps(value.encode("utf-16-be").decode("latin-1")),
    "UTF-16 in base64": lambda value: base64.b64encode(value.encode("utf-16")).decode(),
    "UTF-16 in hex": lambda value: value.encode("utf-16").hex(),
    "base64 with escaped slashes": lambda value: (
        base64.b64encode(b"??" + value.encode()).decode().replace("/", "\\/")
    ),
}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("part", [slice(None), slice(12), slice(-12, None), slice(3, 17)], ids=str)
def test_a_secret_and_its_fragments_are_found_in_every_spelling(
    spell: Callable[[str], str], part: slice
) -> None:
    spelt = spell(KEY[part])

    cleaned = Redactor([KEY]).clean(f"The key is {spelt} (I think).")

    assert MASK in cleaned
    assert cleaned.startswith("The key is ")
    assert cleaned.endswith(" (I think).")
    assert len(cleaned) < len("The key is (I think).") + 3 * len(MASK), "nothing else is left"


LONG_TEXTS = {
    "few escapes": "The regular expression `\\\\d+` matches digits, and `%2d` is a hyphen. "
    + "word " * 2000,
    "many escapes": "a%2db%2dc&amp;d " * 800,
    "numbers": " ".join(f"0.{number**7:017d}" for number in range(700)),
    "long words": "internationalization-of-telecommunication " * 300,
}


@pytest.mark.parametrize("long", LONG_TEXTS)
def test_a_secret_in_a_long_text_is_found_in_every_spelling(long: str) -> None:
    text, redactor = LONG_TEXTS[long], Redactor([KEY])
    assert redactor.clean(text) is text

    missed = [
        name
        for name, spell in SPELLINGS.items()
        if MASK not in redactor.clean(f"{text} {spell(KEY[3:17])} {text}")
    ]

    assert missed == []


@pytest.mark.parametrize("start", range(len(KEY) - 11))
def test_any_twelve_characters_of_a_secret_are_redacted(start: int) -> None:
    assert Redactor([KEY]).clean(f"…{KEY[start : start + 12]}…") == "…[redacted]…"


def test_eleven_characters_of_a_secret_are_not_redacted() -> None:
    text = f"it begins with {KEY[:11]} and ends with {KEY[-11:]}"

    assert Redactor([KEY]).clean(text) is text


def test_of_a_long_secret_a_twentieth_is_redacted() -> None:
    value = "".join(f"{number:03x}" for number in range(400))
    redactor = Redactor([value])

    assert redactor.clean(f"<{value[500:560]}>") == "<[redacted]>"
    assert redactor.clean(f"<{value[500:559]}>") == f"<{value[500:559]}>"


def test_without_a_secret_every_text_is_left_as_it_is() -> None:
    text = "a long text with %20 and \\u0041 and QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="

    assert Redactor([]).clean(text) is text
    assert not Redactor([]).may_occur(text.encode())


def test_every_occurrence_goes() -> None:
    assert Redactor([KEY]).clean(f"{KEY}{KEY}, {KEY}") == "[redacted][redacted], [redacted]"


def test_a_value_is_known_without_the_newline_its_file_ended_in() -> None:
    assert Redactor([f"{KEY}\n"]).clean(f"Bearer {KEY}.") == "Bearer [redacted]."


def test_short_values_are_left_alone() -> None:
    redactor = Redactor(["test", "", "1234567"])

    assert not redactor
    assert redactor.clean("a test of 1234567") == "a test of 1234567"


def test_a_value_that_is_no_text_is_redacted_all_the_same() -> None:
    value = b"\xff\xfe secret value".decode("utf-8", "surrogateescape")

    assert Redactor([value]).clean(f"is {value}.") == "is [redacted]."


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_SECRET", "PGPASSWORD_KEY"),
        *("DB_PASSWORD", "openai_api_key", "TOKEN", "SOME_APIKEY", "API_KEY"),
    ],
)
def test_these_names_hold_secrets(name: str) -> None:
    assert secrets_in({name: KEY}) == [KEY]


@pytest.mark.parametrize("name", ["PATH", "KEYBOARD", "MONKEY", "TOKEN_LIMIT", "OPENAI_BASE_URL"])
def test_these_names_do_not(name: str) -> None:
    assert secrets_in({name: KEY}) == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("postgresql://me:hunter2hunter2@db/runs", ["hunter2hunter2"], id="a store"),
        pytest.param(
            "http://u:p%40ss-word%21@proxy:80", ["p%40ss-word%21", "p@ss-word!"], id="quoted"
        ),
        pytest.param("http://:only-password@h", ["only-password"], id="no user"),
        pytest.param("https://api.openai.com:443/v1/@me", [], id="a port is none"),
        pytest.param("https://user@host/a:bcdefghijk@l", [], id="nor is a path"),
        pytest.param("not a url: a:bcdefghijkl@m", [], id="nor is prose"),
    ],
)
def test_the_password_of_a_url_is_a_secret(url: str, expected: list[str]) -> None:
    assert secrets_in({"STORE": url}) == expected


def test_short_values_are_no_secrets_and_equal_ones_are_told_once() -> None:
    assert secrets_in({"A_KEY": "EMPTY", "B_KEY": KEY, "C_TOKEN": KEY}) == [KEY]


PRIVATE_KEY = """-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDf8mX2vJ1rT0aZ
-----END PRIVATE KEY-----"""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(
            "correct horse battery staple 42", "a correct horse battery staple", id="a phrase"
        ),
        pytest.param("/srv/evaluations/2024/key.pem", "see /srv/evaluations/2025", id="a path"),
        pytest.param("C:\\Users\\Ann\\keys\\key1.txt", "in C:\\Users\\Ann\\keys", id="in Windows"),
        pytest.param(
            "https://hooks.example.com/services/T0AB12CD34EF",
            "https://hooks.example.com/services/",
            id="a URL",
        ),
        pytest.param("password-for-production-2", "the password-for-production", id="hyphens"),
        pytest.param("internationalization", "internationalize", id="a word"),
        pytest.param("1234567890123456", "123456789012345", id="a number"),
        pytest.param(PRIVATE_KEY, "-----BEGIN PRIVATE KEY-----", id="the frame of a key"),
    ],
)
def test_only_the_whole_of_a_value_that_does_not_look_like_a_key_is_redacted(
    value: str, text: str
) -> None:
    redactor = Redactor([value])

    assert redactor.clean(text) is text
    assert redactor.clean(f"it is {value}.") == "it is [redacted]."
    assert redactor.clean(base64.b64encode(value.encode()).decode()).startswith(MASK)


def test_fragments_of_a_key_between_words_are_redacted() -> None:
    redactor = Redactor([PRIVATE_KEY, "Bearer 4fTq8Zx0LmWv7RkY"])

    assert redactor.clean("it has kiG9w0BAQEFAASCB in it") == "it has [redacted] in it"
    assert redactor.clean("Bearer of news, 8Zx0LmWv7RkY") == "Bearer of news, [redacted]"


@pytest.mark.parametrize(
    "value",
    [
        *(KEY, "4fTq8Zx0LmWv", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "Tr0ub4dor&3-horse"),
        *("123456:ABC-DEF1234ghIkl", "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"),
    ],
)
def test_these_values_look_like_keys(value: str) -> None:
    assert looks_like_key(value)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "4fTq8Zx0LmW",
            "4fTq8Zx0 LmWv",
            "4fTq8Zx0LmWü",
            "correcthorsebattery",
            "v2-of-our-service",
        ),
        *(
            "my-long-passphrase-of-2024",
            "MyApplicationSupport",
            "~/keys/4fTq8Zx0LmWv",
            "2024-01-15",
        ),
    ],
)
def test_these_do_not(value: str) -> None:
    assert not looks_like_key(value)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("4fTq8Zx0LmWv7RkY", ["4fTq8Zx0LmWv7RkY"]),
        ("sk-abcdefgh", ["sk-abcdefgh"]),
        ("ghp_abcdefghij", ["ghp_abcdefghij"]),
        ("Bearer abcdefgh", ["Bearer abcdefgh", "abcdefgh"]),
        ("https://me:hunter2hunter2@h/v1", ["hunter2hunter2"]),
        ("https://h/v1?api-key=abcdefgh&api-version=2024-10-01", ["abcdefgh"]),
        ("https://h/hooks/T0AB12CD34EF56/x?v=4fTq8Zx0LmWv", ["T0AB12CD34EF56", "4fTq8Zx0LmWv"]),
        ("gpu-node17.cluster20241118a.example.com:8000", []),
        ("https://gpu-node17.cluster20241118a.example.com:8000/v1", []),
        ("2024-10-01-preview", []),
        ("application/json; charset=utf-8", []),
        ("gpt-4o-mini-2024-07-18", []),
        ("eu-west-1", []),
        ("sk-short", []),
    ],
)
def test_credentials_are_found_in_the_values_of_a_connection(value: str, found: list[str]) -> None:
    assert find_credentials(value) == found
