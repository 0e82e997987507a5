"""A run with a judge, checked: against people, and by asking the judge again."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.judge_check.judged import (
    ANSWERS,
    CLASSIFIER,
    GRADES,
    HUMAN,
    KINDS,
    PROMPT,
    by_answer,
    indented,
    server_of,
    written,
)
from tests.servers.model_server import ModelServer, chat, status

import evalwright as ew
from evalwright import api
from evalwright.errors import (
    BadDataset,
    BadTasks,
    StoreError,
    UnknownName,
    Unreadable,
    UsageError,
)
from evalwright.judge_check.agreement import reject_split_sample
from evalwright.report.judges import Judge, JudgeCheck
from evalwright.report.report import Report
from evalwright.session.progress import SilentProgress
from evalwright.store.sqlite import SqliteStore
from evalwright.types import Outcome, Part


class Told(SilentProgress):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def tell(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(chat(server_of(by_answer))) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-no-use")
        yield running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder: Path, scorers: str = CLASSIFIER, prompt: str = PROMPT, **options: Any) -> Report:
    return ew.run(written(folder, scorers, prompt) / "run.yaml", **options)


def labelled(folder: Path, **labels: Any) -> str:
    """A file of labels; those of the rows, but for these."""
    every = {f"q{n}": HUMAN[one] for n, one in enumerate(ANSWERS)} | labels
    path = folder / "labels.csv"
    path.write_text("sample_id,label\n" + "".join(f"{k},{v}\n" for k, v in every.items()))
    return str(path)


def checked(**wanted: Any) -> JudgeCheck:
    return api.judge_check("latest", api.JudgeCheckOptions(**wanted))


@pytest.mark.usefixtures("server")
def test_a_judge_is_compared_with_the_labels_of_people(folder: Path) -> None:
    run(folder)

    check = checked(labels=labelled(folder, q0="incorrect", q4="correct", q5="correct"))

    found = check.agreement
    assert found is not None
    assert (found.n, found.compared) == (10, "labels")
    agreement, kappa = found.figures["agreement"], found.figures["kappa"]
    assert agreement.value == pytest.approx(0.7)
    assert (agreement.interval, agreement.n) == ("wilson", 10)
    # people say correct 6 times, the judge 5: e = (6·5 + 4·5)/100 = 0.5
    assert kappa.value == pytest.approx(0.4)
    assert kappa.ci_low is not None
    assert kappa.ci_low < 0.4
    assert found.confusion == {
        "correct": {"correct": 4, "incorrect": 2},
        "incorrect": {"correct": 1, "incorrect": 3},
    }
    right = found.labels[0]
    assert (right.label, right.human, right.judge, right.both) == ("correct", 6, 5, 4)
    assert right.recall.value == pytest.approx(4 / 6)
    assert right.precision.value == pytest.approx(4 / 5)
    assert [(one.sample_id, one.human, one.judge) for one in found.disagreements] == [
        ("q0", "incorrect", "correct"),
        ("q4", "correct", "incorrect"),
        ("q5", "correct", "incorrect"),
    ]


@pytest.mark.usefixtures("server")
def test_nothing_is_asked_to_compare(folder: Path, server: ModelServer) -> None:
    run(folder)
    before = len(server.log)

    check = checked(column="human")

    assert len(server.log) == before
    assert check.calls == 0
    assert check.agreement is not None
    assert check.agreement.figures["agreement"].value == 1.0
    assert check.agreement.source == "column `human`"


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("right", "wrong"), [("true", "false"), ("TRUE", "False"), ("1", "0")], ids=str
)
def test_truth_values_are_compared_with_right_and_wrong(
    folder: Path, right: str, wrong: str
) -> None:
    run(folder)
    labels = {f"q{n}": right if one == "yes" else wrong for n, one in enumerate(ANSWERS)}

    found = checked(labels=labelled(folder, **labels)).agreement

    assert found is not None
    assert found.compared == "is_correct"
    assert found.figures["agreement"].value == 1.0
    assert found.confusion == {"true": {"true": 5, "false": 0}, "false": {"true": 0, "false": 5}}


@pytest.mark.usefixtures("server")
def test_labels_differ_in_case_and_spaces_only_for_machines(folder: Path) -> None:
    run(folder)

    found = checked(labels=labelled(folder, q0=" Correct ", q4="INCORRECT")).agreement

    assert found is not None
    assert found.figures["agreement"].value == 1.0


@pytest.mark.usefixtures("server")
def test_what_is_not_compared_is_counted_and_said(folder: Path) -> None:
    run(folder)
    (folder / "some.jsonl").write_text(
        '{"sample_id": "q0", "label": "correct"}\n'
        '{"sample_id": "q1"}\n'
        '{"sample_id": "q2", "label": null}\n'
        '{"sample_id": "x1", "label": "incorrect"}\n'
    )

    check = checked(labels="some.jsonl")

    found = check.agreement
    assert found is not None
    assert (found.n, found.unmatched, found.blank, found.unlabelled) == (1, 1, 2, 9)
    assert "labels for samples that are not in the run: 1" in check.notes
    assert "rows without a label: 2" in check.notes
    assert found.figures["kappa"].value is None
    assert "the same label" in found.figures["kappa"].reason


def test_a_judge_without_a_verdict_neither_agrees_nor_disagrees(
    folder: Path, server: ModelServer
) -> None:
    server.behave(chat(server_of(lambda prompt: "hm" if "3?" in prompt else by_answer(prompt))))
    run(folder)

    check = checked(column="human")

    assert check.agreement is not None
    assert (check.agreement.n, check.agreement.no_verdict) == (9, 1)
    assert check.agreement.figures["agreement"].value == 1.0


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        pytest.param(
            "sample_id,label\nq0,coorect\nq1,correct\n",
            r"never gives: `coorect` \(1 time, first for sample `q0`\): did you mean `correct`\?",
            "the judge's labels, or all true or false",
            id="a label that the judge never gives",
        ),
        pytest.param(
            "sample_id,label\na,correct\nb,correct\n",
            "none of its 2 labels is for a sample that `answers/right` judged: the labels are for "
            "`a`, `b`, but the samples are `q0`, `q1`, `q2`",
            "--id-column",
            id="ids of something else",
        ),
        pytest.param(
            "sample_id,label\nq0,correct\nq1,correct\nq0,incorrect\n",
            "rows 1 and 3 both label the sample `q0`",
            "merge the labels of several people first",
            id="a sample twice",
        ),
        pytest.param("sample_id,label\n", "no labels", "", id="no rows"),
        pytest.param("sample_id,label\nq0,\n", "no labels", "", id="no label"),
        pytest.param("sample_id,label\n,correct\n", "must be the id of a sample", "", id="no id"),
        pytest.param(
            "sample_id,label,trial\nq0,correct,x\n",
            "`trial` must be an integer",
            "",
            id="trial",
        ),
    ],
)
def test_a_mistake_in_labels_is_said_with_its_place(
    folder: Path, text: str, message: str, hint: str
) -> None:
    run(folder)
    (folder / "bad.csv").write_text(text)

    with pytest.raises(BadDataset, match=message) as raised:
        checked(labels="bad.csv")
    assert hint in raised.value.hint


@pytest.mark.usefixtures("server")
def test_a_column_that_is_not_there_is_said_with_those_that_are(folder: Path) -> None:
    run(folder)
    (folder / "other.csv").write_text("id,verdict\nq0,correct\n")

    with pytest.raises(UnknownName, match="no column `sample_id`; the columns are `id`, `verdict`"):
        checked(labels="other.csv")
    with pytest.raises(UnknownName, match="no column `label`"):
        checked(labels="other.csv", id_column="id")
    with pytest.raises(UnknownName, match="in the column `humna`") as raised:
        checked(column="humna")
    assert raised.value.hint == "did you mean `human`?"
    found = checked(labels="other.csv", id_column="id", label_column="verdict").agreement
    assert found is not None
    assert found.n == 1


@pytest.mark.usefixtures("server")
def test_answers_of_several_models_are_told_apart(folder: Path) -> None:
    run(folder, models=["openai/model", "openai/model-2"])
    path = labelled(folder)

    with pytest.raises(UsageError, match="answers from `openai/model`, `openai/model-2`"):
        checked(labels=path)
    with pytest.raises(UnknownName, match="no answers from `openai/modle`"):
        checked(labels=path, model="openai/modle")
    one = checked(labels=path, model="openai/model").agreement
    (folder / "both.csv").write_text(
        "sample_id,model,task,label\nq0,openai/model,answers,correct\n"
        "q0,openai/model-2,answers,correct\nq0,openai/model,elsewhere,incorrect\n"
    )
    both = checked(labels="both.csv").agreement

    assert one is not None
    assert both is not None
    assert (one.n, both.n) == (10, 2)


def test_a_run_of_records_has_no_judge(folder: Path) -> None:
    (folder / "tasks.jsonl").write_text(
        '{"task_id": "a", "category": "arithmetic", "prompt": "1?", "targets": ["1"], '
        '"metric_name": "exact_match", "post_process": "none"}\n'
    )
    ew.run(folder / "tasks.jsonl", models="scripted/oracle")

    with pytest.raises(UsageError, match="has no judge: no scorer in its tasks queries"):
        checked(column="x")


@pytest.mark.usefixtures("server")
def test_a_run_whose_scorers_ask_nobody_has_no_judge(folder: Path) -> None:
    scorers = '    - {type: string_equals, ground_truth: "{{ sample.reference }}"}\n'
    run(folder, scorers, prompt="")

    with pytest.raises(UsageError, match="no scorer in its tasks queries"):
        checked(column="human")


@pytest.mark.usefixtures("server")
def test_of_several_judges_one_is_named(folder: Path) -> None:
    run(folder, CLASSIFIER + indented(PROMPT) + CLASSIFIER.replace("right", "other"))

    with pytest.raises(UsageError, match="several judges") as raised:
        checked(column="human")
    assert "`--task answers --scorer other`" in raised.value.hint
    with pytest.raises(UnknownName, match="has no judge `\\*/othre`") as unknown:
        checked(column="human", scorer="othre")
    assert unknown.value.hint == "did you mean `other`?"
    assert checked(column="human", scorer="other").judge.scorer == "other"


def test_nothing_to_check_by_is_said(folder: Path) -> None:
    del folder
    with pytest.raises(UsageError, match="no check was selected"):
        checked()
    with pytest.raises(UsageError, match="either `--labels` or `--column`"):
        checked(labels="a.csv", column="b")
    with pytest.raises(UnknownName, match="unknown probe `swop`") as unknown:
        checked(probes=("swop",))
    assert unknown.value.hint == "did you mean `swap`?"
    with pytest.raises(UsageError, match="at least 1"):
        checked(repeat=0)


def test_scores_are_compared_as_numbers_on_the_scale_of_the_judge(
    folder: Path, server: ModelServer
) -> None:
    server.behave(chat(server_of(lambda prompt: "5" if "Answer: yes" in prompt else "2")))
    run(folder, GRADES)
    labels = {f"q{n}": 5 if one == "yes" else 1 for n, one in enumerate(ANSWERS)}

    found = checked(labels=labelled(folder, **labels)).agreement

    assert found is not None
    assert found.compared == "scores"
    figures = {name: one.value for name, one in found.figures.items()}
    # 5 of 10 are one grade of four too high.
    assert figures["exact"] == pytest.approx(0.5)
    assert figures["within_a_tenth"] == pytest.approx(0.5)
    assert figures["mean_difference"] == pytest.approx(0.125)
    assert figures["mean_absolute_difference"] == pytest.approx(0.125)
    assert figures["pearson"] == pytest.approx(1)
    assert figures["spearman"] == pytest.approx(1)
    # cov 3, variances 4 and 2.25, means 3 and 3.5: 6 / 6.5
    assert figures["quadratic_kappa"] == pytest.approx(6 / 6.5)


@pytest.mark.parametrize("label", ["6", "good", "true"])
def test_a_score_off_the_scale_is_no_label(folder: Path, server: ModelServer, label: str) -> None:
    server.behave(chat(server_of(lambda _: "5")))
    run(folder, GRADES)
    (folder / "grades.csv").write_text(f"sample_id,label\nq0,{label}\n")

    with pytest.raises(BadDataset, match="must be a number from 1 to 5"):
        checked(labels="grades.csv")


def test_a_labeler_is_compared_by_its_labels(folder: Path, server: ModelServer) -> None:
    server.behave(chat(server_of(lambda prompt: "short" if "Answer: no" in prompt else "long")))
    run(folder, KINDS)
    labels = {f"q{n}": "long" if one == "yes" else "short" for n, one in enumerate(ANSWERS)}

    found = checked(labels=labelled(folder, **(labels | {"q0": "odd"}))).agreement

    assert found is not None
    assert found.figures["agreement"].value == pytest.approx(0.9)
    assert [one.label for one in found.labels] == ["short", "long", "odd"]


def test_a_judge_that_looks_at_the_order_flips_when_it_is_turned(
    folder: Path, server: ModelServer
) -> None:
    def judge(prompt: str) -> str:
        return "incorrect" if prompt.startswith("Answer") else by_answer(prompt)

    server.behave(chat(server_of(judge)))
    run(folder)
    told = Told()

    check = api.judge_check("latest", api.JudgeCheckOptions(probes=("swap",)), progress=told)

    (probe,) = check.probes
    assert server.log[-1].prompt.startswith("Answer: ")
    assert server.log[-1].prompt.rstrip().endswith("?")
    assert (probe.n, probe.directions) == (10, {"to incorrect": 5})
    assert probe.flips.value == pytest.approx(0.5)
    assert probe.examples == ["q0", "q1", "q2", "q3", "q7"]
    assert check.calls == 10
    assert "10 calls to openai/judge, 1 for each of 10 samples" in told.lines[0]
    assert any("--repeat 2" in note for note in check.notes)


def test_a_judge_that_likes_length_flips_when_answers_are_padded(
    folder: Path, server: ModelServer
) -> None:
    server.behave(
        chat(server_of(lambda prompt: "correct" if len(prompt) > 200 else by_answer(prompt)))
    )
    run(folder)

    check = checked(probes=("pad", "fence"))

    padded, fenced = check.probes
    assert padded.n == fenced.n == 10
    assert padded.directions == {"to correct": 5}
    asked = [one.prompt for one in server.log if "[begin " in one.prompt]
    assert len(asked) == 10
    assert all("never an instruction to you" in one for one in asked)


@pytest.mark.usefixtures("server")
def test_a_steady_judge_flips_nothing(folder: Path) -> None:
    run(folder, prompt=PROMPT)

    check = checked(probes=("swap", "pad"), repeat=2)

    assert [one.flips.value for one in check.probes] == [0.0, 0.0]
    assert check.repeats is not None
    assert check.repeats.all_equal.value == 1.0
    assert check.calls == 30


def test_an_unsure_judge_disagrees_with_itself(folder: Path, server: ModelServer) -> None:
    turns: Counter[str] = Counter()

    def judge(prompt: str) -> str:
        turns[prompt] += 1
        unsure = "1?" in prompt or "2?" in prompt
        return "incorrect" if unsure and turns[prompt] > 2 else by_answer(prompt)

    server.behave(chat(server_of(judge)))
    run(folder)

    found = checked(repeat=3).repeats

    assert found is not None
    assert (found.times, found.n, found.failed) == (3, 10, 0)
    assert found.all_equal.value == pytest.approx(0.8)
    # Two samples have one pair of three that agrees.
    assert found.pairwise.value == pytest.approx((8 + 2 / 3) / 10)


def test_a_score_flips_when_it_moves_by_more_than_a_tenth(
    folder: Path, server: ModelServer
) -> None:
    def judge(prompt: str) -> str:
        return "3" if prompt.startswith("Answer: no") else "5" if "Answer: yes" in prompt else "2"

    server.behave(chat(server_of(judge)))
    run(folder, GRADES)

    (probe,) = checked(probes=("swap",)).probes

    assert probe.flips.value == pytest.approx(0.5)
    assert probe.directions == {"higher": 5}
    assert probe.change is not None
    assert probe.change.value == pytest.approx(0.125)


def test_a_probe_that_would_change_nothing_asks_nothing(folder: Path, server: ModelServer) -> None:
    server.behave(chat(server_of(lambda _: "correct")))
    run(folder, prompt="Is {{ sample.answer }} right?\n")
    before = len(server.log)

    swap, pad = checked(probes=("swap", "pad")).probes

    assert len(server.log) == before
    assert (swap.n, swap.not_applicable, swap.flips.value) == (0, 10, None)
    assert "not have two parts" in swap.reason
    assert (pad.n, pad.not_applicable) == (0, 10)
    assert "no answer" in pad.reason


def test_a_reply_that_is_no_verdict_is_no_flip(folder: Path, server: ModelServer) -> None:
    server.behave(
        chat(server_of(lambda p: "who knows" if p.startswith("Answer") else by_answer(p)))
    )
    run(folder)

    (probe,) = checked(probes=("swap",)).probes

    assert (probe.n, probe.failed) == (0, 10)
    assert "who knows" in probe.reason


@pytest.mark.usefixtures("server")
def test_a_judge_with_another_prompt_is_not_asked(folder: Path, server: ModelServer) -> None:
    run(folder)
    written(folder, prompt=PROMPT + "Say correct or incorrect.\n")
    before = len(server.log)

    with pytest.raises(UsageError, match="is not the same judge"):
        checked(probes=("swap",))
    assert len(server.log) == before


@pytest.mark.usefixtures("server")
def test_a_project_that_is_gone_or_broken_is_said(folder: Path) -> None:
    run(folder)
    (folder / "tasks" / "answers.yaml").write_text("key: [\n")

    with pytest.raises(BadTasks):
        checked(probes=("swap",))
    found = checked(column="human").agreement  # needs no document
    assert found is not None
    assert found.n == 10


def test_a_report_says_that_nothing_is_known_of_a_judge(folder: Path, server: ModelServer) -> None:
    del server
    (row,) = run(folder).judges

    assert (row.task, row.scorer, row.judge, row.model) == (
        "answers",
        "right",
        "openai/judge",
        "openai/judge",
    )
    assert row.known.startswith("this judge has not been checked: `evalwright judge check ")
    assert row.agreement is None


@pytest.mark.usefixtures("server")
def test_every_report_of_the_same_judge_says_what_is_known(folder: Path) -> None:
    first = run(folder)
    checked(labels=labelled(folder, q0="incorrect"), probes=("swap",), repeat=2)

    (again,) = ew.load(first.run_id).judges
    (resumed,) = run(folder).judges
    (later,) = run(folder, fresh=True).judges
    (other,) = run(folder, prompt=PROMPT + "Be strict.\n").judges

    assert again.known.startswith("agreement with 10 human labels 0.90 [0.60, 0.98], kappa 0.80 [")
    assert "2 verdicts per sample all equal in 1.00 [0.72, 1.00]" in again.known
    assert "probe swap changes 0.00 [0.00, 0.28]" in again.known
    assert again.known.endswith("in this run")
    assert resumed == again
    assert later.known.endswith(f"in run {first.run_id}")
    assert other.known.startswith("this judge has not been checked")
    assert "Judges" in ew.load(first.run_id).to_markdown()


@pytest.mark.usefixtures("server")
def test_the_newest_check_of_a_kind_counts(folder: Path) -> None:
    run(folder)
    checked(labels=labelled(folder, q0="incorrect"))
    checked(column="human")
    checked(probes=("pad",))

    (row,) = ew.load("latest").judges

    assert row.agreement is not None
    assert row.agreement.figures["agreement"].value == 1.0
    assert [one.probe for one in row.probes] == ["pad"]


@pytest.mark.usefixtures("server")
def test_what_cannot_be_kept_is_shown_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(folder)

    def full(*_: object, **__: object) -> None:
        raise StoreError("runs.db: the disk is full")

    monkeypatch.setattr(SqliteStore, "update", full)
    check = checked(column="human")

    assert check.kept is False
    assert check.agreement is not None
    assert "could not be stored with the run: runs.db: the disk is full" in check.notes[-1]


@pytest.mark.usefixtures("server")
def test_a_column_model_that_means_something_else_is_said(folder: Path) -> None:
    run(folder)
    (folder / "cars.csv").write_text("sample_id,model,label\nq0,Beetle,correct\n")

    with pytest.raises(
        BadDataset, match="the column `model` has `Beetle`, but the answers are from `openai/model`"
    ):
        checked(labels="cars.csv")


def test_samples_that_became_several_cannot_be_labelled() -> None:
    judge = Judge(task="t", scorer="s", type="labeler_via_model", judge="j", model="j", identity="")
    outcome = Outcome(task="t", model="m", sample_id="a", parts=(Part(sample={}),))

    with pytest.raises(UsageError, match="the output of a postprocessor"):
        reject_split_sample(judge, outcome)


def test_a_judge_that_is_a_snippet_of_the_project_is_asked_again(folder: Path) -> None:
    written(folder, CLASSIFIER.replace("openai/judge", "own"))
    (folder / "models").mkdir()
    (folder / "models" / "own.yaml").write_text(
        "key: own\ndisplay_name: Own\nconfig:\n  connection_type: custom_inference\n"
        "  timeout: 10\n  environment: {}\n  run_inference_snippet: |\n"
        "    import json\n"
        "    def run_inference(body, environment):\n"
        "        said = json.loads(body)['messages'][-1]['content']\n"
        "        text = 'correct' if 'Say: yes' in said else 'incorrect'\n"
        "        made = {'message': {'role': 'assistant', 'content': text}}\n"
        "        return json.dumps({'choices': [made]})\n"
    )
    ew.run(folder / "run.yaml", models="scripted/echo")

    (probe,) = checked(probes=("swap",)).probes

    assert (probe.n, probe.failed, probe.flips.value) == (10, 0, 0.0)


def test_a_server_that_is_gone_is_a_failure_of_each_sample(
    folder: Path, server: ModelServer
) -> None:
    run(folder)
    server.behave(status(400, "no such model"))

    check = api.judge_check("latest", api.JudgeCheckOptions(probes=("swap",)), retries=0)

    assert check.probes[0].failed == 10
    assert "no such model" in check.probes[0].reason
    assert check.probes[0].flips.value is None


@pytest.mark.usefixtures("server")
def test_a_structured_judge_has_its_labels_turned_too(folder: Path, server: ModelServer) -> None:
    structured = CLASSIFIER.replace("key: right", "key: right\n      use_structured_outputs: true")
    run(folder, structured)

    checked(probes=("swap",), samples=1)

    schema = server.log[-1].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["prediction"]["enum"] == ["incorrect", "correct"]


def test_a_check_that_was_stopped_is_shown_and_not_kept(folder: Path, server: ModelServer) -> None:
    run(folder)
    server.behave(status(400, "no such model"))

    check = api.judge_check(
        "latest", api.JudgeCheckOptions(probes=("swap",)), retries=0, max_failures=2
    )

    assert check.kept is False
    assert any("stopped (3 samples failed" in note for note in check.notes)
    assert "judge_checks" not in api.find("latest").manifest


@pytest.mark.usefixtures("server")
def test_a_cap_on_costs_needs_a_price(folder: Path) -> None:
    run(folder)

    with pytest.raises(UsageError, match="no known price"):
        api.judge_check("latest", api.JudgeCheckOptions(probes=("swap",)), max_cost=1.0)


def test_a_key_is_never_kept_with_a_check(folder: Path, server: ModelServer) -> None:
    run(folder)
    server.behave(status(400, "bad key sk-a-key-of-no-use"))

    check = api.judge_check("latest", api.JudgeCheckOptions(probes=("swap",)), retries=0)

    assert check.probes[0].failed == 10
    assert "sk-a-key-of-no-use" not in str(api.find("latest").manifest)


def test_a_task_without_a_solver_is_asked_again_about_its_rows(
    folder: Path, server: ModelServer
) -> None:
    server.behave(chat(lambda asked: "short" if "no" in asked.prompt else "long"))
    written(folder)
    (folder / "tasks" / "answers.yaml").write_text(
        "key: answers\ndisplay_name: Kinds\ndescription: Of rows.\ndefinition:\n"
        "  dataset: {key: questions}\n  scorers:\n" + KINDS + "        "
        "Question: {{ sample.question }}\n        Answer: {{ sample.answer }}\n"
    )
    (folder / "run.yaml").write_text(
        "evaluation:\n  key: e\n  display_name: E\n  task_specifications:\n"
        "    - {key: answers, task_key: answers}\n"
    )
    ew.run(folder / "run.yaml")

    swap, pad = checked(probes=("swap", "pad"), repeat=2).probes

    assert (swap.n, swap.flips.value) == (10, 0.0)
    assert (pad.n, pad.not_applicable) == (0, 10)


@pytest.mark.usefixtures("server")
def test_labels_of_trials_count_for_their_trial_and_others_for_the_first(folder: Path) -> None:
    written(folder)
    text = (folder / "run.yaml").read_text()
    (folder / "run.yaml").write_text(
        text.replace(
            "model_key: openai/model}", "model_key: openai/model, trials: {num_trials: 2}}"
        )
    )
    ew.run(folder / "run.yaml")
    (folder / "trials.csv").write_text(
        "sample_id,trial,label\nq0,0,correct\nq0,1,incorrect\nq1,1,correct\n"
    )

    first, each = checked(labels=labelled(folder)), checked(labels="trials.csv")

    assert first.agreement is not None
    assert each.agreement is not None
    assert (first.agreement.n, first.agreement.unlabelled) == (10, 0)
    assert first.agreement.other_trials == 10
    assert any("apply to the first trial" in note for note in first.notes)
    assert each.agreement.n == 3
    assert each.agreement.figures["agreement"].value == pytest.approx(2 / 3)
    assert any("are treated as independent" in note for note in each.notes)


@pytest.mark.usefixtures("server")
def test_a_check_that_is_made_while_the_run_goes_on_stays_with_it(folder: Path) -> None:
    class Checking(SilentProgress):
        made: JudgeCheck | None = None

        def on_commit(self, outcomes: Sequence[Outcome]) -> None:
            assert outcomes
            self.made = self.made or checked(column="human")

    progress = Checking()

    report = ew.run(written(folder) / "run.yaml", progress=progress)

    found = api.find(report.run_id)
    assert progress.made is not None
    assert "is not finished" in progress.made.notes[0]
    assert [one["run_id"] for one in found.manifest["judge_checks"]] == [report.run_id]
    assert found.status == "finished"


@pytest.mark.usefixtures("server")
def test_ids_are_text_whatever_their_column_is_called(folder: Path) -> None:
    """`007` is no number, and spaces around an id are not part of it."""
    written(folder)
    path = folder / "datasets" / "questions.csv"
    path.write_text(path.read_text().replace("q", "00").replace("00uestion", "question"))
    ew.run(folder / "run.yaml")
    (folder / "own.csv").write_text("id,label\n000,correct\n 001 ,correct\n004,incorrect\n")

    found = checked(labels="own.csv", id_column="id").agreement

    assert found is not None
    assert (found.n, found.unmatched) == (3, 0)


@pytest.mark.usefixtures("server")
def test_labels_that_are_not_compared_are_counted_by_their_reasons(folder: Path) -> None:
    run(folder)
    (folder / "own.csv").write_text(
        "sample_id,model,trial,task,label\n"
        "q0,openai:model,0,answers,correct\n"
        "q1,openai/other,0,answers,correct\n"
        "q2,openai/model,3,answers,correct\n"
        "q77,openai/model,0,answers,correct\n"
        "q3,openai/model,0,others,correct\n"
    )

    check = checked(labels="own.csv")

    found = check.agreement
    assert found is not None
    assert found.n == 1, "`openai:model` is `openai/model`"
    assert (found.other_models, found.unmatched_trials, found.unmatched) == (1, 1, 1)
    assert found.elsewhere == 1
    assert "labels for answers from other models: 1" in check.notes
    assert "skipped rows for other tasks: 1" in check.notes


@pytest.mark.usefixtures("server")
def test_labels_of_another_task_alone_are_refused_with_its_name(folder: Path) -> None:
    run(folder)
    (folder / "own.csv").write_text("sample_id,task,label\nq0,others,correct\n")

    with pytest.raises(
        BadDataset, match="no labels for `answers`: its column `task` contains `others`"
    ):
        checked(labels="own.csv")


@pytest.mark.usefixtures("server")
def test_where_ids_are_places_the_hint_says_so(folder: Path) -> None:
    written(folder)
    path = folder / "datasets" / "questions.csv"
    path.write_text(path.read_text().replace("sample_id,", "name,"))
    ew.run(folder / "run.yaml")

    with pytest.raises(BadDataset, match="the samples are `0`, `1`, `2`") as error:
        checked(labels=labelled(folder))

    assert "the ids are row positions, starting at 0" in error.value.hint


def test_each_probe_says_what_was_wrong_with_it(folder: Path, server: ModelServer) -> None:
    run(folder)

    def said(prompt: str) -> str:
        if "This is the answer to what was asked" in prompt:
            return "padded words"
        return "turned words" if prompt.startswith("Answer:") else by_answer(prompt)

    server.behave(chat(server_of(said)))

    swap, pad = checked(probes=("swap", "pad")).probes

    assert (swap.failed, pad.failed) == (10, 10)
    assert "turned words" in swap.failure
    assert "padded words" in pad.failure


def test_probes_ask_the_judge_of_the_runs_own_project_from_anywhere(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(folder)
    monkeypatch.chdir(folder)
    ew.run("run.yaml", store="runs.db")
    other = folder / "other"
    other.mkdir()
    written(other, prompt="Another judge. Answer: {{ solver_output.output }}")
    monkeypatch.chdir(other)
    asked = len(server.log)

    check = api.judge_check(
        "latest", api.JudgeCheckOptions(probes=("swap",)), store=str(folder / "runs.db")
    )

    assert check.probes[0].n == 10
    assert not any("Another judge" in one.prompt for one in server.log[asked:])


def test_the_project_of_a_check_that_is_gone_is_named(folder: Path, server: ModelServer) -> None:
    run_id = run(folder).run_id
    (folder / "run.yaml").unlink()
    asked = len(server.log)

    with pytest.raises(Unreadable, match=f"the files of run {run_id} no longer exist"):
        checked(probes=("swap",))

    assert len(server.log) == asked
