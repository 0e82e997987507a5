"""Example records in the package: ten valid records, and one invalid line per rule.

`tasks.jsonl` has two records per category, which cover all metrics and post-process rules. Every
line of `tasks_bad.jsonl` is invalid.
"""

from pathlib import Path

from evalwright.spec.records.check import validate_file
from evalwright.types import TaskSpec

FIXTURES = Path(__file__).parent / "fixtures"
TASKS = FIXTURES / "tasks.jsonl"
TASKS_BAD = FIXTURES / "tasks_bad.jsonl"


def load_fixtures() -> list[TaskSpec]:
    """Return ten valid example records, two per category.

    >>> [task.category for task in ew.load_fixtures()][::2]
    ['arithmetic', 'mcq', 'code_exec', 'classification', 'summary']
    """
    return validate_file(TASKS).records
