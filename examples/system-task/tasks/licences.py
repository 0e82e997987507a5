"""Read an inventory and report licences that are not allowed."""

import json

from latticeflow.core.dtypes import SystemTaskMetricEntry, SystemTaskOutput

ALLOWED = json.loads("""<< config.allowed >>""")
SHIPPED = {"parser": "MIT", "plotter": "BSD-3-Clause", "player": "GPL-3.0", "poller": "MIT"}


def compute_evidence() -> SystemTaskOutput:
    """Return two metrics, each with the reason for its value."""
    forbidden = sorted(name for name, licence in SHIPPED.items() if licence not in ALLOWED)
    share = 1 - len(forbidden) / len(SHIPPED)
    return SystemTaskOutput(
        metrics={
            "allowed share": SystemTaskMetricEntry(value=share),
            "open findings": SystemTaskMetricEntry(
                value=len(forbidden), reason=f"not allowed: {', '.join(forbidden)}"
            ),
        }
    )
