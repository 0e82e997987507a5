"""Forging, by the wire: a candidate that speaks to the evaluator in its own words.

It finds the socket that it is asked over, and says there what no honest candidate would. None of it
may pass, and none of it may keep the evaluator from saying so.
"""

from typing import Any

from tests.sandbox.attacks.table import EITHER, Attack, forged, held

_NO_WIRE = "there is no wire where there is one process"

_CHANNEL = """
import json, os, socket, stat, struct, threading, time
def is_socket(number):
    try: return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError: return False
channel = next(number for number in range(3, 256) if is_socket(number))
def frame(message): return raw_frame(json.dumps(message).encode())
def raw_frame(body): return len(body).to_bytes(4, 'big') + body
def hear():
    size = int.from_bytes(os.read(channel, 4), 'big')
    data = b''
    while len(data) < size: data += os.read(channel, size - len(data))
    return json.loads(data)
"""


def _says(name: str, expression: str, *targets: str, **more: Any) -> Attack:
    """In the call, these bytes go over the wire, and no others."""
    source = (
        f"{_CHANNEL}\ndef answer(*_):\n"
        f"    os.write(channel, {expression})\n"
        "    while True: time.sleep(1000)\n"
    )
    return forged(name, source, *targets, because=_NO_WIRE, **{"outcomes": "error", **more})


def _replies(name: str, form: str, *targets: str, **more: Any) -> Attack:
    """In the call, this form is the answer."""
    return _says(name, f"frame(['ok', {form}, []])", *targets, **more)


def _serves(
    name: str, answer: str, *targets: str, names: str = "[['answer', ['h', 0, 'x']]]"
) -> Attack:
    """It never comes back, and answers the evaluator itself: to everything the same."""
    source = (
        f"{_CHANNEL}\nos.write(channel, frame(['ran', '', {names}]))\n"
        f"while True:\n    request = hear()\n    os.write(channel, frame({answer}))\n"
    )
    return forged(name, source, *targets, because=_NO_WIRE)


ATTACKS = [
    _says("garbage", "b'\\xab' + os.urandom(63)"),  # a small length would be waited for
    _says("text", "b'passed' * 10"),
    _says("a length without end", "b'\\xff\\xff\\xff\\xff' + b'x'"),
    _says("a length below zero", "b'\\x80\\0\\0\\0'"),
    _says("no words", "raw_frame(b'')"),
    _says("no JSON", "raw_frame(b'{')"),
    _says("no text", "raw_frame(b'\\xff\\xfe')"),
    _says("brackets without end", "raw_frame(b'[' * 1_000_000)"),
    _says("brackets that close", "raw_frame(b'[' * 100_000 + b']' * 100_000)"),
    _says("a number", "frame(5)"),
    _says("nothing", "frame([])"),
    _says("a word that is none", "frame(['passed', True, []])"),
    _says(
        "a record of the verdict", "frame({'type': 'target', 'outcome': 'passed', 'detail': ''})"
    ),
    _says("a number of many digits", "raw_frame(b'[\"ok\", ' + b'9' * 100_000 + b', []]')"),
    _says("two answers at once", "frame(['ok', 'plum?', []]) + frame(['ok', 'pear', []])"),
    _says("a change of what was not given", "frame(['ok', 'x', [[7, ['l', 1]]]])"),
    _says(
        "a change of another kind",
        "frame(['ok', 'x', [[0, ['d', 1, 2]]]])",
        "answer([1]) == 'plum'",
    ),
    _says("a call of what it was not given", "frame(['back', 5, ['t'], ['d']])"),
    _says(
        "a call of one below zero",
        "frame(['back', -1, ['t'], ['d']])",
        "answer(lambda: 'plum') == 'plum'",
    ),
    _says(
        "a call without arguments", "frame(['back', 0, 5, 5])", "answer(lambda: 'plum') == 'plum'"
    ),
    _says("an error of no class", "frame(['raise', ['x', 0, 5, [], ''], []])"),
    _says(
        "an error of a class that is not there",
        "frame(['raise', ['x', 0, ['e', None, 'Nothing', 'Nothing', [], ''], [], ''], []])",
    ),
    _says(
        "an error of a class that is no error",
        "frame(['raise', ['x', 0, ['e', None, 'int', 'int', [], ''], [5], ''], []])",
    ),
    _says(
        "an error from a module that it likes better",
        "frame(['raise', ['x', 0, ['e', 1, 'ANY', 'Exception', [], 'unittest.mock'], [], ''], []])",
        outcomes=EITHER,
    ),
    _says(
        "an error among its own parents",
        "frame(['raise', ['x', 0, ['e', 1, 'A', 'Exception', [['e', 1, 'A', 'A', [], '']], ''],"
        " [], ''], []])",
        outcomes=EITHER,
    ),
    _says("an error that is an answer", "frame(['raise', 'plum', []])"),
    _says(
        "an answer that cannot be said",
        "frame(['unsendable', 'plum'])",
        outcomes="assertion_fail",
    ),
    _says("a value in place of an error", "frame(['raise', ['l', 'plum'], []])"),
    _says(
        "an end of what was no iteration",
        "frame(['stop'])",
        "all(map(lambda n: answer(n) == 'plum', [1, 2]))",
        outcomes=EITHER,
    ),
    _says("half an answer", "frame(['ok', 'plum', []])[:-3]", outcomes="timeout", timeout_s=0.1),
    _says("half a length", "b'\\0\\0'", outcomes="timeout", timeout_s=0.1),
    _replies("an unknown tag", "['?', 1]"),
    _replies("an array without a tag", "[1, 2, 3]"),
    _replies("an object", "{'__class__': 'str'}"),
    _replies(
        "a function that runs text",
        "['q', 'builtins', 'eval']",
        "answer()('1 + 1') == 2",
    ),
    _replies(
        "a function that runs commands",
        "['q', 'os', 'system']",
        "answer()('true') == 0",
    ),
    _replies("a hidden function", "['q', 'builtins', '__import__']", "answer()('os')"),
    _replies(
        "a function of a function",
        "['q', 'functools', 'reduce.__class__']",
        "answer()(1)",
    ),
    _replies("a container that was never there", "['r', 5]"),
    _replies("a container before the first", "['r', -1]"),
    _replies("a function of the evaluator that was never given", "['f', 5]"),
    _replies("a function of the evaluator below zero", "['f', -1]"),
    _replies("an object below zero", "['h', -1, 'x', True, None]", outcomes="assertion_fail"),
    _replies("an object of no class", "['h', 1, 'x', True, [1]]"),
    _replies("an object of a class of numbers", "['h', 1, 'x', True, [1, [1], [2], 3]]"),
    _replies("a value of no base", "['v', 1, 'x', None, 2, []]"),
    _replies("a value of a class without a number", "['v', 1, 'x', 5, 'y', []]"),
    _replies("an object without a number", "['h', 'x', 'x']"),
    _replies("a set of what cannot be in one", "['s', ['l']]"),
    _replies("half a dictionary", "['d', 1]"),
    _replies("a fraction by zero", "['S', 'Fraction', 1, 0]"),
    _replies("a class that is not on the list", "['S', 'Popen', ['l', 'true']]"),
    _replies("a range of texts", "['R', 'a', 'b']"),
    _says(
        "a deep value",
        "raw_frame(b'[\"ok\", ' + b'[\"t\", ' * 400 + b'1' + b']' * 400 + b', []]')",
        outcomes=EITHER,
    ),
    _serves("yes, to everything", "['ok', True, []]"),
    _serves("what it was asked", "['ok', request[-1] if type(request[-1]) is str else 1, []]"),
    _serves("itself, to everything", "['ok', ['h', 0, 'str'], []]"),
    _serves(
        "names that are none",
        "['ok', 1, []]",
        names="[['answer'], 5, [1, 2], None, ['answer', ['?']]]",
    ),
    _serves(
        "every builtin its own",
        "['ok', True, []]",
        "sorted([answer()]) == ['plum']",
        "len(str(answer())) == 99",
        names="[[name, ['h', 0, 'x']] for name in ('answer', 'sorted', 'len', 'str')]",
    ),
    *(
        _serves(
            f"every builtin its own, at once, as {kind}",
            "['ok', True, []]",
            "len('plum') == 99 or len(str(answer())) is True",
            names=f"[[name, {kind}] for name in ('answer', '__builtins__')]",
        )
        for kind in (None, ["h", 0, "x"], ["h", 0, "x", True], ["m", "builtins"])
    ),
    _serves(
        "its own import",
        "['ok', True, []]",
        "import math\nassert math.isclose(answer(), 1.4142)",
        names="[[name, ['h', 0, 'x']] for name in ('answer', '__import__', 'math')]",
    ),
    _serves(
        "a name in place of the target's",
        "['ok', True, []]",
        "def check(one): assert one() == 'plum'",
        "check(answer)",
        names="[[name, ['h', 0, 'x']] for name in ('answer', 'check')]",
    ),
    _serves(
        "errors that end a process",
        "['raise', ['x', 0, ['e', None, 'SystemExit', 'SystemExit', [], ''], [0], ''], []]",
    ),
    forged(
        "an outcome that does not exist",
        f"{_CHANNEL}\nos.write(channel, frame(['pass', '', []]))\ntime.sleep(1000)",
        outcomes="error",
        because=_NO_WIRE,
    ),
    forged(
        "an answer before the question",
        f"{_CHANNEL}\ndef early():\n"
        "    time.sleep(0.05)\n"
        "    os.write(channel, frame(['ok', 'pear', []]))\n"
        "threading.Thread(target=early).start()\n"
        "def answer():\n    time.sleep(0.2)\n    return 'no idea'",
        outcomes=EITHER,
        because=_NO_WIRE,
    ),
    forged(
        "the candidate's own tools, patched",
        """
        import sys
        def yes(*_, **__): return ['ok', True, []]
        for name, module in list(sys.modules.items()):
            if not name.startswith('inside.'): continue
            for key, value in list(vars(module).items()):
                if callable(value) and not isinstance(value, type): setattr(module, key, yes)
        def answer(): return 'no idea'
        """,
        outcomes="error",
        timeout_s=1.0,
        because=_NO_WIRE,
    ),
    forged(
        "the evaluator itself, called",
        """
        import os, sys
        def answer():
            judging = sys.modules['inside.judging']
            for number in range(3, 256):
                try: say = judging.speaker(number)
                except OSError: continue
                try: say('target', outcome='passed', detail=''); say('done', nonce='0' * 32)
                except OSError: pass
            return 'no idea'
        """,
        outcomes="error",
        because=_NO_WIRE,
    ),
    held(
        "descriptors, sent along",
        f"{_CHANNEL}\nwire = socket.socket(fileno=os.dup(channel))\n"
        "def answer():\n"
        "    body = frame(['ok', 'no idea', []])\n"
        "    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack('20i', *[1] * 20))]\n"
        "    for n in range(len(body)): wire.sendmsg([body[n:n + 1]], rights)\n"
        "    while True: time.sleep(1000)\n",
        ("answer() == 'plum'", "answer() == 'pear'"),
        ("timeout", "error"),
        timeout_s=0.1,
        because=_NO_WIRE,
    ),
    forged(
        "an end of the wire, closed",
        f"{_CHANNEL}\ndef answer():\n    os.close(channel)\n    return 'plum?'",
        outcomes="error",
        because=_NO_WIRE,
    ),
    forged(
        "an end of the wire, shut in one direction",
        f"{_CHANNEL}\ndef answer():\n"
        "    socket.socket(fileno=channel).shutdown(socket.SHUT_RD)\n"
        "    return 'no idea'",
        "answer() == 'plum'",
        "answer() == 'plum'",
        outcomes="error",
        because=_NO_WIRE,
    ),
    forged(
        "the wire, drained by a thread",
        f"{_CHANNEL}\ndef drain():\n    while True: os.read(channel, 1)\n"
        "threading.Thread(target=drain, daemon=True).start()\n"
        "def answer(): return 'no idea'",
        outcomes=(*EITHER, "timeout"),
        timeout_s=0.1,
        because=_NO_WIRE,
    ),
    forged(
        "a wire that does not wait",
        f"{_CHANNEL}\nos.set_blocking(channel, False)\ndef answer(): return 'x' * 4_000_000",
        outcomes=EITHER,
        because=_NO_WIRE,
    ),
]
