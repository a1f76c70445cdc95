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
from deeprotect.tables import text_lines
from deeprotect.tables.outputs import BLOCK_ROWS, open_sink

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
    protector.protect(tmp_path / "in.csv", tmp_path / f"out{kind}")
    assert blocks_of(tmp_path / f"out{kind}") == BLOCKS


@pytest.mark.parametrize("kind", [".parquet", ".arrow"])
@pytest.mark.parametrize("rows_in_a_batch", [777, 50_000, ROWS])
def test_row_groups_and_batches_do_not_follow_those_of_the_input(protector, tmp_path, rows_in_a_batch, kind):
    with pa.ipc.new_file(tmp_path / "in.arrow", long().schema) as writer:
        writer.write_table(long(), max_chunksize=rows_in_a_batch)
    protector.protect(tmp_path / "in.arrow", tmp_path / f"out{kind}")
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
    protector.protect(tmp_path / "walk.csv", "-")
    heads = 1
    assert sorted(set(pipe.lines)) == [heads, *(heads + rows for rows in np.cumsum(BLOCKS))]


@pytest.fixture
def constant(channel_bundle):
    """Releases the same window whatever comes: two outputs differ in nothing but their form."""
    return Protector(channel_bundle)


def nanoseconds(table, fraction_at=50_000):
    """With a fraction far down, around which a notation for whole batches would be another one."""
    stamps = [f"{row}00000000" for row in range(table.num_rows)]
    stamps[fraction_at] += ".5"
    names = ["a, b" if row < 300 else "c" for row in range(table.num_rows)]
    return table.append_column("time", pa.array(stamps)).append_column("recording", pa.array(names))


@pytest.mark.long
@pytest.mark.parametrize("kind", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("options", [{}, {"relative_time": True}, {"keep_names": True, "relative_time": True}])
def test_a_file_is_the_same_to_the_last_byte_whatever_digits_the_raw_samples_have(constant, tmp_path, kind, options):
    written = []
    for table in (short(), long()):
        pa_csv.write_csv(nanoseconds(table), tmp_path / "in.csv")
        constant.protect(tmp_path / "in.csv", tmp_path / f"out{kind}", force=True, **options)
        written.append((tmp_path / f"out{kind}").read_bytes())
    assert written[0] == written[1]


def piped(protector, table, monkeypatch, **options):
    held, pipe = io.BytesIO(), Pipe()
    pa_csv.write_csv(table, held)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(held.getvalue())))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, write_through=True))
    protector.protect("-", "-", **options)
    return pipe.getvalue(), sorted(set(pipe.lines))


@pytest.mark.parametrize("options", [{}, {"relative_time": True}, {"keep_names": True}])
def test_a_live_pipe_writes_the_same_rows_one_by_one_wherever_its_blocks_end(constant, monkeypatch, options):
    rows, seen = 2000, []
    for table, block in ((short(), 1 << 14), (long(), 1 << 14), (long(), 3000)):
        monkeypatch.setattr(text_lines, "BLOCK_BYTES", block)
        monkeypatch.setattr(text_lines, "HEAD_BYTES", block)
        seen.append(piped(constant, nanoseconds(table.slice(0, rows), 1200), monkeypatch, **options))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][1] == list(range(1, rows + 2))


def test_in_memory_a_table_has_one_chunk_however_it_came(protector):
    table = pa.concat_tables([long().slice(start, 40_000) for start in range(0, ROWS, 40_000)])
    assert [column.num_chunks for column in protector.protect(table).table.columns] == [1, 1]


def test_rows_come_out_once_and_in_order(tmp_path):
    rows = pa.table({"row": np.arange(ROWS)})
    with open_sink(tmp_path / "out.arrow", rows.schema) as sink:
        for start in range(0, ROWS, 999):
            sink.write(rows.slice(start, 999))
    assert pa.ipc.open_file(tmp_path / "out.arrow").read_all() == rows


def test_an_empty_piece_writes_nothing(tmp_path):
    """Of an empty chunk, pyarrow's CSV writer writes 16 kB of whatever lay in memory."""
    rows = pa.table({"row": np.arange(BLOCK_ROWS + 3)})
    with open_sink(tmp_path / "out.csv", rows.schema) as sink:
        for start, count in ((0, BLOCK_ROWS), (0, 0), (BLOCK_ROWS, 3)):
            sink.write(rows.slice(start, count))
    assert (tmp_path / "out.csv").read_text() == "row\n" + "".join(f"{row}\n" for row in range(BLOCK_ROWS + 3))


def test_what_was_held_back_does_not_leave_after_an_error(monkeypatch):
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, write_through=True))
    rows = pa.table({"row": np.arange(5)})
    with suppress(KeyError), open_sink("-", rows.schema) as sink:
        sink.write(rows)
        raise KeyError
    assert pipe.getvalue() == b"row\n"


def test_columns_of_parquet_have_a_dictionary_where_they_repeat_values_in_what_is_written(tmp_path):
    repeated, names = np.arange(ROWS) % 50 / 7, pa.array([f"r{row // 1000}" for row in range(ROWS)])
    table = pa.table({"time": np.arange(ROWS) / 10, "acc_x": repeated, "recording": names})
    with open_sink(tmp_path / "out.parquet", table.schema) as sink:
        sink.write(table)
    group = pa_parquet.ParquetFile(tmp_path / "out.parquet").metadata.row_group(1)
    assert [group.column(place).has_dictionary_page for place in range(3)] == [False, True, True]
    assert pa_parquet.read_table(tmp_path / "out.parquet").equals(table)


def test_a_parquet_file_without_rows_has_its_columns(tmp_path):
    with open_sink(tmp_path / "out.parquet", short().schema):
        pass
    assert pa_parquet.read_table(tmp_path / "out.parquet").equals(short().schema.empty_table())
