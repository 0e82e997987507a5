"""`code_exec`: run the answer as Python in a sandbox and check it against targets.

    scorers:
      - type: code_exec
        targets: "{{ sample.tests }}"           # renders to a JSON or Python list of targets
        timeout_s: 5

    scorers:
      - type: code_exec
        targets:                                # or a list, one template per target
          - "add(2, 3) == 5"
          - "add({{ sample.a }}, {{ sample.b }}) == {{ sample.sum }}"

A target is an expression that must be true, or statements that must not raise an exception. It can
use the names that the answer defines. An answer that is not valid Python, raises an exception or
exceeds the time limit scores 0. If a target is not valid Python, or if no program can pass it,
the sample fails, because the error is in the task.

This scorer is an evalwright extension. Answers are scored in the same way as for task records with
`category: code_exec`. `evalwright doctor` shows how programs are isolated on your machine.
"""

import ast
import re
from typing import Annotated, ClassVar, Literal

from msgspec import structs
from pydantic import AfterValidator, Discriminator, Field, Tag

from evalwright.impossible_targets import explain_impossible
from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, read_list, render_value, short
from evalwright.scorers.execution import EXECUTION_VERSION, score_program
from evalwright.templates import Template
from evalwright.text.post_process import post_process
from evalwright.types import Program, Score
from evalwright.vocabulary import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S

_JINJA = re.compile("{[{%#]")


def _check_target(target: Template) -> Template:
    """Reject a target that cannot pass; a target with `{{ }}` is checked after rendering."""
    if _JINJA.search(target.source):
        return target
    if problem := _find_syntax_error(target.source):
        raise ValueError(f"not valid Python: {problem}")
    if problem := explain_impossible(target.source):
        raise ValueError(f"no program can pass this target: {problem}")
    return target


def _find_syntax_error(target: str) -> str:
    try:
        ast.parse(target.lstrip(" \t"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(getattr(error, "msg", error))
    return ""


def _check_list(targets: Template) -> Template:
    if not _JINJA.search(targets.source):
        _read_targets(targets.source)
    return targets


def _read_targets(text: str) -> list[str]:
    targets = read_list(text, field="targets")
    if not targets or not all(isinstance(target, str) for target in targets):
        raise ValueError(f"`targets` must render to a list of strings, got {short(targets)}")
    return targets


_TargetList = Annotated[
    list[Annotated[Template, AfterValidator(_check_target)]], Field(min_length=1), Tag("list")
]
_Targets = Annotated[
    _TargetList | Annotated[Template, AfterValidator(_check_list), Tag("template")],
    Discriminator(lambda value: "list" if isinstance(value, list) else "template"),
]


class CodeExec(ScorerSpec):
    """Scores `score`, the share of targets that pass, and `is_correct`: whether all of them do."""

    score_names: ClassVar[tuple[str, ...] | None] = ("score", "is_correct")
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "score"),)
    needs_sandbox: ClassVar[bool] = True
    version: ClassVar[int] = EXECUTION_VERSION

    type: Literal["code_exec"]
    targets: _Targets
    """Tests: a list of templates that render to Python expressions or statements, or one template
    that renders to a JSON or Python list of them. May refer to `sample`."""
    value: Template | None = None
    """Program to run. May refer to `sample` and `solver_output`. Default: the text of the last
    assistant message. Required in tasks without a solver."""
    post_process: Literal["extract_code_block", "none"] = "extract_code_block"
    """Part of the value to run. `extract_code_block`: the first block between triple backticks, or
    the whole value if there is none. `none`: always the whole value."""
    timeout_s: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=MAX_TIMEOUT_S)
    """Time limit in seconds for the program and all its targets. At most 30."""

    async def score(self, case: Case) -> Score:
        """Run the program and its targets."""
        text = render_value(self.value, case)
        row = case.sample.data
        if isinstance(self.targets, Template):
            targets = _read_targets(self.targets.render(sample=row))
        else:
            targets = [target.render(sample=row) for target in self.targets]
        for number, target in enumerate(targets, start=1):
            if problem := _find_syntax_error(target):  # an error in the task, not in the answer
                raise ValueError(f"target {number} does not compile: {problem}")
        program = Program(
            source=post_process(text, self.post_process),
            targets=tuple(targets),
            timeout_s=self.timeout_s,
        )
        score = await score_program(case.sandbox, program)
        return structs.replace(score, values={**score.values, "is_correct": score.correct})
