from datetime import date
from pathlib import Path

import pytest

from evalwright.engine.models.prices import (
    FREE,
    PRICES,
    PRICES_AS_OF,
    Price,
    Prices,
    parse_prices,
    read_prices,
)
from evalwright.errors import Unreadable, UsageError


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("openai/gpt-4.1-mini", Price(0.4, 1.6), id="as it is"),
        pytest.param("openai/gpt-4.1-mini-2025-04-14", Price(0.4, 1.6), id="dated with dashes"),
        pytest.param("anthropic/claude-sonnet-4-20250514", Price(3, 15), id="dated without"),
        pytest.param("openai/gpt-4o-2024-05-13", Price(5, 15), id="a dated one with its own price"),
        pytest.param("openai-responses/gpt-4.1", Price(2, 8), id="the same by another endpoint"),
        pytest.param("openai/gpt-4.1-mini-audio", None, id="another model with the same start"),
        pytest.param("openai/gpt-4-0613", None, id="four digits may be another model"),
        pytest.param("openai/gpt-4.1-mini-12345678", None, id="eight digits that are no date"),
        pytest.param("azure/gpt-4.1-mini", None, id="another provider"),
        pytest.param("gpt-4.1-mini", None, id="no provider"),
        pytest.param("openai/unheard-of", None, id="unknown is not guessed"),
        pytest.param("ollama/llama3", FREE, id="on your own machine"),
        pytest.param("scripted/oracle", FREE, id="a script"),
    ],
)
def test_price(name: str, expected: Price | None) -> None:
    assert Prices().of(name) == expected


def test_the_users_table_goes_first() -> None:
    prices = Prices({"openai/gpt-4.1-mini": Price(1, 2), "ollama/llama3": Price(3, 4)})

    assert prices.of("openai/gpt-4.1-mini") == Price(1, 2)
    assert prices.of("openai/gpt-4.1-mini-2025-04-14") == Price(1, 2)
    assert prices.of("ollama/llama3") == Price(3, 4)
    assert prices.of("openai/gpt-4.1") == PRICES["openai/gpt-4.1"]


def test_the_figures_have_a_date() -> None:
    assert date.fromisoformat(PRICES_AS_OF) > date(2026, 1, 1)


@pytest.mark.parametrize("name", PRICES)
def test_an_answer_costs_at_least_as_much_as_a_question(name: str) -> None:
    price = PRICES[name]

    assert 0 < price.input <= price.output
    assert name.count("/") == 1


def test_a_table_is_read_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('["mine/small"]\ninput = 0.5\noutput = 1\n', encoding="utf-8")

    assert read_prices(path) == {"mine/small": Price(0.5, 1)}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("[", "not TOML", id="no TOML"),
        pytest.param('["a/b"]\ninput = 1', "missing required field `output`", id="no output"),
        pytest.param('["a/b"]\ninput = -1\noutput = 1', ">= 0", id="below nothing"),
        pytest.param('["a/b"]\ninput = 1\noutput = 1\ncached = 1', "unknown field", id="unknown"),
        pytest.param('["a/b"]\ninput = "1"\noutput = 1', "Expected `float`", id="no number"),
        pytest.param("input = 1", "Expected `object`", id="no model"),
        pytest.param('["a/b"]\ninput = nan\noutput = 1', ">= 0", id="not a number"),
    ],
)
def test_a_bad_table_is_one_error_that_says_where(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=says) as caught:
        read_prices(path)

    assert caught.value.message.startswith(f"{path}: ")


def test_a_table_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="No such file"):
        read_prices(tmp_path / "none.toml")


def test_plain_data_is_a_table_too() -> None:
    table = {"openai/gpt-4.1-mini": {"input": 0.4, "output": 1.6}}

    assert parse_prices(table, where="run.yaml") == {"openai/gpt-4.1-mini": Price(0.4, 1.6)}
