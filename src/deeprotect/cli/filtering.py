"""The verb filter: released lines for raw lines, in a pipe."""

import sys
import warnings
from typing import Annotated, Literal

import typer

from deeprotect.cli.bundles import BundlePath, Key
from deeprotect.cli.tables import pairs
from deeprotect.errors import DeeprotectError, printable


def filter(
    bundle: BundlePath,
    form: Annotated[
        Literal["line-protocol", "json"], typer.Option("--form", help="The format of the output; input may be either.")
    ] = "line-protocol",
    key: Key = None,
    field: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PLACE", help="Where a channel or the time is in a line: acc_x=imu.ax; repeatable."),
    ] = None,
    time: Annotated[
        Literal["ns", "us", "ms", "s", "iso", "arrival"] | None,
        typer.Option(help="The unit of the time stamps; arrival: lines have none."),
    ] = None,
    measurement: Annotated[
        str, typer.Option(metavar="NAME", help="The measurement that released lines are of.")
    ] = "deeprotect",
    ledger: Annotated[
        str | None, typer.Option(metavar="LEDGER", help="Remember charges in this file, or postgresql+psycopg://… .")
    ] = None,
    stream: Annotated[str | None, typer.Option(metavar="NAME", help="Whose data it is, in the ledger.")] = None,
    person: Annotated[str | None, typer.Option(metavar="NAME", help="The stream's person; default: itself.")] = None,
    app: Annotated[str | None, typer.Option(metavar="NAME", help="Who gets the release.")] = None,
) -> None:
    """Release readings in a pipe: line protocol or JSON lines on standard input, the same on standard output.

    For Telegraf, Redpanda Connect, Vector, Fluent Bit and shell scripts. Readings of one stream must arrive in order of
    time. They leave when their draw is made, without tags and other fields. What cannot be released is reported on
    standard error and left out.

    Example: deeprotect filter protector --ledger ledger.sqlite --stream watch < raw.influx > released.influx
    """
    from deeprotect.api import Protector
    from deeprotect.gateway.feeds.filtering import Filter
    from deeprotect.gateway.wire.sensor_layout import SensorSettings

    settings = SensorSettings.of({"fields": pairs(field, "--field", example="acc_x=imu.ax"), "time": time})
    protector = Protector.load(bundle, key=key)
    settings.check_channels(protector.bundle.schema.names)
    live = protector.stream(ledger=ledger, stream=stream, person=person, app=app)
    made = Filter(live, protector.bundle.schema, form, measurement, settings, _tell)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: _tell(str(message))
        made.run(sys.stdin.buffer, sys.stdout.buffer)
    typer.echo(f"released {made.released} readings; {live.cost}" if made.released else "released nothing", err=True)
    if made.refused or made.dropped:
        raise DeeprotectError(f"not released: {made.refused} lines or readings refused, {made.dropped} dropped")


def _tell(line: str) -> None:
    print("deeprotect:", printable(" ".join(line.split()), 500), file=sys.stderr, flush=True)
