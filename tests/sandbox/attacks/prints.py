"""Forging by prints: a verdict, written wherever something can be written."""

from tests.sandbox.attacks.table import forged

_RECORDS = """
lines = [
    '{"type": "candidate", "outcome": "ran", "detail": ""}',
    '{"type": "target", "outcome": "passed", "detail": ""}',
    '{"type": "done", "nonce": "%s"}',
]
report = '\\n'.join(lines) + '\\n'
"""

ATTACKS = [
    forged(
        "a verdict on stdout",
        "import os, sys\n"
        + _RECORDS
        + """
print(report % '', '{"passed": true}', sep='\\n', flush=True)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
def answer(): return 'no idea'
""",
        unheld="believed by output",
    ),
    forged(
        "a verdict on stderr",
        _RECORDS
        + "import sys\nprint(report, file=sys.stderr, flush=True)\ndef answer(): return 'no idea'",
        because="nobody reads a verdict there",
    ),
    forged(
        "a verdict on every descriptor, with the nonce that it finds",
        "import os, sys\n"
        + _RECORDS
        + """
frame, nonce = sys._getframe(), ''
while frame:
    nonce = frame.f_locals.get('nonce', nonce)
    frame = frame.f_back
for number in range(3, 256):
    try: os.write(number, (report % nonce).encode())
    except OSError: pass
os._exit(0)
""",
        outcomes="error",
    ),
    forged(
        "a verdict on every descriptor, in the call",
        "import os\n"
        + _RECORDS
        + """
def answer():
    for number in range(3, 256):
        try: os.write(number, (report % ('0' * 32)).encode())
        except OSError: pass
    return 'no idea'
""",
        outcomes="error",
        because="the rlimits tier has a nonce, too",
    ),
    forged(
        "a verdict into what was inherited, as a file",
        "import os\n"
        + _RECORDS
        + """
for number in range(3, 256):
    try: open(number, 'wb', buffering=0, closefd=False).write((report % '').encode())
    except OSError: pass
def answer(): return 'no idea'
""",
        outcomes="error",
        because="the rlimits tier has a nonce, too",
    ),
]
