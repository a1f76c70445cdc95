"""`protect` in a pipe of readings: released lines for raw lines."""

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from deeprotect.cli.tables import pairs
from deeprotect.errors import DeeprotectError, InputError, printable

if TYPE_CHECKING:
    from deeprotect.api import Protector
    from deeprotect.release.live import LiveStream

LineForm = Literal["line-protocol", "json"]
Format = Annotated[
    LineForm | None,
    typer.Option(
        "--format", help="From - to -, readings one by one: lines of this format leave, and lines of either may come."
    ),
]
Field = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=PLACE", help="With --format: where a channel or the time is in a line: acc_x=imu.ax; repeatable."
    ),
]
LineTime = Annotated[
    Literal["ns", "us", "ms", "s", "iso", "arrival"] | None,
    typer.Option(help="With --format: the unit of the time stamps; arrival: lines have none."),
]
Measurement = Annotated[
    str | None, typer.Option(metavar="NAME", help="With --format: the measurement of released lines [deeprotect].")
]


def release_lines(
    protector: "Protector",
    live: "LiveStream",
    form: LineForm,
    *,
    field: Sequence[str] | None,
    time: str | None,
    measurement: str | None,
) -> None:
    """Until standard input ends; what cannot be released is told on standard error and left out."""
    from deeprotect.gateway.feeds.filtering import Filter
    from deeprotect.gateway.wire.sensor_layout import SensorSettings

    settings = SensorSettings.of({"fields": pairs(field, "--field", example="acc_x=imu.ax"), "time": time})
    schema = protector.bundle.schema
    settings.check_channels(schema.names)
    made = Filter(live, schema, form, measurement or "deeprotect", settings, _tell)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: _tell(str(message))
        made.run(sys.stdin.buffer, sys.stdout.buffer)
    typer.echo(f"released {made.released} readings; {live.cost}" if made.released else "released nothing", err=True)
    if made.refused or made.dropped:
        raise DeeprotectError(f"not released: {made.refused} lines or readings refused, {made.dropped} dropped")


def moved() -> None:
    """`protect` reads lines from a pipe, too."""
    raise InputError("`filter` is now `deeprotect protect BUNDLE - - --format line-protocol` (or json)")


def _tell(line: str) -> None:
    print("deeprotect:", printable(" ".join(line.split()), 500), file=sys.stderr, flush=True)
