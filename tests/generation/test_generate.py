"""Rows that generators make: once, in order, whole or not at all; and nothing paid for is lost."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec import structs
from tests.servers.model_server import Asked, Behaviour, ModelServer, after, chat, in_turn, status
from tests.session.made import Listening

from evalwright import api
from evalwright.errors import BadDataset, BadTasks, EvalwrightError, UsageError
from evalwright.generation.generate import GeneratedDataset
from evalwright.types import Usage

GENERATOR = """
key: quiz
display_name: Quiz
config_spec:
  - {type: model, key: writer, display_name: Writer, default_value: openai/x}
definition:
  data_source: {type: dataset_samples, key: topics}
  synthesizers:
    - type: llm
      model_key: "<< config.writer >>"
      user_prompt: "About {{ sample.topic }}"
      output_column: question
"""
TOPICS = """
key: topics
display_name: Topics
source: {type: local, file_path: topics.jsonl}
"""
QUIZ = """
key: quiz-rows
display_name: Quiz
generator_specification: {dataset_generator_key: quiz}
"""
TASK = """
key: length
display_name: Length
description: How long are they?
definition:
  evaluated_entity_type: dataset
  dataset: {key: quiz-rows}
  scorers:
    - type: python
      compute_scores_snippet: "def compute_scores(sample): return {'n': len(sample['question'])}"
      metrics: [{type: mean, field: n}]
"""
GENERATED = Path(".evalwright") / "generated"


def write(**files: str) -> None:
    for name, text in files.items():
        path = Path(f"{name.replace('__', '/')}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def topics(count: int) -> None:
    lines = (json.dumps({"topic": f"t{number}"}) for number in range(count))
    Path("datasets/topics.jsonl").write_text("\n".join(lines))


def rows() -> list[dict[str, Any]]:
    (path,) = GENERATED.glob("*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def prompts(server: ModelServer) -> list[str]:
    said = sorted(one.prompt for one in server.log)
    server.log.clear()
    return said


def echo(asked: Asked) -> str:
    return f"said: {asked.prompt}"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(dataset_generators__quiz=GENERATOR, datasets__topics=TOPICS, datasets__quiz=QUIZ)
    topics(4)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(chat(echo)) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        yield running


def test_rows_are_made_once_and_in_the_order_of_the_source(server: ModelServer) -> None:
    (made,) = api.generate("quiz-rows", concurrency=4)
    (again,) = api.generate("quiz-rows")

    assert [one["question"] for one in rows()] == [f"said: About t{n}" for n in range(4)]
    assert prompts(server) == [f"About t{n}" for n in range(4)]
    assert (made.rows, made.source_rows, made.made) == (4, 4, True)
    assert made.usage["openai/x"].requests == 4
    assert (again.rows, again.made, again.file) == (4, False, made.file)
    assert again.usage == made.usage


def test_again_makes_them_anew_though_replies_are_kept(server: ModelServer) -> None:
    api.generate("quiz-rows", cache=True)
    prompts(server)
    server.behave(chat("other"))

    (made,) = api.generate("quiz-rows", again=True, cache=True)

    assert len(prompts(server)) == 4
    assert made.made
    assert {one["question"] for one in rows()} == {"other"}


def test_again_makes_them_anew_though_it_was_killed_right_after_the_last_time(
    server: ModelServer,
) -> None:
    (made,) = api.generate("quiz-rows")
    lines = [json.dumps({"place": place, "rows": [{"question": "old"}]}) for place in range(4)]
    Path(f"{made.file}.part").write_text("".join(f"{line}\n" for line in lines))
    prompts(server)

    api.generate("quiz-rows", again=True)

    assert len(prompts(server)) == 4
    assert "old" not in {one["question"] for one in rows()}


def test_the_old_rows_stay_until_all_are_made_anew(server: ModelServer) -> None:
    api.generate("quiz-rows")
    before = rows()
    server.behave(chat(lambda asked: "" if asked.prompt == "About t2" else "new"))

    with pytest.raises(BadDataset, match="3 of 4"):
        api.generate("quiz-rows", again=True)
    assert rows() == before
    server.behave(chat("new"))
    prompts(server)

    api.generate("quiz-rows", again=True)

    assert prompts(server) == ["About t2"]
    assert {one["question"] for one in rows()} == {"new"}


@pytest.mark.parametrize("what", ["prompt", "rows", "number", "model"])
def test_whatever_decides_on_the_rows_makes_them_anew(server: ModelServer, what: str) -> None:
    (before,) = api.generate("quiz-rows")
    prompts(server)
    if what == "prompt":
        write(dataset_generators__quiz=GENERATOR.replace("About", "On"))
    elif what == "rows":
        topics(3)
    elif what == "number":
        write(datasets__quiz=QUIZ.replace("quiz}", "quiz, num_samples: 6}"))
    else:
        config = "quiz, dataset_generator_config: {writer: openai/y}}"
        write(datasets__quiz=QUIZ.replace("quiz}", config))

    (made,) = api.generate("quiz-rows")

    assert made.made
    assert made.file != before.file
    assert prompts(server) != []


def test_a_long_key_is_cut_in_the_name_of_the_file(server: ModelServer) -> None:
    key = "k" * 250
    write(datasets__quiz=QUIZ.replace("quiz-rows", key))

    (made,) = api.generate(key)

    assert made.rows == len(server.log) == 4


def test_what_is_only_for_people_makes_nothing_anew(server: ModelServer) -> None:
    api.generate("quiz-rows")
    write(
        dataset_generators__quiz=GENERATOR.replace("Quiz", "A quiz"),
        datasets__quiz=QUIZ.replace("display_name: Quiz", "display_name: Rows"),
    )

    (made,) = api.generate("quiz-rows")

    assert not made.made
    assert len(prompts(server)) == 4


def test_a_row_that_fails_costs_no_other_and_the_next_time_goes_on(server: ModelServer) -> None:
    def refuse(asked: Asked) -> str:
        return "" if asked.prompt == "About t2" else echo(asked)

    server.behave(chat(refuse))
    with pytest.raises(BadDataset, match="3 of 4 rows were generated, 1 failed: row 2") as caught:
        api.generate("quiz-rows")
    assert "run the command again to generate the others" in caught.value.hint
    assert list(GENERATED.glob("*.jsonl")) == []
    prompts(server)
    server.behave(chat(echo))

    (made,) = api.generate("quiz-rows")

    assert prompts(server) == ["About t2"]
    assert [one["question"] for one in rows()] == [f"said: About t{n}" for n in range(4)]
    assert made.usage["openai/x"].requests == 5, "what failed was paid for, too"
    assert list(GENERATED.glob("*.part")) == []


def test_a_reply_that_was_no_use_is_not_taken_out_of_the_cache(server: ModelServer) -> None:
    server.behave(chat(" "))
    with pytest.raises(BadDataset):
        api.generate("quiz-rows", cache=True)
    server.behave(chat("good"))

    api.generate("quiz-rows", cache=True)

    assert {one["question"] for one in rows()} == {"good"}


def test_a_server_that_takes_nothing_is_not_asked_for_every_row(server: ModelServer) -> None:
    topics(500)
    server.behave(status(401))

    with pytest.raises(BadDataset, match="0 of 500 rows were generated") as caught:
        api.generate("quiz-rows", concurrency=2)

    assert "were not tried" in caught.value.message
    assert len(server.log) < 50


def test_a_call_that_may_succeed_later_is_tried_again(server: ModelServer) -> None:
    server.behave(in_turn(status(503), chat(echo)))

    api.generate("quiz-rows", concurrency=1)

    assert len(rows()) == 4


def test_equal_prompts_of_two_rows_are_two_questions(server: ModelServer) -> None:
    empty = "{type: empty, num_samples: 3}"
    text = GENERATOR.replace("{type: dataset_samples, key: topics}", empty)
    write(dataset_generators__quiz=text.replace("{{ sample.topic }}", "anything"))

    api.generate("quiz-rows", cache=True)

    assert prompts(server) == ["About anything"] * 3


def test_a_server_that_takes_no_schema_is_asked_without_and_that_is_said(
    server: ModelServer,
) -> None:
    columns = "output_columns: [question]\n      use_structured_outputs: true"
    write(dataset_generators__quiz=GENERATOR.replace("output_column: question", columns))
    refused = status(400, "response_format is not supported")
    answered = chat('{"question": "Wo?"}')

    async def behave(asked: Asked) -> Any:
        return await (refused if "response_format" in asked.body else answered)(asked)

    server.behave(behave)
    progress = Listening()

    (made,) = api.generate("quiz-rows", progress=progress, concurrency=1)

    assert made.rows == 4
    (note,) = made.notes
    assert "openai/x does not accept a schema for its reply" in note
    assert progress.told.count(f"note: {note}") == 1
    assert sum("response_format" in one.body for one in server.log) == 1


def test_a_cap_on_cost_stops_it_and_keeps_what_is_made(server: ModelServer) -> None:
    Path("prices.toml").write_text('["openai/x"]\ninput = 1000000\noutput = 1000000\n')

    with pytest.raises(EvalwrightError, match="cap is reached"):
        api.generate("quiz-rows", max_cost=1.0, prices="prices.toml", concurrency=1)

    (part,) = GENERATED.glob("*.part")
    assert len(part.read_text().splitlines()) == 1
    assert len(server.log) == 1


def test_a_column_that_no_row_has_is_said_before_anybody_is_asked(server: ModelServer) -> None:
    write(dataset_generators__quiz=GENERATOR.replace("sample.topic", "sample.topc"))

    with pytest.raises(BadDataset, match="no row has a column `topc`"):
        api.generate("quiz-rows")
    assert server.log == []


def test_a_dataset_of_a_dataset_that_is_made_is_made_after_it(server: ModelServer) -> None:
    write(
        dataset_generators__copy=(
            "key: copy\ndisplay_name: C\ndefinition:\n"
            "  dataset: {type: dataset_samples, key: quiz-rows}\n"
            "  synthesizers: [{type: drop_columns, columns: [topic]}]\n"
        ),
        datasets__copy=(
            "key: copy\ndisplay_name: C\n"
            "generator_specification: {dataset_generator_key: copy, num_samples: 2}\n"
        ),
    )

    done = api.generate("copy")

    assert [(one.dataset, one.rows) for one in done] == [("quiz-rows", 4), ("copy", 2)]
    assert len(prompts(server)) == 4
    (path,) = GENERATED.glob("copy-*.jsonl")
    assert json.loads(path.read_text().splitlines()[0]) == {"question": "said: About t0"}


def test_a_run_makes_the_rows_that_it_needs_and_says_so(server: ModelServer) -> None:
    write(tasks__length=TASK)
    progress = Listening()

    report = api.run("tasks/length.yaml", progress=progress)
    again = api.run("tasks/length.yaml", progress=progress)

    assert len(prompts(server)) == 4
    assert report.status == again.status == "finished"
    assert "the rows of `quiz-rows` were generated by `quiz`, with openai/x" in again.notes
    assert [one.n for one in again.metrics] == [4]
    told = [one for one in progress.told if "quiz-rows" in one]
    assert len(told) == 1
    assert "4 rows generated in " in told[0]
    assert "4 requests" in told[0]


def test_what_rows_took_counts_towards_the_cap_of_the_run(server: ModelServer) -> None:
    write(
        tasks__ask=TASK.replace("  evaluated_entity_type: dataset\n", "")
        .replace(
            "  scorers:",
            "  solver:\n    type: single_turn_solver\n    input_builder: {type: chat_completion, "
            "input_messages: [{role: user, content: '{{ sample.question }}'}]}\n  scorers:",
        )
        .replace("compute_scores(sample)", "compute_scores(sample, output)")
    )
    tokens = sum(one.total_tokens for one in api.generate("quiz-rows")[0].usage.values())
    for path in GENERATED.iterdir():
        path.unlink()
    prompts(server)

    report = api.run("tasks/ask.yaml", ["openai/y"], max_tokens_total=tokens + 1, concurrency=1)

    assert report.status == "stopped"
    assert len([one for one in server.log if one.body["model"] == "y"]) == 1


def test_a_project_is_checked_without_making_rows(server: ModelServer) -> None:
    write(tasks__length=TASK)

    (checking, *_) = api.checks(["."])

    assert list(checking) == []
    assert server.log == []
    assert not GENERATED.exists()


def test_a_task_is_not_tried_on_rows_that_are_not_made(server: ModelServer) -> None:
    write(tasks__length=TASK)

    with pytest.raises(BadDataset, match="`quiz-rows` have not been generated yet"):
        api.try_task(api.TaskSelection(path="tasks/length.yaml"))
    assert server.log == []

    api.generate("quiz-rows")

    assert api.try_task(api.TaskSelection(path="tasks/length.yaml")).ok


def test_snippets_are_refused_where_that_is_wanted() -> None:
    snippet = "{type: python, synthesize_snippet: 'def synthesize(sample): return {}'}"
    text = GENERATOR[: GENERATOR.index("    - type: llm")] + f"    - {snippet}\n"
    write(dataset_generators__quiz=text)

    with pytest.raises(UsageError, match="--no-snippets"):
        api.generate("quiz-rows", no_snippets=True)
    assert api.generate("quiz-rows")[0].rows == 4


def test_no_rows_at_all_is_an_error() -> None:
    snippet = "{type: python, synthesize_snippet: 'def synthesize(sample): return []'}"
    text = GENERATOR[: GENERATOR.index("    - type: llm")] + f"    - {snippet}\n"
    write(dataset_generators__quiz=text)

    with pytest.raises(BadDataset, match="returned no rows"):
        api.generate("quiz-rows")


def test_a_dataset_that_is_read_is_not_generated() -> None:
    with pytest.raises(UsageError, match="`topics` has no generator"):
        api.generate("topics")


def test_a_mistake_is_refused_before_anybody_is_asked(server: ModelServer) -> None:
    write(dataset_generators__quiz=GENERATOR.replace("output_column", "output_colum"))

    with pytest.raises(BadTasks, match="output_colum"):
        api.generate("quiz-rows")
    assert server.log == []


def test_a_secret_is_in_no_row(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    server.behave(chat("it is sk-very-secret-0123456789"))

    api.generate("quiz-rows")

    assert not any(b"very-secret" in one.read_bytes() for one in GENERATED.iterdir())


def test_a_model_of_recordings_is_asked_by_the_place_of_the_row() -> None:
    lines = (json.dumps({"id": str(place), "output": f"r{place}"}) for place in range(4))
    Path("recorded.jsonl").write_text("\n".join(lines))
    config = "quiz, dataset_generator_config: {writer: replay/recorded.jsonl}}"
    write(datasets__quiz=QUIZ.replace("quiz}", config))

    api.generate("quiz-rows")

    assert [one["question"] for one in rows()] == ["r0", "r1", "r2", "r3"]


ASK = (
    TASK.replace("  evaluated_entity_type: dataset\n", "")
    .replace(
        "  scorers:",
        "  solver:\n    type: single_turn_solver\n    input_builder: {type: chat_completion, "
        "input_messages: [{role: user, content: '{{ sample.topic }}'}]}\n  scorers:",
    )
    .replace("compute_scores(sample)", "compute_scores(sample, output)")
    .replace("sample['question']", "sample['topic']")
)
PRICES = "".join(f'["openai/{name}"]\ninput = 100\noutput = 100\n' for name in "xy")


def test_the_cap_of_a_project_is_kept_however_often_its_run_is_gone_on_with(
    server: ModelServer,
) -> None:
    write(tasks__ask=ASK.replace("quiz-rows", "topics"))
    Path("prices.toml").write_text(PRICES)
    told: dict[str, Any] = {"prices": "prices.toml", "concurrency": 1, "max_cost": 0.000001}
    first = api.run("tasks/ask.yaml", ["openai/y"], **told)
    asked = len(server.log)

    again = api.run("tasks/ask.yaml", ["openai/y"], **told)

    assert (first.status, again.status) == ("stopped", "stopped")
    assert (asked, len(server.log)) == (1, 1)


def test_what_rows_took_counts_towards_the_cap_when_their_run_is_gone_on_with(
    server: ModelServer,
) -> None:
    write(tasks__ask=ASK)
    Path("prices.toml").write_text(PRICES)
    told: dict[str, Any] = {"prices": "prices.toml", "concurrency": 1}
    cost = sum(one.cost or 0.0 for one in api.generate("quiz-rows", **told)[0].usage.values())
    for path in GENERATED.iterdir():
        path.unlink()
    prompts(server)
    cap = cost + 0.000001
    first = api.run("tasks/ask.yaml", ["openai/y"], max_cost=cap, **told)

    again = api.run("tasks/ask.yaml", ["openai/y"], max_cost=cap, **told)

    assert (first.status, again.status) == ("stopped", "stopped")
    assert [one.body["model"] for one in server.log] == ["x", "x", "x", "x", "y"]


def test_one_cap_holds_for_all_rows_that_are_made(server: ModelServer) -> None:
    write(
        datasets__more=QUIZ.replace("quiz-rows", "more"),
        dataset_generators__pairs=GENERATOR.replace("key: quiz", "key: pairs")
        .replace("type: dataset_samples, key: topics", "type: dataset_samples, key: quiz-rows")
        .replace("sample.topic", "sample.question"),
        datasets__pairs=QUIZ.replace("quiz-rows", "pairs").replace(": quiz}", ": pairs}"),
    )
    Path("prices.toml").write_text(PRICES)
    told: dict[str, Any] = {"prices": "prices.toml", "concurrency": 1}
    cost = sum(one.cost or 0.0 for one in api.generate("more", **told)[0].usage.values())
    prompts(server)

    with pytest.raises(EvalwrightError, match="cap is reached"):
        api.generate("pairs", max_cost=cost + 0.000001, **told)

    assert len(prompts(server)) == 5


def test_a_capped_generation_that_is_gone_on_with_spends_nothing_more(server: ModelServer) -> None:
    Path("prices.toml").write_text(PRICES)
    told: dict[str, Any] = {"prices": "prices.toml", "concurrency": 1, "max_cost": 0.000001}
    for _ in range(2):
        with pytest.raises(EvalwrightError, match="cap is reached"):
            api.generate("quiz-rows", **told)

    assert len(server.log) == 1


FANNED = """
key: quiz
display_name: Quiz
definition:
  data_source: {type: inline_samples, samples: [{topic: seas}]}
  synthesizers:
    - type: python
      synthesize_snippet: |
        def synthesize(sample):
            return [{"n": number} for number in range(6)]
    - {type: llm, model_key: openai/x, user_prompt: "{{ sample.n }}", output_column: question}
"""


def test_one_bad_reply_of_a_row_that_became_several_costs_no_other(server: ModelServer) -> None:
    write(dataset_generators__quiz=FANNED)
    server.behave(chat(lambda asked: "" if asked.prompt == "3" else echo(asked)))
    with pytest.raises(BadDataset, match="0 of 1 rows were generated, 1 failed"):
        api.generate("quiz-rows", cache=False)
    first = prompts(server)
    server.behave(chat(echo))

    (made,) = api.generate("quiz-rows", cache=False)

    assert set(first) == set("012345")
    assert prompts(server) == ["3"]
    assert [one["question"] for one in rows()] == [f"said: {number}" for number in range(6)]
    assert made.usage["openai/x"].requests == 7


def test_rows_that_came_of_one_are_asked_about_at_once(server: ModelServer) -> None:
    write(dataset_generators__quiz=FANNED)
    server.behave(together(6, chat(echo)))

    api.generate("quiz-rows", concurrency=6)

    assert [one["question"] for one in rows()] == [f"said: {number}" for number in range(6)]


def together(count: int, behaviour: Behaviour) -> Behaviour:
    """Nobody is answered before so many have asked."""
    waiting: list[asyncio.Event] = []

    async def behave(asked: Asked) -> web.StreamResponse:
        here = asyncio.Event()
        waiting.append(here)
        if len(waiting) == count:
            for one in waiting:
                one.set()
        await asyncio.wait_for(here.wait(), 20)
        return await behaviour(asked)

    return behave


def test_two_steps_of_a_row_are_not_asked_twice(server: ModelServer) -> None:
    second = '    - {type: llm, model_key: openai/x, user_prompt: "B", output_column: b}\n'
    topics(1)
    write(dataset_generators__quiz=GENERATOR + second)
    server.behave(chat(lambda asked: "" if asked.prompt == "B" else echo(asked)))
    with pytest.raises(BadDataset, match="failed"):
        api.generate("quiz-rows", cache=False)
    prompts(server)
    server.behave(chat(echo))

    api.generate("quiz-rows", cache=False)

    assert prompts(server) == ["B"]


def test_two_rows_with_one_id_are_named_and_no_file_is_written(server: ModelServer) -> None:
    write(
        dataset_generators__quiz=GENERATOR.replace(
            "output_column: question", "output_column: sample_id"
        )
    )
    server.behave(chat("same"))

    with pytest.raises(
        BadDataset, match=r"`sample_id` `same` .*: they were generated from rows 0 and 1"
    ):
        api.generate("quiz-rows")
    assert not list(GENERATED.glob("*.jsonl"))
    server.behave(chat(echo))

    (made,) = api.generate("quiz-rows", again=True)

    assert made.rows == 4


def test_rows_that_are_made_are_read_without_the_key_of_who_made_them(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = """
key: bot
display_name: Bot
task: chat_completion
config:
  url: "URL/chat/completions"
  api_key: $BOT_KEY
  adapter: {key: latticeflow$openai_chat_completion}
"""
    write(models__bot=document.replace("URL", server.url), tasks__length=TASK)
    write(dataset_generators__quiz=GENERATOR.replace("openai/x", "bot"))
    monkeypatch.setenv("BOT_KEY", "sk-bot-1234567890")
    api.generate("quiz-rows")
    monkeypatch.delenv("BOT_KEY")
    prompts(server)

    (again,) = api.generate("quiz-rows")
    report = api.run("tasks/length.yaml")

    assert not again.made
    assert report.status == "finished"
    assert prompts(server) == []


def test_a_key_is_still_asked_for_where_rows_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(UsageError, match="openai needs an API key"):
        api.generate("quiz-rows")


RESULT = """
key: results
display_name: Results
source: {type: task_result, key: length}
"""


def test_a_result_of_the_same_run_is_refused_though_a_dataset_is_in_between() -> None:
    write(
        run="dataset_generators: []\nevaluation:\n  key: e\n  display_name: E\n"
        "  task_specifications:\n    - {key: length, task_key: length}\n"
        "    - {key: other, task_key: other}\n",
        tasks__length=TASK.replace("quiz-rows", "topics").replace("['question']", "['topic']"),
        tasks__other=TASK.replace("key: length", "key: other"),
        datasets__results=RESULT,
        dataset_generators__quiz=GENERATOR.replace("key: topics}", "key: results}").replace(
            "About {{ sample.topic }}", "A"
        ),
    )

    with pytest.raises(BadTasks, match="through dataset `results`, from the result of `length`"):
        api.run("run.yaml")


def test_a_result_that_is_nowhere_is_named_with_its_dataset() -> None:
    source = "type: task_result, key: nowhere"
    write(dataset_generators__quiz=GENERATOR.replace("type: dataset_samples, key: topics", source))

    with pytest.raises(BadDataset, match="dataset `quiz-rows`: `nowhere` has no result"):
        api.generate("quiz-rows")


MADE = GeneratedDataset(
    dataset="quiz", generator="g", file="f.jsonl", rows=6, source_rows=6, made=True, usage={}
)


def made(**changes: object) -> GeneratedDataset:
    return structs.replace(MADE, **changes)


@pytest.mark.parametrize(
    ("dataset", "sentence"),
    [
        pytest.param(MADE, "dataset `quiz`: 6 rows generated in f.jsonl", id="without a model"),
        pytest.param(
            made(source_rows=3),
            "dataset `quiz`: 6 rows generated from 3 of the data source in f.jsonl",
            id="several of one",
        ),
        pytest.param(
            made(usage={"m": Usage(2, 1000, 500, 0.25), "n": Usage(1, 0, 1, 0.5)}),
            "dataset `quiz`: 6 rows generated in f.jsonl: 3 requests, 1,501 tokens, $0.75",
            id="what it took",
        ),
        pytest.param(
            made(usage={"m": Usage(2, 1, 1, None), "n": Usage(1, 0, 1, 0.5)}),
            "dataset `quiz`: 6 rows generated in f.jsonl: 3 requests, 3 tokens",
            id="a price that is not known is no guess",
        ),
        pytest.param(
            made(made=False), "dataset `quiz`: 6 rows already exist in f.jsonl", id="there"
        ),
    ],
)
def test_what_was_done_is_a_sentence(dataset: GeneratedDataset, sentence: str) -> None:
    assert dataset.describe() == sentence


SEVERAL = """
key: quiz
display_name: Quiz
definition:
  dataset: {type: dataset_samples, key: topics}
  synthesizers:
    - type: llm
      model_key: openai/x
      user_prompt_template: "{{ source.topic }}"
      format_instructions: " "
      sample_properties: {q: {type: string}}
"""


def several(count: int) -> Behaviour:
    return chat(
        lambda asked: json.dumps([{"q": f"{asked.prompt.strip()}-{n}"} for n in range(count)])
    )


def test_no_more_is_asked_than_the_rows_that_are_wanted_take(server: ModelServer) -> None:
    server.behave(several(5))
    topics(40)
    write(
        dataset_generators__quiz=SEVERAL,
        datasets__quiz=QUIZ.replace("quiz}", "quiz, num_samples: 12}"),
    )

    (made,) = api.generate("quiz-rows", concurrency=8)

    assert [row["q"] for row in rows()] == [f"t{n // 5}-{n % 5}" for n in range(12)]
    assert (made.rows, made.source_rows, len(server.log)) == (12, 3, 3)


def test_a_row_that_failed_is_made_though_the_others_are_enough(server: ModelServer) -> None:
    topics(2)
    write(
        dataset_generators__quiz=SEVERAL,
        datasets__quiz=QUIZ.replace("quiz}", "quiz, num_samples: 3}"),
    )

    def broken(asked: Asked) -> str:
        name = asked.prompt.strip()
        return "no" if name == "t0" else json.dumps([{"q": f"{name}-{n}"} for n in range(9)])

    server.behave(chat(broken))
    with pytest.raises(BadDataset, match="row 0: expected one JSON value with `q`"):
        api.generate("quiz-rows", concurrency=1)
    prompts(server)
    server.behave(several(2))

    api.generate("quiz-rows", concurrency=4)

    assert [row["q"] for row in rows()] == ["t0-0", "t0-1", "t1-0"]
    assert [prompt.strip() for prompt in prompts(server)] == ["t0"]


def test_many_rows_of_an_empty_source_are_asked_for_at_once(server: ModelServer) -> None:
    server.behave(after(0.05, several(1)))
    write(
        dataset_generators__quiz=SEVERAL.replace("dataset_samples, key: topics", "empty").replace(
            "{{ source.topic }}", "t{{ index }}"
        ),
        datasets__quiz=QUIZ.replace("quiz}", "quiz, num_samples: 30}"),
    )

    api.generate("quiz-rows", concurrency=6)

    assert [row["q"] for row in rows()] == [f"t{n}-0" for n in range(30)]
    assert len(server.log) == 30
    assert server.most_at_once > 1
