"""Refusing rows that cannot be windows: one line that says which row or column, and what to do.

Messages name rows and columns, never sample values: an error text may travel further than the data.
"""

import numpy as np

from deeprotect.errors import TableError
from deeprotect.signals.schema import Floats, Schema

OUTSIDE_SHARE = 0.5  # more than this outside the public range: the unit is wrong, not the sensor saturated


def check_samples(samples: Floats, schema: Schema, *, first_row: int, where: str) -> None:
    """Every sample is a finite number, and most lie inside the public range."""
    _check_finite(samples, schema, first_row, where)
    _check_ranges(samples, schema, where)


def _check_finite(samples: Floats, schema: Schema, first_row: int, where: str) -> None:
    bad = ~np.isfinite(samples)
    if not bad.any():
        return
    row, column = np.argwhere(bad)[0]
    kind = "infinite" if np.isinf(samples[row, column]) else "missing or not a number"
    raise TableError(
        f"{where}: row {first_row + row + 1}, column '{schema.names[column]}' is {kind}; "
        "fill it, drop the row, or cut the recording there"
    )


def _check_ranges(samples: Floats, schema: Schema, where: str) -> None:
    if not len(samples):
        return
    outside = np.mean((samples < schema.low) | (samples > schema.high), axis=0)
    worst = int(np.argmax(outside))
    if outside[worst] > OUTSIDE_SHARE:
        channel = schema.channels[worst]
        raise TableError(
            f"{where}: {outside[worst]:.0%} of column '{channel.name}' lies outside its public range "
            f"[{channel.low:g}, {channel.high:g}] {channel.unit}; is it in another unit? "
            "Convert it, or correct unit and range in the policy"
        )
