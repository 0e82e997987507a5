import subprocess
import sys
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evalwright.nearest import nearest
from evalwright.vocabulary import CATEGORIES, FIELDS, METRIC_NAMES, POST_PROCESSES

ALL = (*FIELDS, *METRIC_NAMES)
NAMES = st.sampled_from(sorted({*ALL, *CATEGORIES, *POST_PROCESSES}))


@pytest.mark.parametrize(
    ("word", "candidates", "expected"),
    [
        pytest.param("metrc_name", FIELDS, "metric_name", id="a letter missing"),
        pytest.param("taskk_id", FIELDS, "task_id", id="a letter too many"),
        pytest.param("prompz", FIELDS, "prompt", id="a letter replaced"),
        pytest.param("rogue_l", METRIC_NAMES, "rouge_l", id="two neighbours swapped"),
        pytest.param("exactmatch", METRIC_NAMES, "exact_match", id="an underscore missing"),
        pytest.param("Exact-Match", METRIC_NAMES, "exact_match", id="case and hyphen"),
        pytest.param(" CODE EXEC ", CATEGORIES, "code_exec", id="case and spaces"),
        pytest.param("exactMatch", METRIC_NAMES, "exact_match", id="camel case"),
        pytest.param("target", FIELDS, "targets", id="singular"),
        pytest.param("rouge-L", METRIC_NAMES, "rouge_l", id="as papers write it"),
        pytest.param("F1", METRIC_NAMES, "f1", id="a short name, in the wrong case"),
        pytest.param("f2", METRIC_NAMES, "f1", id="a short name, half right"),
        pytest.param("mqc", CATEGORIES, "mcq", id="a short name, swapped"),
        pytest.param("metric", FIELDS, "metric_name", id="cut short"),
        pytest.param("strip", POST_PROCESSES, "strip_whitespace", id="cut very short"),
        pytest.param("f1_score", METRIC_NAMES, "f1", id="grown"),
        pytest.param("lowercase", POST_PROCESSES, "lower", id="grown by a word"),
        pytest.param("extract", POST_PROCESSES, None, id="cut short, but three names start so"),
        pytest.param("multiple_choice", CATEGORIES, None, id="a synonym is not close"),
        pytest.param("extract_line", POST_PROCESSES, None, id="four edits are too many"),
        pytest.param("upper", POST_PROCESSES, None, id="three edits are too many for five letters"),
        pytest.param("name", FIELDS, None, id="the end of a name is not its start"),
        pytest.param("x", METRIC_NAMES, None, id="one letter says nothing"),
        pytest.param("", METRIC_NAMES, None, id="empty"),
        pytest.param("prompt" * 1_000_000, FIELDS, None, id="a word too long to be a name"),
        pytest.param("精确匹配", METRIC_NAMES, None, id="another script"),
        pytest.param("pr\u03bfmpt", FIELDS, "prompt", id="a Greek omicron among the letters"),
        pytest.param("bat", ("cat", "hat"), "cat", id="of equals, the first"),
        pytest.param(
            "hats", ("cats", "hat", "hots"), "cats", id="of equals at one edit, the first"
        ),
        pytest.param("abcdxx", ("abcdef", "abcdex"), "abcdex", id="the closer one, though later"),
        pytest.param("a_b", ("A B", "a-b"), "A B", id="candidates come back as they were given"),
        pytest.param("f1", (), None, id="no candidates"),
    ],
)
def test_the_closest_legal_name(word: str, candidates: tuple[str, ...], expected: str) -> None:
    assert nearest(word, candidates) == expected


def test_candidates_may_be_any_sequence() -> None:
    assert nearest("prompz", list(FIELDS)) == "prompt"


@given(NAMES)
def test_a_legal_name_is_nearest_to_itself(name: str) -> None:
    assert nearest(name, (*ALL, *CATEGORIES, *POST_PROCESSES)) == name


@given(NAMES, st.data())
def test_a_dropped_letter_is_found_again(name: str, data: st.DataObject) -> None:
    assume(len(name) > 3)
    position = data.draw(st.integers(0, len(name) - 1))

    assert nearest(name[:position] + name[position + 1 :], [name]) == name


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=6))
def test_what_comes_back_is_a_candidate(word: str, candidates: list[str]) -> None:
    assert nearest(word, candidates) in {None, *candidates}


def test_a_million_typos_would_take_seconds_not_minutes() -> None:
    typos = [f"{name[:3]}{number}{name[4:]}" for number in range(2_000) for name in ALL]

    start = time.process_time()
    for typo in typos:
        nearest(typo, ALL)
    spent = time.process_time() - start

    assert spent / len(typos) < 150e-6  # ten times what it takes on a slow, busy machine


def test_importing_it_is_cheap() -> None:
    program = "import sys, evalwright.nearest; print({'difflib', 'rapidfuzz'} & {*sys.modules})"

    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert shown.stdout.strip() == "set()"
