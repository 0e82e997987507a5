"""What is known of the judges of a run, as a table of its report."""

from collections.abc import Sequence

from evalwright.report.judges import JudgeRow
from evalwright.report.samples import visible
from evalwright.report.tables import Table, shortened

_HOW = ": `evalwright judge check"


def judges_table(rows: Sequence[JudgeRow]) -> Table:
    """What is known of the judges of a run, for its report; how to learn more, once."""
    unknown = any(_HOW in one.known for one in rows)
    return Table(
        "Judges",
        ("task", "scorer", "judge", "what is known"),
        [
            (
                shortened(one.task),
                shortened(one.scorer),
                shortened(one.model),
                visible(one.known.partition(_HOW)[0]),
            )
            for one in rows
        ],
        note="`evalwright judge check RUN --labels FILE` compares a judge with people"
        if unknown
        else "",
    )
