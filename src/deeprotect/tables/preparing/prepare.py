"""`deeprotect prepare`: a messy table in, a tidy one and counts of repairs out."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from deeprotect.errors import Argument, ArgumentError, InputError, Placeholder, TableError
from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import NOT_SENSORS, suggested_map
from deeprotect.signals.clock import rate_of_step
from deeprotect.signals.recordings import MOST_RECORDINGS
from deeprotect.signals.schema import Floats
from deeprotect.tables.checking.check import Checker, opened
from deeprotect.tables.fields import check_names, plain
from deeprotect.tables.outputs import STANDARD, open_sink
from deeprotect.tables.preparing.counts import Counts
from deeprotect.tables.preparing.mending import (
    GapSplitter,
    Mender,
    Rate,
    RowBlock,
    check_rate,
    gathered_recordings,
    joined,
    resample,
    whole_recordings,
)
from deeprotect.tables.preparing.tidy import Tidy, UnitChange, unit_changes
from deeprotect.tables.reader import Indices, Reader
from deeprotect.tables.roles import ColumnMap
from deeprotect.tables.sources import is_address

Stretches = Iterator[tuple[RowBlock, bool]]
MAX_DROPPED = 0.1  # share of the rows


@dataclass(frozen=True)
class PrepareRequest:
    """Options of `prepare`: columns, a rate, units; a policy names the channels."""

    mapping: ColumnMap = field(default_factory=ColumnMap)
    columns: Sequence[str] | None = None
    rate_hz: float | None = None
    units: tuple[UnitChange, ...] = ()
    policy: Policy | None = None
    max_dropped: float = MAX_DROPPED


def prepare(table: Any, out: str | Path, request: PrepareRequest) -> Counts:
    """Read the table twice: first as `check` does, then the rows.

    Memory does not grow with the table if rows are in order. A recording that must be sorted is in memory entirely, and
    so is a stretch without gaps that is resampled; interleaved recordings go through temporary files.
    """
    if str(table) == STANDARD:
        raise InputError("standard input: the table is read twice; save it to a file first")
    if request.rate_hz is not None and not (np.isfinite(request.rate_hz) and request.rate_hz > 0):
        raise ArgumentError("rate_hz", "a rate is a positive number of samples per second")
    if not 0 <= request.max_dropped <= 1:
        raise ArgumentError("max_dropped", "give a share of the rows between 0 and 1")
    first = _first_pass(table, request)
    rate, counts = _rate(first, request.rate_hz), Counts(resampled_to_hz=request.rate_hz)
    with _opened(table, request, first) as again:
        written = first.reader.timeline if rate or first.in_days else None
        spellings = first.spellings.unusual()
        tidy = Tidy.of(
            again.source, again.roles, request.units, timeline=written, spellings=spellings, commas=first.decimal_commas
        )
        units = {name: change.unit for name, change in tidy.changes.items()}
        counts.tell(first, converted=units, left_out=tidy.left_out)
        beside = None if str(out) == STANDARD or is_address(str(out)) else Path(out).parent
        stretches = _stretches(_pieces(again.reader, counts, tidy), first, counts, rate=rate, beside=beside)
        with open_sink(out, tidy.schema) as sink:
            for stretch, begins in stretches:
                counts.recordings_out += begins
                counts.rows_out += len(stretch)
                sink.write(tidy.table(stretch, counts.recordings_out))
            counts.ragged_lines = again.tally["ragged"].count
            counts.refuse_losses(request.max_dropped, first.report())
    counts.recordings_in = len(again.reader.recordings) or 1
    return counts


@contextmanager
def _opened(table: Any, request: PrepareRequest, first: Checker | None = None) -> Iterator[Checker]:
    with opened(
        table, request.policy, request.mapping, columns=request.columns, first=first, by_person=True
    ) as checker:
        source = checker.source
        check_names(source.schema, source.where)
        if not checker.roles.settled(source.where).channels:
            mapped = Argument("map", suggested_map(source.schema.names))
            found = f"{source.where}: no column is named like a sensor; "
            raise TableError(found, NOT_SENSORS, mapped, ", or give a ", Argument("policy"))
        unit_changes(checker.roles.channels, request.units)  # fail before reading
        yield checker


def _first_pass(table: Any, request: PrepareRequest) -> Checker:
    """Check the order of rows, and whether enough of them are usable."""
    counts = Counts()
    with _opened(table, request) as checker:
        for seen in checker.reader.read():
            checker.see(seen)
            counts.usable(seen)
    where = checker.source.where
    if checker.reader.recordings.is_full:
        raise TableError(f"{where}: more than {MOST_RECORDINGS} recordings; is that column something else?")
    counts.ragged_lines = checker.tally["ragged"].count
    counts.refuse_losses(request.max_dropped, checker.report())
    if not counts.rows_left:
        raise TableError(f"{where}: no usable rows; see `deeprotect check`")
    if checker.step is not None and checker.no_rate:
        raise TableError(f"{where}: {checker.no_rate}")
    return checker


def _rate(checker: Checker, rate_hz: float | None) -> Rate | None:
    """The requested rate, with the table's own."""
    timeline = checker.reader.timeline
    if rate_hz is None:
        return None
    if timeline is None:
        mapped = Argument("map", {"time": Placeholder("COLUMN")})
        raise InputError(Argument("rate_hz"), ": without a time column nothing can be resampled; map one with ", mapped)
    found = None if checker.step is None else rate_of_step(checker.step, timeline.per_second)
    if found is None:
        raise ArgumentError(
            "rate_hz", "the time column shows no rate that sensors have, in s, ms, µs or ns; convert it"
        )
    check_rate(rate_hz, found[0], timeline.where)
    return Rate(rate_hz, *found)


def _pieces(reader: Reader, counts: Counts, tidy: Tidy) -> Iterator[RowBlock]:
    """The usable rows, in the requested units; without time, by their place in the recording."""
    places = np.zeros(0, dtype=np.int64)
    for seen in reader.read():
        time = seen.time
        if time is None:
            time, places = _place(seen.recording, places)
        cells = pa.table({name: plain(seen.batch.column(name)) for name in tidy.beside})
        yield RowBlock(seen.recording, time, seen.samples * tidy.factors, cells).take(counts.usable(seen))


def _place(recording: Indices, before: Indices) -> tuple[Floats, Indices]:
    """Number of earlier rows of the same recording, so that dropped rows leave a gap; and the new counts."""
    known = np.where(recording >= 0, recording, 0)
    before = np.pad(before, (0, max(0, int(known.max()) + 1 - len(before))))
    order = np.argsort(known, kind="stable")
    place = np.empty(len(known))
    place[order] = np.arange(len(known)) - np.searchsorted(known[order], known[order]) + before[known[order]]
    return place, before + np.bincount(known, minlength=len(before))


def _stretches(
    pieces: Iterable[RowBlock], first: Checker, counts: Counts, *, rate: Rate | None, beside: Path | None
) -> Stretches:
    """Rows in their final order, in parts that say whether they begin a new recording."""
    period = first.step or 1.0
    splitter = GapSplitter(period if rate is None else max(period, rate.period), counts)
    parts = _split(pieces, first, splitter, beside=beside)
    return parts if rate is None else _resampled(parts, rate, counts)


def _split(pieces: Iterable[RowBlock], first: Checker, splitter: GapSplitter, *, beside: Path | None) -> Stretches:
    interleaved, mender = bool(first.tally["interleaved"].count), Mender(first.report().where, splitter.counts)
    if not (interleaved or first.order.unsorted):
        for piece in pieces:
            if len(piece):
                yield from splitter.split(piece)
        return
    count = len(first.reader.recordings)
    recordings = gathered_recordings(pieces, count, beside=beside) if interleaved else whole_recordings(pieces)
    for recording in recordings:
        for run in mender.mend(recording):
            splitter.begin()
            yield from splitter.split(run)


def _resampled(parts: Stretches, rate: Rate, counts: Counts) -> Stretches:
    held: list[RowBlock] = []
    for part, begins in parts:
        if begins and held:
            yield from _at_rate(held, rate, counts)
            held = []
        held.append(part)
    if held:
        yield from _at_rate(held, rate, counts)


def _at_rate(stretch: list[RowBlock], rate: Rate, counts: Counts) -> Stretches:
    rows = joined(stretch)
    if rate.is_above(rows):
        counts.too_slow += len(rows)
        return
    slower = resample(rows, rate)
    if len(slower):
        yield slower, True
