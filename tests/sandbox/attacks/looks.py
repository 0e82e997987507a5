"""Forging by looks: the answer is sought where the question is."""

from textwrap import dedent
from typing import Any

from tests.sandbox.attacks.table import Attack, forged

_HEAD = """
def constants(frame):
    code = frame.f_code
    return code.co_consts if code.co_filename.startswith('<target') else ()
def first(seen): return next((one for one in seen if isinstance(one, str)), 'no idea')
"""


def _sees(name: str, source: str, *targets: str, **more: Any) -> Attack:
    return forged(name, _HEAD + dedent(source), *targets, **more)


ATTACKS = [
    _sees(
        "at the caller",
        "import sys\ndef answer(): return first(sys._getframe(1).f_code.co_consts)",
    ),
    _sees(
        "at every caller",
        """
        import sys
        def answer():
            frame, seen = sys._getframe(), []
            while frame:
                seen += constants(frame)
                frame = frame.f_back
            return first(seen)
        """,
    ),
    _sees(
        "at the caller, by `inspect`",
        "import inspect\ndef answer(): return first(inspect.stack()[1].frame.f_code.co_consts)",
    ),
    _sees(
        "at the caller, by an exception",
        """
        def answer():
            try: raise ValueError
            except ValueError as error: frame = error.__traceback__.tb_frame.f_back
            return first(frame.f_code.co_consts)
        """,
    ),
    _sees(
        "at what runs, from a thread",
        """
        import sys, threading, time
        seen = []
        def spy():
            while not seen:
                for frame in sys._current_frames().values():
                    while frame:
                        seen.extend(constants(frame))
                        frame = frame.f_back
        threading.Thread(target=spy, daemon=True).start()
        def answer():
            time.sleep(0.2)
            return first(seen)
        """,
    ),
    _sees(
        "at what runs, from a signal",
        """
        import signal, time
        seen = []
        def ring(number, frame):
            while frame:
                seen.extend(constants(frame))
                frame = frame.f_back
        signal.signal(signal.SIGALRM, ring)
        def answer():
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            time.sleep(0.1)
            return first(seen)
        """,
    ),
    _sees(
        "with a tracer",
        """
        import sys
        seen = []
        def trace(frame, event, arg):
            seen.extend(constants(frame))
        sys.settrace(trace)
        def answer(): return first(seen)
        """,
    ),
    _sees(
        "with a profiler",
        """
        import sys
        seen = []
        def profile(frame, event, arg):
            seen.extend(constants(frame))
        sys.setprofile(profile)
        def answer(): return first(seen)
        """,
    ),
    _sees(
        "with an audit hook",
        """
        import sys
        seen = []
        def hook(event, args):
            if event == 'exec': seen.extend(args[0].co_consts)
        sys.addaudithook(hook)
        def answer(): return first(seen)
        """,
    ),
    _sees(
        "at everything the collector knows",
        """
        import gc, re
        def answer():
            for thing in gc.get_objects():
                for text in thing if type(thing) in (list, tuple) else ():
                    found = re.fullmatch("answer.. == '(.*)'", text) if type(text) is str else None
                    if found: return found[1]
        """,
    ),
    _sees(
        "at the memory itself",
        """
        import ctypes, os, re
        libc = ctypes.CDLL(None)
        def page(at):
            readable, writable = pipe  # a page that is not there is an error, and no crash
            there = libc.write(writable, ctypes.c_void_p(at), 4096) == 4096
            return os.read(readable, 4096) if there else b''
        pipe = os.pipe()
        def answer():
            start = id([]) & ~4095
            for distance in range(0, 1 << 25, 4096):
                for at in (start - distance, start + distance):
                    found = re.search(rb"answer\\(\\) == '(\\w+)'", page(at))
                    if found: return found[1].decode()
        """,
    ),
    _sees(
        "in its own namespace",
        "def answer(): return globals().get('expected')",
        "expected = 'plum'\nassert answer() == expected",
    ),
    _sees(
        "at who else holds its argument",
        """
        import gc
        def answer(given):
            for holder in gc.get_referrers(given):
                if isinstance(holder, dict) and 'out' in holder: return holder['out']
        """,
        "case = {'in': [1], 'out': 'plum'}\nassert answer(case['in']) == case['out']",
    ),
    _sees(
        "into a callback",
        """
        def answer(check):
            return first(check.__code__.co_consts)
        """,
        "answer(lambda text: text == 'plum') == 'plum'",
    ),
    _sees(
        "around a callback",
        "def answer(check): return check.__closure__[0].cell_contents",
        "def make(word): return lambda text: text == word\nassert answer(make('plum')) == 'plum'",
    ),
    _sees(
        "at the namespace of a callback",
        "def answer(check): return check.__globals__['expected']",
        "expected = 'plum'\nassert answer(lambda text: text == expected) == expected",
    ),
    _sees(
        "into the memory of the evaluator",
        """
        import os
        def answer():
            try:
                with open(f'/proc/{os.getppid()}/mem', 'rb') as memory: return memory.read(1)
            except OSError: return 'no idea'
        """,
        because="there is no other process to reach",
    ),
]
