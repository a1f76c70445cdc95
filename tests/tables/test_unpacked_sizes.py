"""A few bytes may unpack to gigabytes: what is not needed stays packed, what is needed is bounded or refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from deeprotect import Protector
from deeprotect.errors import TableError
from deeprotect.tables import files
from deeprotect.tables.fields import LONGEST_CELL
from deeprotect.tables.sources import open_source
from studies.benchmark.own_process import run

MEGABYTE = "x" * (1 << 20)
ROWS = 300
LITTLE = 250_000_000  # bytes for a process that has loaded numpy and Arrow, and reads a small table
PROTECT = """
from deeprotect import Protector
from deeprotect.errors import TableError
protector = Protector.load(source.with_name("protector"))
def work():
    try: protector.protect(source, sink)
    except TableError: pass
"""
KINDS = [".parquet", ".arrow"]


def samples(rows=ROWS):
    return {"time": np.arange(rows) / 10, "acc_x": np.zeros(rows), "acc_y": np.zeros(rows)}


def write(table, path, **how):
    if path.suffix == ".parquet":
        pa_parquet.write_table(table, path, compression="zstd", **how)
    else:
        with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table)
    return path


def once(text, rows=ROWS):
    """A dictionary: one text in memory and on disk, in all rows of the table."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


def viewed(text, rows=ROWS):
    """Views of one text."""
    view = pa.array([text]).cast(pa.string_view())
    views = pa.py_buffer(view.buffers()[1].to_pybytes()[:16] * rows)
    return pa.Array.from_buffers(pa.string_view(), rows, [None, views, *view.buffers()[2:]])


def nested(text, rows=ROWS):
    return pa.array([{"inside": [text]}]).take(pa.array(np.zeros(rows, np.int32)))


@pytest.fixture
def protector(bundle, tmp_path):
    bundle.save(tmp_path / "protector")
    return Protector(bundle)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", [once, nested])
def test_a_column_that_stays_behind_stays_packed(protector, tmp_path, kind, column):
    notes = column(MEGABYTE)
    notes = notes.dictionary_decode() if pa.types.is_dictionary(notes.type) else notes
    source = write(pa.table({**samples(), "note": notes}), tmp_path / f"in{kind}", **_plain(kind))
    del notes
    assert source.stat().st_size < 100_000
    assert run(PROTECT, source).peak_bytes < LITTLE
    assert protector.protect(source, tmp_path / f"out{kind}").dropped == ("note",)


def _plain(kind):
    return {"use_dictionary": False} if kind == ".parquet" else {}


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "column", "how"),
    [
        (".parquet", once, {"store_schema": False}),
        (".parquet", once, {}),
        (".arrow", once, {}),
        (".arrow", viewed, {}),
    ],
)
def test_a_text_that_many_rows_show_is_refused_before_it_is_copied(protector, tmp_path, kind, column, how):
    rows = 5000
    table = pa.table({**samples(rows), "recording": column(MEGABYTE, rows)})
    source = write(table, tmp_path / f"in{kind}", **how)
    assert run(PROTECT, source).peak_bytes < LITTLE
    with pytest.raises(TableError, match=f"column 'recording' holds cells of more than {LONGEST_CELL} bytes"):
        protector.protect(source, tmp_path / f"out{kind}")
    assert protector.protect(source, tmp_path / f"out{kind}", map={"recording": ""}).dropped == ("recording",)


@pytest.mark.parametrize("name", ["recording", "time"])
def test_a_needed_column_that_unpacks_too_far_is_refused_in_one_line(protector, tmp_path, monkeypatch, name):
    monkeypatch.setattr(files, "MOST_UNPACKED", 1 << 20)
    table = pa.table({**samples(), name: pa.array(["y" * 4000] * ROWS)})
    source = write(table, tmp_path / "in.parquet", **_plain(".parquet"))
    with pytest.raises(TableError, match="unpacks to more than 1 MB; write smaller ones") as refused:
        protector.protect(source, tmp_path / "out.parquet")
    assert str(refused.value).isprintable()
    released = protector.protect(source, tmp_path / "out.parquet", map={name: ""})
    assert name in released.dropped


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_do_not_compress_so_well_are_read_however_many(protector, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(files, "MOST_UNPACKED", 1 << 10)
    noise = np.random.default_rng(0).normal(size=ROWS).clip(-4, 4)
    source = write(pa.table({**samples(), "acc_x": noise}), tmp_path / f"in{kind}")
    assert protector.protect(source, tmp_path / f"out{kind}").rows == ROWS


@pytest.mark.long
@pytest.mark.parametrize("kind", [".parquet", ".arrow", ".csv"])
def test_a_table_of_very_many_columns_is_read_where_few_are_needed(protector, tmp_path, kind):
    wide = pa.table({**{f"c{number}": np.zeros(8) for number in range(20_000)}, **samples(8)})
    if kind == ".csv":
        lines = [",".join(wide.column_names), *(f"{'0,' * 20_000}{row / 10},0.5,0.5" for row in range(8))]
        (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    else:
        write(wide, tmp_path / f"in{kind}")
    summary = protector.protect(tmp_path / f"in{kind}", tmp_path / f"out{kind}")
    assert (summary.rows, len(summary.dropped)) == (8, 20_000)


@pytest.mark.parametrize("kind", [".parquet", ".arrow", ".csv"])
def test_only_the_chosen_columns_are_read_in_the_order_of_the_table(tmp_path, kind):
    table = pa.table({"a": [1.0, 2.0], "b": ["x", "y"], "a.b": [3.0, 4.0], "c": [5.0, 6.0]})
    if kind == ".csv":
        (tmp_path / "in.csv").write_text("a,b,a.b,c\n1,x,3,5\n2,y,4,6\n")
    else:
        write(table, tmp_path / f"in{kind}")
    with open_source(tmp_path / f"in{kind}", numbers=["a", "a.b", "c"]) as source:
        read = pa.Table.from_batches(source.only(["c", "a", "b"]).by_rows().batches)
    assert read.equals(table.select(["a", "b", "c"]))
