"""What a run has taken, as tables: the answers, and what was asked beside them."""

from collections.abc import Iterator, Mapping

from evalwright.report.amounts import dollars
from evalwright.report.report import Report, UsageRow
from evalwright.report.tables import Table, shortened

_COLUMNS = ("model", "requests", "prompt tokens", "completion tokens", "cost")


def usage_tables(report: Report) -> Iterator[Table]:
    """One of the answers, and one of the rest where there is any."""
    known = report.perplexity
    more = {model: _perplexity(one.perplexity) for model, one in known.items()}
    columns = (*_COLUMNS, *(("perplexity",) if known else ()))
    rows = [
        (*row, *((more.get(model, "–"),) if known else ()))
        for model, row in zip(report.usage, _rows(report.usage), strict=True)
    ]
    yield Table("Usage", columns, rows, frozenset(range(1, 6)))
    yield Table(
        "Asked beside the answers",
        _COLUMNS,
        _rows(report.asked_beside),
        frozenset(range(1, 5)),
        f"by scorers and solvers: judges, embeddings, other voices; {_total(report)}",
    )


def _rows(usage: Mapping[str, UsageRow]) -> list[tuple[str, ...]]:
    return [
        (
            shortened(model),
            str(row.requests),
            str(row.prompt_tokens),
            str(row.completion_tokens),
            dollars(row.cost),
        )
        for model, row in usage.items()
    ]


def _total(report: Report) -> str:
    """What the run cost: the answers and the rest."""
    costs = [row.cost for row in (*report.usage.values(), *report.asked_beside.values())]
    if None in costs:
        return "what the run cost is not known"
    return f"the run cost {dollars(sum(cost or 0.0 for cost in costs))} with the answers"


def _perplexity(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
