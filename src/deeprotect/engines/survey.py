"""A survey of a table's recordings, independent of row order and of the engine."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from numpy.typing import NDArray

from deeprotect.errors import TableError

Found = Mapping[Any, tuple[int, int, int]]
"""For each recording's name: its row count, and two sums of row hashes."""
WHERE = "the table"
CHANGED = "the table changed while it was read; give one that does not change, such as files"


class Survey:
    """Counts rows of recordings and hashes their values in some columns, in any order.

    A digest is two sums over rows modulo 2^64, so that it is the same by file, on Spark and on Dask. It does not resist
    forgery, which would gain nothing: recordings with the same digest and name share their draws.
    """

    def __init__(self, recording: str, hashed: Sequence[str]) -> None:
        self._recording, self._hashed = recording, list(hashed)
        self.found: dict[Any, tuple[int, int, int]] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        codes = plain_names(rows.column(self._recording)).dictionary_encode()
        known, place = codes.dictionary.to_pylist(), codes.indices.to_numpy()
        counts, sums = np.bincount(place, minlength=len(known)), np.zeros((2, len(known)), dtype=np.uint64)
        if self._hashed:
            hashes = _row_hashes(rows.select(self._hashed))
            np.add.at(sums[0], place, hashes)
            np.add.at(sums[1], place, hashes * hashes)
        self.merge(dict(zip(known, zip(counts.tolist(), *sums.tolist(), strict=True), strict=True)))

    def merge(self, other: Found) -> None:
        for name, (rows, *sums) in other.items():
            before = self.found.get(name, (0, 0, 0))
            first, second = ((old + new) % 2**64 for old, new in zip(before[1:], sums, strict=True))
            self.found[name] = before[0] + rows, first, second


def plain_names(names: pa.Array) -> pa.Array:
    """Names of recordings as text; a row without one is refused."""
    refuse_unnamed([names.null_count])
    return names.cast(names.type.value_type) if kinds.is_dictionary(names.type) else names


def refuse_unnamed(missing: Iterable[object]) -> None:
    if any(missing):
        raise TableError(f"{WHERE}: the column of recordings is empty in some rows; name their recording")


def _row_hashes(rows: pa.RecordBatch) -> NDArray[np.uint64]:
    """A hash for each row, equal for equal values, whatever width an engine gives them."""
    import pandas as pd

    mixed = np.zeros(rows.num_rows, dtype=np.uint64)
    for column in rows.columns:
        values = pd.util.hash_array(_widest(column))
        mixed = (mixed ^ values) * np.uint64(0x9E3779B97F4A7C15)
    return mixed


def _widest(column: pa.Array) -> NDArray[Any]:
    column = column.cast(column.type.value_type) if kinds.is_dictionary(column.type) else column
    kind = column.type
    if kinds.is_timestamp(kind):  # Spark has microseconds
        column = pc.cast(column, pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
    elif kinds.is_temporal(kind):
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    if kinds.is_integer(column.type):
        column = column.cast(pa.int64(), safe=False)
    elif kinds.is_floating(column.type):
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0)  # one zero, not two
    else:
        column = column.cast(pa.string())
    return np.asarray(column.to_numpy(zero_copy_only=False))
