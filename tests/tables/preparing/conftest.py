"""Preparing a table in one call."""

import pyarrow.parquet as pa_parquet
import pytest

from deeprotect.tables.preparing.prepare import PrepareRequest, prepare


@pytest.fixture
def run(tmp_path):
    def run(table, *, out="out.parquet", **request):
        counts = prepare(table, tmp_path / out, PrepareRequest(**request))
        return counts, pa_parquet.read_table(tmp_path / out) if out.endswith(".parquet") else None

    return run
