"""Form checks: a released table must look to an app like the raw one, in everything but its samples."""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from deeprotect.evaluation.results import FormCheck
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Pipeline
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.release.releasing import release_table
from deeprotect.signals import Channel
from deeprotect.tables.columns import Columns
from deeprotect.tables.fields import decoded
from deeprotect.tables.passing import Passing
from deeprotect.tables.sinks import Memory

CHECKED_ROWS = 5_000
"""The beginning of a table is enough: form does not change along it."""
SLACK = 1e-6
"""Of a channel's range; columns of 32 bits cannot hold all steps of a fine resolution."""


def check_form(table: pa.Table, bundle: Pipeline, *, mapping: Mapping[str, str]) -> list[FormCheck]:
    """Send rows through the real pipe and hold what comes out against what went in."""
    raw = table.slice(0, CHECKED_ROWS)
    memory = Memory()
    ledger = MemoryLedger(Price.of(bundle.mechanism))
    named, entropy = Passing(recording="named"), SystemEntropy()
    release_table(raw, memory.open, bundle, mapping=mapping, ledger=ledger, entropy=entropy, passing=named)
    released, columns = memory.table(), Columns.of(raw.schema, bundle.schema, mapping=mapping, where="the table")
    return [*_frame(raw, released, columns), *_values(released, columns, bundle.schema.channels)]


def _frame(raw: pa.Table, released: pa.Table, columns: Columns) -> Iterator[FormCheck]:
    yield FormCheck("rows", released.num_rows == raw.num_rows, f"{released.num_rows} of {raw.num_rows}")
    kept = [name for name in raw.column_names if name in columns.kept]
    yield FormCheck("columns and order", released.column_names == kept, ", ".join(released.column_names))
    types = all(released.field(name).type == _shown(raw.field(name).type) for name in kept)
    yield FormCheck("column types", types, "as in the raw table" if types else "they differ")
    if columns.time_name is not None:
        name = columns.time_name
        time = [decoded(chunk) for chunk in raw.column(name).chunks]
        same = released.column(name).equals(pa.chunked_array(time, released.field(name).type))
        yield FormCheck("time stamps and rate", same, "unchanged, row for row" if same else "they differ")


def _shown(kind: pa.DataType) -> pa.DataType:
    """Of a dictionary the values leave: its entries may name what no row shows."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _values(released: pa.Table, columns: Columns, channels: tuple[Channel, ...]) -> Iterator[FormCheck]:
    for name, channel in zip(columns.channels, channels, strict=True):
        values = released.column(name).to_numpy().astype(np.float64)
        span = channel.high - channel.low
        inside = values.min() >= channel.low - SLACK * span and values.max() <= channel.high + SLACK * span
        found = f"{values.min():.4g} to {values.max():.4g} {channel.unit} inside {channel.low:g} to {channel.high:g}"
        yield FormCheck(f"range of {name}", bool(inside), found)
        if channel.resolution is not None:
            steps = values / channel.resolution
            off = np.abs(steps - np.rint(steps)).max() * channel.resolution / span
            yield FormCheck(
                f"resolution of {name}", bool(off <= SLACK), f"steps of {channel.resolution:g} {channel.unit}"
            )
