import pytest
from tests.report.export.made import completed, failed, judged

from evalwright.report.export import outcome_row
from evalwright.report.runs import sample_lines
from evalwright.text.visible import visible
from evalwright.types import Outcome, Score, Trace, Usage


def page(outcome: Outcome) -> str:
    return "\n".join(sample_lines(outcome))


def test_a_page_says_what_was_asked_answered_and_judged() -> None:
    score = Score(values={"score": 0.0}, reason="'4' against '5'")

    assert list(sample_lines(completed(scores={"record": score}))) == [
        "a  scripted/oracle  trial 1  completed  (tasks)",
        "  input:",
        "    2 + 2",
        "  output:",
        "     4\n",
        "  post-processed:",
        "    4",
        "  record.score: 0  ('4' against '5')",
        "  usage: 5 + 2 tokens, $0.25, 0.500 s",
        "",
    ]


def test_an_answer_that_needed_no_post_processing_is_shown_once() -> None:
    assert "\n  post-processed: the same\n" in page(completed(output="4"))


def test_an_empty_answer_is_said_to_be_empty() -> None:
    assert "\n  output: empty\n" in page(completed(output=""))


def test_a_failure_says_where_what_and_what_next() -> None:
    said = page(failed())

    assert "b  scripted/oracle  trial 2  failed" in said
    assert "  failure: solver: timeout: no answer in 60 s, after 5 attempts\n" in said
    assert "    hint: wait\n" in said
    assert "usage" not in said


def test_the_requests_of_a_judge_are_shown_below_the_answer() -> None:
    said = page(completed(others={"openai/judge": Usage(1, 30, 3, 0.5)}))

    assert "  other requests: openai/judge: 30 + 3 tokens, $0.50\n" in said


def test_what_became_of_a_program_is_shown() -> None:
    said = page(judged())

    assert "    outcome: assertion_fail\n" in said
    assert "    targets: [True, False]\n" in said


def test_an_answer_that_was_cut_off_is_said_to_be() -> None:
    trace = Trace(input="", output="4", post_processed="4", finish="length", confidence=0.5)

    assert "cost unknown, 0.000 s, finish: length, confidence 0.50\n" in page(
        completed(trace=trace)
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\nb\tc", "a\nb\tc", id="newlines and tabs stay"),
        pytest.param("\x1b[2J", "\\x1b[2J", id="escape sequences do not act"),
        pytest.param("\r", "\\r", id="nothing is written over"),
        pytest.param("\u202e", "\\u202e", id="the direction does not turn"),
        pytest.param("\ud800", "\\ud800", id="half a surrogate pair"),
        pytest.param("👩‍👩‍👧 数", "👩‍👩‍👧 数", id="emoji stay whole"),
    ],
)
def test_what_acts_on_a_terminal_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_json_has_the_reasons_beside_the_exported_row() -> None:
    score = Score(values={"score": 0.0}, reason="no")

    sample = outcome_row(completed(scores={"record": score, "other": Score(values={})}))

    assert sample.reasons == {"record": "no"}
    assert sample.scores == {"record": {"score": 0.0}, "other": {}}


def test_the_options_of_a_choice_are_told_by_their_letters() -> None:
    score = Score(values={"score": 1.0}, metadata={"options": {"A": 0.9123456, "B": 0.0876544}})

    assert "\n    options: A 0.9123, B 0.08765\n" in page(completed(scores={"record": score}))
