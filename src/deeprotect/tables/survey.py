"""What a table looks like before there is a policy: its columns, and the rate its time stamps show."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deeprotect.signals.clock import rate_of
from deeprotect.tables.columns import as_numbers
from deeprotect.tables.fields import check_names
from deeprotect.tables.sources import open_source


@dataclass(frozen=True)
class Survey:
    """Columns with their types and units, and the sampling rate where a `time` column shows it."""

    schema: pa.Schema
    rate_hz: float | None


def survey(table: Any) -> Survey:
    """Reads the header and the first time stamps; no sample value."""
    with open_source(table) as source:
        check_names(source.schema, source.where)
        first = next(source.batches, None)
        if first is None or "time" not in source.schema.names:
            return Survey(source.schema, None)
        return Survey(source.schema, rate_of(as_numbers(first.column("time"), source.where)))
