"""A target is judged for what it is, and whatever it raises can be said."""

import io
import json
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalwright.sandbox.inside import judging
from evalwright.sandbox.inside.judging import Target, describe

SEEDED = settings(derandomize=True)


class Report:
    """A pipe that a speaker speaks into."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)

    def lines(self) -> list[Any]:
        """What has been said since the last time."""
        try:
            return [json.loads(line) for line in os.read(self._reading, 1 << 16).splitlines()]
        except BlockingIOError:
            return []

    def close(self) -> None:
        os.close(self._reading)
        os.close(self.writing)


@pytest.fixture
def report() -> Iterator[Report]:
    made = Report()
    yield made
    made.close()


def test_records_come_out_when_the_clock_starts_and_at_the_end(report: Report) -> None:
    say = judging.speaker(report.writing)
    ran = {"type": "candidate", "outcome": "ran", "detail": ""}
    passed = {"type": "target", "outcome": "passed", "detail": ""}

    say("ready")
    assert report.lines() == [{"type": "ready"}]
    say("candidate", outcome="ran", detail="")
    assert report.lines() == [ran]
    say("target", outcome="passed", detail="")
    assert report.lines() == [], "nobody waits for the middle"
    say("done", nonce="N")
    assert report.lines() == [passed, {"type": "done", "nonce": "N"}]


def test_a_death_is_said_at_once_and_after_what_came_before(report: Report) -> None:
    say = judging.speaker(report.writing)

    say("candidate", outcome="ran", detail="")
    say("died", detail="killed")

    assert [record["type"] for record in report.lines()] == ["candidate", "died"]


def test_nothing_is_said_twice(report: Report) -> None:
    say = judging.speaker(report.writing)

    say("ready")
    say("done", nonce="N")

    assert [record["type"] for record in report.lines()] == ["ready", "done"]


def test_another_process_has_no_say(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    say = judging.speaker(report.writing)
    monkeypatch.setattr(judging, "getpid", lambda: os.getpid() + 1)

    say("done", nonce="N")

    assert report.lines() == []


@SEEDED
@given(st.text())
def test_any_text_is_one_line_of_json(text: str) -> None:
    report = Report()
    try:
        judging.speaker(report.writing)("died", detail=text)
        assert report.lines() == [{"type": "died", "detail": text}]
    finally:
        report.close()


@pytest.mark.parametrize(
    ("text", "outcome", "detail"),
    [
        pytest.param("x == 1", "passed", "", id="true"),
        pytest.param("[0]", "passed", "", id="as good as true"),
        pytest.param("  x\t", "passed", "", id="blanks around an expression"),
        pytest.param("\n\nx", "passed", "", id="lines before an expression"),
        pytest.param("(y := 1) and y", "passed", "", id="a name on the way"),
        pytest.param("x == 2", "failed", "evaluated to False", id="false"),
        pytest.param("[]", "failed", "evaluated to []", id="as good as false"),
        pytest.param("None", "failed", "evaluated to None", id="nothing"),
        pytest.param("range(0)", "failed", "evaluated to a false `range`", id="another falsehood"),
        pytest.param("z", "failed", "NameError: name 'z' is not defined", id="a missing name"),
        pytest.param("1 / 0", "failed", "ZeroDivisionError: division by zero", id="a crash"),
        pytest.param("exit_()", "failed", "SystemExit: 0", id="an exit"),
        pytest.param("assert x", "passed", "", id="a statement"),
        pytest.param("y = 0", "passed", "", id="a statement has no value"),
        pytest.param("for y in []:\n    z", "passed", "", id="statements"),
        pytest.param("assert x == 2", "failed", "AssertionError", id="an assertion"),
        pytest.param("assert x == 2, 'why'", "failed", "AssertionError: why", id="with its reason"),
        pytest.param("raise KeyboardInterrupt", "failed", "KeyboardInterrupt", id="an interrupt"),
        pytest.param("", "passed", "", id="no statement at all"),
    ],
)
def test_a_target_is_judged(text: str, outcome: str, detail: str) -> None:
    def exit_() -> None:
        raise SystemExit(0)

    assert Target(text, "<target 1>").judge({"x": 1, "exit_": exit_}) == (outcome, detail)


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        pytest.param("x ==", "SyntaxError: ", id="half an expression"),
        pytest.param("  x = 1", "IndentationError: ", id="a statement that is indented"),
        pytest.param("return 1", "SyntaxError: 'return' outside function", id="return"),
        pytest.param("x = '\0'", ("SyntaxError: ", "ValueError: "), id="a NUL"),
        pytest.param("x = '\ud800'", "UnicodeEncodeError: ", id="a lone surrogate"),
    ],
)
def test_a_target_that_does_not_compile_says_why(text: str, starts: str | tuple[str, ...]) -> None:
    target = Target(text, "<target 1>")

    outcome, detail = target.judge({})

    assert (target.code, outcome) == (None, "uncompilable")
    assert detail.startswith(starts)


def test_a_target_nested_too_deep_does_not_compile() -> None:
    outcome, detail = Target("(" * 5000 + ")" * 5000, "<target 1>").judge({})

    assert outcome == "uncompilable"
    assert detail


def test_a_value_whose_truth_is_in_doubt_fails() -> None:
    class Doubtful:
        def __bool__(self) -> bool:
            raise ValueError("neither")

    assert Target("x", "<target 1>").judge({"x": Doubtful()}) == ("failed", "ValueError: neither")


def test_a_false_value_of_the_candidates_is_not_asked_to_describe_itself() -> None:
    class Empty(list[int]):
        def __repr__(self) -> str:
            raise AssertionError("asked")

    outcome = Target("x", "<target 1>").judge({"x": Empty()})

    assert outcome == ("failed", "evaluated to a false `Empty`")


def test_targets_are_named_by_their_number() -> None:
    with warnings.catch_warnings():
        judging.ignore_syntax_warnings()
        one, two = judging.compile_targets(["x ==", "1 is 1"])

    assert one.judge({})[1].endswith("(<target 1>, line 1)")
    assert two.code is not None
    assert two.code.co_filename == "<target 2>"


def test_a_target_does_not_inherit_from_this_module() -> None:
    target = Target("def f(x: int): ...\nassert f.__annotations__ == {'x': int}", "<target 1>")

    assert target.judge({}) == ("passed", "")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no")


class Exiting(Exception):
    def __str__(self) -> str:
        raise SystemExit


class NotText(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307 - what it is here to get wrong


class Cutting(str):
    __slots__ = ()

    def __getitem__(self, _: Any) -> Any:
        return None


class Cut(Exception):
    def __str__(self) -> str:
        return Cutting("text")


class Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]  # what it is here to get wrong
        raise KeyboardInterrupt


class Unnamed(Exception, metaclass=Nameless):
    pass


@pytest.mark.parametrize(
    ("error", "text"),
    [
        pytest.param(ValueError("why"), "ValueError: why", id="name and message"),
        pytest.param(ValueError(), "ValueError", id="no message"),
        pytest.param(ValueError("  \n "), "ValueError", id="a blank message"),
        pytest.param(ValueError(" a\n\tb  c\u2028d "), "ValueError: a b c d", id="on one line"),
        pytest.param(KeyError("k"), "KeyError: 'k'", id="a key"),
        pytest.param(ValueError("é\U0001f600\ud800"), "ValueError: é\U0001f600?", id="a surrogate"),
        pytest.param(Unprintable("x"), "Unprintable", id="it cannot be printed"),
        pytest.param(Exiting("x"), "Exiting", id="it exits when printed"),
        pytest.param(NotText("x"), "NotText", id="its text is a number"),
        pytest.param(Cut("x"), "Cut", id="its text cannot be cut"),
        pytest.param(Unnamed("x"), "Unnamed: x", id="its class hides its name"),
        pytest.param(type("E" * 1000, (Exception,), {})("x"), "E" * 300, id="a long name"),
    ],
)
def test_any_exception_can_be_described(error: BaseException, text: str) -> None:
    assert describe(error) == text


def test_a_description_is_no_longer_than_it_may_be() -> None:
    assert len(describe(ValueError("x" * 1_000_000))) == judging.MAX_DETAIL


@SEEDED
@given(st.text(st.characters(exclude_categories=())))
def test_a_description_is_one_line_that_can_be_written(message: str) -> None:
    text = describe(ValueError(message))

    assert len(text.encode().decode().splitlines()) == 1
    assert len(text) <= judging.MAX_DETAIL


def test_the_reserve_is_let_go_when_memory_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = [b"reserve"]
    monkeypatch.setattr(judging, "_RESERVE", reserve)

    describe(ValueError())
    assert reserve
    assert describe(MemoryError()) == "MemoryError"
    assert not reserve


@pytest.mark.parametrize(
    ("source", "outcome", "detail"),
    [
        pytest.param("x = 1", "ran", "", id="it runs"),
        pytest.param("", "ran", "", id="empty"),
        pytest.param("if __name__ == '__main__':\n    1 / 0", "ran", "", id="a demonstration"),
        pytest.param("1 / 0", "error", "ZeroDivisionError: division by zero", id="it crashes"),
        pytest.param("raise SystemExit(3)", "error", "SystemExit: 3", id="it exits"),
        pytest.param("raise GeneratorExit", "error", "GeneratorExit", id="it raises anything"),
        pytest.param(
            "def f():\n    return f()\nf()",
            "error",
            "RecursionError: maximum recursion depth exceeded",
            id="without end",
        ),
        pytest.param("x = = 1", "syntax_error", "SyntaxError: invalid syntax", id="no Python"),
        pytest.param("x = 1\n  y = 2", "syntax_error", "IndentationError: unexpected", id="indent"),
        pytest.param("x = '\ud800'", "syntax_error", "UnicodeEncodeError: ", id="surrogate"),
    ],
)
def test_a_candidate_is_run(source: str, outcome: str, detail: str) -> None:
    ended = judging.run(source, {"__name__": "candidate"})

    assert ended[0] == outcome
    assert ended[1].startswith(detail)
    assert bool(ended[1]) == bool(detail)


def test_what_a_candidate_defines_is_in_its_namespace() -> None:
    namespace: dict[str, object] = {}

    assert judging.run("x = 1\ny = x + 1", namespace) == ("ran", "")

    assert (namespace["x"], namespace["y"]) == (1, 2)


def test_a_candidate_is_a_module_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pytest"])
    monkeypatch.setitem(sys.modules, "candidate", sys)  # whatever is there is put back

    module = judging.new_module()

    assert (module.__name__, sys.argv) == ("candidate", ["candidate"])
    assert sys.modules["candidate"] is module
    source = "import dataclasses, pickle\n@dataclasses.dataclass\nclass P:\n    x: 'int' = 1\n"
    source += "assert pickle.loads(pickle.dumps(P(2))) == P(2)"
    assert judging.run(source, module.__dict__) == ("ran", "")


def test_a_stream_that_cannot_be_flushed_is_left_alone() -> None:
    closed = io.StringIO()
    closed.close()

    judging.flush(closed)
    judging.flush(None)  # type: ignore[arg-type]  # as a candidate may leave it
