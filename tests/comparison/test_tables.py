from typing import Any

from tests.comparison.test_statistic import row

from evalwright.comparison.report import ComparedRun, ComparisonReport, Flip
from evalwright.comparison.tables import comparison_blocks, headline, to_markdown
from evalwright.report.layout import lay_out_blocks


def flip(**changes: Any) -> Flip:
    fields: dict[str, Any] = {
        **dict.fromkeys(("task", "scorer", "metric", "run_a", "run_b"), "x"),
        **dict.fromkeys(("model_a", "model_b"), "m"),
        "sample_id": "s1",
        "a": 1.0,
        "b": 0.5,
        "kind": "worse",
        "share": -0.25,
        "is_flaky": False,
    }
    return Flip(**{**fields, **changes})


def report(**changes: Any) -> ComparisonReport:
    fields: dict[str, Any] = {
        "a": "r1",
        "b": "r2",
        "runs": [
            ComparedRun(id="r1", name="before", models=["m"], cost=1.5, latency_s=0.25, failed=2),
            ComparedRun(id="r2", models=["m"]),
        ],
        "comparisons": [row(model_a="m", model_b="m")],
        "flips": [],
        "flipped": 0,
        "warnings": [],
        "margin": 0.0,
    }
    return ComparisonReport(**{**fields, **changes})


def page(shown: ComparisonReport, width: int | None = None) -> str:
    return "\n".join(lay_out_blocks(comparison_blocks(shown), width))


def test_the_runs_are_shown_with_cost_latency_and_failures() -> None:
    text = page(report())

    assert "A  before (r1)  m  $1.50  median latency 0.25 s  2 failed" in text
    assert "no sample changed its score" in text


def test_columns_that_tell_rows_apart_are_shown() -> None:
    runs = [ComparedRun(id=f"r{n}") for n in range(3)]
    rows = [
        row(task="t", model_a="a", model_b="b", scorer="s", metric="f", run_b="r1", clusters=4),
        row(task="u", model_a="a", model_b="c", scorer="o", metric="g", run_b="r2", task_b="v"),
        row(task="u", model_a="a", model_b="c", group="hard", lower_is_better=True, run_b="r2"),
    ]

    text = page(report(runs=runs, comparisons=rows))

    heads = ("task of B", "run B", "scorer", "metric", "group", "clusters", "verdict")
    assert all(head in text for head in heads)
    assert "B2 r2" in " ".join(text.split())
    assert "lower is better: x" in text
    assert "adjusted for 3 comparisons" in text


def test_undecided_comparisons_are_explained_and_cut() -> None:
    rows = [
        row(metric=f"m{n}", verdict="undecided", reason="too few", mde=None if n else 0.2)
        for n in range(8)
    ]

    text = page(report(comparisons=rows))

    assert "m0 (x, x)" not in text
    assert "m0: too few; 100 samples can show a difference of 0.200" in text
    assert "3 more comparisons are undecided" in text


def test_samples_that_one_side_did_not_complete_are_stated() -> None:
    text = page(report(comparisons=[row(incomplete_a=1, incomplete_b=3)]))

    assert "1 sample of A, 3 of B" in text


def test_a_flip_names_its_share_target_and_flakiness() -> None:
    flips = [
        flip(output_a="same", output_b="same", target="yes", is_flaky=True),
        flip(kind="better", share=0.0),
        flip(output_a="old text", output_b="new text", share=0.5),
    ]
    shown = report(flips=flips, flipped=5, warnings=["the solver has changed"])

    text, markdown = page(shown), to_markdown(shown)

    assert "25 % against the difference, flaky: its trials disagree, target `yes`" in text
    assert "the outputs are the same" in text
    assert "no output is stored" in text
    assert "2 more: --flips 5" in text
    assert "> **Changed:** the solver has changed" in markdown
    assert "[-old-]{+new+} text" in markdown


def test_the_headline_counts_the_verdicts() -> None:
    rows = [row(verdict=verdict) for verdict in ("better", "worse", "undecided", "better")]

    assert headline(report(comparisons=rows)) == "B compared with A: 1 worse, 2 better, 1 undecided"
    assert headline(report(comparisons=[row(verdict="equivalent")])) == "B is equivalent to A"
    assert headline(report(comparisons=[])) == "B compared with A: nothing to compare"


def test_the_page_fits_eighty_columns() -> None:
    rows = [row(task="a-long-name-of-a-task" * 2, model_a="provider/model-a", model_b="other/b")]

    assert max(map(len, page(report(comparisons=rows), 80).splitlines())) <= 80
