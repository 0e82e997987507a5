"""Whether the templates of a task or a generator ask for variables that there are.

`{{ smaple.question }}` would fail for every sample. Which columns a sample has is another matter:
that the dataset's rows show.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evalwright.spec.documents.faults import Fault, did_you_mean, listed
from evalwright.spec.documents.parts import located
from evalwright.spec.documents.problems import Path
from evalwright.spec.documents.values import is_stand_in
from evalwright.templates import Native, Template

AFTER = (
    *("sample", "solver_output", "messages", "model_output", "model_outputs"),
    *("trace", "input_prompt"),
)
"""What `objects.variables` gives, once there is an answer."""
_KNOWN: Mapping[str, tuple[str, ...]] = {
    "solver": ("sample",),
    "scorers": AFTER,
    "actions": (*AFTER, "scores"),
    "synthesizers": ("sample", "index"),
}
"""What each part of a definition gives to its templates."""
_SPEAKS = "multi_turn_solver"
"""The solver whose templates see the conversation so far."""
_BUILDERS = "message_builders"


def unknown_variables(document: Any) -> Iterator[Fault]:
    """A fault for every variable of a task's templates that nothing gives."""
    definition = getattr(document, "definition", None)
    for part, known in _KNOWN.items():
        inside = getattr(definition, part, None)
        speaks = part == "solver" and getattr(inside, "type", "") == _SPEAKS
        top = ("definition", part)
        for path, template in located(inside, Template, top):
            yield from _unknown(template, path, _in_turns(path) if speaks else known)
        for path, expression in located(inside, Native, top):
            yield from _unknown(expression, path, known)


def _in_turns(path: Path) -> tuple[str, ...]:
    """What a template of a conversation sees: of a loop, builders in builders, its count too."""
    loop = ("loop_index",) if path.count(_BUILDERS) > 1 else ()
    return ("sample", "messages", *loop)


def _unknown(template: Template | Native, path: Path, known: tuple[str, ...]) -> Iterator[Fault]:
    for name in sorted({needed[0] for needed in template.variables()} - {*known}):
        if is_stand_in(name):
            continue
        there = f"there {'are' if len(known) > 1 else 'is'} {listed(list(known))}"
        detail = f"no variable is called `{name}` here; {there}"
        line = _line(template, str(name)) if "\n" in template.source else 0
        yield Fault(path, "unknown_variable", detail, did_you_mean(str(name), known), line=line)


def _line(template: Template | Native, name: str) -> int:
    """The line of a template that first says a name."""
    found = re.search(rf"\b{re.escape(name)}\b", template.source)
    return template.line + template.source.count("\n", 0, found.start() if found else 0)
