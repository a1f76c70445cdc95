"""`deeprotect prepare`: a messy table in, a tidy one out, and what was done in numbers."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from deeprotect.errors import InputError, TableError
from deeprotect.policy import Policy
from deeprotect.signals.clock import rate_of_step
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.fields import check_names
from deeprotect.tables.output_checks import STANDARD
from deeprotect.tables.preparing.counts import Counts
from deeprotect.tables.preparing.grouping import Order, gathered_recordings, whole_recordings
from deeprotect.tables.preparing.mending import GapSplitter, Mender
from deeprotect.tables.preparing.piece import Piece, joined
from deeprotect.tables.preparing.reading import PieceReader
from deeprotect.tables.preparing.resample import Rate, check_rate, resample
from deeprotect.tables.preparing.tidy import Tidy, factors, unit_changes
from deeprotect.tables.preparing.units import UnitChange
from deeprotect.tables.roles import roles_of
from deeprotect.tables.sinks import open_sink
from deeprotect.tables.sources import open_source
from deeprotect.tables.spellings import Spellings
from deeprotect.tables.timestamps import Timeline

Stretches = Iterator[tuple[Piece, bool]]
MAX_DROPPED = 0.1  # share of the rows


@dataclass(frozen=True)
class PrepareRequest:
    """What is asked of a table: its columns, a rate, units; a policy says which columns are channels."""

    mapping: ColumnMap = field(default_factory=ColumnMap)
    columns: Sequence[str] | None = None
    rate_hz: float | None = None
    units: tuple[UnitChange, ...] = ()
    policy: Policy | None = None
    max_dropped: float = MAX_DROPPED


def prepare(table: Any, out: str | Path, request: PrepareRequest) -> Counts:
    """Reads the table twice: first how its rows stand, then the rows.

    Memory does not grow with the table where rows stand in order. A recording that must be sorted is in memory as a
    whole, and so is a stretch without gaps that is resampled; recordings that interleave go by way of the disk.
    """
    if str(table) == STANDARD:
        raise InputError("standard input: the table is read twice; save it to a file first")
    if request.rate_hz is not None and not (np.isfinite(request.rate_hz) and request.rate_hz > 0):
        raise InputError("--rate-hz: a rate is a positive number of samples in a second")
    if not 0 <= request.max_dropped <= 1:
        raise InputError("--max-dropped: a share of the rows lies between 0 and 1")
    order, timeline, spellings = _order(table, request)
    rate = _rate(order, timeline, request.rate_hz)
    counts = Counts(resampled_to_hz=request.rate_hz, respelt={name: len(each) for name, each in spellings.items()})
    with _opened(table, request, counts) as (schema, reader, batches):
        written = timeline if rate else None
        given: Any = {"timeline": written, "spellings": spellings, "where": reader.where}
        tidy = Tidy.of(schema, reader.roles, request.units, **given)
        with open_sink(out, tidy.schema) as sink:
            beside = None if str(out) == STANDARD else Path(out).parent
            for stretch, begins in _stretches(
                reader.pieces(batches), order, counts, rate=rate, beside=beside, where=reader.where
            ):
                counts.recordings_out += begins
                counts.rows_out += len(stretch)
                sink.write(tidy.table(stretch, counts.recordings_out))
            counts.refuse_losses(request.max_dropped, reader.where)
    counts.converted = {name: change.unit for name, change in tidy.changes.items()}
    return counts


@contextmanager
def _opened(
    table: Any, request: PrepareRequest, counts: Counts
) -> Iterator[tuple[pa.Schema, PieceReader, Iterator[pa.RecordBatch]]]:
    def ragged(_: int) -> None:
        counts.ragged_lines += 1

    with open_source(table, numbers=(), columns=request.columns, mapping=request.mapping, ragged=ragged) as source:
        check_names(source.schema, source.where)
        names = source.schema.names
        roles = roles_of(names, request.mapping, policy=request.policy, where=source.where).settled(source.where)
        if not roles.channels:
            raise TableError(
                f"{source.where}: no column is named like a sensor (acc_x, gyro_z, …); rename them, or give a policy "
                "that names the channels"
            )
        scale = factors(roles.channels, unit_changes(roles.channels, request.units))
        yield source.schema, PieceReader(roles, source.where, counts, scale), source.batches


def _order(table: Any, request: PrepareRequest) -> tuple[Order, Timeline | None, dict[str, dict[str, str]]]:
    """The first pass: how the rows stand, a time column that knows its unit, and labels in several spellings."""
    order, spellings = Order(), Spellings()
    with _opened(table, request, counts := Counts()) as (_, reader, batches):
        for piece in reader.pieces(batches):
            order.see(piece)
            for name in piece.cells.column_names:
                if name not in (reader.roles.time, reader.roles.recording):
                    spellings.see(name, piece.cells.column(name))
        if not order.recordings:
            raise TableError(f"{reader.where}: it has no row that can be used; see `deeprotect check`")
        counts.refuse_losses(request.max_dropped, reader.where)
        return order, reader.timeline, spellings.unusual()


def _rate(order: Order, timeline: Timeline | None, rate_hz: float | None) -> Rate | None:
    """The rate that is asked for, beside the one that is there."""
    if rate_hz is None:
        return None
    if timeline is None:
        raise InputError("--rate-hz: without a time column nothing can be resampled; map one with --map time=COLUMN")
    found = None if order.period is None else rate_of_step(order.period, timeline.per_second)
    if found is None:
        raise InputError("--rate-hz: the time column shows no rate that sensors have, in s, ms, µs or ns; convert it")
    check_rate(rate_hz, found[0], timeline.where)
    return Rate(rate_hz, *found)


def _stretches(
    pieces: Iterable[Piece], order: Order, counts: Counts, *, rate: Rate | None, beside: Path | None, where: str
) -> Stretches:
    """Rows in their final order, each part with whether a new recording begins with it."""
    period = order.period or 1.0
    splitter = GapSplitter(period if rate is None else max(period, rate.period), counts)
    parts = _split(pieces, order, splitter, Mender(where, counts), beside=beside)
    return parts if rate is None else _resampled(parts, rate, counts)


def _split(
    pieces: Iterable[Piece], order: Order, splitter: GapSplitter, mender: Mender, *, beside: Path | None
) -> Stretches:
    if not (order.interleaved or order.unsorted):
        for piece in pieces:
            if len(piece):
                yield from splitter.split(piece)
        return
    recordings = gathered_recordings(pieces, order, beside=beside) if order.interleaved else whole_recordings(pieces)
    for recording in recordings:
        for run in mender.mend(recording):
            splitter.begin()
            yield from splitter.split(run)


def _resampled(parts: Stretches, rate: Rate, counts: Counts) -> Stretches:
    held: list[Piece] = []
    for part, begins in parts:
        if begins and held:
            yield from _at_rate(held, rate, counts)
            held = []
        held.append(part)
    if held:
        yield from _at_rate(held, rate, counts)


def _at_rate(stretch: list[Piece], rate: Rate, counts: Counts) -> Stretches:
    rows = joined(stretch)
    if rate.is_above(rows):
        counts.too_slow += len(rows)
        return
    slower = resample(rows, rate)
    if len(slower):
        yield slower, True
