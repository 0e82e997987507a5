"""Every project in `examples/` runs, gives the figures that it should, and is paid for once.

The figures are worked out by hand from the rows and from what the server of the examples knows.
"""

import json
import math
import os
import re
import shutil
import statistics
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests import local_model
from tests.e2e import in_process
from tests.e2e.commands import COMMAND
from tests.living import PATIENCE_S
from tests.servers.example_server import ExampleServer

EXAMPLES = Path(__file__).parents[2] / "examples"
GUIDE = EXAMPLES.parent / "docs" / "guides" / "write-tasks.md"
EXCERPT = re.compile(r"^```yaml\n# (examples/\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDERS = sorted(one.name for one in EXAMPLES.iterdir() if (one / "run.yaml").is_file())

NO_INTERVAL = None
TIMED = "timed"
"""A metric in Python has an interval unless the machine is slow."""
OLD = {
    "sources": "`file_path` was replaced by `source`",
    "multiple-choice": "`choices_field` is deprecated",
    "bad-rows": "3 bad rows will be left out",
}
"""Who writes old words or bad rows on purpose, and what the checks say to that. The others are not
warned."""

SOME = math.nan
"""A value that only the model knows: a real one may use other words on another processor."""
Figures = dict[str, tuple[float, int] | tuple[float, int, str | None]]
"""`task/scorer/metric`, with the model after a task that has several: the value, the samples
behind it, and whether it has an interval."""

SECONDS = [0.5, 0.7, 0.4, 0.6, 1.2, 0.9, 0.3, 0.2, 1.4, 0.8]
UNLIKE = 0.31 / 1.31
"""The cosine of two texts of one idea each, which differ: 9 * 0.01 + 2 * 0.11 over 1.21 + 0.1."""
HALF_ALIKE = 1.51 / 2.51
"""The same for two ideas each, one of them in common."""

EXPECTED: dict[str, Figures] = {
    "chat": {
        "mini/string_equals/is_correct_mean": (7 / 8, 8),
        "mini/latency/is_within_limit_mean": (1, 8),
        "mini/cost/is_within_limit_mean": (1, 8),
        "nano/string_equals/is_correct_mean": (5 / 8, 8),
        "nano/latency/is_within_limit_mean": (1, 8),
        "nano/cost/is_within_limit_mean": (1, 8),
    },
    "two-prompts": {
        "symbols-plain (openai/gpt-4.1-mini)/string_equals/is_correct_mean": (5 / 8, 8),
        "symbols-plain (openai/gpt-4.1-nano)/string_equals/is_correct_mean": (3 / 8, 8),
        "symbols-strict (openai/gpt-4.1-mini)/string_equals/is_correct_mean": (7 / 8, 8),
        "symbols-strict (openai/gpt-4.1-nano)/string_equals/is_correct_mean": (5 / 8, 8),
    },
    "json-answers": {
        "orders/city/is_correct_mean": (1, 5),
        "orders/form/tickets_right_mean": (4 / 5, 5),
        "orders/form/tickets_off_by_mean": (2 / 5, 5),
        "orders/form/tickets_off_by_max": (2, 5, NO_INTERVAL),
    },
    "interview": {
        "bookings/booked/is_correct_mean": (3 / 4, 4),
        "bookings/length/questions_mean": ((2 + 0 + 1 + 3) / 4, 4),
        "bookings/length/questions_max": (3, 4, NO_INTERVAL),
    },
    "own-solver": {
        "majority/string_equals/is_correct_mean": (3 / 5, 5),
        "majority/votes/unanimous_mean": (3 / 5, 5),
    },
    "recorded-results": {
        "last-week/exact/is_correct_mean": (3 / 6, 6),
        "last-week-leniently/lenient/is_correct_mean": (5 / 6, 6),
    },
    "recorded-traces": {
        "refunds/calls/all calls made": (3 / 5, 5),
        "refunds/calls/coverage": ((1 + 1 + 1 / 2 + 1 + 1) / 5, 5),
        "refunds/calls/recall": (6 / 7, 5),
        "refunds/calls/precision": (6 / 7, 5),
        "refunds/failures/failed_calls_mean": (3 / 5, 5),
        "refunds/failures/admits a failure": (1 / 2, 2),
    },
    "from-inspect": {
        "shop/calls/all calls made": (2 / 4, 4),
        "shop/includes/is_correct_mean": (3 / 4, 4),
        "shop/includes/as_inspect_mean": (1, 4),
        "answers/string_equals/is_correct_mean": (3 / 4, 4),
    },
    "from-claude-code": {
        "fixes/steps/all steps taken": (2 / 3, 3),
        "fixes/steps/coverage": ((1 + 1 + 2 / 3) / 3, 3),
        "fixes/tests/ran_tests_mean": (2 / 3, 3),
        "fixes/tests/admits a failed test": (1, 1),
    },
    "fan-out": {
        "ingredients/line/belongs_mean": (7 / 8, 8, NO_INTERVAL),
        "ingredients/line/dish_hummus": (2 / 8, 8, NO_INTERVAL),
        "ingredients/line/dish_pancakes": (3 / 8, 8, NO_INTERVAL),
        "ingredients/line/dish_pesto": (3 / 8, 8, NO_INTERVAL),
        "colours/agreement/agree_mean": (2 / 3, 3),
    },
    "multiple-choice": {
        "newer/string_equals_mcqa/is_correct_mean": (4 / 6, 6),
        "older/string_equals_mcqa/is_correct_mean": (4 / 6, 6),
    },
    "translation": {
        "german/bleu/bleu_score_mean": (0.5936253599271721, 5),
        "german/bleu/bleu_score_min": (0, 5, NO_INTERVAL),
        "german/bleu/bleu_score_max": (1, 5, NO_INTERVAL),
        "german/bleu/bleu_score_std_dev": (0.4351704410920609, 5, NO_INTERVAL),
    },
    "everyday-scorers": {
        "capitals/exact_match/is_correct_mean": (1 / 4, 4),
        "capitals/contains/is_correct_mean": (2 / 4, 4),
        "capitals/icontains/is_correct_mean": (2 / 4, 4),
        "capitals/starts_with/is_correct_mean": (1 / 4, 4),
        "capitals/contains_any/is_correct_mean": (3 / 4, 4),
        "capitals/one-word/is_correct_mean": (2 / 4, 4),
        "totals/equals_number/is_correct_mean": (2 / 4, 4),
        "totals/equals_number/absolute_error_mean": ((0 + 0.01 + 5) / 3, 3),
        "orders/json_schema/is_correct_mean": (1 / 3, 3),
        "orders/json_schema/is_valid_json_mean": (2 / 3, 3),
        "orders/json_schema/fields_correct_mean": ((1 + 1 / 2 + 0) / 3, 3),
        "notes/contains_all/is_correct_mean": (1 / 3, 3),
        "notes/contains_all/coverage_mean": ((1 + 1 / 2 + 1 / 2) / 3, 3),
        "notes/levenshtein/similarity_mean": ((1 + 19 / 22 + 8 / 13) / 3, 3),
        "notes/rouge_l/rouge_l_score_mean": ((1 + 5 / 6 + 2 / 3) / 3, 3),
        "notes/chrf/chrf_score_mean": (0.695007738883656, 3),  # of sacrebleu
    },
    "ranking": {  # the strengths are those of evalica 0.4.2
        "comparisons/people/ant_rank": (1, 21),
        "comparisons/people/ant_strength": (1.544455228545213, 21),
        "comparisons/people/bee_rank": (2, 21),
        "comparisons/people/bee_strength": (1.1244761835631736, 21),
        "comparisons/people/cat_rank": (3, 21),
        "comparisons/people/cat_strength": (0.5758036522551275, 21),
        "comparisons/people/first preferred": (12.5 / 21, 21),
        "comparisons/people/first preferred, letters": (7 / 12, 12),
        "comparisons/people/first preferred, تلخيص": (4.5 / 8, 8),
    },
    "dataset-quality": {
        "year-is-there/python/Completeness": (8 / 10, 10),
        "isbn-is-valid/python/Validity": (8 / 10, 10),
        "isbn-is-valid/python/problem_check digit": (1 / 10, 10),
        "isbn-is-valid/python/problem_length": (1 / 10, 10),
        "isbn-is-valid/python/problem_none": (8 / 10, 10),
        "isbn-is-unique/python_all_samples/Uniqueness": (8 / 10, 10),
        "date-is-date/python/Correct type": (9 / 10, 10),
        "stars-in-range/python/In range": (9 / 10, 10),
        "text-length/python/Usual length": (9 / 10, 10),
        "text-length/python/characters_max": (48, 10, NO_INTERVAL),
        "text-is-real/python/Real texts": (9 / 10, 10),
        "text-is-readable/python/Readable": (9 / 10, 10),
        "text-script/python/script_arabic": (1 / 10, 10),
        "text-script/python/script_latin": (9 / 10, 10),
        "text-is-not-personal/python/No personal data": (7 / 10, 10),
        "text-is-not-personal/python/kind_card": (1 / 10, 10),
        "text-is-not-personal/python/kind_email": (1 / 10, 10),
        "text-is-not-personal/python/kind_none": (7 / 10, 10),
        "text-is-not-personal/python/kind_phone": (1 / 10, 10),
        "mood-balance/python/label_bad": (4 / 10, 10),
        "mood-balance/python/label_good": (6 / 10, 10),
        "text-is-new/python_all_samples/New texts": (9 / 10, 10),
        "text-is-not-published/python_all_samples/Not leaked": (8 / 10, 10),
    },
    "bad-rows": {
        "ages/python/Over 40": (2 / 3, 3),
        "sums/python/Right answers": (2 / 3, 3),
    },
    "left-out": {
        "reviews/mood/is_correct_mean": (3 / 4, 4),
        "reviews/language/label_en": (1, 4),
    },
    "classification": {
        "mail/labels/spam_accuracy": (8 / 10, 10),
        "mail/labels/precision": (3 / 4, 10),
        "mail/labels/recall": (3 / 4, 10),
        "mail/labels/f1_score": (6 / 8, 10),
        "mail/labels/num_true_positives": (3, 10, NO_INTERVAL),
        "mail/labels/num_false_positives": (1, 10, NO_INTERVAL),
        "mail/labels/num_true_negatives": (5, 10, NO_INTERVAL),
        "mail/labels/num_false_negatives": (1, 10, NO_INTERVAL),
        "mail/labels/folders_accuracy": (7 / 10, 10),
        "mail/labels/macro_f1": ((2 / 3 + 3 / 4 + 2 / 3) / 3, 10),
        "mail/labels/micro_f1": (7 / 10, 10),
        "mail/labels/weighted_f1": ((3 * 2 / 3 + 4 * 3 / 4 + 3 * 2 / 3) / 10, 10),
        "mail/labels/friends_precision": (2 / 3, 10),
        "mail/labels/friends_recall": (2 / 3, 10),
        "mail/labels/friends_f1_score": (2 / 3, 10),
        "mail/labels/spam_precision": (3 / 4, 10),
        "mail/labels/spam_recall": (3 / 4, 10),
        "mail/labels/spam_f1_score": (3 / 4, 10),
        "mail/labels/work_precision": (2 / 3, 10),
        "mail/labels/work_recall": (2 / 3, 10),
        "mail/labels/work_f1_score": (2 / 3, 10),
        "mail/labels/predicted_folder_friends": (3 / 10, 10),
        "mail/labels/predicted_folder_spam": (4 / 10, 10),
        "mail/labels/predicted_folder_work": (3 / 10, 10),
        "mail/labels/minutes of reading": ((3 * 5 + 3 * 2) / 10, 10),
        "mail/labels/seconds_mean": (statistics.mean(SECONDS), 10),
        "mail/labels/seconds_std_dev": (statistics.stdev(SECONDS), 10, NO_INTERVAL),
        "mail/labels/seconds_min": (0.2, 10, NO_INTERVAL),
        "mail/labels/seconds_max": (1.4, 10, NO_INTERVAL),
        "mail/labels/median_seconds": (0.65, 10, TIMED),
        "mail/labels/slow": (2 / 10, 10, TIMED),
        "mail/words/words found, precision": (8 / 10, 10),
        "mail/words/words found, recall": (8 / 11, 10),
        "mail/words/words found, F1": (16 / 21, 10),
    },
    "parameters": {
        "moons/label/label_right": (3 / 4, 4),
        "moons/label/label_wrong": (1 / 4, 4),
        "moons/label/label_weighted_average": (3 / 4, 4),
        "moons/label/is_brief_mean": (1, 4),
        "moons/label/is_clean_mean": (1, 4),
        "moons/semantic_similarity/similarity_mean": ((3 + UNLIKE) / 4, 4),
    },
    "system-task": {
        "licences/evidence/allowed share": (3 / 4, 0, NO_INTERVAL),
        "licences/evidence/open findings": (1, 0, NO_INTERVAL),
    },
    "embeddings": {
        "triplets/nearer/is_nearer_mean": (3 / 4, 4),
        "triplets/nearer/margin_min": (HALF_ALIKE - 1, 4, NO_INTERVAL),
        "paraphrases/semantic_similarity/similarity_mean": ((3 + HALF_ALIKE) / 4, 4),
    },
    "code": {
        "programs/code_exec/score_mean": ((1 + 1 / 2 + 1 + 0) / 4, 4),
        "programs/code_exec/is_correct_mean": (2 / 4, 4),
        "programs/code_exec/pass@1": (2 / 4, 4),
    },
    "similarity": {  # of the vectors of wordllama 0.4.0.post1; "do not delete" finds "delete"
        "search/nearest/is_found_mean": (6 / 7, 7),
        "search/nearest/margin_min": (-0.391079, 7, NO_INTERVAL),
        "rewording/semantic_similarity/similarity_mean": (0.356398, 7),
        "rewording/semantic_similarity/similarity_min": (0.120830, 7, NO_INTERVAL),
    },
    "local-judge": {
        "questions/exact/is_correct_mean": (SOME, 5),
        "questions/judge/is_correct_mean": (SOME, 5),
    },
    "custom-endpoint": {
        "triage/queue/is_correct_mean": (5 / 6, 6),
        "triage/urgency/is_right_mean": (5 / 6, 6),
        "triage/urgency/version_2": (1, 6),
    },
    "side-by-side": {
        "agreement/rows/agree_mean": (6 / 8, 8),
        "agreement/rows/kappa": (0.5, 8, TIMED),
        "agreement/order/rows belong together": (1, 8, NO_INTERVAL),
    },
    "chained": {
        "answers/number/is_right_mean": (3 / 4, 4),
        "review/tone/is_sure_mean": (0, 1),
    },
    "sources": {
        "inline/km/long_mean": (1 / 2, 2),
        "inline/km/km_max": (4180, 2, NO_INTERVAL),
        "local/km/long_mean": (2 / 3, 3),
        "local/km/km_max": (1007, 3, NO_INTERVAL),
        "url/km/long_mean": (1, 2),
        "url/km/km_max": (6300, 2, NO_INTERVAL),
        "folder/km/long_mean": (1 / 2, 2),
        "folder/km/km_max": (1094, 2, NO_INTERVAL),
    },
    "pieces": {
        "with-instructions/exact/is_correct_mean": (4 / 5, 5),
        "without/exact/is_correct_mean": (4 / 5, 5),
    },
    "gate": {
        "routing/queue/is_correct_mean": (33 / 40, 40),
    },
    "judge": {
        "rivers/right/is_correct_mean": (2 / 4, 4),
        "rivers/brevity/score_mean": ((3 / 4 + 2 / 4 + 3 / 4 + 2 / 4) / 4, 4),
        "rivers/tone/label_guessing": (1 / 4, 4),
        "rivers/tone/label_manipulative": (1 / 4, 4),
        "rivers/tone/label_sure": (2 / 4, 4),
    },
    "ready-judges": {
        "rivers/right/is_correct_mean": (2 / 4, 4),
        "rivers/progress/score_mean": ((1 + 0 + 1 / 2 + 1) / 4, 4),
        "rivers/progress/prefers_first_mean": ((3 * 1 / 2 + 1) / 4, 4),
        "rivers/progress/is_consistent_mean": (3 / 4, 4),
    },
    "judge-check": {
        "capitals/judge/is_correct_mean": (13 / 24, 24),
    },
    "own-model": {
        "sums/string_equals/is_correct_mean": (3 / 5, 5),
    },
    "trials": {  # right in 5, 3, 2, 0, 5 and 4 of 5
        "tried/exact/is_correct_mean": ((1 + 0.6 + 0.4 + 0 + 1 + 0.8) / 6, 6),
        "tried/exact/pass@2_mean": ((1 + 0.84 + 0.64 + 0 + 1 + 0.96) / 6, 6),
        "tried/exact/is_correct.pass^2_mean": ((1 + 0.36 + 0.16 + 0 + 1 + 0.64) / 6, 6),
        "tried/exact/always_right_mean": (2 / 6, 6),
        "repeated/exact/is_correct_mean": ((5 + 3 + 4 + 3 + 4) / 30, 6),
    },
    "generated": {
        "agreement/same/is_correct_mean": (6 / 8, 8),
    },
    "question-answering-data": {
        "quiz/letter/is_correct_mean": (3 / 4, 4),
        "claims/claims/required_mean": (1, 4),
        "claims/claims/quoted_mean": (1, 4),
    },
    "rag": {
        "handbook/rag/precision_mean": ((1 + 0 + 1 / 2 + 1 + 1 / 2) / 5, 5),
        "handbook/rag/recall_mean": ((1 + 0 + 1 + 1 / 2 + 0 + 1) / 6, 6),
        "handbook/rag/f1_score_mean": ((1 + 0 + 2 / 3 + 2 / 3 + 2 / 3) / 5, 5),
        "handbook/rag/claim_recall_mean": (5 / 6, 6),
        "handbook/rag/context_precision_mean": ((1 + 1 / 2 + 1 / 2 + 0 + 1 + 1 / 2) / 6, 6),
        "handbook/rag/context_utilization_mean": ((1 + 0 + 1 + 0 + 1) / 5, 5),
        "handbook/rag/noise_sensitivity_in_relevant_mean": (1 / 2 / 5, 5),
        "handbook/rag/noise_sensitivity_in_irrelevant_mean": (1 / 2 / 5, 5),
        "handbook/rag/hallucination_mean": (1 / 5, 5),
        "handbook/rag/self_knowledge_mean": (1 / 5, 5),
        "handbook/rag/faithfulness_mean": ((1 + 0 + 1 + 0 + 1) / 5, 5),
        "handbook/essentials/required_recall_mean": (4 / 6, 6),
        "handbook/essentials/required_claim_recall_mean": (5 / 6, 6),
    },
}

EXCLUDED = {"left-out": {"reviews": 6}, "chained": {"review": 3}, "bad-rows": {"ages": 3}}
"""How many samples of a task the rules of an example leave out of its metrics."""

ASKED = {
    "chat": 16,
    "two-prompts": 4 * 8,
    "trials": 6 * 5 + 6 * 5,
    "json-answers": 5,
    "interview": 9 + 6,
    "own-solver": 15,
    "fan-out": 3 + 6,
    "multiple-choice": 12,
    "translation": 5,
    "left-out": 10,
    "parameters": 4 + 4,
    "embeddings": 4 + 4,
    "custom-endpoint": 6,
    "chained": 4,
    "pieces": 10,
    "generated": 8 + 8,
    "question-answering-data": 4 + 4 * 4 + 4,  # questions; and with claims, labels, quotes; answers
    "judge-check": 24,
    "judge": 4 + 3 * 4,
    "ready-judges": 4 + 4 + 2 * 4,
    # Answers; claims of both; checks in the target, the answer, the pages; the second scorer.
    "rag": 6 + 12 + 5 + 6 + 10 + 9 + 6 + 10,
}
"""How many questions come to the server; to those who are not here, none."""


NEEDS = {"similarity": "wordllama"}
"""Packages of an extra, without which an example cannot run."""
REAL = {"local-judge"}
"""Who asks a real model, which takes its time."""


@pytest.fixture(scope="module")
def server() -> Iterator[ExampleServer]:
    with ExampleServer() as running:
        yield running


def evalwright(
    server: ExampleServer, *arguments: str, cwd: Path
) -> subprocess.CompletedProcess[str]:
    environment = {**server.environment(), **local_model.BESIDE}
    return in_process.evalwright(*arguments, cwd=cwd, env=environment)


def run(server: ExampleServer, folder: Path, *arguments: str) -> Any:
    done = evalwright(server, "run", "run.yaml", "--json", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def copied(name: str, tmp_path: Path) -> Path:
    """A copy to run in: an example leaves nothing behind in the checkout."""
    return Path(shutil.copytree(EXAMPLES / name, tmp_path / name))


def installed(name: str) -> None:
    """Skip where the package that an example needs is missing."""
    package = NEEDS.get(name)
    if package and find_spec(package) is None:
        pytest.skip(f"{package} is missing: pip install 'evalwright[local]'")
    if name in REAL and (why := local_model.missing()):
        pytest.skip(why)


def figures(report: Any) -> dict[str, Any]:
    return {
        f"{label(report, one)}/{one['scorer']}/{name_with_group(one)}": one
        for one in report["metrics"]
    }


def name_with_group(row: Any) -> str:
    """The metric; with its group, if it is of one."""
    return str(row["metric"]) + ("" if row["group"] is None else f", {row['group']}")


def label(report: Any, row: Any) -> str:
    """The task, and its model if it has several."""
    models = {one["model"] for one in report["metrics"] if one["task"] == row["task"]}
    return row["task"] if len(models) == 1 else f"{row['task']} ({row['model']})"


def test_every_example_is_expected_to_give_something() -> None:
    inside = {one.name for one in EXAMPLES.iterdir() if one.is_dir() and one.name[0] not in "._"}

    assert inside - {"ci", "notebooks"} == set(FOLDERS) == set(EXPECTED)


@pytest.mark.parametrize("name", FOLDERS)
def test_an_example_is_valid(name: str, server: ExampleServer, tmp_path: Path) -> None:
    done = evalwright(server, "validate", ".", cwd=copied(name, tmp_path))

    assert done.returncode == 0, done.stdout + done.stderr
    assert OLD.get(name, "") in done.stderr
    assert ("warning" in done.stderr) == (name in OLD), done.stderr


@pytest.mark.parametrize("name", FOLDERS)
def test_an_example_gives_its_figures_and_is_paid_for_once(
    name: str, server: ExampleServer, tmp_path: Path
) -> None:
    installed(name)
    folder, before = copied(name, tmp_path), server.asked

    report = run(server, folder)

    assert server.asked - before == ASKED.get(name, 0)
    has_its_figures(report, EXPECTED[name])
    has_left_out(report, EXCLUDED.get(name, {}))
    assert report["status"] == "finished"
    assert report["failures"] == []

    again = run(server, folder)

    assert server.asked - before == ASKED.get(name, 0)
    summary = again["summary"]
    outcomes = summary["trials"] or summary["samples"] or 1  # a system task has one, of no sample
    assert summary["reused"] == outcomes
    has_its_figures(again, EXPECTED[name])

    told, found = rows_in((EXAMPLES / name / "README.md").read_text("utf-8")), rows_of(again)
    if name in REAL:  # what was measured, and of how many; the figures are one machine's
        told, found = ([[*row[:3], row[-1]] for row in rows] for rows in (told, found))
    assert found == told


def has_its_figures(report: Any, expected: Figures) -> None:
    found = figures(report)
    assert found.keys() == expected.keys()
    for key, (value, n, *interval) in expected.items():
        one = found[key]
        if math.isnan(value):
            assert 0 <= one["value"] <= 1, key
        else:
            assert one["value"] == pytest.approx(value, abs=1e-6), key
        assert (one["n"], one["failed"]) == (n, 0), key
        if interval == [NO_INTERVAL]:
            assert (one["ci_low"], one["ci_high"]) == (None, None), key
            assert one["reason"], key
        elif interval != [TIMED]:
            assert one["ci_low"] <= one["value"] <= one["ci_high"], key
            assert one["ci_low"] < one["ci_high"], key


def has_left_out(report: Any, expected: dict[str, int]) -> None:
    found = {one["task"]: one["excluded"] for one in report["metrics"] if one["excluded"]}

    assert found == expected
    assert report["summary"]["excluded"] == sum(expected.values())


def rows_of(report: Any) -> list[list[str]]:
    """The figures of a report, as the READMEs show them."""
    return [
        [
            *(label(report, one), one["scorer"], name_with_group(one)),
            f"{one['value']:.3f}",
            "–" if one["ci_low"] is None else f"[{one['ci_low']:.3f}, {one['ci_high']:.3f}]",
            str(one["n"]),
        ]
        for one in without_timed(report["metrics"], "metric")
    ]


def rows_in(readme: str) -> list[list[str]]:
    """The figures in a README."""
    rows = [line.strip("| ").split(" | ") for line in readme.splitlines() if line.startswith("| ")]
    return without_timed(rows[2:], 2)


def without_timed(rows: list[Any], name: str | int) -> list[Any]:
    """Whether these have an interval depends on the machine."""
    return [one for one in rows if one[name] not in {"kappa", "median_seconds", "slow"}]


def test_values_of_a_file_and_of_the_command_line_take_the_place_of_those_of_the_project(
    server: ExampleServer, tmp_path: Path
) -> None:
    folder = copied("parameters", tmp_path)

    by_file = figures(run(server, folder, "--config", "lenient.yaml"))
    by_hand = figures(
        run(
            server,
            folder,
            "--set",
            "strictness=lenient",
            "--set",
            "banned=moons,x",
            "--set",
            "short=no",
        )
    )

    assert by_file["moons/label/label_near"]["value"] == pytest.approx(1 / 3)
    assert by_file["moons/label/label_weighted_average"]["value"] == pytest.approx(2.5 / 3)
    assert by_hand["moons/label/label_right"]["value"] == 1  # a long answer is the right one
    assert by_hand["moons/label/is_clean_mean"]["value"] == 0  # "16 moons"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("strictness=sloppy", "expected one of `lenient`, `strict`, got `sloppy`"),
        ("tolerance=-1", "expected a number of at least 0.0, got -1.0"),
        ("tolerance=far", "`far`"),
        ("tollerance=1", "`tollerance`"),
    ],
    ids=["not-allowed", "too-small", "no-number", "unknown"],
)
def test_a_value_that_does_not_fit_stops_the_run_before_it_begins(
    given: str, said: str, server: ExampleServer, tmp_path: Path
) -> None:
    before = server.asked

    done = evalwright(server, "run", "run.yaml", "--set", given, cwd=copied("parameters", tmp_path))

    assert done.returncode == 1
    assert said in done.stderr
    assert server.asked == before


def test_an_example_with_no_server_fails_its_samples_and_scores_none(
    server: ExampleServer, tmp_path: Path
) -> None:
    """A failed call is never a score of 0."""
    folder = copied("chat", tmp_path)
    nowhere = {**server.environment(), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

    done = subprocess.run(
        [*COMMAND, "run", "run.yaml", "--json", "--retries", "0"],
        cwd=folder,
        env=nowhere,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 3, done.stderr
    assert {one["value"] for one in json.loads(done.stdout)["metrics"]} == {None}
    assert {one["failed"] for one in json.loads(done.stdout)["metrics"]} == {8}


def test_a_secret_of_an_example_is_in_no_output_and_in_no_file(
    server: ExampleServer, tmp_path: Path
) -> None:
    folder = copied("custom-endpoint", tmp_path)
    key = server.environment()["TRIAGE_KEY"]

    done = evalwright(server, "run", "run.yaml", "--json", cwd=folder)

    assert done.returncode == 0, done.stderr
    assert key not in done.stdout + done.stderr
    kept = [one for one in (folder / ".evalwright").rglob("*") if one.is_file()]
    assert kept
    assert not any(key.encode() in one.read_bytes() for one in kept)


def test_the_index_names_every_example() -> None:
    index = (EXAMPLES / "README.md").read_text("utf-8")

    assert sorted(re.findall(r"\]\(([\w-]+)/\)", index)) == sorted([*FOLDERS, "ci"])
    assert os.fspath(Path("server.py")) in index


def test_every_excerpt_in_the_guide_is_part_of_an_example_that_runs() -> None:
    text = GUIDE.read_text("utf-8")
    excerpts = EXCERPT.findall(text)

    assert len(excerpts) == text.count("```yaml\n")
    for file, excerpt in excerpts:
        assert excerpt in (EXAMPLES.parent / file).read_text("utf-8"), file
