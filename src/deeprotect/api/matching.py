"""Match a table's columns to a ready protector's channels, or name the command that converts the table."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from deeprotect.bundle import Bundle
from deeprotect.errors import Argument, InputError, Placeholder, printable
from deeprotect.policy.known_sensors import PERSON, RECORDING, TIME, axis_of, factor_of, recognise, spelt, unit_in
from deeprotect.signals import Channel
from deeprotect.signals.clock import RATE_TOLERANCE
from deeprotect.tables.checking.check import first_look
from deeprotect.tables.checking.report import CheckReport
from deeprotect.tables.fields import stated_unit
from deeprotect.tables.roles import ColumnMap
from deeprotect.tables.sources import paths_of

PREPARED = "prepared.csv"
_LINEAR = re.compile(r"linear|user", re.IGNORECASE)


def matched(
    paths: Any, bundle: Bundle, *, mapped: Mapping[str, str], columns: Sequence[str] | None
) -> Mapping[str, str]:
    """Map channels to columns of a table in the protector's units and at its rate; refuse others.

    Channels are recognised by sensor and axis, units by column names and metadata, the rate by time stamps of the first
    rows.
    """
    said = {name: column for name, column in mapped.items() if name in (TIME, RECORDING, PERSON)}
    look = first_look(paths, mapping=ColumnMap.without_policy(said), columns=columns)
    places = {each: mapped.get(each.name) or _column(each, look) for each in bundle.schema.channels}
    maps = [f"{each.name}={column}" for each, column in places.items() if mapped.get(each.name, each.name) != column]
    changes = [*_units(places, look), *_rate(look, bundle.schema.rate_hz)]
    if not changes:
        return {**mapped, **{each.name: column for each, column in places.items() if each.name != column}}
    if columns:
        changes += ["--columns", ",".join(columns)]
    maps = [f"{name}={column}" for name, column in said.items()] + maps
    words = ["prepare", *paths_of(paths), "--out", PREPARED, *_each("--map", maps), *changes]
    raise InputError(
        f"{look.where}: not in this protector's units or at its rate; type: deeprotect {shlex.join(words)} "
        f"and then protect {PREPARED}"
    )


def _column(channel: Channel, look: CheckReport) -> str:
    """The column with that name, or the only column with the same sensor and axis."""
    names: list[str] = look.schema.names
    if channel.name in names:
        return channel.name
    found = [name for name in names if _kind(name) == _kind(channel.name)]
    if len(found) == 1:
        return found[0]
    shown = printable(channel.name)
    said = Argument("map", {shown: Placeholder("COLUMN")})
    if found:
        listed = " or ".join(f"'{printable(name)}'" for name in found[:3])
        line = f"{look.where}: {listed} looks like the protector's {shown}; confirm with "
        raise InputError(line, said)
    raise InputError(
        f"{look.where}: there is no column {shown}; record that sensor, too, name its column with ",
        said,
        ", or use another protector: see `deeprotect protectors`",
    )


def _kind(name: str) -> tuple[str, str | None, bool] | None:
    """Sensor, axis, and whether it is acceleration without gravity."""
    sensor = recognise(name)
    if sensor is None:
        return None
    return sensor.short, axis_of(name), sensor.short == "acc" and bool(_LINEAR.search(name))


def _units(places: Mapping[Channel, str], look: CheckReport) -> Iterator[str]:
    """Unit conversions to type; `prepare` uses the protector's channel names."""
    for channel, column in places.items():
        stated = unit_in(column) or (stated_unit(look.schema.field(column)) if column in look.schema.names else None)
        known = spelt(stated) if stated else None
        if known is None or known == channel.unit:
            continue
        if factor_of(known, channel.unit) is None:
            raise InputError(
                f"{look.where}: column '{printable(column)}' is in {known}, not {channel.unit}; map another"
            )
        yield from ("--unit", f"{channel.name}={known}:{channel.unit}")


def _rate(look: CheckReport, wanted: float) -> Iterator[str]:
    if look.rate_hz is None or abs(look.rate_hz / wanted - 1) <= RATE_TOLERANCE:
        return
    if look.rate_hz < wanted:
        raise InputError(
            f"{look.where}: recorded at about {look.rate_hz:g} Hz, and samples are never invented; this protector "
            f"needs {wanted:g} Hz or more"
        )
    yield from ("--rate-hz", f"{wanted:g}")


def _each(option: str, values: Iterable[str]) -> Iterator[str]:
    for value in values:
        yield from (option, value)
