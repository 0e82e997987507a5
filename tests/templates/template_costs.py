"""Render everything that a template can name, with large values, and print what costs too much.

    python -m tests.templates.template_costs GROUP [SHARE]

A process of its own per group: memory is what the kernel counts, and a template that allocates
gigabytes, or never ends, takes only this process with it. `SHARE` is which part of the cases is
run, such as `0/20` for every twentieth.
"""

import json
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from jinja2.lexer import operators

from evalwright.templates import Native, Template
from evalwright.templates.mutable import MUTABLE_TEXT

MOST_BYTES = 64_000_000
MOST_S = 5
"""Of CPU time."""
_ROOM = 2**30
"""More than any template takes, and less than the machine has."""

BIG: dict[str, Any] = {
    "text": "ab. <i>1</i>\n" * 10_000,
    "word": "a" * 200_000,
    "wide": "数 \u2028'" * 25_000,
    "numbers": list(range(5_000)),
    "texts": ["text"] * 5_000,
    "rows": [{"a": {"a": n}} for n in range(5_000)],
    "mapping": dict.fromkeys(map(str, range(5_000)), "x"),
    "integer": 16**100_000,
    "small": 3,
    "float": 1e300,
    "digits": "9" * 100_000,
}
"""What a sample may contain: hundreds of kilobytes each."""
_ARGUMENTS = (
    "",
    "'a'",
    "x",
    "10**9",
    "x, x",
    "'a', 'b' * 10000",
    "9999",
    "'\u1234', 'namereplace'",
)
_NAMED = ("width", "precision", "length", "indent", "linecount", "slices", "start", "fill_with")
_MADE = {
    "bytes": "x.encode()",
    "markup": "x|e",
    "set": "dict(x).keys() - ['a']",
    "tuple": "(x, x)",
    "list": "x|list",
    "dict": "dict(a=x)",
    "range": "range(9999)",
    "namespace": "namespace(a=x)",
    "cycler": "cycler(x, x)",
    "joiner": "joiner(x)",
    "items": "dict(a=x).items()",
    "boolean": "x == x",
    "none": "none",
    "undefined": "nothing",
}
"""Values that a template makes, besides those of a sample."""
_OPERATORS = {
    **{name: f"x {name} y" for name in ("+", "-", "*", "/", "//", "%", "**", "~")},
    **{name: f"x {name} y" for name in ("==", "!=", "<", "<=", ">", ">=")},
    "[": "x[y]",
    ":": "x[1:y]",
    "{": "{x: y}",
    "(": "(x, y)",
    "|": "x|join(y)",
    ",": "[x, y]",
    ".": "x.y",
    "=": "dict(a=x, b=y)",
}
"""An expression per operator. `in`, `not`, `and`, `or` and `if` are words."""
_WORDS = ("x in y", "x not in y", "x and y", "x or y", "not x", "-x", "+x", "x if y else x")
_CLOSING = {"]", "}", ")", ";"}


_GROWN = (
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
    "a list that many lists hold, printed": _GROWN + "{{ n.x }}",
    "a list that many lists hold, as JSON": _GROWN + "{{ n.x|tojson }}",
    "a list that many lists hold, compared": _GROWN + "{{ n.x == [n.x][0] }}",
    "a list that many lists hold, passed on": _GROWN + "{{ [[n.x]].index([n.x]) }}",
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
    "groupby with a default": "{{ ('a' * 100000)|groupby('a', 'B' * 10000)|length }}",
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


class Case(NamedTuple):
    """A template, and the names of the values that it is rendered with."""

    source: str
    x: str
    y: str = "text"


def filter_cases() -> Iterator[Case]:
    """Yield every filter with every value, and with arguments."""
    for name in sorted(filter(str.isidentifier, MUTABLE_TEXT.filters)):
        for value in BIG:
            for arguments in _ARGUMENTS:
                yield Case(f"{{{{ x|{name}({arguments})|string|length }}}}", value)
        for named in _NAMED:
            yield Case(f"{{{{ x|{name}({named}=10**9) }}}}", "text")


def test_cases() -> Iterator[Case]:
    """Yield every test with every value, often enough to be expensive."""
    for name in sorted(MUTABLE_TEXT.tests):
        for value, argument in product(BIG, ("", "(x)", "(3)")):
            test = f"{{% if x is {name}{argument} %}}{{% endif %}}"
            yield Case(f"{{% for i in range(30) %}}{test}{{% endfor %}}", value)


def global_cases() -> Iterator[Case]:
    """Yield a call of every global function."""
    for name in sorted(MUTABLE_TEXT.globals):
        for value, arguments in product(BIG, ("", "x", "x, x", "10**9", "0, 10**9", "a=x", "*x")):
            yield Case(f"{{{{ {name}({arguments})|string|length }}}}", value)


def method_cases() -> Iterator[Case]:
    """Yield a call of every method of every value."""
    values = {name: ("x", name) for name in BIG}
    values |= {name: (source, "text") for name, source in _MADE.items()}
    for source, value in values.values():
        with suppress(ValueError):
            for name in dir(Native(f"{{{{ {source} }}}}").raw(x=BIG[value])):
                for arguments in _ARGUMENTS if not name.startswith("_") else ():
                    call = f"({source}).{name}({arguments})"
                    yield Case(f"{{% set r = {call} %}}{{{{ r|string|length }}}}", value)


def operator_cases() -> Iterator[Case]:
    """Yield every operator with every two values; KeyError if Jinja has one that is not here."""
    words = [_OPERATORS[name] for name in operators if name not in _CLOSING]
    for expression, left, right in product([*words, *_WORDS], BIG, BIG):
        yield Case(f"{{{{ ({expression})|string|length }}}}", left, right)


def bomb_cases() -> Iterator[Case]:
    """Yield every bomb."""
    for source in BOMBS.values():
        yield Case(source, "word")


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    "bombs": bomb_cases,
    "filters": filter_cases,
    "tests": test_cases,
    "globals": global_cases,
    "methods": method_cases,
    "operators": operator_cases,
}


def _render(case: Case) -> tuple[int, float]:
    """Return the growth of the most memory ever taken, and the CPU time; a refusal is fine."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what it is now
    before, started = _read_peak(), time.process_time()
    with suppress(ValueError):
        Template(case.source).render(x=BIG[case.x], y=BIG[case.y], big="x" * 10_000)
    return _read_peak() - before, time.process_time() - started


def _read_peak() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _limit_process() -> None:
    size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = size * resource.getpagesize() + _ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process


def main() -> None:
    """Print the number of cases, and those that cost too much, as JSON."""
    group, share = (*sys.argv[1:], "0/1")[:2]
    part, parts = map(int, share.split("/"))
    _limit_process()
    count, costly = 0, []
    for number, case in enumerate(GROUPS[group]()):
        if number % parts != part:
            continue
        sys.stderr.write(f"{json.dumps(case)}\n")  # the last one, if this dies
        sys.stderr.flush()
        signal.setitimer(signal.ITIMER_PROF, 3 * MOST_S)
        peak, seconds = _render(case)
        count += 1
        if peak > MOST_BYTES or seconds > MOST_S:
            costly.append([*case, peak, round(seconds, 1)])
    sys.stdout.write(json.dumps({"count": count, "costly": costly}))


if __name__ == "__main__":
    main()
