"""`evalwright bless`."""

import click

from evalwright import api
from evalwright.cli.options import json_option, store_option
from evalwright.cli.output import write_result


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("baseline", metavar="NAME")
@store_option
@json_option
def command(run: str, baseline: str, *, store: str | None, as_json: bool) -> None:
    """Make a run the baseline NAME.

    RUN is a run id or a prefix of one, a run name, a tag (KEY=VALUE), or `latest`. Afterwards,
    `baseline:NAME` means this run wherever a run is expected, for example in `evalwright gate
    --baseline baseline:NAME`. The run that previously was this baseline loses the name.
    """
    blessing = api.bless(run, baseline, store)
    replaced = f"; it replaces {blessing.replaced}" if blessing.replaced else ""
    line = f"{blessing.run_id} is now baseline:{blessing.baseline}{replaced}"
    write_result(blessing, [line], as_json=as_json)
