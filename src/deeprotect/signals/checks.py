"""Refuses rows that cannot become windows, in one line that says which row or column, and what to do.

Messages name rows and columns, never a sample or a figure made from samples: an error text may travel further than
the data.
"""

import numpy as np

from deeprotect.errors import TableError, printable
from deeprotect.signals.schema import Channel, Floats, Schema

OUTSIDE_SHARE = 0.5  # a larger share outside the public range means a wrong unit, not a saturated sensor


def all_inside(samples: Floats, schema: Schema) -> bool:
    """Whether every sample is a number in the public range, as in nearly all batches; NaN is in no range."""
    return not len(samples) or bool(
        (samples.min(axis=0) >= schema.low).all() and (samples.max(axis=0) <= schema.high).all()
    )


def check_finite(samples: Floats, schema: Schema, *, first_row: int, where: str) -> None:
    """Refuse samples that are not finite numbers."""
    if not len(samples) or np.isfinite([samples.min(), samples.max()]).all():  # NaN makes both NaN
        return
    row, column = np.argwhere(~np.isfinite(samples))[0]
    kind = "infinite" if np.isinf(samples[row, column]) else "missing or not a number"
    raise TableError(
        f"{where}: row {first_row + row + 1}, column '{printable(schema.names[column])}' is {kind}; "
        "drop such rows with `deeprotect prepare`"
    )


def largely_outside(samples: Floats, schema: Schema) -> list[Channel]:
    """Channels that seem to be in another unit: most of their samples lie outside the public range."""
    if all_inside(samples, schema):
        return []
    outside = np.count_nonzero((samples < schema.low) | (samples > schema.high), axis=0)
    return [schema.channels[place] for place in np.flatnonzero(outside > OUTSIDE_SHARE * len(samples))]


def refuse_outside(channel: Channel, where: str) -> None:
    """Refuse, in training and evaluation, tables that would be largely clipped. Releases clip, and never refuse."""
    raise TableError(
        f"{where}: column '{printable(channel.name)}' lies largely outside its public range "
        f"[{channel.low:g}, {channel.high:g}] {printable(channel.unit)}; is it in another unit? "
        "Convert it, or correct unit and range in the policy"
    )
