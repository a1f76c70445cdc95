"""The tidy table: recordings numbered, channels in the units asked for, labels in one spelling, the rest as it is."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.errors import InputError, TableError, printable
from deeprotect.policy.usual_names import RECORDING, TIME
from deeprotect.signals.schema import Floats
from deeprotect.tables.fields import check_names, fresh_field, is_text, stated_unit
from deeprotect.tables.preparing.piece import Piece
from deeprotect.tables.preparing.units import UnitChange
from deeprotect.tables.roles import Roles
from deeprotect.tables.spellings import respelt
from deeprotect.tables.timestamps import Timeline


@dataclass(frozen=True)
class Tidy:
    """How the columns of a source become those of the tidy table; `timeline` writes the stamps of a new rate."""

    source: pa.Schema
    roles: Roles
    changes: dict[str, UnitChange]
    timeline: Timeline | None  # None where time stays as it was written, or there is none
    spellings: dict[str, dict[str, str]]  # of labels, by column, and the usual ones
    where: str

    @classmethod
    def of(
        cls,
        source: pa.Schema,
        roles: Roles,
        units: tuple[UnitChange, ...],
        *,
        timeline: Timeline | None,
        spellings: dict[str, dict[str, str]],
        where: str,
    ) -> "Tidy":
        for name, column in ((TIME, roles.time), (RECORDING, roles.recording)):
            if name in source.names and column != name:
                raise TableError(f"{where}: column '{name}' is there and is not the {name}; rename or drop it")
        changes = unit_changes(roles.channels, units)
        tidy = cls(source, roles, changes, timeline, spellings, where)
        check_names(tidy.schema, where)
        return tidy

    @property
    def schema(self) -> pa.Schema:
        fields = [self._field(name) for name in self.source.names]
        return pa.schema(fields if self.roles.recording else [pa.field(RECORDING, pa.string()), *fields])

    def table(self, piece: Piece, number: int) -> pa.Table:
        """The rows of a piece, all of the recording with that number."""
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

    def _column(self, name: str, piece: Piece, named: pa.Array) -> pa.Array | pa.ChunkedArray:
        if name == self.roles.recording:
            return named
        if name in self.roles.channels:
            return pa.array(piece.samples[:, self.roles.channels.index(name)])
        if name == self.roles.time:
            return self._time(piece)
        cells = piece.cells.column(name)
        return respelt(cells, self.spellings[name]) if name in self.spellings else cells

    def _time(self, piece: Piece) -> pa.Array | pa.ChunkedArray:
        if self.timeline is not None:
            return self.timeline.stamps(piece.time)
        cells = piece.cells.column(self.roles.time)
        # A decimal comma would need quotes in CSV, and other tools would not read it.
        return pc.replace_substring(cells, ",", ".") if is_text(cells.type) else cells


def unit_changes(channels: tuple[str, ...], units: tuple[UnitChange, ...]) -> dict[str, UnitChange]:
    """Which change meets which column; each at most once."""
    changes: dict[str, UnitChange] = {}
    for change in units:
        for name in change.columns(channels):
            if name in changes:
                raise InputError(f"--unit: column '{printable(name)}' is converted twice; convert it once")
            changes[name] = change
    return changes


def factors(channels: tuple[str, ...], changes: dict[str, UnitChange]) -> Floats:
    """By which each channel is multiplied."""
    return np.array([changes[name].factor if name in changes else 1.0 for name in channels])
