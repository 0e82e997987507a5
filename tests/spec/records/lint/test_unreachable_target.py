import pytest
from tests.spec.records.made import lint_tasks

from evalwright.scorers.record import TEXT_METRICS
from evalwright.text.post_process import post_process
from evalwright.types import TaskSpec
from evalwright.vocabulary import LEGAL


def details(category: str, metric: str, step: str, *targets: str) -> list[str]:
    task = TaskSpec(
        task_id="t",
        category=category,  # type: ignore[arg-type]  # words of the vocabulary
        prompt="What is it?",
        targets=targets,
        metric_name=metric,  # type: ignore[arg-type]
        post_process=step,  # type: ignore[arg-type]
    )
    return [one.detail for one in lint_tasks([(1, task)]) if one.rule == "unreachable_target"]


@pytest.mark.parametrize(
    ("case", "targets", "said"),
    [
        pytest.param("classification accuracy lower", ("Positive",), "`lower`", id="a capital"),
        pytest.param(
            "arithmetic exact_match lower", ("Ten", "TEN"), "`lower`", id="capitals everywhere"
        ),
        pytest.param("summary exact_match lower", ("ÉTÉ",), "`lower`", id="an accented capital"),
        pytest.param(
            "summary exact_match extract_first_line", ("a\nb",), "first_line", id="two lines"
        ),
        pytest.param(
            "summary exact_match extract_first_line",
            ("一\u2028二",),
            "first_line",
            id="a line separator",
        ),
        pytest.param("summary bleu_4 none", ("?!",), "`bleu_4`", id="no word for bleu"),
        pytest.param(
            "code_exec code_exec none", ("f(1) ==",), "`targets[0]` is not Python", id="cut off"
        ),
        pytest.param(
            "code_exec code_exec none",
            ("f()", "return f()"),
            "`targets[1]`",
            id="no function to return from",
        ),
        pytest.param("code_exec code_exec none", ("f('\0')",), "not Python", id="a NUL"),
        pytest.param("code_exec code_exec none", ("(" * 500,), "not Python", id="too deep"),
        pytest.param(
            "code_exec code_exec none", ("f()", "assert False"), "pass `targets[1]`", id="fails"
        ),
        pytest.param(
            "code_exec code_exec none",
            ("import a_module_that_is_nowhere\nf()",),
            "`a_module_that_is_nowhere`, which is not installed",
            id="a module that is nowhere",
        ),
    ],
)
def test_what_no_output_can_reach_is_found(case: str, targets: tuple[str, ...], said: str) -> None:
    (detail,) = details(*case.split(), *targets)

    assert said in detail


@pytest.mark.parametrize(
    ("case", "targets"),
    [
        pytest.param("classification accuracy lower", ("positive",), id="in lower case"),
        pytest.param(
            "classification accuracy lower", ("Paris", "paris"), id="one of them can be reached"
        ),
        pytest.param("classification accuracy none", ("Positive",), id="nothing is lowered"),
        pytest.param("classification f1 lower", ("Positive",), id="f1 lowers both sides"),
        pytest.param("classification accuracy lower", ("إيجابي",), id="Arabic has no capitals"),
        pytest.param("classification accuracy lower", ("正面",), id="nor has Chinese"),
        pytest.param(
            "classification accuracy lower", ("groß",), id="a small letter without a capital"
        ),
        pytest.param(
            "summary exact_match extract_first_line",
            ("\n one line \n",),
            id="stripped, it is one line",
        ),
        pytest.param("summary rouge_l extract_first_line", ("a\nb",), id="words do not mind lines"),
        pytest.param("summary exact_match none", ("a\nb",), id="lines are kept"),
        pytest.param("mcq exact_match extract_letter", ("E",), id="a letter"),
        pytest.param(
            "code_exec code_exec none", ("f(1) == 2", "assert f(2) == 3\nassert f(3)"), id="Python"
        ),
        pytest.param("code_exec code_exec none", ("  f(1) == 2",), id="an indented value"),
        pytest.param(
            "code_exec code_exec none", ("f('\\d')", "f() is 1"), id="bad style is no finding"
        ),
    ],
)
def test_what_some_output_reaches_is_left_alone(case: str, targets: tuple[str, ...]) -> None:
    assert details(*case.split(), *targets) == []


STEPS = [
    (category, metric, step)
    for category, legal in LEGAL.items()
    for metric in legal.metrics
    for step in legal.post_processes
    if category not in ("mcq", "code_exec")
]


@pytest.mark.parametrize("target", ["ok", "Not Ok", "two\nlines", " padded ", "B\nb", "x y z w v"])
def test_the_rule_agrees_with_the_metric(target: str) -> None:
    outputs = [target, target.strip(), " ".join(target.split())]
    for category, metric, step in STEPS:
        best = max(TEXT_METRICS[metric](post_process(output, step), [target]) for output in outputs)

        assert bool(details(category, metric, step, target)) == (best < 1), (category, metric, step)
