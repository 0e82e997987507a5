import asyncio
import json
from math import nan
from typing import Any

import pytest
from msgspec import structs
from msgspec.json import encode
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, case, chat
from tests.scorers.rag.by_rule import Asked, ByRule, answer
from tests.scorers.rag.test_formulas import EXPECTED

from evalwright.metrics.scores import Scores
from evalwright.plan.task_outlines import scorer_metrics
from evalwright.ports import Case
from evalwright.scorers.rag.formulas import SCORES, ScoreName
from evalwright.scorers.rag_checker import RagChecker
from evalwright.types import Sample, Score

# The example of `test_formulas`, in words: m1 = g1, m4 = g3.
TARGET = "a is one. b is two. c is three."
RESPONSE = "a is one. x is noise. y is noise. c is three. z is invented."
CHUNKS = ["a is one. b is two. x is noise.", "Nothing.", "y is noise."]
ROW = {"query": "What is what?", "target": TARGET}
LEAST = {"type": "rag_checker", "judge_model_key": "judge"}
NAMES = {TARGET: "target", RESPONSE: "response"}
NAMES |= {chunk: f"chunk {number}" for number, chunk in enumerate(CHUNKS, start=1)}


def retrieved(text: str, chunks: Any = CHUNKS) -> dict[str, Any]:
    """A conversation that ends with an answer and its references."""
    made = chat(text)
    if chunks is not None:
        references = [{"content": one} if isinstance(one, str) else one for one in chunks]
        made["raw_outputs"][0]["choices"][0]["references"] = references
    return made


def made(**fields: Any) -> RagChecker:
    scorer: RagChecker = SCORERS.validate_python({**LEAST, **fields})
    return scorer


def solved(judge: ByRule, row: Any = ROW, conversation: Any = None) -> Case:
    return case(row, conversation or retrieved(RESPONSE), models={"judge": judge})


def score(
    *scores: str, judge: ByRule | None = None, row: Any = ROW, said: Any = None, **fields: Any
) -> Score:
    wanted = {"scores_to_compute": list(scores)} if scores else {}
    scorer = made(**wanted, **fields)
    return asyncio.run(scorer.score(solved(judge or ByRule(), row, said)))


def calls(judge: ByRule) -> list[str]:
    """`extract target`, `check target in chunk 2`…, sorted."""
    sides = {"a is one": "target", "x is noise": "response"}
    found = []
    for one in judge.asked:
        place = NAMES.get(one.text, one.text)
        whose = sides["x is noise" if "x is noise" in one.claims else "a is one"]
        found.append(
            {"extract": f"extract {place}", "label": f"label {whose}"}.get(
                one.kind, f"check {whose} in {place}"
            )
        )
    return sorted(found)


def test_all_eleven_scores_of_an_example_worked_out_by_hand() -> None:
    found = score()

    assert found.values == pytest.approx(EXPECTED)
    assert [*found.values] == [*SCORES]
    assert found.correct is None


def _metadata(score: Score) -> dict[str, Any]:
    return dict(score.metadata)


def test_claims_and_verdicts_are_kept() -> None:
    found: Any = score().metadata

    assert [one["subject"] for one in found["target_claims"]] == ["a", "b", "c"]
    assert found["response_claims"][4] == {
        "subject": "z",
        "predicate": "is",
        "object": "invented",
    }
    assert found["in_target"] == ["entailed", "neutral", "neutral", "entailed", "neutral"]
    assert found["in_response"] == ["entailed", "neutral", "entailed"]
    assert found["target_in_chunks"][0] == ["entailed", "neutral", "neutral"]
    assert found["response_in_chunks"][2] == ["neutral", "neutral", "entailed"]
    assert (found["judge"], found["structured"]) == ("judge", True)
    assert "target_labels" not in found
    assert json.loads(json.dumps(found)) == found


IN_CHUNKS = [f"chunk {number}" for number in (1, 2, 3)]
EXTRACT_BOTH = ["extract response", "extract target"]
TARGET_IN_CHUNKS = [f"check target in {one}" for one in IN_CHUNKS]
RESPONSE_IN_CHUNKS = [f"check response in {one}" for one in IN_CHUNKS]
NOISE = [*EXTRACT_BOTH, "check response in target", *TARGET_IN_CHUNKS, *RESPONSE_IN_CHUNKS]
CALLS: dict[ScoreName, list[str]] = {
    "precision": ["extract response", "check response in target"],
    "recall": ["extract target", "check target in response"],
    "f1_score": [*EXTRACT_BOTH, "check response in target", "check target in response"],
    "claim_recall": ["extract target", *TARGET_IN_CHUNKS],
    "context_precision": ["extract target", *TARGET_IN_CHUNKS],
    "context_utilization": ["extract target", "check target in response", *TARGET_IN_CHUNKS],
    "noise_sensitivity_in_relevant": NOISE,
    "noise_sensitivity_in_irrelevant": NOISE,
    "hallucination": ["extract response", "check response in target", *RESPONSE_IN_CHUNKS],
    "self_knowledge": ["extract response", "check response in target", *RESPONSE_IN_CHUNKS],
    "faithfulness": ["extract response", *RESPONSE_IN_CHUNKS],
}


@pytest.mark.parametrize("name", SCORES)
def test_only_what_a_score_is_made_of_is_asked(name: ScoreName) -> None:
    judge = ByRule()

    found = score(name, judge=judge)

    assert calls(judge) == sorted(CALLS[name])
    assert found.values == {name: pytest.approx(EXPECTED[name])}


def test_several_scores_share_their_calls() -> None:
    judge = ByRule()

    score(judge=judge)

    everything = {one for asked in CALLS.values() for one in asked}
    assert calls(judge) == sorted(everything)
    assert len(everything) == 2 + 2 + 3 + 3


@pytest.mark.parametrize("name", SCORES)
def test_a_score_has_what_it_needs_or_says_what_is_missing_and_asks_nobody(
    name: ScoreName,
) -> None:
    judge = ByRule()
    needs_target = name != "faithfulness"
    needs_chunks = name not in {"precision", "recall", "f1_score"}

    for row, said, missing in [
        ({"query": "?"}, retrieved(RESPONSE), needs_target and f"no target: .*`{name}` needs"),
        (ROW, retrieved(RESPONSE, None), needs_chunks and f"no `references`.*`{name}` needs"),
    ]:
        before = len(judge.requests)
        if missing:
            with pytest.raises(ValueError, match=missing):
                score(name, judge=judge, row=row, said=said)
            assert len(judge.requests) == before
        else:
            assert score(name, judge=judge, row=row, said=said).values[name] is not None


def test_the_error_names_every_score_and_what_to_do() -> None:
    with pytest.raises(ValueError, match="`target_claims_column` to that of its claims") as error:
        score("faithfulness", "precision", "recall", row={"query": "?"})
    assert str(error.value).startswith("the sample has no target: set `target_column`")
    assert str(error.value).endswith("; `precision`, `recall` need one")

    with pytest.raises(
        ValueError, match=r'first choice must have them, as a list of `{"con'
    ) as error:
        score(said=retrieved(RESPONSE, None))
    assert str(error.value).startswith("the model's output has no `references`")


@pytest.mark.parametrize(
    ("fields", "row", "message"),
    [
        pytest.param(
            {"mode": "required_only"},
            {"target": "t"},
            "`query` is empty or missing in this sample, whose columns are `target`",
            id="query",
        ),
        pytest.param(
            {"target_column": "gold"},
            ROW,
            "`gold` is empty or missing in this sample, whose columns are `query`, `target`",
            id="target",
        ),
        pytest.param({"target_column": "target"}, {**ROW, "target": " "}, "is empty", id="blank"),
        pytest.param({"target_column": "target"}, {**ROW, "target": None}, "is empty", id="null"),
        pytest.param({"target_column": "target"}, {**ROW, "target": nan}, "is empty", id="nan"),
        pytest.param({}, {**ROW, "target": nan}, "the sample has no target", id="none"),
        pytest.param({}, {**ROW, "target": ["a"]}, "`target` of the sample must be text", id="?"),
        pytest.param(
            {"target_claims_column": "claims"}, ROW, "`claims` is empty or", id="target claims"
        ),
        pytest.param(
            {"response_claims_column": "claims"},
            {**ROW, "claims": ""},
            r"an empty list is `\[\]`",
            id="claims in an empty cell",
        ),
        pytest.param(
            {"response_claims_column": "claims"},
            {**ROW, "claims": "a is one"},
            "column `claims` must hold JSON, got 'a is one'",
            id="a text that is no JSON",
        ),
        pytest.param(
            {"target_claims_column": "claims"},
            {**ROW, "claims": [{"subject": "a"}]},
            "claim 1 of column `claims` must contain the strings `subject`, `predicate`, `object`",
            id="half a claim",
        ),
    ],
)
def test_a_column_that_is_not_there_or_holds_something_else_is_named_and_nobody_is_asked(
    fields: dict[str, Any], row: dict[str, Any], message: str
) -> None:
    judge = ByRule()

    with pytest.raises(ValueError, match=message):
        score(judge=judge, row=row, **fields)
    assert judge.requests == []


@pytest.mark.parametrize(
    ("references", "message"),
    [
        pytest.param([{"text": "a"}], "reference 1 must be", id="another key"),
        pytest.param([{"content": "a"}, {"content": 3}], "reference 2 must be", id="a number"),
    ],
)
def test_a_reference_without_content_is_an_error(references: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score(said=retrieved(RESPONSE, references))


def test_an_output_that_is_no_chat_is_an_error() -> None:
    said = {"items": [], "raw_outputs": [{"label": "a"}], "direct_ios": []}

    with pytest.raises(ValueError, match="needs a chat completion"):
        score(said=said)
    with pytest.raises(ValueError, match="the task has no solver"):
        asyncio.run(made().score(case(ROW, models={"judge": ByRule()})))


def test_a_model_that_retrieved_nothing_has_scores() -> None:
    found = score(said=retrieved(RESPONSE, [])).values

    assert found["faithfulness"] == found["claim_recall"] == 0
    assert found["context_precision"] is found["context_utilization"] is None


def test_an_answer_in_items_has_its_references_beside_them() -> None:
    said = chat(RESPONSE)
    message = {"type": "message", "role": "assistant", "content": RESPONSE}
    said["raw_outputs"] = [{"items": [message], "references": [{"content": CHUNKS[0]}]}]

    assert score("faithfulness", said=said).values == {"faithfulness": 2 / 5}


def test_a_recorded_answer_has_its_references_in_its_message() -> None:
    message = {"type": "message", "role": "assistant", "content": RESPONSE}
    said = {"items": [{**message, "references": [{"content": CHUNKS[2]}]}], "raw_outputs": []}

    assert score("faithfulness", said=said).values == {"faithfulness": 1 / 5}


def claim(text: str) -> dict[str, str]:
    return dict(zip(("subject", "predicate", "object"), text.split(), strict=True))


GIVEN = [claim("a is one"), claim("b is two")]


@pytest.mark.parametrize("cell", [GIVEN, json.dumps(GIVEN)], ids=["list", "JSON in a text"])
def test_claims_of_a_column_are_not_extracted(cell: Any) -> None:
    judge = ByRule()

    found = score(
        "recall", judge=judge, row={"query": "?", "claims": cell}, target_claims_column="claims"
    )

    assert found.values == {"recall": 1 / 2}
    assert calls(judge) == ["check target in response"]


def test_claims_of_the_response_may_be_given_too_and_then_the_question_is_not_read() -> None:
    judge = ByRule()
    row = {"target": TARGET, "said": [claim("a is one"), claim("q is four")]}

    found = score("precision", judge=judge, row=row, response_claims_column="said")

    assert found.values == {"precision": 1 / 2}
    assert [one.kind for one in judge.asked] == ["check"]


def test_where_there_are_only_claims_of_the_target_they_stand_for_it() -> None:
    judge = ByRule(lambda asked: json.dumps(answer(asked._replace(text=f"{asked.text}."))))
    row = {"query": "?", "claims": GIVEN}

    found = score("precision", judge=judge, row=row, target_claims_column="claims")

    assert [one.text for one in judge.asked] == [RESPONSE, "a is one\nb is two"]
    assert _metadata(found)["in_target"][0] == "neutral"  # each is a line, not a sentence


def test_no_claims_in_a_column_are_none_and_are_not_extracted() -> None:
    judge = ByRule()

    found = score("recall", judge=judge, row={**ROW, "c": []}, target_claims_column="c")

    assert found.values == {"recall": None}
    assert found.reason == "the target has no claims"
    assert judge.requests == []


def test_a_target_without_text_and_without_claims_is_none() -> None:
    """Else nothing that is said could be right, and that would be a 0 for the answer."""
    with pytest.raises(ValueError, match=r"no target: .*; `precision` needs one"):
        score("precision", row={"query": "?", "c": []}, target_claims_column="c")


CATS = {"query": "?", "target": "cat is one. b is two."}
ABOUT_CATS = retrieved("cat is not one. b is two. cat is three.", ["cat is one."])


def test_required_scores_are_of_required_claims() -> None:
    wanted = ("precision", "recall", "claim_recall")

    everything = score(*wanted, row=CATS, said=ABOUT_CATS)
    required = score(*wanted, row=CATS, said=ABOUT_CATS, mode="required_only")
    both = score(*wanted, row=CATS, said=ABOUT_CATS, mode="required_and_optional")

    assert everything.values == {"precision": 1 / 3, "recall": 1 / 2, "claim_recall": 1 / 2}
    assert required.values == {
        "required_precision": 0.0,
        "required_recall": 0.0,
        "required_claim_recall": 1.0,
    }
    assert both.values == {**everything.values, **required.values}
    assert both.metadata["target_labels"] == ["REQUIRED", "OPTIONAL"]
    assert both.metadata["response_labels"] == ["REQUIRED", "OPTIONAL", "REQUIRED"]


def test_only_claims_that_a_score_is_made_of_are_labelled() -> None:
    judge = ByRule()

    score("faithfulness", judge=judge, row=CATS, said=ABOUT_CATS, mode="required_only")

    labelled = [one.claims for one in judge.asked if one.kind == "label"]
    assert labelled == [("cat is not one", "b is two", "cat is three")]


def test_labels_of_a_column_are_taken() -> None:
    judge = ByRule()
    row = {"query": "?", "claims": GIVEN, "labels": '["optional", "REQUIRED"]'}

    found = score(
        "recall",
        judge=judge,
        row=row,
        mode="required_and_optional",
        target_claims_column="claims",
        target_labels_column="labels",
    )

    assert found.values == {"recall": 1 / 2, "required_recall": 0.0}
    assert [one.kind for one in judge.asked] == ["check"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["REQUIRED"], "must be a list of 2 labels, one per claim, got 1 of them"),
        ("REQUIRED", "must hold JSON"),
        (["REQUIRED", "MAYBE"], "label 2 of column `labels` must be `REQUIRED` or `OPTIONAL`, got"),
    ],
    ids=["too few", "no list", "another word"],
)
def test_labels_that_do_not_fit_are_an_error(labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score(
            row={"query": "?", "target": "t", "claims": GIVEN, "labels": labels},
            mode="required_only",
            target_claims_column="claims",
            target_labels_column="labels",
        )


def test_instructions_reach_the_judge_where_they_belong() -> None:
    judge = ByRule()

    score(
        "recall",
        judge=judge,
        mode="required_only",
        claim_extraction_instructions="Split numbers from units.",
        claim_labeling_instructions="Dates are required.",
    )

    told = {
        asked.kind: one.messages[0].content
        for asked, one in zip(judge.asked, judge.requests, strict=True)
    }
    assert ["Split numbers" in told[kind] for kind in ("extract", "label", "check")] == [1, 0, 0]
    assert ["Dates are" in told[kind] for kind in ("extract", "label", "check")] == [0, 1, 0]


@pytest.mark.parametrize("mode", ["all_claims", "required_only", "required_and_optional"])
def test_what_it_gives_is_what_it_has_metrics_for(mode: str) -> None:
    scorer = made(scores_to_compute=["recall", "precision", "recall"], mode=mode)
    found = score("recall", "precision", row=CATS, said=ABOUT_CATS, mode=mode)

    assert (*found.values,) == scorer.score_names
    assert scorer.default_metrics == tuple(("mean", one) for one in scorer.score_names)
    metrics: list[Any] = [one for _, one in scorer_metrics(scorer).metrics]
    assert [one.value_name for one in metrics] == [f"{one}_mean" for one in scorer.score_names]


def test_without_a_list_all_eleven_are_scored() -> None:
    assert made().score_names == SCORES
    assert made(scores_to_compute=None).score_names == SCORES


def test_a_score_that_is_not_defined_is_null_and_the_mean_leaves_it_out_and_counts_it() -> None:
    scorer = made(scores_to_compute=["precision"])
    found = [score("precision"), score("precision", said=retrieved("Hello!"))]
    several = Scores({"precision"})
    for one in found:
        several.add(one.values, one.metadata)
    ((_, metric),) = scorer_metrics(scorer).metrics

    (figure,) = asyncio.run(metric.measure(several, seed=0, snippets=None))

    assert [one.values["precision"] for one in found] == [2 / 5, None]
    assert found[1].reason == "the response has no claims"
    assert (figure.value, figure.n) == (2 / 5, 1)
    assert "1 of 2 scores have no value" in figure.reason


def test_the_reason_names_the_claims_that_count_against_it() -> None:
    assert score("precision").reason == (
        "claims not in the target: 'x is noise', 'y is noise', 'z is invented'"
    )
    assert score("recall", "claim_recall").reason == (
        "claims not in the response: 'b is two'; target claims in no chunk: 'c is three'"
    )
    assert score("faithfulness", said=retrieved("a is one.")).reason == ""


def test_an_empty_answer_claims_nothing_and_nobody_is_asked_about_it() -> None:
    judge = ByRule()

    found = score("precision", "recall", judge=judge, said=retrieved(" "))

    assert found.values == {"precision": None, "recall": 0.0}
    assert calls(judge) == ["extract target"]


def test_a_chunk_is_asked_about_once_and_a_blank_one_never() -> None:
    judge = ByRule()

    found = score("faithfulness", judge=judge, said=retrieved(RESPONSE, [CHUNKS[0], "", CHUNKS[0]]))

    assert [one.kind for one in judge.asked] == ["extract", "check"]
    assert _metadata(found)["response_in_chunks"][0] == ["entailed", "neutral", "entailed"]


def test_other_scores_of_what_was_found_need_no_call() -> None:
    everything = score(mode="required_and_optional")

    for name in SCORES:
        for mode in ("all_claims", "required_only"):
            revised = made(scores_to_compute=[name], mode=mode).reuse(everything)
            assert revised is not None
            direct = score(name, mode=mode)
            assert revised.values == direct.values
            assert revised.reason == direct.reason
            assert revised.metadata == everything.metadata


def test_what_was_never_asked_cannot_be_revised() -> None:
    some = score("faithfulness")

    assert made(scores_to_compute=["precision"]).reuse(some) is None
    assert made().reuse(some) is None
    assert made(scores_to_compute=["faithfulness"], mode="required_only").reuse(some) is None
    assert made(scores_to_compute=["faithfulness"]).reuse(some) == some


def test_what_is_known_is_not_asked_again_and_is_kept() -> None:
    judge = ByRule()
    some = score("faithfulness")
    more = made(scores_to_compute=["precision", "recall"], mode="required_and_optional")

    known = structs.replace(solved(judge), known=some)
    found = asyncio.run(more.score(known))

    assert calls(judge) == [
        "check response in target",
        "check target in response",
        "extract target",
        "label response",
        "label target",
    ]
    direct = score("precision", "recall", mode="required_and_optional")
    assert found.values == direct.values
    assert found.metadata["response_in_chunks"] == some.metadata["response_in_chunks"]


def test_evidence_that_does_not_fit_is_no_evidence() -> None:
    judge = ByRule()
    some = score("faithfulness")
    odd = structs.replace(some, metadata={**some.metadata, "response_in_chunks": []})

    again = asyncio.run(
        made(scores_to_compute=["faithfulness"]).score(structs.replace(solved(judge), known=odd))
    )

    assert again.values == some.values
    assert len(judge.requests) == 1 + 3


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"response_claims": 3}, id="no claims"),
        pytest.param({"response_claims": [], "response_in_chunks": [["yes"]]}, id="other words"),
        pytest.param({"response_claims": [], "response_in_chunks": [[]]}, id="a row too many"),
    ],
)
def test_what_is_no_evidence_is_not_revised(metadata: dict[str, Any]) -> None:
    kept = Score(values={"faithfulness": 1.0}, metadata=metadata)

    assert made(scores_to_compute=["faithfulness"]).reuse(kept) is None


def test_the_key_leaves_out_what_only_formulas_look_at() -> None:
    def reads(row: Any = ROW, **fields: Any) -> str:
        return made(**fields).describe_inputs(Sample("a", row))

    same = [
        reads(),
        reads(scores_to_compute=["recall"]),
        reads(mode="required_only"),
        reads(metrics=[], key="k", display_name="K", purpose="qa"),
        reads({**ROW, "beside": 1}),
    ]
    other = [
        reads(judge_model_key="other"),
        reads(claim_extraction_instructions="x"),
        reads({**ROW, "target": "other"}),
        reads({**ROW, "query": "other"}),
        reads(target_claims_column="claims"),
    ]

    assert len(set(same)) == 1
    assert len({*same, *other}) == 1 + len(other)


def test_the_judge_is_known_before_it_is_asked() -> None:
    assert made().model_keys == ("judge",)
    assert made().calls_model


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"scores_to_compute": ["precison"]}, id="a score that is none"),
        pytest.param({"scores_to_compute": []}, id="no scores"),
        pytest.param({"mode": "required"}, id="a mode that is none"),
        pytest.param({"query_column": ""}, id="no name"),
        pytest.param({"target_labels_column": "l"}, id="labels of the target without its claims"),
        pytest.param({"response_labels_column": "l"}, id="labels of the response without"),
        pytest.param({"judge_model_key": None}, id="no judge"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_read(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        made(**fields)


def test_a_server_that_takes_no_schema_is_asked_without_and_the_score_says_so() -> None:
    judge = ByRule(takes_schema=False)

    found = score(judge=judge)

    assert found.values == pytest.approx(EXPECTED)
    assert found.metadata["structured"] is False
    assert "does not accept a schema" in _metadata(found)["note"]
    assert {one.input for one in judge.requests} == {None}


def test_a_reply_that_does_not_fit_is_a_failure_with_the_judges_words() -> None:
    def reply(asked: Asked) -> str:
        if asked.kind == "extract":
            return json.dumps(answer(asked))
        return '{"verdicts": [{"claim": 1, "verdict": "entailed"}]}'

    with pytest.raises(ValueError, match=r"expected 5 verdicts, one per claim, got 1; .*entailed"):
        score("precision", judge=ByRule(reply))


def test_half_a_surrogate_pair_of_a_judge_is_kept_as_something_that_can_be_stored() -> None:
    written = '{"claims": [{"subject": "a \\ud83d", "predicate": "is", "object": "one"}]}'
    judge = ByRule(lambda asked: written if asked.kind == "extract" else json.dumps(answer(asked)))

    found = score("precision", judge=judge)

    assert _metadata(found)["response_claims"][0]["subject"] == "a ?"
    assert encode(found)


def test_texts_of_any_script_are_judged() -> None:
    row = {"query": "ما هي؟", "target": "القاهرة is عاصمة. b is two."}

    found = score("precision", "recall", row=row, said=retrieved("القاهرة is عاصمة."))

    assert found.values == {"precision": 1.0, "recall": 1 / 2}
    assert _metadata(found)["response_claims"][0]["subject"] == "القاهرة"


@pytest.mark.parametrize("row", [{"target": TARGET}, {"target": TARGET, "query": ""}])
def test_a_question_in_an_empty_cell_of_a_table_is_an_empty_text(row: dict[str, str]) -> None:
    judge = ByRule()

    assert score("precision", judge=judge, row=row).values == {"precision": 2 / 5}


def test_a_target_may_be_a_number_or_a_truth_value() -> None:
    judge = ByRule()

    score("precision", judge=judge, row={"query": "?", "target": True})
    score("precision", judge=judge, row={"query": "?", "target": 42})

    assert [one.text for one in judge.asked if one.kind == "check"] == ["True", "42"]


@pytest.mark.parametrize(
    ("fields", "columns"),
    [
        ({}, ("query", "target")),
        ({"query_column": "q", "target_column": "t"}, ("q", "t")),
        ({"scores_to_compute": ["faithfulness"]}, ("query",)),
        ({"scores_to_compute": ["recall"], "target_claims_column": "c"}, ("c",)),
        (
            {"scores_to_compute": ["precision"], "target_claims_column": "c"},
            ("query",),
        ),
        (
            {"scores_to_compute": ["recall"], "target_claims_column": "c", "mode": "required_only"},
            ("c", "query"),
        ),
        (
            {
                "scores_to_compute": ["recall"],
                "target_claims_column": "c",
                "target_labels_column": "l",
                "mode": "required_only",
            },
            ("c", "l"),
        ),
    ],
    ids=["all", "named", "no target", "claims", "claims beside", "labelled", "labels"],
)
def test_it_needs_the_columns_that_the_wanted_scores_are_made_of(
    fields: dict[str, Any], columns: tuple[str, ...]
) -> None:
    assert made(**fields).required_columns == columns
