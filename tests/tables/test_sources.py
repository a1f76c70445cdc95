"""Tables are read from regular files, without waiting, and refused in one line that quotes nothing of them."""

import io
import os
import socket
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from tests.conftest import walk

from deeprotect.errors import TableError
from deeprotect.tables.fields import check_names
from deeprotect.tables.source import BATCH_CELLS
from deeprotect.tables.sources import open_source
from deeprotect.tables.text_lines import HEAD_BYTES

SECRET = "31337.25"


def read(path):
    with open_source(str(path), numbers=["acc_x", "acc_y"]) as source:
        check_names(source.schema, source.where)
        return pa.Table.from_batches(source.batches, schema=source.schema)


def fifo(path):
    os.mkfifo(path)


def endless(path):
    path.symlink_to("/dev/zero")


def folder(path):
    path.mkdir()


def a_socket(path):
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


def symlink_to_itself(path):
    path.symlink_to(path)


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("make", [fifo, endless, folder, a_socket, symlink_to_itself])
def test_what_is_no_regular_file_is_refused_in_one_line(tmp_path, monkeypatch, make, suffix):
    monkeypatch.chdir(tmp_path)  # a socket's name must be short
    path = tmp_path.relative_to(tmp_path) / f"in{suffix}"
    make(path)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from deeprotect.cli import main; main()",
            "init",
            str(path),
            "--useful",
            "a",
            "--out",
            "p",
        ],
        capture_output=True,
        text=True,
        timeout=60,  # a process that hangs is ended, and the test fails
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "file" in done.stderr
    assert "no such file" not in done.stderr


def test_a_link_to_a_regular_file_is_read(tmp_path):
    (tmp_path / "walk.csv").write_text("acc_x,acc_y\n1,2\n")
    (tmp_path / "in.csv").symlink_to(tmp_path / "walk.csv")
    assert read(tmp_path / "in.csv")["acc_y"].to_pylist() == [2]


class Endless(io.RawIOBase):
    """A line that never ends, for those who read no more than four times what a head may be."""

    left = 4 * HEAD_BYTES

    def readable(self):
        return True

    def readinto(self, buffer):
        self.left -= len(buffer)
        if self.left < 0:
            raise AssertionError("read on and on")
        buffer[:] = b"x" * len(buffer)
        return len(buffer)


def test_a_first_line_without_end_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    with pytest.raises(TableError, match="first line is too long"):
        read("-")


@pytest.mark.parametrize("name", ["a\x1b[2Jb", "a\u202eb", "a\u2028b", '"a\nb"', "a\tb", "a\u200bb"])
def test_a_column_with_a_name_that_does_not_print_is_refused(tmp_path, name):
    (tmp_path / "in.csv").write_text(f"acc_x,{name},time\n1,2,3\n", encoding="utf-8")
    with pytest.raises(TableError) as refused:
        read(tmp_path / "in.csv")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "lines",
    [
        f"acc_x,acc_y\n1,{SECRET}x\n",
        f"acc_x,acc_y\n1,2,{SECRET}\n",
        f"acc_x,acc_y\n1,2,In CSV column #77: {SECRET}\n",
        f'acc_x,acc_y\n1,"CSV column #77 {SECRET}"\n',
        f"acc_x,acc_y,note\n1,2,{SECRET}\udc81\n",
        f"acc_x,{SECRET}\udc81\n1,2\n",
        f"acc_x,acc_y\n1,2\n3,{SECRET}\0\n",
    ],
)
def test_a_broken_csv_is_refused_without_a_word_of_what_stands_in_it(tmp_path, lines):
    (tmp_path / "in.csv").write_bytes(lines.encode("utf-8", errors="surrogateescape"))
    with pytest.raises(TableError) as refused:
        read(tmp_path / "in.csv")
    assert SECRET not in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_damaged_file_is_refused_at_any_byte_or_read_without_a_crash(tmp_path, suffix):
    path, random, refusals = tmp_path / f"in{suffix}", np.random.default_rng(0), []
    if suffix == ".parquet":
        pa_parquet.write_table(walk(50), path)
    else:
        with pa.ipc.new_file(path, walk(50).schema) as writer:
            writer.write_table(walk(50))
    whole = path.read_bytes()
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[random.integers(len(whole))] ^= 1 << random.integers(8)
        path.write_bytes(damaged[: random.integers(len(whole) // 2, 2 * len(whole))])
        try:
            read(path).to_pylist()
        except TableError as refused:
            refusals.append(str(refused))
    assert refusals
    assert all(line.isprintable() for line in refusals)


def test_offsets_that_point_beyond_their_buffer_are_refused(tmp_path):
    """They would make the recording's name out of whatever memory lies there."""
    table = pa.table({"acc_x": [0.5, 0.5], "recording": ["seven c", "hars"]})
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as writer:
        writer.write_table(table)
    whole, (offsets, wild) = (tmp_path / "in.arrow").read_bytes(), np.array([[0, 7, 11], [0, 7, 4000]], dtype=np.int32)
    assert whole.count(offsets.tobytes()) == 1
    (tmp_path / "in.arrow").write_bytes(whole.replace(offsets.tobytes(), wild.tobytes()))
    with pytest.raises(TableError, match="cannot be read as Arrow"):
        read(tmp_path / "in.arrow")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("channels", [1, 40])
def test_a_table_is_read_in_batches_of_few_cells_however_it_was_cut_up(tmp_path, suffix, channels):
    """One row group or record batch of any size; wide tables in shorter batches."""
    rows = 70_000
    table = pa.table({f"c{index}": np.arange(rows) + index for index in range(channels)})
    path = tmp_path / f"large.{suffix}"
    if suffix == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    else:
        pa_parquet.write_table(table, path)
    with open_source(path) as source:
        batches = list(source.batches)
    assert max(batch.num_rows * batch.num_columns for batch in batches) <= BATCH_CELLS
    assert pa.Table.from_batches(batches) == table
