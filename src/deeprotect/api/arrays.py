"""Windows in a numpy array (window, time, channel), and tables in memory: output has the kind of the input."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deeprotect.errors import TableError, printable
from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Pipeline, stream
from deeprotect.release.ledger import DrawCounts, Ledger
from deeprotect.release.tables import ReleaseSummary
from deeprotect.signals import Frame, Run, Schema, Windows
from deeprotect.signals.schema import largely_outside
from deeprotect.tables.fields import saturated

AT_ONCE = 4096
WHERE = "the array"
Array = NDArray[Any]


def release_array(
    windows: Array, bundle: Pipeline, *, ledger: Ledger, entropy: SystemEntropy, workers: int, dry_run: bool
) -> tuple[Array | None, ReleaseSummary]:
    """Release consecutive windows of one recording; held draws count their episodes from the first."""
    _check(windows, bundle.schema)
    rows = windows.reshape(-1, windows.shape[2]).astype(np.float64)
    clipped = tuple(channel.name for channel in largely_outside(rows, bundle.schema))
    hold, released = bundle.hold.windows, None
    draws = DrawCounts(charged=-(-len(windows) // hold))
    if not dry_run:
        released = np.empty_like(windows, subok=False)
        place, book = 0, ledger.of_table(windows, ())
        before = book.tally
        for batch in stream(_batches(windows, hold=hold), bundle, ledger=book, entropy=entropy, workers=workers):
            released[place : place + len(batch)] = _typed(batch.samples, windows.dtype)
            place += len(batch)
        draws = book.tally - before
    cost = Spending.of(bundle.mechanism.event, draws.paid)
    return released, ReleaseSummary(len(rows), cost, (), clipped=clipped, draws=draws)


def _check(windows: Array, schema: Schema) -> None:
    if windows.dtype.kind not in "fiu" or windows.dtype.itemsize > 8:
        raise TableError(f"{WHERE}: its type is {windows.dtype}, samples are real numbers; convert it")
    shape = (schema.window, len(schema.channels))
    if windows.ndim != 3 or windows.shape[1:] != shape:
        names = printable(", ".join(schema.names), 300)
        raise TableError(
            f"{WHERE}: its shape is {windows.shape}, windows are (window, time, channel), here (n, {shape[0]}, "
            f"{shape[1]}); channels: {names}"
        )
    bad = ~np.isfinite(windows).all(axis=(1, 2))
    if bad.any():
        raise TableError(f"{WHERE}: window {int(np.argmax(bad))} has a missing or infinite sample; leave it out")


def _batches(windows: Array, *, hold: int) -> Iterator[Windows]:
    """Whole episodes, in batches of bounded memory."""
    count, length = max(1, AT_ONCE // hold) * hold, windows.shape[1]
    for start in range(0, len(windows), count):
        samples = windows[start : start + count].astype(np.float64)
        numbers = start + np.arange(len(samples), dtype=np.int64)
        run = Run(WHERE, start // hold, -(-len(samples) // hold))
        yield Windows(samples, Frame(np.full(len(samples), length), numbers * length, numbers // hold, (run,)))


def _typed(samples: NDArray[np.float64], kind: np.dtype[Any]) -> Array:
    """Convert to the array's type, clipping to its limits."""
    flat = saturated(samples.ravel(), pa.from_numpy_dtype(kind.newbyteorder("=")))
    return np.asarray(flat.to_numpy(zero_copy_only=False).astype(kind).reshape(samples.shape))


def like(table: Any, released: pa.Table) -> Any:
    """Convert Arrow back to the kind of the input table; indexes are recreated, because they may hold anything.

    A lazy frame comes back lazy, over rows that are already drawn: computing it twice neither draws nor costs again.
    """
    library = type(table).__module__.partition(".")[0]
    if library == "polars":
        import polars

        frame = polars.from_arrow(released)
        return frame.lazy() if isinstance(table, polars.LazyFrame) else frame
    if library == "pandas":
        return released.to_pandas()
    if isinstance(table, pa.RecordBatch):
        return pa.record_batch([column.combine_chunks() for column in released.columns], schema=released.schema)
    return released
