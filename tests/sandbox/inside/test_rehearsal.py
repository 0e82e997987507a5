"""A rehearsal leaves nothing but warm caches."""

import json

from tests.sandbox.inside import bare

REHEARSE = """
import builtins, gc, json, os, sys
from inside import rehearsal, zygote

def look():
    descriptors = sorted(os.listdir("/proc/self/fd"))
    streams = [id(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)]
    return [sorted(sys.modules), len(vars(builtins)), len(object.__subclasses__()), descriptors,
            streams, sys.argv[0], sys.getrecursionlimit()]

rehearsal.run()  # the first time, Python itself fills its caches
gc.collect()
before = look()
rehearsal.run()
gc.collect()
after = look()
try:
    os.waitpid(-1, 0)
    children = "left"
except ChildProcessError:
    children = "none"
print(json.dumps([before == after, sys.modules["builtins"] is builtins, "candidate" in sys.modules,
                  children]))
"""


def test_a_rehearsal_leaves_nothing_behind() -> None:
    assert json.loads(bare.run(REHEARSE)) == [True, True, False, "none"]


def test_its_program_does_what_it_should() -> None:
    script = """
import json, os
from inside import judging, rehearsal
reading, writing = os.pipe()
judging.report_verdicts(writing, "N", rehearsal._SOURCE, rehearsal._TARGETS)
os.close(writing)
with open(reading) as report:
    records = [json.loads(line) for line in report]
print("\\n" + json.dumps([record.get("outcome") for record in records]))
"""

    outcomes = json.loads(bare.run(script).splitlines()[-1])

    assert outcomes == [None, "ran", *["passed"] * 8, "failed", "failed", None]
