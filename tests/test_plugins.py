import subprocess
import sys

from evalwright import plugins


def test_every_name_that_is_promised_is_there() -> None:
    assert [name for name in plugins.__all__ if not hasattr(plugins, name)] == []


def test_what_a_plugin_imports_does_not_import_numpy() -> None:
    code = "import sys, evalwright.plugins; sys.exit('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
