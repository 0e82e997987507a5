from pathlib import Path

from tests.perplexity.test_corpus import BROKEN, corpus_of, outcome

from evalwright.perplexity.measure import TextCorpus
from evalwright.perplexity.report import PerplexityReport, PerplexitySummary


def report_on(corpus: TextCorpus, *notes: str, left_out: int = 0) -> PerplexityReport:
    models = [corpus.summarize_model(name, seed=0) for name in corpus.models]
    return PerplexityReport(
        status="finished",
        files=["a.txt"],
        models=models,
        pairwise=corpus.compare_models(seed=0),
        failures=list(corpus.group_failures()),
        summary=PerplexitySummary(
            documents=corpus.total,
            left_out=left_out,
            completed=sum(one.documents for one in models),
            reused=sum(one.reused for one in models),
            failed=sum(one.failed for one in models),
            wall_seconds=1.25,
        ),
        notes=list(notes),
        seed=0,
        version="1",
        rows=corpus.document_rows,
    )


def test_a_model_is_a_line_with_its_intervals(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["one", "two", "three"])
    for ordinal in range(3):
        corpus.models["m"].add_outcome(outcome(ordinal, nll=2.0 + ordinal, tokens=2))

    text = report_on(corpus, left_out=1).to_text()

    head, *rows = (" ".join(line.split()) for line in text.splitlines()[:4])
    assert head == "model metric value 95 % interval tokens documents"
    assert rows[0] == "m perplexity 4.48 [1.29, 15.52] 6 3/3"
    assert [row.partition(".")[0] for row in rows[1:]] == [
        "m bits per byte 1",
        "m bits per character 1",
    ]
    assert text.splitlines()[-1] == "3 documents: 3 measured, 1 without text skipped, 1.2 s"


def test_the_most_surprising_documents_are_named(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["one", "two"])
    corpus.models["m"].add_outcome(outcome(0, nll=1.0))
    corpus.models["m"].add_outcome(outcome(1, nll=2.0))

    lines = report_on(corpus).to_text().splitlines()

    at = next(n for n, line in enumerate(lines) if line == "highest perplexity, m")
    assert lines[at + 2].split()[1:] == ["7.39", "0.9618", "1"]
    assert lines[at + 2].split()[0].endswith("a.txt:2")


def test_one_document_says_why_it_has_no_interval(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["one"])
    corpus.models["m"].add_outcome(outcome(0, nll=1.0, requests=0))

    text = report_on(corpus).to_text()

    assert (
        "  m: no interval for perplexity, bits per byte, bits per character: "
        "there is only one document\n"
    ) in text
    assert "highest perplexity" not in text
    assert "1 document: 1 measured (1 from the cache)" in text


def test_what_has_no_value_says_why_and_failures_are_told(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["one"])
    corpus.models["m"].add_outcome(outcome(0, failure=BROKEN))

    text = report_on(corpus, "odd \x1b[2J note").to_text()

    assert "m: no value for perplexity, bits per byte" in text
    assert "m: 1 document failed (" in text
    assert "a.txt:1): no\n  hint: try" in text
    assert "note: odd \\x1b[2J note" in text, "nothing moves the cursor"
    assert "1 document: 0 measured, 1 failed" in text


def test_models_are_compared_in_pairs(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [f"text {n}" for n in range(6)], ["a", "b"])
    for ordinal in range(6):
        corpus.models["a"].add_outcome(outcome(ordinal, nll=5.0 + ordinal % 2, model="a"))
        corpus.models["b"].add_outcome(outcome(ordinal, nll=3.0, model="b"))

    lines = report_on(corpus).to_text().splitlines()

    (pair,) = [line for line in lines if "a − b" in line]
    assert pair.split()[3] == "+0.6011"
    assert pair.split()[-2:] == ["6", "significant"]
    assert lines[-1].startswith("6 documents with 2 models: 12 measured")
