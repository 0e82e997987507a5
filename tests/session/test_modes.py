"""How records are answered and where confidences are from: what is asked, reused, refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.session.made import Listening, model, record, run_records, write_records

import evalwright as ew
from evalwright import api
from evalwright.clients.scripted import Scripted
from evalwright.errors import ModelError, UsageError
from evalwright.plan.manifest import MODES
from evalwright.plan.options import RunOptions
from evalwright.ports import Store
from evalwright.store.memory import MemoryStore
from evalwright.store.sqlite import SqliteStore
from evalwright.types import Request, Usage

PROMPT = "Which?\nA) x\nB) y\nC) z"
CHOICE: dict[str, Any] = {"category": "mcq", "targets": ["B"], "prompt": PROMPT}


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "runs.db")
    yield made
    made.close()


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    """Two sums, and a choice between them."""
    return write_records(tmp_path / "tasks.jsonl", record("a"), record("b", **CHOICE), record("c"))


def answering(request: Request) -> str:
    """Right, and sure that it is: `True` is among its words when it is asked about an answer."""
    about = "Proposed answer:" in request.messages[-1].content
    if about:
        return "True"
    return "B" if request.sample.id == "b" else "4"


def questions(client: Scripted) -> list[tuple[str, tuple[str, ...]]]:
    """About which samples, and what was given; forgotten at once."""
    made = [(call.sample.id, call.given) for call in client.calls]
    client.calls.clear()
    return sorted(made)


TRUE_FALSE = ("True", "False")
GENERATED = [("a", ()), ("b", ()), ("c", ())]
CHOSEN = [("b", ("A", "B", "C"))]
ABOUT_ALL = [("a", TRUE_FALSE), ("b", TRUE_FALSE), ("c", TRUE_FALSE)]


class TestWhatIsAskedAgain:
    def test_another_way_of_choosing_asks_the_choices_alone(self, tasks: str, store: Store) -> None:
        client = model(answering)
        first = run_records(tasks, {"m": client}, store)
        assert questions(client) == GENERATED

        progress = Listening()
        second = run_records(tasks, {"m": client}, store, mcq="loglikelihood", progress=progress)

        assert questions(client) == CHOSEN
        assert second.summary.reused == 2
        assert second.run_id != first.run_id
        (told,) = progress.told
        assert told == (
            f"new run: since {first.run_id}, --mcq is loglikelihood (was letter); "
            "unchanged results are reused"
        )

    def test_back_again_is_the_first_run_and_asks_nothing(self, tasks: str, store: Store) -> None:
        client = model(answering)
        first = run_records(tasks, {"m": client}, store)
        second = run_records(tasks, {"m": client}, store, mcq="loglikelihood")
        client.calls.clear()

        again = run_records(tasks, {"m": client}, store)
        once_more = run_records(tasks, {"m": client}, store, mcq="loglikelihood")

        assert [again.run_id, once_more.run_id] == [first.run_id, second.run_id]
        assert client.calls == []

    def test_confidence_is_asked_for_beside_answers_that_are_there(
        self, tasks: str, store: Store
    ) -> None:
        client = model(answering)
        first = run_records(tasks, {"m": client}, store)
        client.calls.clear()

        progress = Listening()
        second = run_records(tasks, {"m": client}, store, confidence="self", progress=progress)

        assert questions(client) == ABOUT_ALL
        assert second.summary.reused == 3
        (told,) = progress.told
        assert told == (
            f"new run: since {first.run_id}, --confidence is self (was logprobs); "
            "unchanged results are reused"
        )

    def test_what_was_asked_about_an_answer_is_not_asked_again(
        self, tasks: str, store: Store
    ) -> None:
        client = model(answering)
        run_records(tasks, {"m": client}, store, confidence="self")
        client.calls.clear()

        more = run_records(tasks, {"m": client}, store, confidence="self", mcq="loglikelihood")

        assert questions(client) == [*CHOSEN, ("b", TRUE_FALSE)]
        assert more.asked_beside["m"].requests == 1

    def test_a_mended_target_asks_nothing(self, tasks: str, store: Store) -> None:
        client = model(answering)
        run_records(tasks, {"m": client}, store, confidence="self", mcq="loglikelihood")
        client.calls.clear()
        mended = record("b", **{**CHOICE, "targets": ["C"], "post_process": "extract_letter"})
        write_records(Path(tasks), record("a"), mended, record("c", targets=["5"]))

        report = run_records(tasks, {"m": client}, store, confidence="self", mcq="loglikelihood")

        assert client.calls == []
        assert report.leaderboard[0].mean == pytest.approx(1 / 3)
        assert report.calibration["m"].covered == 3

    def test_a_plan_of_the_usual_way_is_what_it_was_before_there_was_a_choice(self) -> None:
        assert {name: getattr(RunOptions(), name) for name in MODES} == MODES


class TestByLikelihood:
    def test_the_report_says_so_and_the_options_are_kept(self, tasks: str, store: Store) -> None:
        report = run_records(tasks, {"m": model(answering)}, store, mcq="loglikelihood")

        assert report.leaderboard[0].mean == 1.0
        assert report.notes[1] == (
            "`--mcq loglikelihood`: 1 multiple-choice record answered with the most likely letter; "
            "its confidence is its share of the likelihoods of all letters"
        )
        chosen = next(one for one in store.outcomes(report.run_id) if one.sample_id == "b")
        assert chosen.trace is not None
        assert chosen.trace.confidence == pytest.approx(0.5 / 0.75)
        assert chosen.scores["record"].metadata == {
            "options": pytest.approx({"A": 1 / 6, "B": 2 / 3, "C": 1 / 6})
        }

    def test_a_target_that_is_not_offered_fails_its_sample_alone(
        self, tmp_path: Path, store: Store
    ) -> None:
        impossible = record("b", **{**CHOICE, "targets": ["E"]})
        path = write_records(tmp_path / "tasks.jsonl", record("a"), impossible)

        report = run_records(path, {"m": model(answering)}, store, mcq="loglikelihood")

        assert report.summary.failed == 1
        assert report.failures[0].message.startswith(
            "the target is E, but the prompt offers A, B, C: no choice can be correct"
        )

    def test_stored_outputs_are_scored_as_they_were_chosen(self, tasks: str) -> None:
        first = ew.run(tasks, "scripted/oracle", mcq="loglikelihood", confidence="self")
        mended = record("b", **{**CHOICE, "targets": ["A"]})
        write_records(Path(tasks), record("a"), mended, record("c"))

        second = ew.score()

        assert second.status == "finished"
        assert (first.leaderboard[0].mean, second.leaderboard[0].mean) == (1.0, 2 / 3)
        assert second.calibration["scripted/oracle"].covered == 3
        assert second.asked_beside == {}
        assert [note for note in second.notes if "loglikelihood" in note] == [
            note for note in first.notes if "loglikelihood" in note
        ]
        assert ew.load().notes == second.notes


class TestByItself:
    def test_the_models_word_is_its_confidence(self, tasks: str, store: Store) -> None:
        report = run_records(tasks, {"m": model(answering)}, store, confidence="self")

        rows = list(store.rows(report.run_id))
        assert [row.confidence for row in rows] == pytest.approx([0.5 / 0.625] * 3)
        assert [(row.score, row.correct) for row in rows] == [(1.0, True)] * 3
        assert report.calibration["m"].ece == pytest.approx(0.2)
        assert report.usage["m"].requests == 3
        assert report.asked_beside["m"].requests == 3
        assert report.notes[1:] == [
            "`--confidence self`: confidences are each model's own estimates"
        ]
        assert [row.scorer for row in report.metrics] == ["record"]

    def test_who_gives_no_number_is_not_covered_and_not_failed(
        self, tasks: str, store: Store
    ) -> None:
        client = model(lambda request: "4" if len(request.messages[0].content) < 40 else "sure")
        client.weighs = False

        report = run_records(tasks, {"m": client}, store, confidence="self")

        assert report.status == "finished"
        assert (report.calibration["m"].covered, report.calibration["m"].n) == (0, 3)
        assert report.calibration["m"].ece is None
        assert report.perplexity["m"].covered == 3
        assert report.notes[-1] == "m: replies without a number when asked how sure it is: 3"

    def test_a_question_that_fails_takes_no_score_with_it(self, tasks: str, store: Store) -> None:
        client = model(_broken_about_c)

        report = run_records(tasks, {"m": client}, store, confidence="self")

        assert report.leaderboard[0].mean == 1.0
        assert report.leaderboard[0].completed == 3
        assert report.metrics[0].failed == 0
        assert report.calibration["m"].covered == 2
        assert report.status == "finished_with_failures"
        assert [(one.stage, one.type, one.sample_ids) for one in report.failures] == [
            ("score", "timeout", ["c"])
        ]
        assert report.failures[0].message == "`confidence`: no answer"

    def test_what_failed_is_asked_again_and_nothing_else(self, tasks: str, store: Store) -> None:
        first = run_records(tasks, {"m": model(_broken_about_c)}, store, confidence="self")
        client = model(answering)

        again = run_records(tasks, {"m": client}, store, confidence="self", retry_failed=True)

        assert again.run_id == first.run_id
        assert questions(client) == [("c", TRUE_FALSE)]
        assert again.status == "finished"
        assert again.calibration["m"].covered == 3

    def test_an_answer_that_cannot_be_scored_is_failed_whatever_is_said_of_it(
        self, tmp_path: Path, store: Store
    ) -> None:
        wrong = record(
            "a",
            category="code_exec",
            metric_name="code_exec",
            post_process="none",
            targets=["not a target ("],
        )
        path = write_records(tmp_path / "tasks.jsonl", wrong, record("b"))

        report = run_records(
            path, {"m": model(answering)}, store, confidence="self", unsafe_code_exec=True
        )

        assert report.summary.failed == 1
        assert (report.calibration["m"].covered, report.calibration["m"].n) == (1, 2)

    def test_the_questions_count_towards_a_cap(self, tasks: str, store: Store) -> None:
        client = model(answering)
        first = run_records(tasks, {"m": client}, store, confidence="self", limit=1)
        asked = [Usage(**_amounts(first.usage["m"])), Usage(**_amounts(first.asked_beside["m"]))]
        spent = sum(one.total_tokens for one in asked)

        capped = run_records(
            tasks,
            {"m": client},
            store,
            confidence="self",
            limit=1,
            max_tokens_total=spent,
            fresh=True,
            concurrency=1,
        )

        assert capped.summary.samples == 1
        assert capped.usage["m"].total_tokens + capped.asked_beside["m"].total_tokens == spent


class TestBeforeTheFirstCall:
    @pytest.fixture
    def recorded(self, tmp_path: Path) -> str:
        path = tmp_path / "outputs.jsonl"
        path.write_text('{"id": "b", "output": "B"}\n')
        return f"replay/{path}"

    def test_a_remote_model_weighs_nothing(
        self, tasks: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-no-use")

        with pytest.raises(UsageError) as refused:
            ew.run(tasks, ["scripted/oracle", "openai/gpt-4.1-mini"], mcq="loglikelihood")

        assert refused.value.message == (
            "openai/gpt-4.1-mini cannot compute the likelihood of given answers: its API "
            "returns log-probabilities only for text that it generates"
        )
        assert refused.value.hint == "`--mcq letter`, or -m local/smollm2"
        with pytest.raises(ew.EvalwrightError):
            api.find()

    def test_nor_does_a_recording(self, tasks: str, recorded: str) -> None:
        with pytest.raises(UsageError, match="it replays recorded outputs and generates none"):
            ew.run(tasks, recorded, mcq="loglikelihood")

    def test_nor_does_a_model_that_embeds(self, tasks: str) -> None:
        with pytest.raises(UsageError, match="it does not return likelihoods"):
            ew.run(tasks, "local/wordllama", mcq="loglikelihood")

    def test_without_multiple_choice_there_is_nothing_to_refuse(
        self, tmp_path: Path, recorded: str
    ) -> None:
        path = write_records(tmp_path / "sums.jsonl", record("b"))

        report = ew.run(path, recorded, mcq="loglikelihood")

        assert report.summary.completed == 1
        assert not [note for note in report.notes if "--mcq" in note]

    def test_a_recording_cannot_be_asked_about_its_answers(self, tasks: str, recorded: str) -> None:
        with pytest.raises(UsageError, match="cannot be asked for its confidence"):
            ew.run(tasks, recorded, confidence="self")

    @pytest.mark.parametrize("mode", [{"mcq": "loudest"}, {"confidence": "none"}])
    def test_another_mode_there_is_not(self, tasks: str, mode: dict[str, Any]) -> None:
        with pytest.raises(UsageError, match="Invalid enum value"):
            ew.run(tasks, "scripted/oracle", **mode)


def _broken_about_c(request: Request) -> str:
    if request.given and request.sample.id == "c":
        raise ModelError("timeout", "no answer")
    return answering(request)


def _amounts(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("requests", "prompt_tokens", "completion_tokens")}
