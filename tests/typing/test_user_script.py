import re
import tomllib
from inspect import isclass, isfunction
from pathlib import Path

from tests.typing import user_script

import evalwright as ew
from evalwright.spec.records.fixtures import TASKS

ROOT = Path(__file__).parents[2]


def test_the_script_that_mypy_checks_runs() -> None:
    lines = user_script.main(TASKS)
    user_script.test_answer()  # type: ignore[call-arg] # pytest calls it with fixtures only
    user_script.test_report()  # type: ignore[call-arg] # the same

    assert "finished" in lines
    assert any("no model" in line for line in lines)


def test_the_script_uses_every_public_function_and_class() -> None:
    used = set(re.findall(r"\bew\.(\w+)", Path(user_script.__file__).read_text(encoding="utf-8")))
    public = {name for name in ew.__all__ if isfunction(getattr(ew, name))}
    public |= {name for name in ew.__all__ if isclass(getattr(ew, name))}

    assert public - used == set()


def test_mypy_refuses_expressions_of_type_any_in_the_script() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]

    (override,) = [
        each for each in settings["overrides"] if "tests.typing.user_script" in each["module"]
    ]
    assert override["disallow_any_expr"]
    assert settings["strict"]
