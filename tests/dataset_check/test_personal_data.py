"""What is found by its form, what is not, and that matches are hidden."""

from evalwright.dataset_check.personal_data import find_personal_data

FOUND = {
    "write to ana.lopez+x@example.org!": "email",
    "راسل ana@example.org الآن": "email",
    "call +49 170 1234567 today": "phone",
    "+1 (212) 555-0100": "phone",
    "call 212-555-0100": "phone",
    "card 4111 1111 1111 1111": "card",
    "378282246310005": "card",
    "DE89 3704 0044 0532 0130 00": "iban",
    "GB82WEST12345698765432": "iban",
    "from 93.184.216.34 at noon": "ip_address",
    "host 2001:db8::8a2e:370:7334": "ip_address",
    "key sk-proj1234567890abcdef": "credential",
    "AKIA1234567890ABCDEF": "credential",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE": "credential",
}
NOT_FOUND = [
    "2026-03-01 12:30:45",
    "03/04/2026",
    "ISBN 978-3-16-148410-0",
    "9783161484100",
    "4111 1111 1111 1112",
    "0000 0000 0000 0000",
    "DE00 3704 0044 0532 0130 00",
    "version 1.2.3",
    "999.1.1.1",
    "127.0.0.1 and ::1",
    "std::vector",
    "a@b",
    "user@ example.org",
    "task-1234567890",
    "risk-free offers in 2026 for everyone",
    "-----BEGIN CERTIFICATE-----",
    "3.14159265358979323846",
    "12345678901234567890123456789012345",
    "",
]


def test_personal_data_is_found_by_its_form() -> None:
    found = {text: [match.kind for match in find_personal_data(text)] for text in FOUND}

    assert found == {text: [kind] for text, kind in FOUND.items()}
    assert [text for text in NOT_FOUND if any(find_personal_data(text))] == []


def test_a_match_is_not_shown_whole() -> None:
    shown = [match.shown for text in FOUND for match in find_personal_data(text)]

    assert all("…" in text for text in shown)
    assert shown[:2] == ["an…rg", "an…rg"]


def test_a_long_text_takes_no_longer_than_its_length_explains() -> None:
    # Each would take minutes if the time grew with the square of the length.
    hostile = ["a" * 300_000 + "@", "1 " * 150_000, "A1" * 150_000, "1." * 150_000, ":" * 300_000]

    assert [[*find_personal_data(text)] for text in hostile] == [[]] * len(hostile)
