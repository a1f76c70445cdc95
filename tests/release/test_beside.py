"""Beside the samples only public facts leave: nothing that a file or a frame holds without showing it in a cell."""

import io
import pickle

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from deeprotect import Protector
from deeprotect.errors import TableError

KINDS = (".arrow", ".feather", ".parquet")
SECRET = "Sekrit"
ROWS = 23


@pytest.fixture
def protector(bundle):
    return Protector(bundle)


def recorded(table, recording):
    return table.set_column(4, pa.field("recording", recording.type), recording)


def write(table, path):
    if path.suffix == ".parquet":
        pa_parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


def read(path):
    return pa_parquet.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()


@pytest.fixture(params=KINDS)
def released(protector, tmp_path, request):
    """From a table to the released one, its file, and the same released in memory, as bytes to search."""

    def release(table):
        source = write(table, tmp_path / f"in{request.param}")
        protector.protect(source, tmp_path / f"out{request.param}", keep_names=True)
        written = tmp_path / f"out{request.param}"
        plain = io.BytesIO()
        pa_parquet.write_table(read(written), plain, compression="none", use_dictionary=False)
        return read(written), written.read_bytes() + plain.getvalue() + pickle.dumps(
            protector.protect(table, keep_names=True)
        )

    return release


def test_of_metadata_only_a_short_unit_leaves(released, table):
    field = table.schema.field("acc_x").with_metadata({"unit": "g", "owner": SECRET, "ARROW:extension:name": "x.y"})
    table = table.cast(table.schema.set(1, field).with_metadata({"who": SECRET, "pandas": "{}"}))
    back, content = released(table)
    assert back.schema.field("acc_x").metadata == {b"unit": b"g"}
    assert not back.schema.metadata
    assert SECRET.encode() not in content


@pytest.mark.parametrize("unit", [f"s\n{SECRET}", SECRET * 9, f"\x1b{SECRET}"])
def test_a_unit_that_is_no_word_stays_behind(released, table, unit):
    table = table.cast(table.schema.set(0, table.schema.field("time").with_metadata({"unit": unit})))
    back, content = released(table)
    assert not back.schema.field("time").metadata
    assert SECRET.encode() not in content


def test_entries_of_a_dictionary_that_no_row_uses_stay_behind(released, table):
    codes = pa.array([2 if row < 12 else 3 for row in range(ROWS)], pa.int8())
    recording = pa.DictionaryArray.from_arrays(codes, pa.array([SECRET, f"{SECRET}-2", "r0", "r1"]))
    back, content = released(recorded(table, recording))
    assert back.schema.field("recording").type == pa.string()
    assert back["recording"].to_pylist() == recording.to_pylist()
    assert SECRET.encode() not in content


def test_time_may_be_a_dictionary_too(released, table):
    used = table["time"].combine_chunks().dictionary_encode()
    time = pa.DictionaryArray.from_arrays(used.indices, pa.concat_arrays([used.dictionary, pa.array([31337.0])]))
    back, content = released(table.set_column(0, "time", time))
    assert back["time"].equals(table["time"])
    assert np.float64(31337.0).tobytes() not in content


def test_what_lies_under_a_null_is_refused_with_it_and_not_quoted(released, table):
    """Who blanks names in Arrow sets a bit; the names stay in the buffer."""
    mask = pa.py_buffer(np.packbits(np.arange(ROWS) < 12, bitorder="little").tobytes())
    text = pa.array(["r0"] * 12 + [SECRET] * 11)
    blanked = pa.Array.from_buffers(pa.string(), ROWS, [mask, *text.buffers()[1:]])
    with pytest.raises(TableError, match="recording is missing at row 13") as refused:
        released(recorded(table, blanked))
    assert SECRET not in str(refused.value)


def test_rows_that_were_cut_away_stay_behind(released, table):
    """A slice of a table keeps all of it in memory."""
    longer = recorded(table, pa.array([SECRET, *["r0"] * 11, *[SECRET] * 11]))
    back, content = released(longer.slice(1, 11))
    assert back["recording"].to_pylist() == ["r0"] * 11
    assert SECRET.encode() not in content


@pytest.mark.parametrize("kind", [pa.string_view(), pa.dictionary(pa.int32(), pa.string_view())], ids=str)
def test_a_view_leaves_without_the_rest_of_its_buffer(protector, table, kind):
    long = pa.array(["r0-" + "0" * 20] * 12 + [f"{SECRET}-" + "0" * 20] * 11)
    views = long.cast(pa.string_view())
    if pa.types.is_dictionary(kind):
        views = pa.DictionaryArray.from_arrays(pa.array([0] * 12, pa.int32()), views)
    back = protector.protect(recorded(table.slice(0, 12), views.slice(0, 12)), keep_names=True).table
    assert back.schema.field("recording").type == pa.string_view()
    assert back["recording"].to_pylist() == long[:12].to_pylist()
    assert SECRET.encode() not in pickle.dumps(back)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"name": "r0", "owner": SECRET}] * ROWS),
        pa.array([["r0"]] * ROWS),
        pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array(["r0"])),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)] * ROWS, pa.binary(16))),
        pa.array(range(ROWS), pa.timestamp("s", f"{SECRET} was here")),
    ],
    ids=lambda column: str(column.type)[:12],
)
def test_types_that_may_hold_more_than_they_show_are_refused_in_one_line(protector, table, column):
    with pytest.raises(TableError, match=r"column 'recording' .*; convert it to") as refused:
        protector.protect(recorded(table, column))
    assert str(refused.value).isprintable()


def test_a_pandas_frame_comes_back_with_a_new_index_and_without_its_categories(protector, table):
    frame = table.to_pandas()
    frame["recording"] = pandas.Categorical(frame["recording"], categories=[SECRET, "r0", "r1"])
    frame.index = pandas.Index([f"{SECRET}-{row}" for row in range(ROWS)], name="who")
    frame.attrs = {"owner": SECRET}
    back = protector.protect(frame, keep_names=True).table
    assert back.index.equals(pandas.RangeIndex(ROWS))
    assert list(back.columns) == ["time", "acc_x", "acc_y", "recording"]
    assert list(back["recording"]) == list(frame["recording"])
    assert SECRET.encode() not in pickle.dumps(back)


def test_time_in_the_index_of_a_frame_comes_back_as_a_column(protector, table):
    back = protector.protect(table.to_pandas().set_index("time")).table
    assert sorted(back.columns) == ["acc_x", "acc_y", "recording", "time"]
    assert list(back["time"]) == table["time"].to_pylist()
    assert back.index.equals(pandas.RangeIndex(ROWS))


@pytest.mark.parametrize("kind", [polars.Categorical, polars.Enum(["r1", SECRET, "r0"])], ids=str)
def test_a_polars_frame_comes_back_without_its_categories(protector, table, kind):
    frame = polars.from_arrow(table)
    names = polars.Series("recording", [SECRET, *frame["recording"]], dtype=kind)
    back = protector.protect(frame.with_columns(names[1:]), keep_names=True).table
    assert back.schema["recording"] == polars.String
    assert back["recording"].to_list() == table["recording"].to_pylist()
    assert SECRET.encode() not in pickle.dumps(back)


def test_columns_order_types_and_nullability_stay_as_they_are(released, table):
    fields = [field.with_nullable(field.name == "recording") for field in table.schema]
    table = table.cast(pa.schema(fields))
    back, _ = released(table)
    kept = ["time", "acc_x", "acc_y", "recording"]
    assert back.schema.equals(table.select(kept).schema, check_metadata=True)


@pytest.mark.parametrize(
    ("kind", "lowest", "highest"),
    [(pa.int8(), -4, 4), (pa.uint8(), 0, 4), (pa.decimal128(2, 1), -4, 4), (pa.decimal128(3, 3), -0.999, 0.999)],
    ids=str,
)
def test_what_a_column_cannot_hold_is_released_as_the_nearest_that_it_can(protector, table, kind, lowest, highest):
    zeros = pa.array([0] * ROWS).cast(pa.decimal128(38, 10) if pa.types.is_decimal(kind) else kind).cast(kind)
    back = protector.protect(table.set_column(1, "acc_x", zeros)).table
    values = np.array([float(value) for value in back["acc_x"].to_pylist()])
    assert back.schema.field("acc_x").type == kind
    assert values.min() >= lowest
    assert values.max() <= highest
    assert np.abs(values).max() > 0.9  # noise of λ = 8/5 on a range of 8: something always reaches this


def test_a_csv_cell_of_a_large_string_is_quoted_where_it_must_be(protector, table, tmp_path):
    names = pa.array(["a,b"] * ROWS, pa.large_string())
    source = write(recorded(table, names).drop_columns(["time"]), tmp_path / "in.arrow")
    protector.protect(source, tmp_path / "out.csv", keep_names=True)
    assert pa_csv.read_csv(tmp_path / "out.csv")["recording"].to_pylist() == ["a,b"] * ROWS
