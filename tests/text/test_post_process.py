import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.text.post_process import RULES, post_process
from evalwright.vocabulary import LETTERS, POST_PROCESSES

IDEMPOTENT = sorted(set(POST_PROCESSES) - {"extract_code_block"})


def test_there_is_one_function_a_rule_of_the_vocabulary() -> None:
    assert tuple(RULES) == POST_PROCESSES


def test_an_unknown_rule_is_named_with_the_legal_ones_and_the_nearest() -> None:
    with pytest.raises(ValueError, match="unknown post-process rule `extract_leter`") as caught:
        post_process("B", "extract_leter")

    message = str(caught.value)
    assert all(f"`{rule}`" in message for rule in POST_PROCESSES)
    assert message.endswith("; did you mean `extract_letter`?")


def test_an_unknown_rule_like_no_other_gets_no_guess() -> None:
    with pytest.raises(ValueError, match="unknown post-process rule `shout`") as caught:
        post_process("B", "shout")

    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        pytest.param("none", " A\r\n", " A\r\n", id="none: not a character changes"),
        pytest.param("none", "", "", id="none: empty"),
        pytest.param("strip_whitespace", "\n a  b\t", "a  b", id="strip: only the ends"),
        pytest.param("strip_whitespace", "\u3000好\u00a0", "好", id="strip: Unicode spaces too"),
        pytest.param("strip_whitespace", "\u200bx", "\u200bx", id="strip: zero width is no space"),
        pytest.param("lower", " ÀB\n", " àb\n", id="lower: and nothing else"),
        pytest.param("lower", "Straße", "straße", id="lower: not case-folded"),
        pytest.param("lower", "ΟΔΟΣ", "οδος", id="lower: final sigma"),
        pytest.param("lower", "مرحبا 你好 👍", "مرحبا 你好 👍", id="lower: scripts without case"),
        pytest.param("extract_first_line", "\n  \n a b \nc", "a b", id="line: first not blank"),
        pytest.param("extract_first_line", "one\r\ntwo", "one", id="line: CRLF"),
        pytest.param("extract_first_line", "one\rtwo", "one", id="line: CR"),
        pytest.param("extract_first_line", "one\u2028two", "one", id="line: Unicode separators"),
        pytest.param("extract_first_line", " \n\t\n\u3000", "", id="line: all blank"),
        pytest.param("extract_first_line", "", "", id="line: empty"),
        pytest.param("extract_first_line", "نعم\nكلمة", "نعم", id="line: Arabic"),
    ],
)
def test_simple_rules(rule: str, text: str, expected: str) -> None:
    assert post_process(text, rule) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("B", "B", id="alone"),
        pytest.param("Answer: C", "C", id="the A of Answer has a letter beside it"),
        pytest.param("(D)", "D", id="in brackets"),
        pytest.param("**E**", "E", id="in bold"),
        pytest.param("_B_", "B", id="an underscore is no letter"),
        pytest.param("B. Because C", "B", id="the first of several"),
        pytest.param("CAB then D", "D", id="standalone before an earlier one that is not"),
        pytest.param("CAB", "C", id="none standalone: the first that there is"),
        pytest.param("xBx", "B", id="none standalone: inside a word"),
        pytest.param("A1 or 2B or C", "C", id="a digit beside it counts"),
        pytest.param("éA Bé C", "C", id="an accented letter beside it counts"),
        pytest.param("答案是A 答B 案 C", "C", id="a CJK letter beside it counts"),
        pytest.param("٣A D", "D", id="an Arabic digit beside it counts"),
        pytest.param("答案\uff1aB。", "B", id="CJK punctuation beside it does not"),
        pytest.param("👉B👈", "B", id="an emoji beside it does not"),
        pytest.param("الجواب هو D", "D", id="in Arabic text"),
        pytest.param("b", "", id="lowercase is no answer"),
        pytest.param("F G", "", id="beyond E is no answer"),
        pytest.param("\uff21", "", id="a full-width A is no answer"),
        pytest.param("", "", id="empty"),
        pytest.param("A\u0301 B", "A", id="a combining mark is neither letter nor digit"),
        pytest.param("A good guess is C", "A", id="an article is not told apart"),
    ],
)
def test_extract_letter(text: str, expected: str) -> None:
    assert post_process(text, "extract_letter") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("```python\nx = 1\n```", "x = 1", id="the info string is not part of it"),
        pytest.param("```\nx = 1\n```", "x = 1", id="no info string"),
        pytest.param("Sure:\n```py\na\n\nb\n```\nDone", "a\n\nb", id="prose around it"),
        pytest.param("```\na\n```\n```\nb\n```", "a", id="the first of two"),
        pytest.param("print(1)", "print(1)", id="no block: unchanged"),
        pytest.param(" `x` and ``y``\r\n", " `x` and ``y``\r\n", id="one or two: no block"),
        pytest.param("", "", id="empty"),
        pytest.param("```\n```", "", id="an empty body"),
        pytest.param("```python\nx = 1\n", "x = 1\n", id="unclosed: to the end"),
        pytest.param("```python\nx = 1", "x = 1", id="unclosed: to the end, no line break"),
        pytest.param("```python", "", id="unclosed: nothing but an info string"),
        pytest.param("```\n\n x\n\n```", "\n x\n", id="only the last line break goes"),
        pytest.param("```py\r\na\r\nb\r\n```\r\n", "a\r\nb", id="CRLF"),
        pytest.param("Here: ```python\nx = 1\n```", "x = 1", id="opened behind text"),
        pytest.param("Here: ```python\nx = 1```", "x = 1", id="closed behind code"),
        pytest.param("```python\nx = 1``` ", "x = 1", id="closed behind code, then space"),
        pytest.param(
            "```\na```\nor\n```\nb\n```", "a", id="closed behind code, with another block after it"
        ),
        pytest.param("```\na\n``` or\n```\nb\n```", "a", id="closed before text"),
        pytest.param("```\na``` is it", "a", id="closed between code and text, for want of better"),
        pytest.param("```python\na\n    ```", "a", id="closed too deep, for want of better"),
        pytest.param("````md\n```\na\n```\n````", "```\na\n```", id="longer fences hold shorter"),
        pytest.param("```\na\n`````", "a", id="a longer fence closes"),
        pytest.param(
            "```\nif s == '```':\n    s = '```'\n```",
            "if s == '```':\n    s = '```'",
            id="a fence inside a line of code does not close",
        ),
        pytest.param(
            '```\ndef f():\n    """\n    ```\n    f()\n    ```\n    """\n```',
            'def f():\n    """\n    ```\n    f()\n    ```\n    """',
            id="fences of a docstring do not close",
        ),
        pytest.param("   ```\na\n  ```", "a", id="an indented fence"),
        pytest.param(
            "1. so:\n    ```\n    if x:\n        y\n    ```\n",
            "if x:\n    y",
            id="an indented block loses the fence's indentation",
        ),
        pytest.param("- ```\n  if x:\n      y\n  ```", "if x:\n    y", id="opened in a list"),
        pytest.param("  ```\n    a\n  ```", "  a", id="and not more than that"),
        pytest.param("    ```\n  a\n    b\n    ```", "a\n  b", id="only what all lines share"),
        pytest.param("```\n    a\n```", "    a", id="a fence at the margin: body as it is"),
        pytest.param("```print(1)```", "print(1)", id="one line"),
        pytest.param("Try ``` print(1) ```.", "print(1)", id="one line, stripped"),
        pytest.param("```a``` or ```b```", "a", id="one line, the first of two"),
        pytest.param("``````", "", id="six backticks open, and close nothing"),
        pytest.param("In ```python``` then:\n```\na\n```", "a", id="a block before a one-line one"),
        pytest.param("~~~\na\n~~~", "~~~\na\n~~~", id="tildes are no backticks"),
        pytest.param("```\nprint('مرحبا 你好 👍')\n```", "print('مرحبا 你好 👍')", id="any script"),
    ],
)
def test_extract_code_block(text: str, expected: str) -> None:
    assert post_process(text, "extract_code_block") == expected


@given(
    st.text(st.characters(exclude_characters="`")), st.sampled_from(["", "python", "py title=x"])
)
def test_a_fenced_text_comes_back_as_it_was(body: str, info: str) -> None:
    expected = body.removesuffix("\r")  # a last \r belongs to the line break before the fence

    assert post_process(f"```{info}\n{body}\n```", "extract_code_block") == expected


@given(st.text(st.characters(exclude_characters="`")))
def test_a_text_without_backticks_is_no_block(text: str) -> None:
    assert post_process(text, "extract_code_block") == text


@given(st.text("ab` \n\r\t"))
def test_a_block_is_never_longer_than_its_text(text: str) -> None:
    assert len(post_process(text, "extract_code_block")) <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("`" * 1_000_000, id="one long fence"),
        pytest.param("``` " * 250_000, id="many in one line"),
        pytest.param("```x\n" * 200_000, id="many lines"),
        pytest.param("`" * 500_000 + "x" + "`" * 499_999, id="a long fence and a shorter one"),
    ],
)
def test_a_megabyte_of_backticks_takes_a_moment(text: str) -> None:
    start = time.process_time()
    post_process(text, "extract_code_block")
    spent = time.process_time() - start

    assert spent < 5  # a quadratic scan would take minutes


@pytest.mark.parametrize("rule", IDEMPOTENT)
@given(text=st.text() | st.text("aA E\n\r.²é"))
def test_twice_is_once(rule: str, text: str) -> None:
    once = post_process(text, rule)

    assert post_process(once, rule) == once


@given(st.text() | st.text("ABCDEFGabc 1_é.\n"))
def test_a_letter_is_found_when_there_is_one(text: str) -> None:
    found = post_process(text, "extract_letter")

    assert found in {"", *LETTERS}
    assert bool(found) == any(letter in text for letter in LETTERS)
