import signal
import time
import tracemalloc
from contextlib import suppress
from itertools import product
from typing import Any

import pytest

from evalwright.templates import Native, Template
from evalwright.templates.bounds import MAX_OUTPUT
from evalwright.templates.environment import TEXT

MOST_BYTES = 64_000_000
MOST_S = 5.0
"""Of CPU time."""

GROWN = (
    "{% set a = [] %}{% set n = namespace(x=a) %}"
    "{% for i in range(16) %}{% set n.x = [n.x, n.x] %}{% endfor %}"
    "{% for i in range(9000) %}{% do a.append(1) %}{% endfor %}"
)
"""A list of 9,000 items that is 65,536 times in another."""
BOMBS = {
    "power": "{{ 9**(9**9) }}",
    "power of powers": "{{ 2**(2**(2**(2**(2**2)))) }}",
    "repeated string": "{{ 'a' * 10**9 }}",
    "repeated list": "{{ [0] * 10**9 }}",
    "repeated from the left": "{{ 10**9 * 'a' }}",
    "width by %": "{{ '%999999999d' % 1 }}",
    "width by % and *": "{{ '%*d' % (10**9, 1) }}",
    "precision by %": "{{ '%.999999999f' % 1.5 }}",
    "width by the filter format": "{{ '%999999999d'|format(1) }}",
    "width by format": "{{ '{:>999999999}'.format(1) }}",
    "width by format and an argument": "{{ '{:{w}}'.format(1, w=10**9) }}",
    "width by format_map": "{{ '{a:>999999999}'.format_map({'a': 1}) }}",
    "many fields of %": "{{ ('%(a)s' * 100000) % {'a': 'x' * 100000} }}",
    "many fields of format": "{{ ('{0}' * 100000).format('x' * 100000) }}",
    "center": "{{ 'x'|center(1000000000) }}",
    "center by map": "{{ ['x']|map('center', 10**9)|list }}",
    "method center": "{{ 'x'.center(10**9) }}",
    "method center by name": "{{ 'x'['center'](10**9) }}",
    "ljust": "{{ 'x'.ljust(10**9) }}",
    "zfill": "{{ 'x'.zfill(10**9) }}",
    "expandtabs": "{{ '\t'.expandtabs(10**9) }}",
    "to_bytes": "{{ (1).to_bytes(10**10, 'big') }}",
    "bytes": "{{ 'x'.encode().center(10**9) }}",
    "translate": "{{ ('a' * 10000).translate({97: 'b' * 10000}) }}",
    "replace": "{{ ('a' * 100000).replace('', 'b' * 100000) }}",
    "filter replace": "{{ ('a' * 100000)|replace('', 'b' * 100000) }}",
    "regex_replace": "{{ ('a' * 100000)|regex_replace('', 'b' * 100000) }}",
    "regex_replace with groups": (
        "{{ ('a' * 100000)|regex_replace('', '\\\\g<0>' ~ 'b' * 100000) }}"
    ),
    "join": "{{ (['a' * 100000] * 1000)|join }}",
    "join of a generator": "{{ (['a' * 10000] * 1000)|map('upper')|join('b' * 10000) }}",
    "method join": "{{ ('a' * 100000).join('b' * 1000) }}",
    "indent": "{{ 'x'|indent(1000000000) }}",
    "indent by text": "{{ ('\n' * 10000)|indent('x' * 10000, true) }}",
    "tojson indent": "{{ [1]|tojson(indent=1000000000) }}",
    "round": "{{ 3.5|round(1000000000, 'ceil') }}",
    "batch": "{{ [1]|batch(1000000000, 'x')|list }}",
    "slice": "{{ [1]|slice(1000000000)|list }}",
    "sum of lists": "{{ ([range(10000)|list] * 100)|sum(start=[]) }}",
    "range": "{{ range(10001) }}",
    "loops in loops": (
        "{% for i in range(9999) %}{% for j in range(9999) %}{{ 1 }}{% endfor %}{% endfor %}"
    ),
    "a text that doubles with ~": (
        "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}"
        "{% endfor %}"
    ),
    "a text that doubles with +": (
        "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}"
        "{% endfor %}"
    ),
    "a list that doubles": (
        "{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}"
        "{% endfor %}"
    ),
    "a dict that doubles": (
        "{% set n = namespace(x=1) %}{% for i in range(99) %}"
        "{% set n.x = {'a': n.x, 'b': n.x} %}{% endfor %}"
    ),
    "a number that squares itself": (
        "{% set n = namespace(x=9) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}"
    ),
    "a macro that calls itself twice": (
        "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(40) }}"
    ),
    "a macro without end": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "a loop that calls itself": (
        "{% for x in [1, 2] recursive %}{% if loop.depth < 50 %}{{ loop([1, 2]) }}{% endif %}"
        "{% endfor %}"
    ),
    "a list that grows while a loop runs over it": (
        "{% set xs = [1] %}{% for x in xs %}{% do xs.append(x) %}{% endfor %}"
    ),
    "a list that extends itself": (
        "{% set xs = [1] %}{% for i in range(99) %}{% do xs.extend(xs) %}{% endfor %}"
    ),
    "many ranges in a list": (
        "{% set xs = [] %}{% for i in range(9999) %}{% do xs.extend(range(9999)) %}{% endfor %}"
    ),
    "a list that many lists hold, printed": GROWN + "{{ n.x }}",
    "a list that many lists hold, as JSON": GROWN + "{{ n.x|tojson }}",
    "a list that many lists hold, compared": GROWN + "{{ n.x == [n.x][0] }}",
    "a list that many lists hold, passed on": GROWN + "{{ [[n.x]].index([n.x]) }}",
    "a list that holds itself": "{% set xs = [1] %}{% do xs.append(xs) %}{{ xs }}",
    "many widths by %": "{{ ('%(a)9999d' * 100000) % {'a': 1} }}",
    "many widths by format": "{{ ('{0:9999}' * 100000).format(1) }}",
    "round by name": "{{ 3.5|round(precision=1000000000, method='ceil') }}",
    "batch by name": "{{ [1]|batch(linecount=300000000, fill_with='x')|list|length }}",
    "slice by name": "{{ [1]|slice(slices=300000000)|list|length }}",
    "wordwrap long": "{{ ('x'*1000000)|wordwrap(1) }}",
    "wordwrap wrapstring": "{{ ('x '*10000)|wordwrap(1, wrapstring='y'*100000) }}",
    "wordwrap hyphen": "{{ ('a-'*400000)|wordwrap(5) }}",
    "urlize target": "{{ ('http://a.b '*20000)|urlize(target='x'*100000) }}",
    "urlize parens": "{{ ('('*200000 ~ 'a.com' ~ ')'*200000)|urlize }}",
    "urlize words": "{{ ('a.com '*170000)|urlize }}",
    "urlize word": "{{ ('a.'*500000)|urlize }}",
    "urlize @": "{{ ('a@'*500000)|urlize }}",
    "division of huge integers": "{{ ('f'*4000000)|int(0,16) // ('f'*2000000)|int(0,16) == 1 }}",
    "remainder of huge integers": "{{ ('f'*4000000)|int(0,16) % ('f'*2000000)|int(0,16) == 1 }}",
    "divisibleby": "{{ ('f'*4000000)|int(0,16) is divisibleby(('f'*2000000)|int(0,16)) }}",
    "big ints": "{{ [2**9999] * 900000 }}",
    "namereplace": "{{ ('ሴ'*1000000).encode('ascii','namereplace')|length }}",
    "strip": "{{ ('x'*1000000).strip('y'*1000000 ~ 'x') }}",
    "striptags": "{{ ('<!--a-->'*120000)|striptags }}",
    "striptags2": "{{ ('<'*1000000)|striptags }}",
    "list of chars": "{{ ('ሴ'*5000000)|list|length }}",
    "split": "{{ ('a '*3000000).split()|length }}",
    "fromjson": "{{ ('[' ~ '[],'*1000000 ~ '1]')|fromjson|length }}",
    "pprint": "{{ ([[1]]*300000)|pprint }}",
    "title": "{{ ('a '*3000000)|title|length }}",
    "in, in loops": (
        "{% set xs=range(9999)|list %}{% for i in range(9999) %}"
        "{% for j in range(50) %}{% if -1 in xs %}1{% endif %}{% endfor %}{% endfor %}"
    ),
    "equal texts, in loops": (
        "{% set a=big*100~'a' %}{% set b=big*100~'a' %}{% for i in range(9999) %}"
        "{% for j in range(50) %}{% if a==b %}{% endif %}{% endfor %}{% endfor %}"
    ),
    "slices, in loops": (
        "{% for i in range(9999) %}{% for j in range(50) %}{% set t=big[1:] %}"
        "{% endfor %}{% endfor %}"
    ),
    "blocks, in loops": (
        "{% for i in range(9999) %}{% for j in range(20) %}{% set t %}{{ big }}"
        "x{% endset %}{% endfor %}{% endfor %}"
    ),
    "lists in a block": (
        "{% set xs=range(9999)|list %}{% set t %}{% for i in range(9999) %}{{ xs }}"
        "{% endfor %}{% endset %}"
    ),
    "list.index": (
        "{% set xs=range(9999)|list %}{% for i in range(9999) %}{% if xs.count(-1) %}"
        "{% endif %}{% if xs.count(-1) %}{% endif %}{% endfor %}"
    ),
    "find": (
        "{% for i in range(9999) %}{% if (big*100).find('zz') %}{% endif %}"
        "{% if (big*100).count('zz') %}{% endif %}{% endfor %}"
    ),
    "a test that searches": (
        "{% set xs=range(9999)|list %}{% for i in range(9999) %}"
        "{% for j in range(50) %}{% if -1 is in xs %}{% endif %}{% endfor %}"
        "{% endfor %}"
    ),
    "a filter that searches": (
        "{% set xs=range(9999)|list %}{% for j in range(30) %}"
        "{% if ([-1]*9999)|select('in', xs)|list %}{% endif %}{% endfor %}"
    ),
    "a test that prints": (
        "{% set xs=range(9999)|list %}{% for i in range(9999) %}"
        "{% for j in range(50) %}{% if xs is upper %}{% endif %}{% endfor %}"
        "{% endfor %}"
    ),
    "escape": '{{ ("\'"*10000000)|e|length }}',
    "attribute": (
        "{{ ([{'a': 1}]*1000)|map(attribute='a' ~ '.a'*500000, default={'a':1})|list|length }}"
    ),
    "many arguments": (
        "{% set xs=range(9999)|list*50 %}{% for i in range(9999) %}"
        "{% set c=cycler(*xs) %}{% endfor %}"
    ),
    "tojson": "{{ ([1.5]*1500000)|tojson|length }}",
    "center by name": "{{ 'x'|center(width=10**9) }}",
    "ljust kw": "{{ 'x'.ljust(width=10**9) }}",
    "wide characters": "{{ ('😀'*15000000)|length }}",
    "json_escape": "{{ ('\x01'*7000000)|json_escape|length }}",
    "urlencode": "{{ ('😀'*3000000)|urlencode|length }}",
    "random": "{{ ([[1]]*900000)|random }}",
    "zip": "{{ ([0]*1000000)|zip([0]*100000)|length }}",
    "xmlattr": "{{ {'a': \"'\"*8000000}|xmlattr|length }}",
    "sort": "{{ ([big]*1500)|sort|length }}",
    "groupby": "{{ ([{'a':big}]*1500)|groupby('a')|length }}",
    "filesizeformat": "{{ ('f'*4000000)|int(0,16)|filesizeformat }}",
    "from_bytes": (
        "{% set f = (0).from_bytes %}{{ f(('x' * 4000000).encode(), 'big') //"
        " f(('x' * 2000000).encode(), 'big') == 2 }}"
    ),
    "a long output": "{% for i in range(1000) %}{{ big }}{% endfor %}",
}


@pytest.mark.parametrize("source", [pytest.param(one, id=name) for name, one in BOMBS.items()])
@pytest.mark.parametrize("kind", ["text", "native"])
def test_a_bomb_does_not_go_off(kind: str, source: str) -> None:
    started = time.process_time()
    run = Template(source).render if kind == "text" else Native(source).evaluate

    with pytest.raises(ValueError, match=r"\(line \d\)"):
        run(big="x" * 10_000)

    assert time.process_time() - started < 10, "of CPU, on a machine that is busy"


BIG: dict[str, Any] = {
    "text": "ab. <i>1</i>\n" * 10_000,
    "wide": "数 \u2028'" * 25_000,
    "numbers": list(range(5_000)),
    "texts": ["text"] * 5_000,
    "rows": [{"a": {"a": n}} for n in range(5_000)],
    "mapping": dict.fromkeys(range(5_000), "x"),
    "integer": 16**100_000,
}
"""What a sample may contain: hundreds of kilobytes each."""


def measure(source: str, **variables: Any) -> tuple[int, float]:
    """Return the peak of memory and the CPU time of a render; a refusal is a ValueError."""
    template = Template(source)
    tracemalloc.start()
    started = time.process_time()
    try:
        with suppress(ValueError):
            template.render(**variables)
        return tracemalloc.get_traced_memory()[1], time.process_time() - started
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_no_bomb_takes_more_than_64_mb() -> None:
    peaks = {name: measure(source, big="x" * 10_000)[0] for name, source in BOMBS.items()}

    assert {name: peak for name, peak in peaks.items() if peak > MOST_BYTES} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(name for name in TEXT.filters if name.isidentifier()))
def test_no_filter_takes_long_or_much(name: str) -> None:
    for key, value in BIG.items():
        for more in ("", "('a')", "(x)", "(10**9)"):
            peak, seconds = measure(f"{{{{ x|{name}{more} }}}}", x=value)

            assert peak < MOST_BYTES, (key, more)
            assert seconds < MOST_S, (key, more)


METHODS = sorted(
    {(kind, name) for kind in ("text", "numbers", "mapping", "integer") for name in dir(BIG[kind])}
)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [each for each in METHODS if each[1][0] != "_"])
def test_no_method_takes_long_or_much(kind: str, name: str) -> None:
    for key in (kind, "wide") if kind == "text" else (kind,):
        value = BIG[key]
        for arguments in ("", "1", "'a'", "x", "x, x", "10**9", "'ascii', 'namereplace'"):
            peak, seconds = measure(f"{{{{ x.{name}({arguments}) }}}}", x=value)

            assert peak < MOST_BYTES, (key, arguments)
            assert seconds < MOST_S, (key, arguments)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TEXT.tests))
def test_no_test_takes_long_or_much(name: str) -> None:
    for key, value in BIG.items():
        for more in ("", "(x)", "(3)"):
            test = f"{{% if x is {name}{more} %}}{{% endif %}}"
            source = f"{{% for i in range(300) %}}{test}{{% endfor %}}"
            with suppress(ValueError):
                peak, seconds = measure(source, x=value)

                assert peak < MOST_BYTES, (key, more)
                assert seconds < MOST_S, (key, more)


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "//", "%", "**", "~", "==", "<", "in"])
def test_no_operator_takes_long_or_much(operator: str) -> None:
    for left, right in product(BIG, repeat=2):
        source = f"{{{{ (x {operator} y)|string|length }}}}"
        peak, seconds = measure(source, x=BIG[left], y=BIG[right])

        assert peak < MOST_BYTES, (left, right)
        assert seconds < MOST_S, (left, right)


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
