"""Check a judge of a stored run: against labels from people, and by asking it again.

check = judge_check("latest", JudgeCheckOptions(labels="labels.csv"))
check = judge_check("latest", JudgeCheckOptions(probes=("swap", "pad"), repeat=3))
"""

from collections.abc import Iterator
from typing import Any

from evalwright.judge_check.check import check_judge
from evalwright.judge_check.options import JudgeCheckOptions
from evalwright.judge_check.render import render_check
from evalwright.plan.options import parse_options
from evalwright.report.judges import JudgeCheck
from evalwright.report.tables import Block
from evalwright.session.progress import Progress, SilentProgress

__all__ = ["JudgeCheckOptions", "judge_check", "render_judge_check"]


def judge_check(
    run: str, check: JudgeCheckOptions, *, progress: Progress | None = None, **options: Any
) -> JudgeCheck:
    """Check a judge; the other options are those of `RunOptions`."""
    return check_judge(run, check, parse_options(options), progress=progress or SilentProgress())


def render_judge_check(check: JudgeCheck) -> Iterator[Block]:
    """Render a check as texts and tables."""
    return render_check(check)
