from typing import Any

import pytest

from evalwright.datasets.folder import split_front_matter


@pytest.mark.parametrize(
    ("text", "matter", "body"),
    [
        pytest.param("---\ntitle: Tea\n---\nHot.\n", {"title": "Tea"}, "Hot.\n", id="a mapping"),
        pytest.param("---\r\na: 1\r\n---\r\nx\r\n", {"a": 1}, "x\r\n", id="Windows line ends"),
        pytest.param("---\na: 1\n---", {"a": 1}, "", id="no text after it"),
        pytest.param("---\n---\nx", {}, "x", id="empty"),
        pytest.param("---\n# only a comment\n---\nx", {}, "x", id="a comment"),
        pytest.param("no front matter", {}, "no front matter", id="none"),
        pytest.param("", {}, "", id="nothing"),
        pytest.param("---\nnever closed", {}, "---\nnever closed", id="never closed"),
        pytest.param("---\nwords\n---\nx", {}, "---\nwords\n---\nx", id="a rule, not a matter"),
        pytest.param("----\na: 1\n---\nx", {}, "----\na: 1\n---\nx", id="four dashes"),
        pytest.param("x\n---\na: 1\n---\n", {}, "x\n---\na: 1\n---\n", id="not at the start"),
        pytest.param("---\na: b---\n---\nx", {"a": "b---"}, "x", id="dashes in a line"),
        pytest.param("---\na: 1\n---\nx\n---\ny", {"a": 1}, "x\n---\ny", id="a rule in the text"),
    ],
)
def test_parts(text: str, matter: dict[str, Any], body: str) -> None:
    assert split_front_matter(text) == (matter, body)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("yes", "yes"), ("off", "off"), ("true", True), ("False", False), ("null", None),
        ("", None), ("12", 12), ("-3", -3), ("007", "007"), ("1_000", "1_000"), ("2.5", 2.5),
        ("12:30", "12:30"), (".5", 0.5), ("1e3", 1000.0), ("2024-01-01", "2024-01-01"),
        ("'12'", "12"), ("[a, 1]", ["a", 1]), ("{b: {1: x}}", {"b": {"1": "x"}}),
        ("0x1F", "0x1F"), ("9" * 19, "9" * 19), (".nan", ".nan"),
    ],
)  # fmt: skip
def test_words_mean_what_json_can_say(word: str, expected: Any) -> None:
    assert split_front_matter(f"---\na: {word}\n---\n")[0] == {"a": expected}


@pytest.mark.parametrize(
    ("matter", "said"),
    [
        pytest.param("a: 1\nb: [1\nc: 2", "line 4: ", id="no YAML"),
        pytest.param("a: 1\na: 2", "line 3: duplicate key `a`", id="a key twice"),
        pytest.param("a: &x 1\nb: *x", "line 3: aliases are not allowed", id="an alias"),
        pytest.param("a: !!python/object:os.system x", "line 2: could not determine", id="a tag"),
        pytest.param(
            "[a]: 1\n? {b: c}\n: 1", "line 2: a key must be a scalar", id="a key that is no word"
        ),
        pytest.param("a: " + "x" * 70_000, "longer than 64 KiB", id="too long"),
        pytest.param("a: " + "[" * 3000 + "]" * 3000, "nested too deeply", id="too deep"),
        pytest.param("a: \x07", "unacceptable character", id="no text"),
    ],
)
def test_refuses(matter: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        split_front_matter(f"---\n{matter}\n---\nx")

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
