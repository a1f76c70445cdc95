"""What a table looks like before there is a policy: its columns, what they are for, and the rate its time shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deeprotect.errors import InputError
from deeprotect.signals.clock import RATE_TOLERANCE, rate_of
from deeprotect.tables.cells import NameIndex
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.fields import check_names
from deeprotect.tables.roles import Roles, roles_of
from deeprotect.tables.sources import open_source
from deeprotect.tables.timestamps import Timeline


@dataclass(frozen=True)
class Survey:
    """Columns with their types and units, their uses, and the sampling rate where a time column shows it."""

    schema: pa.Schema
    roles: Roles
    rate_hz: float | None


def survey(table: Any, *, mapping: ColumnMap | None = None, columns: Sequence[str] | None = None) -> Survey:
    """Reads the header and the first time stamps; no sample value."""
    mapping = ColumnMap() if mapping is None else mapping
    with open_source(table, columns=columns, mapping=mapping) as source:
        check_names(source.schema, source.where)
        roles = roles_of(source.schema.names, mapping, where=source.where).settled(source.where)
        needed = source.only([name for name in (roles.time, roles.recording) if name])
        first = None if roles.time is None else next(needed.batches, None)
        if first is None or roles.time is None:
            return Survey(source.schema, roles, None)
        return Survey(source.schema, roles, first_rate(first, roles, Timeline(roles.time, source.where)))


def settled_rate(seen: Survey, given_hz: float | None, *, where: str) -> float:
    """The rate that is given or shown; both, where they agree."""
    if given_hz is None:
        if seen.rate_hz is None:
            raise InputError(f"{where}: no time column shows the sampling rate; give it with --rate-hz")
        return seen.rate_hz
    if seen.rate_hz is not None and not abs(given_hz / seen.rate_hz - 1) <= RATE_TOLERANCE:
        raise InputError(
            f"{where}: --rate-hz {given_hz:g} is not what its time shows, about {seen.rate_hz:g}; leave it out, or "
            "resample with `deeprotect prepare --rate-hz`"
        )
    return given_hz


def first_rate(batch: pa.RecordBatch, roles: Roles, timeline: Timeline) -> float | None:
    """The rate that the first rows show, inside recordings, in whatever order they stand."""
    if roles.time is None:
        return None
    time = timeline.read(batch.column(roles.time))
    recording = NameIndex().numbers(batch.column(roles.recording)) if roles.recording else None
    return rate_of(time, timeline.per_second, recording=recording)
