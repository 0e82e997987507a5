import pytest

from evalwright.judge_check.probes import NotApplicable, swap_prompt


@pytest.mark.parametrize(
    ("source", "turned"),
    [
        pytest.param(
            "Do.\n\nA: {{ a }}\n\nB: {{ b }}\n\n\nC: {{ c }}\n\nNow.",
            "Do.\n\nC: {{ c }}\n\nB: {{ b }}\n\n\nA: {{ a }}\n\nNow.",
            id="labels in their paragraphs",
        ),
        pytest.param("A: {{ a }}\nB: {{ b }}\n", "B: {{ b }}\nA: {{ a }}\n", id="lines"),
        pytest.param(
            "Q:\n{{ q }}\nAnswer:\n{{ a }}\nJudge.",
            "Answer:\n{{ a }}\nQ:\n{{ q }}\nJudge.",
            id="labels on lines of their own",
        ),
        pytest.param(
            "## Data\n\n## Q\n\n{{ q }}\n\n## A\n\n```text\n{{ a }}\n```\n\nJudge.",
            "## Data\n\n## A\n\n```text\n{{ a }}\n```\n\n## Q\n\n{{ q }}\n\nJudge.",
            id="headings and a fence",
        ),
        pytest.param(
            "<q>\n{{ q }}\n</q>\n\n<answer>\n\n{{ a }}\n\n</answer>\nNow",
            "<answer>\n\n{{ a }}\n\n</answer>\n\n<q>\n{{ q }}\n</q>\nNow",
            id="tags with their ends",
        ),
        pytest.param(
            "<q>\n```\n{{ q }}\n```\n</q>\n<a>\n{{ a }}\n</a>",
            "<a>\n{{ a }}\n</a>\n<q>\n```\n{{ q }}\n```\n</q>",
            id="a fence in a tag",
        ),
        pytest.param(
            "<data>\nQ: {{ q }}\nA: {{ a }}\n</data>",
            "<data>\nA: {{ a }}\nQ: {{ q }}\n</data>",
            id="a tag around all of them stays",
        ),
        pytest.param(
            "--- ANSWER ---\n{{ a }}\n--- REFERENCE ---\n{{ b }}\n",
            "--- REFERENCE ---\n{{ b }}\n--- ANSWER ---\n{{ a }}\n",
            id="ruled headings",
        ),
        pytest.param(
            "Judge the following:\n\nQ: {{ q }}\n\nA: {{ a }}\nIs it right?\n",
            "Judge the following:\n\nA: {{ a }}\n\nQ: {{ q }}\nIs it right?\n",
            id="what is about all of them stays",
        ),
        pytest.param(
            "Chat:\n{% for m in a %}{{ m }}\n{% endfor %}\n\nB: {{ b }}",
            "B: {{ b }}\n\nChat:\n{% for m in a %}{{ m }}\n{% endfor %}",
            id="a loop in its paragraph",
        ),
        pytest.param(
            "{% if x %}\n\nA {{ a }}\n\nB {{ b }}\n\n{% endif %}",
            "{% if x %}\n\nB {{ b }}\n\nA {{ a }}\n\n{% endif %}",
            id="all in one block",
        ),
        pytest.param(
            "{% set x = 1 %}\n\nA {{ x }}\n\nB {{ b }}",
            "{% set x = 1 %}\n\nB {{ b }}\n\nA {{ x }}",
            id="a name that is set before all of them",
        ),
        pytest.param(
            "نص: {{ q }}\n\nرد: {{ a }}",
            "رد: {{ a }}\n\nنص: {{ q }}",
            id="from right to left",
        ),
    ],
)
def test_parts_change_places_with_what_says_what_they_are(source: str, turned: str) -> None:
    assert swap_prompt(source) == turned


@pytest.mark.parametrize(
    ("source", "why"),
    [
        pytest.param("Is it right?", "not have two parts", id="no value"),
        pytest.param("Q: {{ a }} or {{ b }}?", "not have two parts", id="two in a line"),
        pytest.param("A: {{ a }}\n\nA: {{ a }}", "not have two parts", id="twice the same"),
        pytest.param("{{ a }}\n\n{{ b }}", "this value has no label", id="bare paragraphs"),
        pytest.param("Q: {{ a }}\n{{ b }}\n", "this value has no label", id="a bare line"),
        pytest.param(
            "Q: {{ a }}\n\n{{ b }}\nRight?", "this value has no label", id="words only after"
        ),
        pytest.param(
            "```text\n{{ a }}\n```\n\nB: {{ b }}", "this value has no label", id="only a language"
        ),
        pytest.param("A: {{ a }}\nand\nB: {{ b }}\n", "`and`", id="words between"),
        pytest.param("Q: {{ q }}\nAnswer:\n\nthe {{ a }}", "`Answer:`", id="a label far away"),
        pytest.param("# Task\n\nQ: {{ q }}\n\nA: {{ a }}", "`# Task`", id="whose heading?"),
        pytest.param(
            "Q: {{ q }}\n\n<two>\nA: {{ a }}\n\nB: {{ b }}\n</two>", "`<two>`", id="torn tags"
        ),
        pytest.param(
            "{% if a %}\n\nA: {{ a }}\n\n{% endif %}\n\nB: {{ b }}", "endif", id="out of an if"
        ),
        pytest.param(
            "{% for m in a %}\nA: {{ m }}\n{% endfor %}\nB: {{ b }}", "endfor", id="out of a loop"
        ),
        pytest.param(
            "{% if a %}A: {{ a }}\n\n{% endif %}B: {{ b }}", "spans several", id="a cut block"
        ),
        pytest.param("Q: {{ q }}\n\nA: {% set y = 2 %}{{ y }}", "spans several", id="a set name"),
        pytest.param(
            "{% macro f(x) %}\n\nA: {{ x }}\n\n{% endmacro %}\n\nB: {{ f(1) }}",
            "endmacro",
            id="out of a macro",
        ),
        pytest.param(
            "{% raw %}\n\nA: {{ a }}\n\nB: {{ b }}\n\n{% endraw %}", "not a template", id="raw text"
        ),
        pytest.param("{#\n\nA: {{ a }}\n\nB: {{ b }}\n\n#}", "a comment", id="a comment"),
    ],
)
def test_parts_that_cannot_be_moved_safely_are_not_and_the_reason_is_told(
    source: str, why: str
) -> None:
    with pytest.raises(NotApplicable, match=why):
        swap_prompt(source)
