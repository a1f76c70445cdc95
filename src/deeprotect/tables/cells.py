"""Cells of a column as numbers and names, as far as they can be understood: for tables that still have to be mended."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deeprotect.signals.recordings import MOST_RECORDINGS
from deeprotect.signals.schema import Floats
from deeprotect.tables.fields import decoded, is_text

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]
UNNAMED, UNTRACKED = -1, -2
_NUMBER = r"^\s*([-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?|[-+]?(?i:inf|infinity|nan))\s*$"


def plain(column: pa.Array) -> pa.Array:
    """A dictionary as its values, text as text that Arrow can compute with."""
    column = decoded(column) if pa.types.is_dictionary(column.type) else column
    return column.cast(pa.large_string()) if is_text(column.type) else column


def numbers_in(column: pa.Array) -> tuple[Floats, Mask]:
    """Values as float64, NaN where there is none, and which cells hold something that is no number."""
    column = plain(column)
    if is_text(column.type):
        return _numbers_in_text(column)
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return np.asarray(values, dtype=np.float64), np.zeros(len(column), dtype=bool)
    return np.full(len(column), np.nan), _as_mask(pc.is_valid(column))


def _numbers_in_text(column: pa.Array) -> tuple[Floats, Mask]:
    good = pc.fill_null(pc.match_substring_regex(column, _NUMBER), pa.scalar(value=False))
    filled = pc.fill_null(pc.match_substring_regex(column, r"\S"), pa.scalar(value=False))
    text = pc.replace_substring(pc.utf8_trim_whitespace(pc.if_else(good, column, None)), ",", ".")
    values = pc.cast(pc.replace_substring_regex(text, r"^\+", ""), pa.float64())
    return values.to_numpy(zero_copy_only=False), _as_mask(pc.and_(filled, pc.invert(good)))


def _as_mask(column: pa.Array) -> Mask:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=bool)


@dataclass
class NameIndex:
    """Numbers for names, in the order in which they first appear, over the batches of a source.

    Rows without a name are UNNAMED. After MOST_RECORDINGS names no more are remembered: such rows are UNTRACKED.
    """

    _numbers: dict[object, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, column: pa.Array) -> Indices:
        encoded = plain(column).dictionary_encode()
        known = np.array([self._number(name) for name in encoded.dictionary.to_pylist()] + [UNNAMED], dtype=np.int64)
        rows: Indices = encoded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)
        return known[rows]

    def _number(self, name: object) -> int:
        if name is None or name != name or name == "":
            return UNNAMED
        if name not in self._numbers and len(self._numbers) == MOST_RECORDINGS:
            return UNTRACKED
        return self._numbers.setdefault(name, len(self._numbers))
