"""Kinds of tables in memory: what came in as pandas, polars or pyarrow goes out as the same."""

from typing import Any

import pyarrow as pa


def like(table: Any, released: pa.Table) -> Any:
    """Arrow back to the kind of table that came in; an index is made anew, for it may hold anything.

    A lazy frame comes back lazy, over rows that are drawn already: computing it twice neither draws nor costs again.
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
