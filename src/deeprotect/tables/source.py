"""A table that is being read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Source:
    """A table that is read once, batch by batch; `where` names it in messages."""

    where: str
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    position: Callable[[], float] = lambda: 0.0  # share that has been read, for a progress bar
