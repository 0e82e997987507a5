import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.spec.records.lint import corpus as module
from evalwright.spec.records.lint.corpus import PromptCorpus, phrase
from evalwright.spec.records.lint.words import split_words
from evalwright.types import TaskSpec

WORDS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=0, max_size=8)


def task(prompt: str) -> TaskSpec:
    return TaskSpec(
        task_id="t",
        category="summary",
        prompt=prompt,
        targets=("x",),
        metric_name="f1",
        post_process="none",
    )


@given(
    st.lists(WORDS, max_size=6),
    st.lists(WORDS.filter(lambda some: 1 <= len(some) <= 3), max_size=4),
    st.integers(1, 9),
)
def test_phrases_are_found_where_they_stand(
    prompts: list[list[str]], phrases: list[list[str]], block: int
) -> None:
    corpus = PromptCorpus()
    numbers = {
        corpus.add(number, task(" ".join(prompt)), split_words(" ".join(prompt)))[0]: prompt
        for number, prompt in enumerate(prompts)
    }
    expected = sorted(
        (index, number)
        for index, wanted in enumerate(phrases)
        if wanted not in phrases[:index]
        for number, prompt in numbers.items()
        if any(prompt[at : at + len(wanted)] == wanted for at in range(len(prompt)))
    )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        found = sorted(
            corpus.find_phrases([phrase(split_words(" ".join(some)).all) for some in phrases])
        )

    assert [(phrases[index], number) for index, number in found] == [
        (phrases[index], number) for index, number in expected
    ]
