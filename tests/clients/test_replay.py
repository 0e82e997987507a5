import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.servers.asking import answered, asking, chat, failed

from evalwright.clients.replay import Replay, connect
from evalwright.errors import Unreadable, UsageError
from evalwright.types import Completion, JudgedAnswer, Message, Request, Sample, TaskSpec, Usage

ANSWERS = """\
{"id": "a", "output": "first"}
{"id": "b", "output": "b", "logprobs": [-0.5, -1]}

{"id": "a", "output": "second"}
"""


def ask(model: Replay, sample_id: str, trial: int = 0) -> Completion:
    task = TaskSpec(
        task_id=sample_id,
        category="arithmetic",
        prompt="go",
        targets=("4",),
        metric_name="exact_match",
        post_process="none",
    )
    sample = Sample(sample_id, task)
    request = Request(messages=(Message("user", "go"),), sample=sample, trial=trial)
    return asyncio.run(model.complete(request))


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "outputs.jsonl"
    path.write_text(ANSWERS)
    return path


def test_an_answer_is_found_by_its_id(answers: Path) -> None:
    assert ask(connect(str(answers)), "b").text == "b"


def test_lines_with_one_id_are_its_trials_in_order(answers: Path) -> None:
    model = connect(str(answers))

    assert [ask(model, "a", trial).text for trial in (0, 1)] == ["first", "second"]
    assert ask(model, "a", 0).text == "first"


def test_integer_ids_and_other_keys_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text('{"id": 7, "output": "x", "model": "gpt", "tags": [1]}\n')

    assert ask(connect(str(path)), "7").text == "x"


def test_a_null_output_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text('{"id": "a", "output": null}\n{"id": "a", "output": "second"}\n')

    with pytest.raises(LookupError, match="the output recorded for 'a', trial 1 is null"):
        ask(connect(str(path)), "a")
    assert ask(connect(str(path)), "a", 1).text == "second"


def test_the_line_with_the_most_matching_keys_is_used(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    keys: list[dict[str, str]] = [{}, {"model": "m"}, {"model": "m", "prompt": "Is it blue?"}]
    lines = [{"id": "a", "output": str(number), "judged": key} for number, key in enumerate(keys)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    judge = connect(str(path))

    def verdict(**judged: str) -> str:
        request = Request(sample=Sample("a", {}), judged=JudgedAnswer(**judged))  # type: ignore[arg-type] # texts
        return asyncio.run(judge.complete(request)).text

    assert verdict(model="other", prompt="Is it blue?") == "0"
    assert verdict(model="m", prompt="Is it red?") == "1"
    assert verdict(model="m", prompt="Is it blue?", scorer="s") == "2"


def test_log_probabilities_are_replayed_too(answers: Path) -> None:
    model = connect(str(answers))

    assert ask(model, "b").logprobs == (-0.5, -1.0)
    assert ask(model, "b").usage == Usage(requests=0, completion_tokens=2)
    assert ask(model, "a").logprobs is None


@pytest.mark.parametrize(
    ("sample_id", "trial", "which"),
    [
        pytest.param("c", 0, "'c', trial 1", id="an id that is not there"),
        pytest.param("a", 2, "'a', trial 3", id="more trials than answers"),
    ],
)
def test_a_missing_answer_is_a_failure_and_no_wrong_answer(
    answers: Path, sample_id: str, trial: int, which: str
) -> None:
    with pytest.raises(LookupError, match=f"no output is recorded for {which}"):
        ask(connect(str(answers)), sample_id, trial)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        pytest.param("{", "Input data was truncated", id="no JSON"),
        pytest.param("[]", "Expected `object`, got `array`", id="no object"),
        pytest.param('{"id": "x"}', "missing required field `output`", id="no output"),
        pytest.param('{"id": 0.5, "output": ""}', "Expected `int | str`, got `float`", id="type"),
        pytest.param(
            '{"id": "x", "output": "", "judged": {"modle": ""}}',
            "unknown field `modle` - at `$.judged`",
            id="a misspelt key",
        ),
        pytest.param(
            '{"id": "x", "output": "", "logprobs": [0.5]}',
            "Expected `float` <= 0.0 - at `$.logprobs[0]`",
            id="a probability above 1",
        ),
    ],
)
def test_a_bad_line_is_one_error_with_its_place_before_anything_runs(
    tmp_path: Path, line: str, what: str
) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text(f'{{"id": "a", "output": "b"}}\n\n{line}\n{{\n')

    with pytest.raises(UsageError) as refused:
        connect(str(path))

    assert refused.value.message.startswith(f"{path}:3: ")
    assert what in refused.value.message
    assert refused.value.hint == 'expected a line such as {"id": "…", "output": "…"}'


@pytest.mark.parametrize(
    ("content", "number", "why"),
    [
        pytest.param(bytes(range(256)) * 20, 1, "binary", id="a binary file"),
        pytest.param('{"id": "a"}'.encode("utf-16"), 1, "utf-16", id="UTF-16"),
        pytest.param(b'\n"' + b"x" * (17 << 20), 2, "too long", id="a line beyond any reason"),
    ],
)
def test_what_is_not_a_line_is_not_passed_over(
    tmp_path: Path, content: bytes, number: int, why: str
) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_bytes(content)

    with pytest.raises(UsageError) as refused:
        connect(str(path))

    assert refused.value.message == f"{path}:{number}: not a line of JSON ({why})"


def test_a_compressed_file_is_read_like_a_plain_one(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl.gz"
    path.write_bytes(gzip.compress(ANSWERS.encode()))

    assert ask(connect(str(path)), "a", 1).text == "second"


def test_the_fingerprint_is_that_of_the_content(tmp_path: Path, answers: Path) -> None:
    moved, packed, other = (tmp_path / name for name in ("moved.jsonl", "packed.gz", "other.jsonl"))
    moved.write_text(ANSWERS)
    packed.write_bytes(gzip.compress(ANSWERS.encode()))
    other.write_text(ANSWERS.replace("second", "third"))

    same = {connect(str(path)).fingerprint for path in (answers, moved, packed)}

    assert len(same) == 1
    assert connect(str(other)).fingerprint not in same


def test_a_file_that_is_not_there_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no such file"):
        connect(str(tmp_path / "nope.jsonl"))


def test_a_file_must_be_named() -> None:
    with pytest.raises(UsageError, match="needs a file"):
        connect("")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"choices": [{"message": {"content": "4"}}]}', "4"),
        ('{"items": [{"type": "message", "role": "assistant", "content": "4"}]}', "4"),
    ],
)
def test_a_whole_output_may_be_recorded(tmp_path: Path, line: str, text: str) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text(f'{{"id": "a", "output": {line}}}\n')

    found = ask(connect(str(path)), "a")

    assert (found.text, found.usage) == (text, Usage())


@pytest.mark.parametrize("output", ['{"embeddings": [[1.0]]}', '{"label": "cat"}', '"cat"'])
def test_what_is_no_chat_may_be_recorded(tmp_path: Path, output: str) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text(f'{{"id": "0", "output": {output}}}\n')

    found: Any = answered(connect(str(path)), asking("custom", {})).output

    assert msgspec.json.encode(found) == msgspec.json.encode(msgspec.json.decode(output))


def test_a_refusal_may_be_recorded_for_who_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    message = '{"content": null, "refusal": "nope"}'
    path.write_text(f'{{"id": "0", "output": {{"choices": [{{"message": {message}}}]}}}}\n')
    request = msgspec.structs.replace(chat("q"), takes_all=True)

    assert answered(connect(str(path)), request).text == "nope"
    assert failed(connect(str(path)), chat("q")).kind == "refused"
