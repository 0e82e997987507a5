import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import evalwright as ew
from evalwright import api
from evalwright.errors import BadDataset, ModelError, UnknownName, UsageError
from evalwright.registry import BUILT_IN
from evalwright.types import Completion, ModelOptions, Request, Usage

WORD = math.log(0.125)
"""What every word weighs for a script."""


KEY = "sk-very-secret-0123456789"


class Fragile:
    """Weighs two tokens a text, unless the text says `break`."""

    caveat, fingerprint, weighs = "", "1", True

    async def complete(self, request: Request) -> Completion:
        if "break" in request.given[0]:
            raise ModelError("broken", f"cannot be weighed by {KEY}", hint="leave it out")
        usage = Usage(requests=1, prompt_tokens=2, cost=0.0)
        return Completion(text="", given=((-1.0, -2.0),), usage=usage)

    async def close(self) -> None:
        pass


def connect(name: str, options: ModelOptions) -> Fragile:
    assert (name, options.parameters) == ("m", {"context": 8})
    return Fragile()


@pytest.fixture
def fragile(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(BUILT_IN["models"], "fragile", f"{__name__}:connect")
    return "fragile/m"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.delenv(f"{provider}_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(*texts: Any) -> str:
    return "".join(json.dumps({"text": one}) + "\n" for one in texts)


def test_perplexity_is_of_the_sum_of_the_log_probabilities(folder: Path) -> None:
    (folder / "a.jsonl").write_text(rows("one two", "three", " ", "four five six"))

    report = ew.perplexity("a.jsonl", models=["scripted/echo"])

    (found,) = report.models
    assert found.nll == pytest.approx(-6 * WORD, abs=1e-12)
    assert found.perplexity.value == pytest.approx(8, abs=1e-9)
    assert found.bits_per_byte.value == pytest.approx(18 / 25)
    assert (found.tokens, found.documents, found.failed) == (6, 3, 0)
    assert (report.status, report.summary.left_out) == ("finished", 1)
    assert [row.document for row in report.documents()] == ["a.jsonl:1", "a.jsonl:2", "a.jsonl:4"]
    assert "not from a model" in report.notes[0]


def test_what_was_weighed_is_not_weighed_again(folder: Path) -> None:
    (folder / "a.jsonl").write_text(rows("one two", "three"))
    (folder / "b.txt").write_text("three")

    first = ew.perplexity("a.jsonl", "scripted/echo")
    again = ew.perplexity(["b.txt", "a.jsonl"], "scripted/echo")
    without = ew.perplexity("a.jsonl", "scripted/echo", cache=False)

    assert (first.summary.reused, again.summary.reused, without.summary.reused) == (0, 3, 0)
    assert again.models[0].perplexity.value == first.models[0].perplexity.value


def test_without_a_cache_nothing_is_written(folder: Path) -> None:
    (folder / "a.txt").write_text("one")

    ew.perplexity("a.txt", "scripted/echo", cache=False)

    assert not (folder / ".evalwright").exists()


def test_several_models_are_compared_by_bits_a_byte(folder: Path) -> None:
    (folder / "a.jsonl").write_text(rows("one two", "three"))

    report = ew.perplexity("a.jsonl", ["scripted/echo", "scripted/oracle"])

    assert [one.model for one in report.models] == ["scripted/echo", "scripted/oracle"]
    assert [(one.difference, one.n) for one in report.pairwise] == [(0.0, 2)]
    assert "compare bits per byte" in report.notes[0]


@pytest.mark.parametrize("model", ["openai/gpt-4.1-mini", "anthropic/claude-x", "vllm/m"])
def test_an_api_that_cannot_is_refused_before_anything_is_read_or_any_key_is_needed(
    model: str,
) -> None:
    with pytest.raises(UsageError, match="only for text that it generates") as error:
        ew.perplexity("there is no such file", ["scripted/echo", model])

    assert f"`{model}`" in str(error.value)
    assert "`scripted/echo`" not in str(error.value)
    assert "local/smollm2" in error.value.hint


def test_recorded_answers_are_refused(folder: Path) -> None:
    (folder / "out.jsonl").write_text('{"id": "a", "output": "b"}\n')

    with pytest.raises(UsageError, match="recorded answers"):
        ew.perplexity("a.txt", "replay/out.jsonl")


def test_a_bad_file_is_an_error_before_a_model_is_asked(folder: Path) -> None:
    (folder / "a.jsonl").write_text(rows("one") + rows(3))

    with pytest.raises(BadDataset, match=r"a\.jsonl:2: expected a string"):
        ew.perplexity("a.jsonl", "scripted/echo")
    assert not (folder / ".evalwright").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param({"limits": 3}, "no option `limits`", id="misspelt"),
        pytest.param({"trials": 3}, "no option `trials`", id="of runs"),
        pytest.param({"limit": 0}, "limit", id="limit"),
        pytest.param({"split": "words"}, "expected `paragraphs` or `lines`", id="split"),
    ],
)
def test_options_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ew.perplexity("a.txt", "scripted/echo", **options)


def test_a_model_must_be_named_and_known() -> None:
    with pytest.raises(UsageError, match="no model was specified"):
        ew.perplexity("a.txt")
    with pytest.raises(UnknownName, match="scripted/ecko"):
        ew.perplexity("a.txt", "scripted/ecko")


def test_a_model_of_a_name_that_cannot_be_printed_is_refused() -> None:
    with pytest.raises(UsageError, match="a name that is not UTF-8 cannot be written to a report"):
        ew.perplexity("a.txt", "local/\udcff.gguf")


def test_splits_fields_and_limits_reach_the_reader(folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\n\nthree\n")
    (folder / "b.jsonl").write_text('{"body": "four"}\n')

    report = ew.perplexity(
        [Path("a.txt"), Path("b.jsonl")], "scripted/echo", split="lines", field="body", limit=3
    )

    assert [row.document for row in report.documents()] == ["a.txt:1", "a.txt:2", "a.txt:4"]
    assert report.files == ["a.txt", "b.jsonl"]


def test_what_is_printed_is_what_the_schema_says(folder: Path) -> None:
    (folder / "a.jsonl").write_text(rows("one two", "three\x1b é", "four"))
    report = ew.perplexity("a.jsonl", ["scripted/echo", "scripted/noisy"])

    found = json.loads(report.to_json())

    assert found == report.to_dict()
    assert len(found["documents"]) == 6
    jsonschema.validate(found, api.schema("perplexity"))


def test_a_single_row_and_none_are_lists_too(folder: Path) -> None:
    from msgspec import structs

    (folder / "a.txt").write_text("one")
    report = ew.perplexity("a.txt", "scripted/echo")

    none = structs.replace(report, rows=lambda: iter(()))

    assert len(report.to_dict()["documents"]) == 1
    assert none.to_dict()["documents"] == []


def test_a_failure_is_no_figure_and_tells_no_secret(
    folder: Path, fragile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    (folder / "a.jsonl").write_text(rows("one", "break", "three"))

    report = ew.perplexity("a.jsonl", fragile, parameters={"context": 8})

    assert report.status == "finished_with_failures"
    assert report.models[0].perplexity.value == pytest.approx(math.exp(1.5))
    (kind,) = report.failures
    assert (kind.type, kind.count, kind.sample_ids) == ("broken", 1, ["a.jsonl:2"])
    assert KEY not in report.to_json()
    assert KEY not in report.to_text()


def test_too_many_failures_stop_it(folder: Path, fragile: str) -> None:
    (folder / "a.jsonl").write_text(rows("one", "break", "break it", "four", "five"))
    told: dict[str, Any] = {"parameters": {"context": 8}, "concurrency": 1}

    report = ew.perplexity("a.jsonl", fragile, max_failures=1, **told)

    assert report.status == "stopped"
    assert (report.summary.completed, report.summary.failed) == (1, 2)
    assert "2 samples failed" in report.notes[0]


def test_a_cap_stops_it(folder: Path, fragile: str) -> None:
    (folder / "a.jsonl").write_text(rows("one", "two", "three"))
    told: dict[str, Any] = {"parameters": {"context": 8}, "concurrency": 1}

    report = ew.perplexity("a.jsonl", fragile, max_tokens_total=3, **told)
    resumed = ew.perplexity("a.jsonl", fragile, **told)

    assert (report.status, report.summary.completed) == ("stopped", 2)
    assert any("raise the cap" in note for note in report.notes)
    assert resumed.summary.reused == 2


def test_models_that_have_not_weighed_the_same_documents_say_so(folder: Path, fragile: str) -> None:
    (folder / "a.jsonl").write_text(rows("one", "break"))

    report = ew.perplexity("a.jsonl", [fragile, "scripted/echo"], parameters={"context": 8})

    assert report.pairwise[0].n == 1
    assert any("did not score the same documents" in note for note in report.notes)
