import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from evalwright.datasets.inspect_ai import COLUMNS, InspectAi
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import Surroundings
from evalwright.errors import BadDataset, Unreadable
from evalwright.objects import read_trace

LOGS = Path(__file__).parent / "inspect"
NAME = "2026-03-01T09-00-00+00-00_greetings_4kQ.json"


def source(**fields: Any) -> Rows:
    read = InspectAi.model_validate(
        {"type": "inspect_ai", **{name: str(value) for name, value in fields.items()}}
    )
    return read.rows(Surroundings(cache_dir=Path("unused")))


def log(path: Path, *samples: dict[str, Any], **more: Any) -> Path:
    """A log in JSON, with these samples."""
    whole = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, **more}
    path.write_bytes(msgspec.json.encode({**whole, "samples": list(samples)}))
    return path


def sample(**more: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "4"}
    return {
        "id": "a",
        "epoch": 1,
        "input": "2 + 2",
        "target": "4",
        "messages": [{"role": "user", "content": "2 + 2"}, said],
        "output": {"choices": [{"message": said}], "completion": "4"},
        **more,
    }


def test_an_eval_log_of_today_gives_a_row_for_each_sample_and_epoch() -> None:
    rows = list(source(file_path=LOGS / "orders.eval").rows())

    assert [row["sample_id"] for row in rows] == [
        *("o1_epoch_1", "o1_epoch_2"),
        *("o2_epoch_1", "o2_epoch_2"),
    ]
    first, _, arabic, _ = rows
    assert tuple(first) == COLUMNS
    assert (first["input"], first["target"]) == ("Where is order 17?", "Monday")
    assert first["metadata"] == {"language": "en"}
    assert (first["output"], first["model"]) == ("It was sent on Monday.", "mockllm/model")
    assert first["inspect_scores"]["includes"]["value"] == "C"
    assert (first["error"], first["inspect_status"]) == (None, "success")
    assert arabic["input"] == "أين الطلب 18؟"
    assert arabic["target"] == ["Tuesday", "Dienstag"]


def test_path_names_a_log_or_a_folder_and_limit_takes_the_first_rows(tmp_path: Path) -> None:
    shutil.copy(LOGS / "orders.eval", tmp_path / "orders.eval")
    whole = list(source(file_path=LOGS / "orders.eval").rows())

    assert list(source(path=LOGS / "orders.eval").rows()) == whole
    assert len(list(source(path=tmp_path).rows())) == len(whole)
    first = source(path=LOGS / "orders.eval", limit=2)
    assert list(first.rows()) == whole[:2]
    assert first.digest != source(path=LOGS / "orders.eval", limit=3).digest


def test_calls_of_tools_and_what_they_gave_are_in_the_trace() -> None:
    row = next(source(file_path=LOGS / "orders.eval").rows())

    trace = read_trace(row["trace"]).trace

    ((call, gave),) = trace.get_function_call_pairs()
    assert (call["name"], call["arguments"]) == ("look_up", '{"order": "17"}')
    assert gave is not None
    assert gave["output"] == "order 17: paid, sent on Monday"
    assert trace.get_first_system_prompt() == "You answer for a shop."
    assert trace.metadata.model == "mockllm/model"
    assert trace.metadata.total_tokens == 104


def test_a_log_in_one_file_is_read_too_and_reasoning_is_no_answer() -> None:
    first, broken, pictured = source(file_path=LOGS / "greetings.json").rows()

    assert first["output"] == "Good day.\nHow are you?"
    kinds = [item["type"] for item in first["trace"]["items"]]
    assert kinds == ["message", "reasoning", "message"]
    assert broken["trace"] is None
    assert broken["error"] == "Inspect recorded an error: ValueError('the shop is closed')"
    assert pictured["input"] == "What is on it?\n[image left out]"


def test_samples_come_in_the_order_of_their_dataset(tmp_path: Path) -> None:
    spec = {"task": "t", "model": "m", "dataset": {"sample_ids": [9, "b", 1]}}
    path = log(tmp_path / "x.json", sample(id=1), sample(id=9), sample(id="b"), eval=spec)

    assert [row["sample_id"] for row in source(file_path=path).rows()] == ["9", "b", "1"]


def test_the_answer_is_what_was_scored_there_not_what_was_said_last(tmp_path: Path) -> None:
    output = {"choices": [{"message": {"role": "assistant", "content": "so: 4"}}]}
    path = log(tmp_path / "x.json", sample(output={**output, "completion": "5"}))

    (row,) = source(file_path=path).rows()

    assert row["output"] == "5"
    trace = read_trace(row["trace"])
    assert (str(trace.output), trace.trace.get_last_assistant_text()) == ("5", "5")


def test_a_sample_without_messages_is_its_input_and_its_output(tmp_path: Path) -> None:
    path = log(tmp_path / "x.json", sample(messages=[]))

    (row,) = source(file_path=path).rows()

    assert [item["role"] for item in row["trace"]["items"]] == ["user", "assistant"]


def test_what_was_stored_apart_is_put_back(tmp_path: Path) -> None:
    path = log(
        tmp_path / "x.json",
        sample(
            input="attachment://ab12",
            messages=[{"role": "user", "content": "attachment://ab12"}],
            attachments={"ab12": "a long question"},
        ),
    )

    (row,) = source(file_path=path).rows()

    assert row["input"] == "a long question"
    assert "attachment" not in str(row["trace"])


def test_old_logs_have_one_score_and_no_completion(tmp_path: Path) -> None:
    said = {"role": "assistant", "content": [{"type": "text", "text": "4"}]}
    old = sample(score={"value": 1.0}, output={"choices": [{"message": said}]})

    (row,) = source(file_path=log(tmp_path / "x.json", old)).rows()

    assert (row["output"], row["inspect_scores"]) == ("4", {"score": {"value": 1.0}})


def test_rows_of_samples_that_broke_can_be_filtered_out() -> None:
    whole = {"op": "is_true", "expression": "{{ sample.error is none }}"}
    read = InspectAi.model_validate(
        {
            "type": "inspect_ai",
            "file_path": str(LOGS / "greetings.json"),
            "filters": [whole],
        }
    )

    rows = read.rows(Surroundings(cache_dir=Path("unused"))).rows()

    assert [row["sample_id"] for row in rows] == ["1", "3"]


def test_a_limit_is_told(tmp_path: Path) -> None:
    path = log(tmp_path / "x.json", sample(limit={"type": "token", "limit": 100}))

    (row,) = source(file_path=path).rows()

    assert (row["limit"], row["error"]) == ("token", None)


def test_a_directory_is_all_logs_in_it_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    shutil.copy(LOGS / "greetings.json", tmp_path / "deep" / NAME)
    shutil.copy(LOGS / "orders.eval", tmp_path / "orders.eval")
    (tmp_path / "eval-set.json").write_text("[]")
    (tmp_path / "notes.txt").write_text("none")

    rows = source(directory_path=tmp_path)

    ids = [row["sample_id"] for row in rows.rows()]
    assert ids[:2] == [f"deep/{NAME.removesuffix('.json')}/{number}" for number in (1, 2)]
    assert ids[-1] == "orders/o2_epoch_2"
    assert rows.check() == 7
    assert rows.digest == source(directory_path=tmp_path).digest


def test_another_log_is_another_digest(tmp_path: Path) -> None:
    path = log(tmp_path / "x.json", sample())
    before = source(file_path=path).digest
    log(path, sample(target="5"))

    assert source(file_path=path).digest != before


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({}, "got none", id="no place"),
        pytest.param(
            {"file_path": "a.eval", "directory_path": "b"},
            "got `file_path` and `directory_path`",
            id="two places",
        ),
        pytest.param({"path": "a", "file_path": "a.eval"}, "got `path` and", id="both spellings"),
        pytest.param({"path": "a", "limit": 0}, "greater than or equal to 1", id="no rows at all"),
        pytest.param({"file_path": "a.csv"}, "expected a .eval or .json log", id="another ending"),
    ],
)
def test_a_source_names_a_log_or_a_directory(fields: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        source(**fields)


def test_a_directory_without_logs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadDataset, match="contains no Inspect AI logs"):
        source(directory_path=tmp_path).check()
    with pytest.raises(Unreadable, match="no such directory"):
        source(directory_path=tmp_path / "gone").check()


def test_a_message_that_is_none_names_its_sample(tmp_path: Path) -> None:
    path = log(tmp_path / "x.json", sample(messages=[{"role": "narrator", "content": "x"}]))

    with pytest.raises(BadDataset, match=r"x\.json: sample a: messages\[0\]: expected a `role`"):
        source(file_path=path).check()


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"messages": [], "output": {}}, id="nothing at all"),
        pytest.param({"messages": None, "output": {"choices": [], "completion": ""}}, id="empty"),
        pytest.param(
            {"messages": [{"role": "user", "content": "2 + 2"}], "output": {}}, id="only asked"
        ),
    ],
)
def test_a_sample_without_an_answer_is_an_error_and_no_wrong_answer(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    limited = sample(id="b", **more, limit={"type": "time"})

    row, other = source(file_path=log(tmp_path / "x.json", sample(**more), limited)).rows()

    assert (row["trace"], row["error"]) == (None, "Inspect recorded no answer")
    assert other["error"] == "Inspect recorded no answer; the sample reached a limit: time"


def test_a_usage_that_is_none_is_passed_over(tmp_path: Path) -> None:
    usage = {"m": 5, "n": {"total_tokens": 7}}

    (row,) = source(file_path=log(tmp_path / "x.json", sample(model_usage=usage))).rows()

    assert row["trace"]["metadata"]["total_tokens"] == 7


def test_a_log_that_was_cut_short_says_so(tmp_path: Path) -> None:
    path = log(tmp_path / "x.json", sample())
    path.write_bytes(path.read_bytes()[:-20])

    with pytest.raises(BadDataset, match="truncated: its JSON is incomplete") as caught:
        source(file_path=path).check()

    assert "is it a complete Inspect AI log?" in caught.value.hint
