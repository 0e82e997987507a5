import random
import time
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance.LCSseq import distance
from tests.spec.records.made import lint_tasks

from evalwright.spec.records.lint.corpus import PromptCorpus
from evalwright.spec.records.lint.linter import Linter
from evalwright.spec.records.lint.several_records import SimilarTexts
from evalwright.spec.records.lint.words import split_words
from evalwright.types import Example, TaskSpec

STORY = (
    "A farmer walks to the market with a basket of eggs and sells most of them before noon, "
    "then he buys bread for his family and walks slowly home along the river. What did he buy?"
)
INSTRUCTION = (
    "Classify the sentiment of the following review as one of the three labels that the guide "
    "defines. Answer with the label alone, in lower case, and add no explanation. Review: "
)


def task(name: str, prompt: str, target: str = "loaf", **others: object) -> TaskSpec:
    fields: dict[str, object] = {"category": "summary", "metric_name": "exact_match"} | others
    return TaskSpec(
        task_id=name,
        prompt=prompt,
        targets=(target,),
        post_process="none",
        **fields,  # type: ignore[arg-type]  # words of the vocabulary
    )


def found(tasks: Iterable[TaskSpec]) -> dict[str | None, str]:
    located = enumerate(tasks, start=1)
    return {one.task_id: one.detail for one in lint_tasks(located) if one.rule == "near_duplicate"}


ARABIC = (
    "يذهب المزارع إلى السوق صباح كل يوم ومعه سلة كبيرة من البيض "
    "الطازج ثم يعود إلى بيته قبل الظهر ويشتري الخبز والحليب لأطفاله"
)
CHINESE = "农夫每天早上提着一篮新鲜的鸡蛋去市场卖到中午以前就回家了他买了什么"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(STORY, STORY.replace("slowly", "quickly"), id="one word of thirty-four"),
        pytest.param(STORY, STORY.replace(" slowly", ""), id="one word left out"),
        pytest.param(STORY, STORY.replace("farmer", "framer"), id="a slip of the keys"),
        pytest.param(ARABIC, ARABIC.replace("كبيرة", "صغيرة"), id="Arabic"),
        pytest.param(CHINESE, CHINESE.replace("新", "很"), id="Chinese, one character"),
    ],
)
def test_nearly_the_same_words_with_the_same_target_are_found(one: str, other: str) -> None:
    detail = found([task("a", one), task("x", "Another question."), task("b", other)])["b"]

    assert detail.startswith("nearly the same words as line 1 (`a`)")


@pytest.mark.parametrize(
    ("other", "target", "said"),
    [
        pytest.param("So: what is it", "loaf", "so the record counts twice", id="the same target"),
        pytest.param("“So what is it?”", "milk", "with different targets", id="another target"),
    ],
)
def test_the_same_words_are_found_however_few(other: str, target: str, said: str) -> None:
    detail = found([task("a", "So, what is it?"), task("b", other, target)])["b"]

    assert detail.startswith("the same words as line 1 (`a`)")
    assert said in detail


NUMBERS = (
    "At the fair a ride costs 4 coins and a drink costs 3 coins. "
    "How many coins do 5 rides and 2 drinks cost in all?"
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(task("a", STORY), task("b", STORY), id="an exact copy is duplicate_prompt's"),
        pytest.param(
            task("a", STORY), task("b", STORY.replace("slowly", "home"), "milk"), id="other targets"
        ),
        pytest.param(
            task("a", NUMBERS),
            task("b", NUMBERS.replace("5", "6")),
            id="another number, the same target",
        ),
        pytest.param(task("a", "What is 17 + 24?"), task("b", "What is 17 + 25?"), id="arithmetic"),
        pytest.param(
            task("a", "What is 2 + 2?", "4"),
            task("b", "What is 2 * 2?", "4"),
            id="another operator",
        ),
        pytest.param(task("a", "(2 + 3) * 4"), task("b", "2 + (3 * 4)"), id="other brackets"),
        pytest.param(
            task("a", "Who wrote Emma?"), task("b", "Who wrote Persuasion?"), id="short questions"
        ),
        pytest.param(task("a", "¿¡…!?"), task("b", "!!"), id="no words at all"),
        pytest.param(
            task("a", STORY),
            task("b", STORY.replace("slowly", "home"), few_shot_examples=(Example("x", "y"),)),
            id="without and with examples",
        ),
        pytest.param(
            task("a", STORY * 3 + " What did he sell there?"),
            task("b", STORY * 3 + " Where does his way home lead him?"),
            id="one passage, two questions",
        ),
    ],
)
def test_what_is_another_question_is_left_alone(one: TaskSpec, other: TaskSpec) -> None:
    assert found([one, other]) == {}


def test_a_template_does_not_make_questions_alike() -> None:
    reviews = [
        "I really love that movie.",
        "I really love that book.",
        "We had a lovely evening there.",
        "It works as it should.",
        "My dog is happy with it.",
        "The best soup in town.",
        "I really love that song.",
    ]

    assert found(task(f"t{n}", INSTRUCTION + text, "good") for n, text in enumerate(reviews)) == {}


def test_under_a_template_questions_are_compared_by_what_is_their_own() -> None:
    fillers = ["one", "two", "three", "four", "five", "six"]
    tasks = [task(name, f"{INSTRUCTION} {name} is another thing.", "good") for name in fillers]
    tasks += [
        task("a", INSTRUCTION + STORY),
        task("b", INSTRUCTION + STORY.replace("slowly", "home")),
    ]

    assert set(found(tasks)) == {"b"}


def test_of_a_chain_all_but_the_first_are_named_whatever_the_order() -> None:
    chain = [
        STORY,
        STORY.replace("slowly", "home"),
        STORY.replace("slowly", "home").replace("noon", "two"),
    ]
    tasks = [task(str(number), text) for number, text in enumerate(chain)]

    assert set(found(tasks)) == {"1", "2"}
    assert set(found([tasks[0], tasks[2], tasks[1]])) == {"2", "1"}
    assert set(found(tasks[::-1])) == {"1", "0"}


@given(st.integers(0, 2**32))
def test_the_index_finds_what_comparing_all_pairs_finds(seed: int) -> None:
    dice = random.Random(seed)
    texts = [dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(20, 60)) for _ in range(3)]
    for text in dice.choices(texts, k=2):
        changed = list(text)
        for place in dice.sample(range(len(text)), dice.randint(1, 3)):
            changed[place] = dice.choice("αβγδ")
        texts.append(changed)
    corpus = PromptCorpus()
    for number, text in enumerate(texts):
        prompt = " ".join(text)
        corpus.add(number, task(str(number), prompt), split_words(prompt))

    expected = {
        (corpus.first(one), corpus.first(other))
        for one in range(len(corpus))
        for other in range(one + 1, len(corpus))
        if distance(texts[corpus.first(one)], texts[corpus.first(other)])
        <= min(4, max(len(texts[corpus.first(one)]), len(texts[corpus.first(other)])) // 20)
    }
    assert {
        (corpus.first(a), corpus.first(b))
        for a, b in SimilarTexts(corpus, may_match=corpus.share_a_target).pairs()
    } == expected


def test_prompts_beyond_the_bound_are_counted_not_compared() -> None:
    linter = Linter(most_words=40)
    for line, text in enumerate([STORY, STORY.replace("slowly", "home"), STORY], start=1):
        linter.look(line, task(str(line), text))

    assert [issue.rule for issue in linter.end()] == ["duplicate_prompt"]
    assert linter.notes == [
        "1 prompts were not checked for near duplicates: the file has more than 40 words"
    ]


def test_ten_thousand_records_take_seconds() -> None:
    dice = random.Random(3)
    vocabulary = [f"w{number}q" for number in range(3000)]
    tasks = [task(str(n), " ".join(dice.choices(vocabulary, k=50)), str(n)) for n in range(10_000)]

    began = time.process_time()
    assert found(tasks) == {}
    assert time.process_time() - began < 10
