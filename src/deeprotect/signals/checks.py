"""Refusing rows that cannot be windows: one line that says which row or column, and what to do.

Messages name rows and columns, never a sample or a figure made from samples: an error text may travel further than
the data.
"""

import numpy as np

from deeprotect.errors import TableError, printable
from deeprotect.signals.schema import Channel, Floats, Schema

OUTSIDE_SHARE = 0.5  # more than this outside the public range: the unit is wrong, not the sensor saturated


def all_inside(samples: Floats, schema: Schema) -> bool:
    """Every sample is a number in the public range, as nearly all batches are; what is no number is in none."""
    return not len(samples) or bool(
        (samples.min(axis=0) >= schema.low).all() and (samples.max(axis=0) <= schema.high).all()
    )


def check_finite(samples: Floats, schema: Schema, *, first_row: int, where: str) -> None:
    """Every sample is a finite number."""
    if not len(samples) or np.isfinite([samples.min(), samples.max()]).all():  # what is no number is both
        return
    row, column = np.argwhere(~np.isfinite(samples))[0]
    kind = "infinite" if np.isinf(samples[row, column]) else "missing or not a number"
    raise TableError(
        f"{where}: row {first_row + row + 1}, column '{printable(schema.names[column])}' is {kind}; "
        "drop such rows with `deeprotect prepare`"
    )


def largely_outside(samples: Floats, schema: Schema) -> list[Channel]:
    """Channels that look as if they were in another unit: most of these samples lie outside the public range."""
    if all_inside(samples, schema):
        return []
    outside = np.count_nonzero((samples < schema.low) | (samples > schema.high), axis=0)
    return [schema.channels[place] for place in np.flatnonzero(outside > OUTSIDE_SHARE * len(samples))]


def refuse_outside(channel: Channel, where: str) -> None:
    """For training and evaluation, which should not learn from clipped samples. Releases clip, and never refuse."""
    raise TableError(
        f"{where}: column '{printable(channel.name)}' lies largely outside its public range "
        f"[{channel.low:g}, {channel.high:g}] {printable(channel.unit)}; is it in another unit? "
        "Convert it, or correct unit and range in the policy"
    )
