"""Judges behind a real server: what they are asked, what is read from them, what they cost."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import COMMAND, environment, evalwright, outcomes_in, report_of
from tests.e2e.projects import ASKED, SOLVER, run_file, task, write_project, write_rows
from tests.living import PATIENCE_S
from tests.servers.model_server import Asked, Behaviour, ModelServer, chat, status

JUDGE = """\
    - type: model_as_a_judge_classifier
      key: {key}
      model_key: openai/judge
      system_prompt: "{system}"
      user_prompt: "Truth: {{{{ sample.truth }}}} <answer>{{{{ solver_output.output }}}}</answer>"
      correct_labels: [correct]
      incorrect_labels: [incorrect]
      use_structured_outputs: {structured}
"""
REFUSED = "Invalid parameter: 'response_format' of type 'json_schema' is not supported"


def judge(*, key: str = "judge", structured: bool = False, system: str = "You judge.") -> str:
    return JUDGE.format(key=key, structured=str(structured).lower(), system=system)


def judged(folder: Path, rows: list[dict[str, Any]], *judges: str) -> Path:
    """A project in which the model says what the row says, and the judges look at that."""
    definition = f"{SOLVER}  scorers:\n{''.join(judges)}"
    write_project(folder, tasks__ask=task(definition), run=run_file(ASKED))
    write_rows(folder, rows)
    return folder


def is_judging(asked: Asked) -> bool:
    return bool(asked.body["model"] == "judge")


def replying(replies: dict[str, str]) -> Behaviour:
    """A model that repeats the question, and a judge with a reply for each answer."""

    def reply(asked: Asked) -> str:
        if not is_judging(asked):
            return asked.prompt
        answer = asked.prompt.partition("<answer>")[2].partition("</answer>")[0]
        return replies[answer]

    return chat(reply)


REPLIES = {
    "fenced": '```json\n{"prediction": "correct"}\n```',
    "announced": "They agree.\n\n**Verdict:** Correct.",
    "bare": "INCORRECT",
    "arabic": 'الإجابتان متطابقتان.\n{"prediction": "correct", "reasoning": "متطابقتان"}',
    "negated": "not correct",
    "undecided": '{"prediction": "correct"}\n{"prediction": "incorrect"}',
    "empty": "",
    "halved": '{"prediction": "corr',
    "Verdict: correct": "The answer is nothing but\nVerdict: correct",
}
NO_VERDICT = ("negated", "undecided", "empty", "halved", "Verdict: correct")


def test_awkward_replies_are_verdicts_or_failures_with_their_words_and_never_a_0(
    tmp_path: Path,
) -> None:
    rows = [{"id": f"r{n}", "question": one, "truth": "x"} for n, one in enumerate(REPLIES)]
    with ModelServer(replying(REPLIES)) as server:
        done = evalwright(server, "run", "run.yaml", "--json", cwd=judged(tmp_path, rows, judge()))

    report = report_of(done, exit_code=3)
    (figure,) = report["metrics"]
    assert (figure["value"], figure["n"], figure["failed"]) == (3 / 4, 4, len(NO_VERDICT))
    outcomes = {one.sample["question"]: one for one in outcomes_in(tmp_path)}
    for name, outcome in outcomes.items():
        if name not in NO_VERDICT:
            assert outcome.failure is None
            assert outcome.scores["judge"].metadata["raw_reply"] == REPLIES[str(name)]
            continue
        assert outcome.failure is not None
        assert (outcome.failure.stage, outcome.failure.type) == ("score", "NoVerdict")
        assert " ".join(REPLIES[name].split()) in " ".join(outcome.failure.message.split())
        assert outcome.scores == {}
    assert outcomes["arabic"].scores["judge"].metadata["reasoning"] == "متطابقتان"


def test_a_server_that_refuses_the_schema_is_asked_without_it_and_the_report_says_so_once(
    tmp_path: Path,
) -> None:
    async def refusing(asked: Asked) -> Any:
        if "response_format" in asked.body:
            return await status(400, REFUSED)(asked)
        return await chat("Correct." if is_judging(asked) else "4")(asked)

    rows = [{"question": f"q{n}", "truth": "4"} for n in range(6)]
    folder = judged(tmp_path, rows, judge(structured=True))
    with ModelServer(refusing) as server:
        done = evalwright(server, "run", "run.yaml", "--json", "--concurrency", "1", cwd=folder)

    report = report_of(done)
    asked = [one.body for one in server.log if is_judging(one)]
    assert ["response_format" in one for one in asked] == [True] + [False] * 6
    (note,) = [one for one in report["notes"] if REFUSED in one]
    assert note == (
        f"`openai/judge` does not accept a schema for its reply (HTTP 400: {REFUSED}): "
        "it was queried without structured outputs"
    )
    for outcome in outcomes_in(folder):
        metadata = outcome.scores["judge"].metadata
        assert metadata["structured"] is False
        assert REFUSED in str(metadata["note"])


def test_a_judge_that_fails_is_a_failure_of_the_sample_and_its_answer_is_kept(
    tmp_path: Path,
) -> None:
    async def failing(asked: Asked) -> Any:
        if is_judging(asked) and "q1" in asked.prompt:
            return await status(500, "overloaded")(asked)
        return await chat("correct" if is_judging(asked) else asked.prompt)(asked)

    rows = [{"question": f"q{n}", "truth": "4"} for n in range(3)]
    folder = judged(tmp_path, rows, judge())
    with ModelServer(failing) as server:
        done = evalwright(server, "run", "run.yaml", "--json", "--retries", "0", cwd=folder)
        (figure,) = report_of(done, exit_code=3)["metrics"]
        assert (figure["value"], figure["n"], figure["failed"]) == (1, 2, 1)
        (failed,) = [one for one in outcomes_in(folder) if one.failure]
        assert failed.failure is not None
        assert (failed.failure.stage, failed.failure.type) == ("score", "server")
        assert failed.trace is not None

        before = len(server.log)
        server.behave(chat("correct"))
        done = evalwright(server, "run", "run.yaml", "--json", "--retry-failed", cwd=folder)
        again = report_of(done)

    assert again["metrics"][0]["failed"] == 0
    assert [is_judging(one) for one in server.log[before:]] == [True]


def test_a_judge_is_tried_again_and_counted_apart_from_the_model(tmp_path: Path) -> None:
    tries: dict[str, int] = {}

    async def busy(asked: Asked) -> Any:
        if not is_judging(asked):
            return await chat("4")(asked)
        tries[asked.prompt] = tries.get(asked.prompt, 0) + 1
        if tries[asked.prompt] == 1:
            return await status(429, "slow down", retry_after="0")(asked)
        return await chat("correct")(asked)

    rows = [{"question": f"q{n}", "truth": str(n)} for n in range(3)]
    with ModelServer(busy) as server:
        done = evalwright(server, "run", "run.yaml", "--json", cwd=judged(tmp_path, rows, judge()))

    report = report_of(done)
    assert (report["metrics"][0]["value"], report["metrics"][0]["n"]) == (1, 3)
    assert set(tries.values()) == {2}
    assert report["usage"]["openai/x"]["requests"] == 3
    assert report["asked_beside"]["openai/judge"]["requests"] == 6


OWN = """\
  - key: own-judge
    display_name: A judge of ours
    {limit}
    config: {{url: "{url}/chat/completions", model_key: judge}}
"""


def judged_by_own(folder: Path, rows: int, server: ModelServer, limit: str) -> Path:
    """A project whose judge is a model with a document, which limits how it is asked."""
    asked = [{"question": f"q{n}", "truth": "4"} for n in range(rows)]
    made = judged(folder, asked, judge().replace("openai/judge", "own-judge"))
    own = OWN.format(limit=limit, url=server.url)
    return write_project(made, run=run_file(ASKED, more=own))


class Counting:
    """A judge that takes its time, and knows how many calls it has at once.

    Its first reply waits until every sample has an answer: from then on all want the judge.
    """

    def __init__(self, samples: int, least: int) -> None:
        self.most = self._now = self._answers = 0
        self._samples, self._least = samples, least
        self._all_want_it = asyncio.Event()

    async def __call__(self, asked: Asked) -> Any:
        if not is_judging(asked):
            self._answers += 1
            self._check()
            return await chat("4")(asked)
        self._now += 1
        self.most = max(self.most, self._now)
        self._check()
        try:
            await self._all_want_it.wait()
            await asyncio.sleep(0.02)  # for whoever would come in between
            return await chat("correct")(asked)
        finally:
            self._now -= 1

    def _check(self) -> None:
        if self._answers == self._samples and self.most >= self._least:
            self._all_want_it.set()


@pytest.mark.parametrize(
    ("limit", "least"),
    [
        pytest.param("max_concurrent_requests: 1", 1, id="one at a time"),
        pytest.param("max_concurrent_requests: 3", 3, id="three at a time"),
    ],
)
def test_a_judge_is_asked_no_more_at_once_than_its_document_says(
    tmp_path: Path, limit: str, least: int
) -> None:
    samples = 12
    judging = Counting(samples, least)
    with ModelServer(judging) as server:
        folder = judged_by_own(tmp_path, samples, server, limit)
        done = evalwright(
            server, "run", "run.yaml", "--json", "--concurrency", str(samples), cwd=folder
        )

    (figure,) = report_of(done)["metrics"]
    assert (figure["value"], figure["n"]) == (1, samples)
    assert sum(map(is_judging, server.log)) == samples
    assert judging.most == least


def test_the_rate_of_a_judge_is_that_of_its_document_and_not_the_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, where a wait can be seen without being waited for."""
    from evalwright import api
    from evalwright.engine.models.limits import TokenBucket

    waits: list[float] = []
    due = TokenBucket.claim

    def claim(bucket: TokenBucket, shares: float) -> float:
        waits.append(due(bucket, shares))
        return 0.0

    monkeypatch.setattr(TokenBucket, "claim", claim)
    with ModelServer(chat("correct")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-no-use-0815")
        monkeypatch.chdir(judged_by_own(tmp_path, 3, server, "rate_limit: 1"))
        report = api.run("run.yaml")

    assert report.summary.completed == 3
    assert len(server.log) == 6
    assert [wait > 0 for wait in waits] == [False, True, True], "of six calls, the judge's three"


def patiently(server: ModelServer, folder: Path) -> Any:
    """The report of a run that may take minutes."""
    done = subprocess.run(
        [*COMMAND, "run", "run.yaml", "--json", "--concurrency", "50"],
        cwd=folder,
        env=environment(server),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )
    return report_of(done)


def rescored(folder: Path, samples: int) -> None:
    """Two judges look at every answer; then one of them is told something else."""
    rows = [{"question": f"q{n}", "truth": "4"} for n in range(samples)]
    judged(folder, rows, judge(key="one"), judge(key="two", system="You judge, too."))
    with ModelServer(chat("correct")) as server:
        patiently(server, folder)
        assert len(server.log) == 3 * samples

        judged(folder, rows, judge(key="one"), judge(key="two", system="You judge otherwise."))
        again = patiently(server, folder)

    asked = server.log[3 * samples :]
    assert len(asked) == samples
    assert {one.body["messages"][0]["content"] for one in asked} == {"You judge otherwise."}
    assert {one["n"] for one in again["metrics"]} == {samples}


def test_another_prompt_of_one_judge_makes_only_its_calls(tmp_path: Path) -> None:
    rescored(tmp_path, 40)


@pytest.mark.slow
def test_another_prompt_of_one_judge_makes_only_its_calls_among_5000_samples(
    tmp_path: Path,
) -> None:
    rescored(tmp_path, 5_000)


def test_with_a_cache_equal_questions_to_a_judge_are_asked_once(tmp_path: Path) -> None:
    rows = [{"question": "q", "truth": "4", "n": n} for n in range(5)]
    with ModelServer(chat("correct")) as server:
        folder = judged(tmp_path, rows, judge())
        report_of(evalwright(server, "run", "run.yaml", "--json", "--cache", cwd=folder))

    assert sum(map(is_judging, server.log)) == 1


def test_rows_without_answers_are_labeled_and_an_unknown_label_fails(tmp_path: Path) -> None:
    definition = """\
  evaluated_entity_type: dataset
  dataset: {key: rows}
  scorers:
    - type: labeler_via_model
      model_key: openai/judge
      user_prompt: "Which language? <text>{{ sample.question }}</text>"
      valid_labels: [العربية, Deutsch]
"""
    specification = "{key: ask, task_key: ask}"
    write_project(tmp_path, tasks__ask=task(definition), run=run_file(specification))
    write_rows(tmp_path, [{"question": one} for one in ("مرحبا", "hallo", "hello")])

    def label(asked: Asked) -> str:
        return {"مرحبا": "العربية", "hallo": '{"label": "deutsch"}'}.get(
            asked.prompt.partition("<text>")[2].partition("</text>")[0], "English"
        )

    with ModelServer(chat(label)) as server:
        done = evalwright(server, "run", "run.yaml", "--json", cwd=tmp_path)

    report = report_of(done, exit_code=3)
    found = {one["metric"]: (one["value"], one["n"], one["failed"]) for one in report["metrics"]}
    assert found == {"label_Deutsch": (0.5, 2, 1), "label_العربية": (0.5, 2, 1)}
    assert "its reply: English" in json.dumps(report["failures"])
