import pytest

from evalwright.text.prompt import find_options


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        pytest.param("Which?\nA) x\nB) y\nAnswer:", {"A": "x", "B": "y"}, id="bracket"),
        pytest.param("Which?\nA. x\nB. y\nC. z", {"A": "x", "B": "y", "C": "z"}, id="full stop"),
        pytest.param("Which?\n(A) x\n(B) y", {"A": "x", "B": "y"}, id="two brackets"),
        pytest.param("Which?\n[A] x\n[B] y", {"A": "x", "B": "y"}, id="square brackets"),
        pytest.param("Which?\nA: x\nB: y", {"A": "x", "B": "y"}, id="colon"),
        pytest.param("Which?\n  - **A)** x\n  - **B)** y", {"A": "x", "B": "y"}, id="markdown"),
        pytest.param("Which?\na) x\nb) y", {"A": "x", "B": "y"}, id="small letters"),
        pytest.param("Which? A) x, B) y, C) z", {"A": "x", "B": "y", "C": "z"}, id="in one line"),
        pytest.param("Which? A) x B) y", {"A": "x", "B": "y"}, id="two in one line"),
        pytest.param(
            "Which? (A) x (B) y\nAnswer:", {"A": "x", "B": "y"}, id="in one line, brackets"
        ),
        pytest.param(
            "Which? A. x B. y C. z", {"A": "x", "B": "y", "C": "z"}, id="in one line, stops"
        ),
        pytest.param("哪个?\nA、金星\nB、水星", {"A": "金星", "B": "水星"}, id="Chinese comma"),
        pytest.param(
            "哪个?\nA\uff0e金星\nB\uff0e水星", {"A": "金星", "B": "水星"}, id="full width"
        ),
        pytest.param(
            "哪个?\uff08A\uff09金星\uff08B\uff09水星",
            {"A": "金星", "B": "水星"},
            id="full width, in one line",
        ),
        pytest.param("أي منها؟\nA) الزهرة\nB) عطارد", {"A": "الزهرة", "B": "عطارد"}, id="Arabic"),
        pytest.param(
            "Which?\nA) x\n   more\nB) y\n   more\n\nAnswer:",
            {"A": "x more", "B": "y more"},
            id="several lines",
        ),
        pytest.param("A: Hi\nB: Hello\nA: How?\nB: Well", {}, id="a dialogue"),
        pytest.param(
            "A: Hi\nB: Hello\nWho speaks first?\nA) x\nB) y\nC) z",
            {"A": "x", "B": "y", "C": "z"},
            id="a dialogue, then options",
        ),
        pytest.param("By A. Smith and B. Jones.", {}, id="initials"),
        pytest.param("Vitamin A) is one. What is C)?", {}, id="no run of letters"),
        pytest.param("Which is it?", {}, id="none"),
        pytest.param("A) only one", {}, id="one alone"),
    ],
)
def test_options_are_a_run_of_letters_in_one_shape(prompt: str, expected: dict[str, str]) -> None:
    assert dict(find_options(prompt)) == expected
