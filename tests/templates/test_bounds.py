import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from tests.living import PATIENCE_S
from tests.templates.template_costs import BOMBS, GROUPS

from evalwright.templates import Native, Template
from evalwright.templates.bounds import MAX_OUTPUT


@pytest.mark.parametrize("source", [pytest.param(one, id=name) for name, one in BOMBS.items()])
@pytest.mark.parametrize("kind", ["text", "native"])
def test_a_bomb_does_not_go_off(kind: str, source: str) -> None:
    started = time.process_time()
    run = Template(source).render if kind == "text" else Native(source).evaluate

    with pytest.raises(ValueError, match=r"\(line \d\)"):
        run(big="x" * 10_000)

    assert time.process_time() - started < 10, "of CPU, on a machine that is busy"


def measure(group: str, *share: str) -> Any:
    """Render the templates of a group in a process of its own; return what it found."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.templates.template_costs", group, *share],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    last = done.stderr.splitlines()[-1:]
    assert done.returncode == 0, f"it ended with {done.returncode} at {last}"
    return json.loads(done.stdout)


NEEDS_PEAKS = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="peaks of memory cannot be measured"
)


@NEEDS_PEAKS
@pytest.mark.parametrize("group", sorted(GROUPS))
def test_of_all_that_a_template_can_name_a_share_costs_little(group: str) -> None:
    found = measure(group, "0/37")

    assert found["costly"] == []
    assert found["count"]


@NEEDS_PEAKS
@pytest.mark.slow
@pytest.mark.parametrize("group", sorted(GROUPS))
def test_nothing_that_a_template_can_name_takes_64_mb_or_5_s(group: str) -> None:
    assert measure(group)["costly"] == []


def test_a_regular_expression_that_backtracks_is_stopped() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    template = Template("{{ x|regex_replace('(a+)+$', 'x') }}")

    with pytest.raises(ValueError, match="a regular expression took more than 2 s"):
        template.render(x="a" * 40 + "b")

    assert template.render(x="aa") == "x"
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)


def test_a_text_of_very_many_parts_is_not_read_as_a_literal() -> None:
    with pytest.raises(ValueError, match="a literal may have at most 50,000 parts"):
        Native("{{ x }}").evaluate(x="[" + "1," * 60_000 + "]")

    assert Native("{{ x }}").evaluate(x="[" + "1," * 10_000 + "]") == [1] * 10_000


def test_comparisons_are_those_of_python() -> None:
    source = "{{ 1 < 2 < 3, 3 > 2 > 2, 1 in [1], 1 not in [1], 2 >= 2 <= 3, 1 > 2 > none.x }}"

    assert Template(source).render() == "(True, False, True, False, True, False)"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("{{ ''.__class__ }}", id="class"),
        pytest.param("{{ ''['__class__'] }}", id="class by key"),
        pytest.param("{{ ''|attr('__class__') }}", id="class by filter"),
        pytest.param("{{ '{0.__class__}'.format(1) }}", id="class by format"),
        pytest.param("{{ range.__globals__ }}", id="globals"),
        pytest.param("{% set add = sample.append %}{{ add(1) }}", id="a method by another name"),
        pytest.param("{{ (sample|attr('append'))(1) }}", id="a method by filter"),
        pytest.param("{{ ([sample]|map(attribute='append')|first)(1) }}", id="a method by map"),
        pytest.param("{{ dict.update({}, {'a': 1}) }}", id="a method of a class"),
        pytest.param("{{ (dict|attr('update'))({}, {}) }}", id="a method of a class by filter"),
        pytest.param("{{ lipsum() }}", id="lipsum"),
        pytest.param("{{ sample._private }}", id="underscore"),
    ],
)
def test_a_template_reaches_nothing_and_changes_nothing(source: str) -> None:
    sample = [1]

    with pytest.raises(ValueError, match=r"not accessible|call it directly|does not exist"):
        Template(source).render(sample=sample)

    assert sample == [1]


def test_an_output_of_a_mebibyte_is_the_longest() -> None:
    assert len(Template("{{ x }}").render(x="a" * MAX_OUTPUT)) == MAX_OUTPUT

    with pytest.raises(ValueError, match="longer than 1,048,576"):
        Template("{{ x }}b").render(x="a" * MAX_OUTPUT)


def test_honest_work_is_within_the_bounds() -> None:
    messages = [{"role": "user", "content": "word " * 200}] * 500
    source = (
        "{% for m in messages %}{{ loop.index }}. {{ m.role|upper ~ ':' }} {{ m.content|trim }}\n"
        "{% endfor %}{{ messages|map(attribute='role')|unique|join(', ') }}"
        "{{ '%5.1f' % 3.14159 }}{{ '{:>8}'.format('x') }}{{ 2**64 }}{{ 'ab' * 3 }}"
    )

    assert (
        Template(source)
        .render(messages=messages)
        .endswith("user  3.1       x18446744073709551616ababab")
    )


def test_each_render_has_a_budget_of_its_own() -> None:
    template = Template("{% for i in range(9999) %}{% endfor %}{{ 'x' * 7000000 == '' }}")

    assert [template.render() for _ in range(3)] == ["False"] * 3
