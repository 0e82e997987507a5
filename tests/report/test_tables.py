import pytest

from evalwright.report.tables import count_noun, dollars, format_interval, format_number, shorten


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("openai/gpt-4.1-mini", "openai/gpt-4.1-mini", id="short"),
        pytest.param("a" * 36, "a" * 36, id="just short enough"),
        pytest.param(
            "local/models/" + "x" * 40 + "/checkpoint-2000",
            "local/models/xxxx…x/checkpoint-2000",
            id="both ends are kept",
        ),
        pytest.param("evil\x1b[2J\nname", "evil [2J name", id="nothing that moves the cursor"),
    ],
)
def test_names_are_shortened_in_the_middle(name: str, shown: str) -> None:
    found = shorten(name, 35) if len(name) > 36 else shorten(name)

    assert found == shown


def test_counts_agree_with_their_nouns() -> None:
    assert [count_noun(n, "task") for n in range(3)] == ["0 tasks", "1 task", "2 tasks"]


def test_what_is_not_there_is_a_dash() -> None:
    assert (format_number(None), format_interval(None, 0.5)) == ("–", "–")


def test_numbers_have_as_many_decimals_as_asked_for() -> None:
    assert (format_number(0.5), format_number(0.5, 1)) == ("0.500", "0.5")
    assert format_interval(-0.25, 0.5, 2, flag="+") == "[-0.25, +0.50]"


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        pytest.param(None, "unknown", id="no price"),
        pytest.param(0.0, "$0.00", id="nothing"),
        pytest.param(1234.5, "$1,234.50", id="much"),
        pytest.param(0.5, "$0.50", id="cents"),
        pytest.param(0.042, "$0.042", id="a few cents"),
        pytest.param(0.001046, "$0.0010", id="less than a cent"),
        pytest.param(6.4000000000000006e-06, "$0.0000064", id="hardly anything"),
        pytest.param(1e-12, "$0.00000000", id="less than that"),
    ],
)
def test_an_amount_says_two_digits_at_least(cost: float | None, shown: str) -> None:
    assert dollars(cost) == shown
