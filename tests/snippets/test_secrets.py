import traceback

import pytest

from evalwright.snippets.inside.secrets import fill_secrets

PLACEHOLDER = "<< secrets.KEY >>"
VALUE = """a"b'c{d}\\n"""
SECRETS = ((PLACEHOLDER, VALUE),)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f'x = "{PLACEHOLDER}"', VALUE),
        (f"x = r'-{PLACEHOLDER}-'", f"-{VALUE}-"),
        (f'x = f"{{1 + 1}} {PLACEHOLDER}"', f"2 {VALUE}"),
        (f'x = b"{PLACEHOLDER}"', VALUE.encode()),
        ('x = "<< secrets.OTHER >>"', "<< secrets.OTHER >>"),
    ],
    ids=["a text", "a raw text", "an f-string", "bytes", "another name"],
)
def test_a_placeholder_in_a_string_is_the_value_whatever_is_in_it(
    code: str, expected: object
) -> None:
    names: dict[str, object] = {}

    exec(compile(fill_secrets(code, "s.py", SECRETS), "s.py", "exec"), names)  # noqa: S102 - the test's own code

    assert names["x"] == expected


def test_a_traceback_does_not_show_the_value() -> None:
    code = fill_secrets(f'x = "{PLACEHOLDER}"\nraise KeyError', "s.py", SECRETS)

    with pytest.raises(KeyError) as caught:
        exec(compile(code, "s.py", "exec"), {})  # noqa: S102 - the test's own code

    assert VALUE not in "".join(traceback.format_exception(caught.value))
