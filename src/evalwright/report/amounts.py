"""Money, for people: two decimals where that says enough, two digits where it does not."""


def dollars(cost: float | None) -> str:
    """`$12.34`, `$0.0010`, `$0.00` for nothing, `unknown` where no price is known."""
    if cost is None:
        return "unknown"
    if cost == 0 or cost >= 1:
        return f"${cost:,.2f}"
    decimals = 2
    while decimals < _MOST and round(cost, decimals) < 10 ** (1 - decimals):
        decimals += 1
    return f"${cost:.{decimals}f}"


_MOST = 8
