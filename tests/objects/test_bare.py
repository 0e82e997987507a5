"""The folder is loaded by itself inside the author's interpreter."""

import shutil
import subprocess
import sys
from pathlib import Path

import evalwright

OBJECTS = Path(evalwright.__file__).parent / "objects"
SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import their_objects
made = their_objects.SolverTrace.from_json({{"items": [their_objects.make_message("user", "q")]}})
assert made.messages[0].content == "q"
foreign = [name for name in sys.modules if name.split(".")[0] not in sys.stdlib_module_names]
print(sorted(name for name in foreign if not name.startswith(("their_objects", "__main__"))))
"""


def test_it_imports_in_a_bare_interpreter_under_any_name(tmp_path: Path) -> None:
    shutil.copytree(OBJECTS, tmp_path / "their_objects")

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", SCRIPT.format(folder=str(tmp_path))],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("[]\n", "")
