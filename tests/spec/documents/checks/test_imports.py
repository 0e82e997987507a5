from pathlib import Path

import pytest

from evalwright.components import Snippet
from evalwright.spec.documents.checks.imports import check_imports


def details(text: str, path: str = "<snippet>") -> list[str]:
    return [fault.detail for fault in check_imports(Snippet(text, path=path), ("x",))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from latticeflow.core.dtypes import Foo", "`latticeflow.core.dtypes` has no `Foo`"),
        ("import latticeflow.core.nothing", "there is no module `latticeflow.core.nothing`"),
        ("import latticeflow.x as y", "there is no module `latticeflow.x`"),
        ("from latticeflow.go import Client", "there is no module `latticeflow.go`"),
        ("from latticeflow.core import dtype", "`latticeflow.core` has no `dtype`"),
        ("def f():\n    import latticeflow.x", "there is no module `latticeflow.x`"),
        ("try:\n    import latticeflow.x\nfinally: ...", "there is no module `latticeflow.x`"),
        (
            "try: ...\nexcept ImportError:\n    import latticeflow.x",
            "there is no module `latticeflow.x`",
        ),
    ],
)
def test_an_import_that_would_fail_is_a_fault(text: str, expected: str) -> None:
    assert details(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "import latticeflow, latticeflow.core.dtypes, json",
        "from latticeflow.core.dtypes import *",
        "from latticeflow.core.dtypes import SolverTrace as T, is_valid_key",
        "from latticeflow.assessment.dtypes import SampleScore",
        "from latticeflow.core import dtypes, experimental",
        "from latticeflow.core.experimental.scorers import ScorerBase",
        "from latticeflow_extras import anything",
        "from .latticeflow import anything",
        "try:\n    import latticeflow.x\nexcept ImportError: ...",
        "try:\n    import latticeflow.x\nexcept (OSError, ModuleNotFoundError): ...",
        "try:\n    import latticeflow.x\nexcept: ...",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import latticeflow.x",
        "x = 'import latticeflow.x'",
    ],
)
def test_an_import_that_works_or_is_handled_is_none(text: str) -> None:
    assert details(text) == []


def test_a_package_next_to_the_snippet_is_not_ours_to_check(tmp_path: Path) -> None:
    (tmp_path / "latticeflow").mkdir()

    assert details("import latticeflow.x", str(tmp_path / "scores.py")) == []
    assert details("import latticeflow.x", str(tmp_path / "elsewhere" / "scores.py")) != []


def test_the_column_counts_characters_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text("x: |\n    'ä'; import latticeflow.x\n", encoding="utf-8")

    (fault,) = check_imports(Snippet("'ä'; import latticeflow.x", path=str(file), line=2), ("x",))

    assert (fault.line, fault.column) == (2, 17)
