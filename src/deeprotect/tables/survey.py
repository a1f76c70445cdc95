"""What a table looks like before there is a policy: its columns, what they are for, and the rate its time shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deeprotect.signals.clock import rate_of
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
    mapping = mapping or ColumnMap()
    with open_source(table, columns=columns, mapping=mapping) as source:
        check_names(source.schema, source.where)
        roles = roles_of(source.schema.names, mapping, where=source.where).settled(source.where)
        first = next(source.batches, None)
        if first is None or roles.time is None:
            return Survey(source.schema, roles, None)
        return Survey(source.schema, roles, first_rate(first, roles, Timeline(roles.time, source.where)))


def first_rate(batch: pa.RecordBatch, roles: Roles, timeline: Timeline) -> float | None:
    """The rate that the first rows show, inside recordings, in whatever order they stand."""
    if roles.time is None:
        return None
    time = timeline.read(batch.column(roles.time))
    recording = NameIndex().numbers(batch.column(roles.recording)) if roles.recording else None
    return rate_of(time, timeline.per_second, recording=recording)
