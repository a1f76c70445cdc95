"""The verb replay: a table as if it were live."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from deeprotect.cli.printing import bar
from deeprotect.cli.serve import BrokerCertificates, BrokerPassword
from deeprotect.cli.tables import Columns, Map, PolicyPath, pairs
from deeprotect.errors import InputError

if TYPE_CHECKING:
    from deeprotect.gateway.feeds.replaying import Played, Player, Recorded, Send

Form = Literal["rows", "flat", "sensor-logger", "line-protocol"]


def replay(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="CSV, Parquet or Arrow; a file, a folder, a pattern, -.")
    ],
    to: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A device's address, as it was shown when registered.")
    ] = None,
    speed: Annotated[
        float, typer.Option(metavar="N", min=0.001, help="How many times as fast as it was recorded.")
    ] = 1.0,
    every: Annotated[float, typer.Option(metavar="SECONDS", min=0.001, help="Time between two messages.")] = 0.2,
    form: Annotated[
        Form,
        typer.Option("--format", help="The format of messages; sensor-logger needs --policy, for the units."),
    ] = "rows",
    recording: Annotated[str | None, typer.Option(metavar="NAME", help="Only this recording.")] = None,
    policy: PolicyPath = None,
    keep_time: Annotated[
        bool, typer.Option("--keep-time", help="Send the table's own time stamps; without it they begin now.")
    ] = False,
    rate_hz: Annotated[
        float | None, typer.Option(metavar="R", min=0.001, help="The rate of a table without a time column.")
    ] = None,
    loop: Annotated[bool, typer.Option("--loop", help="Start over at the end, until it is stopped.")] = False,
    mqtt: Annotated[str | None, typer.Option(metavar="URL", help="To a broker: mqtt://user@host or mqtts://…")] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="The broker's topic: deeprotect/raw/STREAM.")
    ] = None,
    mqtt_password: BrokerPassword = None,
    mqtt_ca: BrokerCertificates = None,
    mapped: Map = None,
    columns: Columns = None,
) -> None:
    """Replay a table as if it were live: to a device's address at a gateway, or to a broker.

    It ends with the table, or with the first message that the gateway refuses, and says why.

    Example: deeprotect gateway replay walk.csv --to http://127.0.0.1:8765/in/TOKEN --speed 10
    """
    from deeprotect.gateway.feeds.broker import Broker
    from deeprotect.gateway.feeds.replaying import Played, Player, recorded, to_address, to_topic
    from deeprotect.policy import Policy
    from deeprotect.tables.csv_reader import column_names

    _refuse(table, to=to, mqtt=mqtt, topic=topic, unmeasured=form == "sensor-logger" and policy is None, loop=loop)
    rules, played = Policy.load(policy) if policy else None, Played()
    broker = Broker.at(mqtt, password=mqtt_password, ca=mqtt_ca) if mqtt else None
    opened = partial(
        recorded, table, rules, mapped=pairs(mapped), columns=column_names(columns), rate_hz=rate_hz, only=recording
    )
    way = to_topic(broker, topic or "") if broker else to_address(to or "", form)
    try:
        player = partial(Player, form=form, speed=speed, every=every, keep_time=keep_time)
        asyncio.run(_play(opened, way, player, played=played, loop=loop))
    finally:
        if played.messages:
            typer.echo(_told(played, answered=broker is None), err=True)


async def _play(
    opened: "Callable[[], AbstractContextManager[Recorded]]",
    way: "AbstractAsyncContextManager[Send]",
    player_of: "partial[Player]",
    *,
    played: "Played",
    loop: bool,
) -> None:
    """Play once, or until stopped; the table is reopened each time."""
    player = None
    async with way as send:
        with bar("playing") as progress:
            while player is None or loop:
                with opened() as table:
                    player = player or player_of(schema=table.schema, send=send)
                    player.told = lambda: progress(table.source.position())
                    await player.play(table.stretches(), played)


def _refuse(table: str, *, to: str | None, mqtt: str | None, topic: str | None, unmeasured: bool, loop: bool) -> None:
    if (to is None) == (mqtt is None):
        raise InputError("give a destination: --to ADDRESS, or --mqtt URL with --topic TOPIC")
    if (mqtt is None) != (topic is None):
        raise InputError("--mqtt and --topic go together; give both")
    if unmeasured:
        raise InputError("--format sensor-logger needs the units of the channels; give --policy")
    if loop and table == "-":
        raise InputError("standard input cannot be read again; leave out --loop")


def _told(played: "Played", *, answered: bool) -> str:
    counts = f"messages: {played.messages}, recordings: {played.recordings}"
    sent = f"sent {played.rows} rows in {played.seconds:.1f} s ({counts})"
    return f"{sent}; the gateway took {played.accepted} readings" if answered else f"{sent}; the broker confirmed them"
