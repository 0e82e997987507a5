"""A run of a project is scored again: what was answered is taken, what was judged is taken, and
only a scorer that has changed asks its judge."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, outcomes_in, report_of
from tests.e2e.projects import run_file, task, write_project, write_rows
from tests.servers.model_server import Asked, ModelServer, chat

import evalwright as ew
from evalwright import api
from evalwright.errors import Unreadable, UsageError

MANY = 500
ASK = """\
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ sample.question }}"}]
  scorers:
"""
SPEC = "{key: ask, task_key: ask, model_key: openai$x}"


def judge(key: str, model: str, words: str = "Is it right?") -> str:
    """A judge, as a task writes it."""
    return (
        f"    - type: model_as_a_judge_classifier\n      key: {key}\n      model_key: {model}\n"
        f'      user_prompt: "{words} <answer>{{{{ solver_output.output }}}}</answer>"\n'
        "      correct_labels: [yes]\n      incorrect_labels: [no]\n"
    )


def equals(answer: str = "sample.answer") -> str:
    """A scorer that asks nobody."""
    return f'    - {{type: string_equals, key: exact, ground_truth: "{{{{ {answer} }}}}"}}\n'


def said(asked: Asked) -> str:
    """A judge says yes to answers that end in an even digit; the model repeats the question."""
    if found := re.search(r"<answer>.*?(\d)</answer>", asked.prompt):
        return "no" if int(found[1]) % 2 else "yes"
    return asked.prompt


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.chdir(tmp_path)
    with ModelServer(chat(said)) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-no-use")
        yield running


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., None]:
    """Writes a task with these scorers, on so many rows."""

    def write(*scorers: str, rows: int = 4, run: str = run_file(SPEC), ask: str = ASK) -> None:
        write_rows(tmp_path, ({"question": f"q{n}", "answer": f"q{n}"} for n in range(rows)))
        write_project(tmp_path, tasks__ask=task(ask + "".join(scorers)), run=run)

    return write


def asked_of(server: ModelServer) -> Counter[str]:
    """How often each model was asked since the last time."""
    counts = Counter(str(one.body["model"]) for one in server.log)
    server.log.clear()
    return counts


def values(report: ew.Report, scorer: str) -> list[Any]:
    return [row.value for row in report.metrics if row.scorer == scorer]


def test_of_two_judges_only_the_one_that_changed_is_asked_again(
    server: ModelServer, project: Callable[..., None]
) -> None:
    project(judge("strict", "openai/strict"), judge("kind", "openai/kind"), rows=MANY)
    ew.run("run.yaml")
    assert asked_of(server) == {"x": MANY, "strict": MANY, "kind": MANY}

    project(judge("strict", "openai/strict"), judge("kind", "openai/kind", "Good?"), rows=MANY)
    again = ew.run("run.yaml")
    assert asked_of(server) == {"kind": MANY}

    project(judge("strict", "openai/strict"), judge("kind", "openai/kind", "Fair?"), rows=MANY)
    scored = api.score()
    assert asked_of(server) == {"kind": MANY}
    assert scored.asked_beside.keys() == {"openai/kind"}
    assert scored.summary.completed == MANY
    assert values(scored, "strict") == values(again, "strict") == [0.5]


def test_a_scorer_that_asks_nobody_is_computed_and_the_run_names_its_parent(
    server: ModelServer, project: Callable[..., None]
) -> None:
    project(equals(), judge("strict", "openai/strict"))
    first = ew.run("run.yaml")
    asked_of(server)

    project(equals("sample.question[:1]"), judge("strict", "openai/strict"))
    scored = api.score()

    assert asked_of(server) == {}
    assert (values(first, "exact"), values(scored, "exact")) == ([1.0], [0.0])
    assert values(scored, "strict") == values(first, "strict")
    assert api.find(scored.run_id).parent == first.run_id
    assert f"outputs of {first.run_id}, scored again" in scored.notes
    assert api.score(first.run_id).run_id == scored.run_id, "the same again is the same run"


def test_a_model_that_judges_itself_is_asked_as_a_judge_and_never_for_answers(
    server: ModelServer, project: Callable[..., None]
) -> None:
    project(judge("own", "openai/x"))
    first = ew.run("run.yaml")
    assert (first.usage["openai/x"].requests, first.asked_beside["openai/x"].requests) == (4, 4)
    asked_of(server)

    project(judge("own", "openai/x", "Good?"), rows=6)
    scored = api.score()

    assert all("Good?" in one.prompt for one in server.log)
    assert asked_of(server) == {"x": 4}
    assert scored.asked_beside["openai/x"].requests == 4
    assert (scored.summary.completed, scored.summary.failed) == (4, 2)


def test_an_answer_that_is_not_stored_is_a_failure_that_says_what_to_do(
    server: ModelServer, project: Callable[..., None], tmp_path: Path
) -> None:
    project(equals())
    ew.run("run.yaml")
    asked_of(server)
    write_rows(tmp_path, [{"question": "q0", "answer": "q0"}, {"question": "new", "answer": "q1"}])

    scored = api.score()

    assert asked_of(server) == {}
    (failure,) = scored.failures
    assert failure.stage == "solver"
    assert failure.message.startswith("no answer is stored for '1' with its current task and row")
    assert "use `evalwright run`" in failure.message
    assert values(scored, "exact") == [1.0]


def test_other_models_of_a_solver_are_not_asked_either(
    server: ModelServer, project: Callable[..., None], tmp_path: Path
) -> None:
    talk = """\
  dataset: {key: rows}
  solver:
    type: multi_turn_solver
    message_builders:
      - type: generate_message
        model_key: openai/other
        output_role: user
        include_conversation: false
        extra_input_messages: [{role: user, content: "{{ sample.question }}"}]
      - type: generate
  scorers:
"""
    project(equals(), ask=talk)
    first = ew.run("run.yaml")
    assert asked_of(server) == {"x": 4, "other": 4}
    assert first.usage.keys() == {"openai/x"}
    assert first.asked_beside.keys() == {"openai/other"}
    write_rows(tmp_path, [{"question": "q0", "answer": "q0"}, {"question": "new", "answer": "q1"}])

    scored = api.score()

    assert asked_of(server) == {}
    assert (scored.summary.completed, scored.summary.failed) == (1, 1)


@pytest.mark.usefixtures("server")
def test_what_the_command_was_told_holds_for_the_scores_too(
    project: Callable[..., None], tmp_path: Path
) -> None:
    specification = (
        "{key: ask, task_key: ask, model_key: openai$x, task_config: {wanted: << config.wanted >>}}"
    )
    run = run_file(specification).replace(
        "evaluation:\n",
        "evaluation:\n  config_spec:\n    - {key: wanted, type: string, display_name: W}\n",
    )
    project(equals("'<< config.wanted >>'"), run=run)
    path = tmp_path / "tasks" / "ask.yaml"
    spec = "config_spec:\n  - {key: wanted, type: string, display_name: W}\ndefinition:"
    path.write_text(path.read_text().replace("definition:", spec))
    (tmp_path / "more.yaml").write_text("run_config: {num_samples: 3}\n")

    first = ew.run("run.yaml", ["openai/y"], settings={"wanted": "q1"}, config="more.yaml", limit=2)
    scored = api.score()

    assert (first.models, scored.models) == (["openai/y"],) * 2
    assert values(first, "exact") == values(scored, "exact") == [0.5]
    assert scored.summary.samples == 2


def test_every_trial_is_scored_again(server: ModelServer, project: Callable[..., None]) -> None:
    project(judge("strict", "openai/strict"))
    first = ew.run("run.yaml", trials=3)
    assert asked_of(server) == {"x": 12, "strict": 12}

    project(judge("strict", "openai/strict", "Good?"))
    scored = api.score()

    assert asked_of(server) == {"strict": 12}
    assert (scored.summary.trials, scored.summary.samples) == (12, 4)
    assert scored.metrics == first.metrics


@pytest.mark.usefixtures("server")
def test_no_key_is_needed_for_a_model_that_is_not_asked(
    project: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    project(equals())
    first = ew.run("run.yaml")
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")

    assert api.score().metrics == first.metrics


@pytest.mark.parametrize(
    ("was", "now"),
    [
        pytest.param("return asked", "return asked", id="the same"),
        pytest.param("return asked", "return 'other'", id="another now, and not asked"),
    ],
)
def test_a_model_that_looks_at_the_row_has_its_answers_too(
    server: ModelServer, project: Callable[..., None], was: str, now: str
) -> None:
    def written(returned: str) -> str:
        snippet = (
            "        def run_inference(body, environment, sample):\n"
            "            import json\n"
            "            text = sample['question']\n"
            "            asked = json.dumps({'choices': [{'message': {'role': 'assistant', "
            "'content': text}}]})\n"
            f"            {returned}\n"
        )
        model = (
            "  - key: own\n    display_name: Own\n    config:\n"
            "      connection_type: custom_inference\n      timeout: 10\n"
            f"      run_inference_snippet: |\n{snippet}"
        )
        return run_file(SPEC.replace("openai$x", "own")).replace("  - $provider: openai/x\n", model)

    project(equals(), run=written(was))
    first = ew.run("run.yaml")
    assert values(first, "exact") == [1.0]

    project(equals("sample.question"), run=written(now))
    scored = api.score()
    again = api.score(scored.run_id)

    assert values(scored, "exact") == values(again, "exact") == [1.0]
    assert (scored.failures, again.failures, asked_of(server)) == ([], [], {})


def test_answers_of_scripted_models_are_found(
    server: ModelServer, project: Callable[..., None]
) -> None:
    project(equals())
    first = ew.run("run.yaml", ["scripted/echo"])

    assert api.score().metrics == first.metrics
    assert asked_of(server) == {}


@pytest.mark.usefixtures("server")
def test_a_model_that_the_run_never_asked_has_nothing_to_score(
    project: Callable[..., None],
) -> None:
    project(equals())
    first = ew.run("run.yaml")
    project(equals(), run=run_file(SPEC).replace("openai/x", "openai/z").replace("$x", "$z"))

    with pytest.raises(UsageError) as caught:
        api.score()

    assert caught.value.message == (
        f"run {first.run_id} has no answers from `openai/z`, which the project now names; "
        "it has answers from `openai/x`"
    )


def test_an_embedding_of_the_evaluated_model_is_refused_with_a_reason(
    server: ModelServer, project: Callable[..., None]
) -> None:
    project(equals())
    ew.run("run.yaml")
    asked_of(server)
    project('    - {type: semantic_similarity, key: near, ground_truth: "{{ sample.answer }}"}\n')

    (failure,) = api.score().failures

    assert (failure.stage, failure.count) == ("score", 4)
    assert failure.message.startswith("the scorer queries the evaluated model")
    assert asked_of(server) == {}


def test_recorded_traces_are_scored_again_without_any_model(
    server: ModelServer, project: Callable[..., None], tmp_path: Path
) -> None:
    passing = """\
  dataset: {key: rows}
  solver: {type: pass_through_solver, trace_column: said}
  scorers:
"""
    run = (
        "evaluation:\n  key: e\n  display_name: E\n  task_specifications:\n    - {task_key: ask}\n"
    )
    project(equals(), ask=passing, run=run)
    write_rows(tmp_path, [{"said": [{"role": "assistant", "content": "q1"}], "answer": "q1"}])
    ew.run("run.yaml")

    assert values(api.score(), "exact") == [1.0]
    assert asked_of(server) == {}


@pytest.mark.usefixtures("server")
def test_the_cap_counts_judges_too(project: Callable[..., None], tmp_path: Path) -> None:
    project(judge("strict", "openai/strict"), rows=200)
    prices = "".join(
        f'["openai/{name}"]\ninput = 1000.0\noutput = 1000.0\n' for name in ("x", "strict")
    )
    (tmp_path / "prices.toml").write_text(prices)

    report = ew.run("run.yaml", prices="prices.toml", max_cost=0.28, concurrency=1)

    assert report.status == "stopped"
    spent = [*report.usage.values(), *report.asked_beside.values()]
    assert sum(one.cost or 0 for one in spent) == pytest.approx(0.28)
    assert report.asked_beside["openai/strict"].requests == report.usage["openai/x"].requests == 10


def test_the_command_shows_what_was_asked_beside_the_answers(
    server: ModelServer, project: Callable[..., None], tmp_path: Path
) -> None:
    project(judge("strict", "openai/strict"))
    evalwright(server, "run", "run.yaml", cwd=tmp_path)
    server.log.clear()
    project(judge("strict", "openai/strict", "Good?"))

    shown = evalwright(server, "score", "latest", "--markdown", "report.md", cwd=tmp_path)

    assert shown.returncode == 0, shown.stderr
    assert "Other requests" in shown.stdout
    assert "## Other requests" in (tmp_path / "report.md").read_text()
    again = report_of(evalwright(server, "score", "latest", "--json", cwd=tmp_path))
    assert again["asked_beside"] == {}, "of the newest run, everything is known"
    assert len(outcomes_in(tmp_path)) == 4


def test_a_run_is_scored_with_its_own_project_wherever_the_command_is_given(
    server: ModelServer,
    project: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where another project of the same names lies."""
    project(equals(), judge("strict", "openai/strict"))
    (tmp_path / "more.yaml").write_text("run_config: {}\n")
    first = ew.run("run.yaml", config="more.yaml", store="runs.db")
    other = tmp_path / "other"
    write_rows(other, [{"question": "of another", "answer": "project"}])
    write_project(other, tasks__ask=task(ASK + equals()), run=run_file(SPEC))
    monkeypatch.chdir(other)
    asked_of(server)

    scored = api.score(store=str(tmp_path / "runs.db"))

    assert asked_of(server) == {}
    assert (scored.summary.completed, values(scored, "exact")) == (4, values(first, "exact"))
    kept = api.find(scored.run_id, store=str(tmp_path / "runs.db")).manifest
    assert (kept["plan"]["path"], kept["told"]["config"]) == ("run.yaml", "more.yaml")
    assert str(tmp_path) not in scored.to_json()
    again = api.score(scored.run_id, store=str(tmp_path / "runs.db"))
    assert again.summary.completed == 4


@pytest.mark.usefixtures("server")
def test_a_project_that_was_moved_is_read_where_the_command_is_given(
    project: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    project(equals())
    for name in ("tasks", "datasets", "run.yaml"):
        (tmp_path / name).rename(old / name)
    monkeypatch.chdir(old)
    ew.run("run.yaml")
    old.rename(tmp_path / "new")
    monkeypatch.chdir(tmp_path / "new")

    assert api.score().summary.completed == 4


@pytest.mark.usefixtures("server")
def test_a_project_without_a_task_of_the_run_is_refused(project: Callable[..., None]) -> None:
    project(equals())
    run_id = ew.run("run.yaml").run_id
    project(equals(), rows=5, run=run_file(SPEC.replace("{key: ask", "{key: others")))

    with pytest.raises(UsageError, match="not the project") as error:
        api.score()

    assert f"run {run_id}: it has `others`, the run has `ask`" in error.value.message
    assert "run.yaml" in error.value.message


@pytest.mark.usefixtures("server")
def test_a_project_that_was_run_by_its_folder_is_scored_from_anywhere(
    project: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(equals())
    monkeypatch.chdir(tmp_path.parent)
    first = ew.run(tmp_path.name)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    again = api.score()

    assert again.summary.completed == first.summary.completed
    assert again.status == "finished"


@pytest.mark.usefixtures("server")
def test_a_project_that_is_gone_is_said_to_be_that_of_the_run(
    project: Callable[..., None], tmp_path: Path
) -> None:
    project(equals())
    run_id = ew.run("run.yaml").run_id
    (tmp_path / "run.yaml").unlink()

    with pytest.raises(Unreadable, match=f"the files of run {run_id} no longer exist"):
        api.score()


def test_tasks_that_ask_the_same_keep_each_its_own_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, project: Callable[..., None]
) -> None:
    monkeypatch.chdir(tmp_path)
    counts = iter(range(1_000))
    twins = run_file(
        "{key: one, task_key: ask, model_key: openai$x}",
        "{key: two, task_key: ask, model_key: openai$x}",
        "{key: thrice, task_key: ask, model_key: openai$x, repeatability: {num_runs: 3}}",
    )
    with ModelServer(chat(lambda _: f"answer {next(counts)}")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-no-use")
        project(equals(), rows=6, run=twins)
        first = ew.run("run.yaml")
        again = api.score(first.run_id)

    def answers(report: ew.Report) -> dict[tuple[str, int, int], str]:
        return {
            (one.task, one.ordinal, one.trial): one.trace.output
            for one in report.samples()
            if one.trace
        }

    assert len(set(answers(first).values())) == 6 * 5
    assert answers(again) == answers(first)
