"""Assessment plans: several evaluations, each with its values, as a server keeps them.

    key: quarterly
    display_name: Quarterly
    evaluation_specifications:
      - { evaluation_key: safety, evaluation_config: {…}, evaluation_run_config: {…} }

A plan is not run here, and says nothing that the evaluations and a file of values do not. Whoever
brings one is told which evaluations it names, and how to run each.
"""

from typing import Any

from evalwright.spec.documents.faults import Fault, listed
from evalwright.spec.documents.kinds import PLAN

_MOST_NAMED = 10


def plan_fault(data: dict[str, Any]) -> Fault:
    """What is said of a plan, at its list of evaluations."""
    keys = _evaluations(data.get(PLAN))
    more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
    named = f"; it names {listed(keys[:_MOST_NAMED])}{more}" if keys else ""
    return Fault(
        (PLAN,),
        "unsupported",
        f"an assessment plan is not run here{named}",
        "run its evaluations one by one: `evalwright run . --evaluation KEY --config FILE`, "
        "FILE with `evaluation_config` as `config`, `evaluation_run_config` as `run_config`",
        at_key=True,
    )


def _evaluations(specifications: Any) -> list[str]:
    """The keys that it names, each once."""
    given = specifications if isinstance(specifications, list) else []
    named = [one.get("evaluation_key") for one in given if isinstance(one, dict)]
    texts = [" ".join(one.split()) for one in named if isinstance(one, str)]
    return list(dict.fromkeys(one for one in texts if one))
