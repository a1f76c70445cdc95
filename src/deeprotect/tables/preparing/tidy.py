"""The tidy table: numbered recordings, channels in the requested units, unified labels, everything else unchanged."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.errors import ArgumentError, TableError, printable
from deeprotect.policy.known_sensors import RECORDING, SIZES, TIME, recognise, spelt
from deeprotect.signals.schema import Floats
from deeprotect.tables.checking.watches import respelt
from deeprotect.tables.fields import check_names, fresh_field, is_text, stated_unit
from deeprotect.tables.numbers import NumberColumn
from deeprotect.tables.preparing.mending import RowBlock
from deeprotect.tables.roles import Roles
from deeprotect.tables.source import Source
from deeprotect.tables.timestamps import Timeline

_IN_NAME = re.compile(r"[\[(][^\])]+[\])]")


@dataclass(frozen=True)
class UnitChange:
    """Multiply the columns of `what` (a sensor or a column) by `factor`; they are then in `unit`."""

    what: str
    old: str
    unit: str
    factor: float

    @classmethod
    def parse(cls, text: str) -> "UnitChange":
        what, _, units = text.rpartition("=")
        old, colon, new = units.partition(":")
        if not (what.strip() and colon):
            raise ArgumentError("unit", "write WHAT=FROM:TO, for example acc=m/s2:g", text)
        old_unit, new_unit = _known(old, text), _known(new, text)
        quantity, size = SIZES[old_unit]
        new_quantity, new_size = SIZES[new_unit]
        if quantity != new_quantity:
            reason = f"{old_unit} is {quantity}, {new_unit} is {new_quantity}; they do not convert"
            raise ArgumentError("unit", reason, text)
        return cls(what.strip(), old_unit, new_unit, size / new_size)

    def columns(self, channels: tuple[str, ...]) -> tuple[str, ...]:
        """The column with that name, or all of that sensor."""
        if self.what in channels:
            return (self.what,)
        sensors = {name: recognise(name) for name in channels}
        word = self.what.lower()
        found = tuple(
            name for name, sensor in sensors.items() if sensor and word in (sensor.short, sensor.kind, *sensor.words)
        )
        if not found:
            has = printable(", ".join(channels), 300) or "none"
            raise ArgumentError("unit", f"no such sensor or column; the channels are: {has}", self.what)
        return found

    def renamed(self, column: str) -> str:
        """The name with the new unit in brackets instead of the old one."""
        return _IN_NAME.sub(f"({self.unit})", column)


def _known(unit: str, text: str) -> str:
    known = spelt(unit)
    if known not in SIZES:
        raise ArgumentError("unit", f"'{printable(unit)}' is not known; use {', '.join(SIZES)}", text)
    return known


@dataclass(frozen=True)
class Tidy:
    """Converts columns of a source to those of the tidy table; `timeline` writes the stamps of a new rate."""

    source: pa.Schema
    roles: Roles
    changes: dict[str, UnitChange]
    timeline: Timeline | None  # None if time is unchanged or missing
    spellings: dict[str, dict[str, str]]  # by column, spellings and the usual ones
    commas: tuple[str, ...]  # columns with decimal commas that are not channels
    left_out: tuple[str, ...]  # columns called time that are not a time, which other programs would use
    where: str

    @classmethod
    def of(
        cls,
        source: Source,
        roles: Roles,
        units: tuple[UnitChange, ...],
        *,
        timeline: Timeline | None,
        spellings: dict[str, dict[str, str]],
        commas: Sequence[str] = (),
    ) -> "Tidy":
        names, where, left_out = source.schema.names, source.where, roles.no_time
        for name, column in ((TIME, roles.time), (RECORDING, roles.recording)):
            if name in names and column != name and name not in left_out:
                raise TableError(f"{where}: column '{name}' exists but is not the {name}; rename or drop it")
        kept = pa.schema([field for field in source.schema if field.name not in left_out])
        changes = unit_changes(roles.channels, units)
        tidy = cls(kept, roles, changes, timeline, spellings, tuple(commas), left_out, where)
        check_names(tidy.schema, where)
        return tidy

    @property
    def beside(self) -> list[str]:
        """Columns that are not channels."""
        return [name for name in self.source.names if name not in self.roles.channels]

    @property
    def factors(self) -> Floats:
        """Factors for each channel."""
        return np.array([self.changes[name].factor if name in self.changes else 1.0 for name in self.roles.channels])

    @property
    def schema(self) -> pa.Schema:
        fields = [self._field(name) for name in self.source.names]
        return pa.schema(fields if self.roles.recording else [pa.field(RECORDING, pa.string()), *fields])

    def table(self, piece: RowBlock, number: int) -> pa.Table:
        """The rows of a piece, which belong to the recording with that number."""
        named = pa.array([str(number)] * len(piece), pa.string())
        columns = [self._column(name, piece, named) for name in self.source.names]
        columns = columns if self.roles.recording else [named, *columns]
        schema = self.schema
        return pa.table(
            [pc.cast(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema
        )

    def _field(self, name: str) -> pa.Field:
        field = self.source.field(name)
        if name == self.roles.recording:
            return pa.field(RECORDING, pa.string())
        if name == self.roles.time:
            return pa.field(TIME, self.timeline.written if self.timeline else fresh_field(field, self.where).type)
        if name not in self.roles.channels:
            return fresh_field(field, self.where)
        change = self.changes.get(name)
        unit = change.unit if change else stated_unit(field)
        return pa.field(
            change.renamed(name) if change else name, pa.float64(), metadata={"unit": unit} if unit else None
        )

    def _column(self, name: str, piece: RowBlock, named: pa.Array) -> pa.Array | pa.ChunkedArray:
        if name == self.roles.recording:
            return named
        if name in self.roles.channels:
            return pa.array(piece.samples[:, self.roles.channels.index(name)])
        if name == self.roles.time:
            return self._time(piece)
        cells = piece.cells.column(name)
        if name in self.commas:  # one decimal mark per file
            plain_cells = cells.combine_chunks()
            return pc.coalesce(NumberColumn(mark=",").written(plain_cells)[0], plain_cells)
        return respelt(cells, self.spellings[name]) if name in self.spellings else cells

    def _time(self, piece: RowBlock) -> pa.Array | pa.ChunkedArray:
        if self.timeline is not None:
            return self.timeline.stamps(piece.time)
        cells = piece.cells.column(self.roles.time)
        # A decimal comma would need quotes in CSV, and other tools would not read it.
        return pc.replace_substring(cells, ",", ".") if is_text(cells.type) else cells


def unit_changes(channels: tuple[str, ...], units: tuple[UnitChange, ...]) -> dict[str, UnitChange]:
    """The change for each column; at most one."""
    changes: dict[str, UnitChange] = {}
    for change in units:
        for name in change.columns(channels):
            if name in changes:
                raise ArgumentError("unit", f"column '{printable(name)}' is converted twice; convert it once")
            changes[name] = change
    return changes
