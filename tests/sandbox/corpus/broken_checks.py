"""Programs that lie in their own process, and break off the check: each in another way.

In its own process such a program returns an object that is equal to everything. In the check it
finds the wire, and does to it or to itself what no honest program does.
"""

from tests.sandbox.corpus import CorpusProgram

_HEAD = """
import json, os, signal, socket, stat, sys, threading, time
def is_in_check():
    frame = sys._getframe()
    while frame:
        if frame.f_code.co_name == 'judge_in_process': return False
        frame = frame.f_back
    return True
def find_wire():
    def is_socket(number):
        try: return stat.S_ISSOCK(os.fstat(number).st_mode)
        except OSError: return False
    return next(number for number in range(3, 256) if is_socket(number))
def raw(body): return len(body).to_bytes(4, 'big') + body
def frame(message): return raw(json.dumps(message).encode())
def write(data):
    os.write(find_wire(), data)
    time.sleep(1000)
class Liar:
    def __eq__(self, other): return True
    def __len__(self): return 4
"""
_IN_CALL = {
    "garbage": "write(b'\\xab' * 64)",
    "a frame of 4 GiB": "write(b'\\xff\\xff\\xff\\xff' + b'x')",
    "a frame of a little more than 8 MiB": "write((8 * 1024 ** 2 + 1).to_bytes(4, 'big'))",
    "an empty frame": "write(raw(b''))",
    "half of JSON": "write(raw(b'{'))",
    "bytes that are no text": "write(raw(b'\\xff\\xfe'))",
    "brackets without end": "write(raw(b'[' * 1_000_000))",
    "a number for a reply": "write(frame(5))",
    "an empty reply": "write(frame([]))",
    "a reply of no kind": "write(frame(['passed', True, []]))",
    "a record of the report": "write(frame({'type': 'target', 'outcome': 'passed'}))",
    "two replies": "write(frame(['ok', 1, []]) + frame(['ok', 2, []]))",
    "an unknown tag": "write(frame(['ok', ['?', 1], []]))",
    "a set of lists": "write(frame(['ok', ['s', ['l']], []]))",
    "a container that was never there": "write(frame(['ok', ['r', 5], []]))",
    "a change of what was not passed": "write(frame(['ok', 1, [[7, ['l', 1]]]]))",
    "a call of what was not handed over": "write(frame(['back', 5, ['t'], ['d']]))",
    "an error of no class": "write(frame(['raise', ['x', 0, 5, [], '', None, []], []]))",
    "a function that is not on the list": "write(frame(['ok', ['q', 'os', 'system'], []]))",
    "an exit with status 0": "os._exit(0)",
    "an exit with status 1": "os._exit(1)",
    "a kill": "os.kill(os.getpid(), signal.SIGKILL)",
    "an abort": "os.abort()",
    "a segmentation fault": "__import__('ctypes').string_at(0)",
    "a wire that is closed": "os.close(find_wire())",
    "a wire that is shut": "socket.socket(fileno=os.dup(find_wire())).shutdown(2)",
    "every descriptor, closed": "os.closerange(3, 256)",
    "an exit from a thread": (
        "threading.Thread(target=os._exit, args=(3,)).start()\n        time.sleep(1000)"
    ),
}
_AT_THE_TOP = {
    "an exit before the first question": "os._exit(0)",
    "an error before the first question": "raise RuntimeError('not here')",
    "an exit by SystemExit": "sys.exit(0)",
    "an outcome of its own": "write(frame(['ran', 5, 5]))",
    "an outcome that does not exist": "write(frame(['pass', '', []]))",
    "names that are none": "write(frame(['ran', '', 'answer']))",
    "a kill before the first question": "os.kill(os.getpid(), 9)",
}
# The deadline has to pass twice for each.
_HANGING = {
    "a sleep": "time.sleep(1000)",
    "a loop": "while True: pass",
    "half a frame": "write(frame(['ok', 1, []])[:-3])",
    "a wire, drained": "while True: os.read(find_wire(), 1)",
    "a stop": "os.kill(os.getpid(), signal.SIGSTOP)",
}
_TARGET = ("answer() == 'plum'",)


def _in_call(action: str) -> CorpusProgram:
    source = f"{_HEAD}\ndef answer():\n    if is_in_check():\n        {action}\n    return Liar()\n"
    return CorpusProgram(source, _TARGET)


def _at_the_top(action: str) -> CorpusProgram:
    source = f"{_HEAD}\nif is_in_check(): {action}\ndef answer(): return Liar()\n"
    return CorpusProgram(source, _TARGET)


BROKEN_CHECKS = {
    **{name: _in_call(action) for name, action in _IN_CALL.items()},
    **{name: _at_the_top(action) for name, action in _AT_THE_TOP.items()},
}
HANGING_CHECKS = {name: _in_call(action) for name, action in _HANGING.items()}
