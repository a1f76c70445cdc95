"""The layout of an output follows its number of rows, and nothing else about the input."""

import io
import sys
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from deeprotect import Protector
from deeprotect.tables.sinks import BLOCK_ROWS, open_sink

ROWS = 2 * BLOCK_ROWS + 1000
BLOCKS = [BLOCK_ROWS, BLOCK_ROWS, 1000]


@pytest.fixture
def protector(bundle):
    return Protector(bundle)


def short():
    return pa.table({"acc_x": np.zeros(ROWS), "acc_y": np.zeros(ROWS)})


def long():
    return pa.table({"acc_x": np.full(ROWS, 1 / 3), "acc_y": np.full(ROWS, -2 / 3)})


def blocks_of(path):
    if path.suffix == ".parquet":
        metadata = pa_parquet.ParquetFile(path).metadata
        return [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    file = pa.ipc.open_file(path)
    return [file.get_batch(index).num_rows for index in range(file.num_record_batches)]


@pytest.mark.parametrize("kind", [".parquet", ".arrow"])
@pytest.mark.parametrize("table", [short, long])
def test_row_groups_and_batches_do_not_follow_the_digits_of_a_raw_csv(protector, tmp_path, table, kind):
    pa_csv.write_csv(table(), tmp_path / "in.csv")
    protector.protect_file(tmp_path / "in.csv", tmp_path / f"out{kind}")
    assert blocks_of(tmp_path / f"out{kind}") == BLOCKS


@pytest.mark.parametrize("kind", [".parquet", ".arrow"])
@pytest.mark.parametrize("rows_in_a_batch", [777, 50_000, ROWS])
def test_row_groups_and_batches_do_not_follow_those_of_the_input(protector, tmp_path, rows_in_a_batch, kind):
    with pa.ipc.new_file(tmp_path / "in.arrow", long().schema) as writer:
        writer.write_table(long(), max_chunksize=rows_in_a_batch)
    protector.protect_file(tmp_path / "in.arrow", tmp_path / f"out{kind}")
    assert blocks_of(tmp_path / f"out{kind}") == BLOCKS


class Pipe(io.BytesIO):
    """Standard output that notes how many lines were there each time it was flushed."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def flush(self):
        self.lines.append(self.getvalue().count(b"\n"))


@pytest.mark.parametrize("table", [short, long])
def test_standard_output_leaves_in_the_same_stretches_whatever_the_input(protector, monkeypatch, tmp_path, table):
    pipe = Pipe()
    pa_csv.write_csv(table(), tmp_path / "walk.csv")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, write_through=True))
    protector.protect_file(tmp_path / "walk.csv", "-")
    heads = 1
    assert sorted(set(pipe.lines)) == [heads, *(heads + rows for rows in np.cumsum(BLOCKS))]


def test_in_memory_a_table_has_one_chunk_however_it_came(protector):
    table = pa.concat_tables([long().slice(start, 40_000) for start in range(0, ROWS, 40_000)])
    assert [column.num_chunks for column in protector.protect(table).columns] == [1, 1]


def test_rows_come_out_once_and_in_order(tmp_path):
    rows = pa.table({"row": np.arange(ROWS)})
    with open_sink(tmp_path / "out.arrow", rows.schema) as sink:
        for start in range(0, ROWS, 999):
            sink.write(rows.slice(start, 999))
    assert pa.ipc.open_file(tmp_path / "out.arrow").read_all() == rows


def test_what_was_held_back_does_not_leave_after_an_error(monkeypatch):
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, write_through=True))
    rows = pa.table({"row": np.arange(5)})
    with suppress(KeyError), open_sink("-", rows.schema) as sink:
        sink.write(rows)
        raise KeyError
    assert pipe.getvalue() == b"row\n"
