import io
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from deeprotect import Protector
from deeprotect.errors import TableError

KEPT = ["time", "acc_x", "acc_y", "recording"]


@pytest.fixture
def protector(bundle):
    return Protector(bundle)


def write(table, path):
    if path.suffix == ".csv":
        pa_csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pa_parquet.write_table(table, path, row_group_size=7)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=5)
    return path


def read(path):
    if path.suffix == ".csv":
        return pa_csv.read_csv(path)
    if path.suffix == ".parquet":
        return pa_parquet.read_table(path)
    return pa.ipc.open_file(path).read_all()


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".arrow"])
def test_the_output_has_the_form_of_the_input(protector, table, tmp_path, kind):
    source = write(table, tmp_path / f"in{kind}")
    protector.protect(source, tmp_path / f"out{kind}", keep_names=True)
    released, private = read(tmp_path / f"out{kind}"), read(source).select(KEPT)
    assert released.schema.equals(private.schema)
    assert released.select(["time", "recording"]).equals(private.select(["time", "recording"]))


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".arrow"])
def test_no_channel_value_passes_unchanged(protector, table, tmp_path, kind):
    source = write(table, tmp_path / f"in{kind}")
    protector.protect(source, tmp_path / f"out{kind}")
    released = read(tmp_path / f"out{kind}")
    for name in ("acc_x", "acc_y"):
        same = released[name].to_numpy() == table[name].to_numpy()
        assert same.mean() < 0.2  # noise of λ = 8/5 on a unit range: equality is an accident


def test_released_samples_stay_inside_the_public_range(protector, table):
    released = protector.protect(table).table
    assert np.abs(released["acc_x"].to_numpy()).max() <= 4


def test_labels_and_strangers_columns_stay_behind_and_are_named(protector, table, tmp_path):
    summary = protector.protect(write(table, tmp_path / "in.csv"), tmp_path / "out.csv")
    assert summary.dropped == ("note", "activity")
    assert b"private" not in (tmp_path / "out.csv").read_bytes()


def test_the_cost_is_charged_per_window_padded_tails_included(protector, table, tmp_path):
    summary = protector.protect(write(table, tmp_path / "in.csv"), tmp_path / "out.csv")
    assert summary.rows == 23
    assert summary.cost.draws == 3 + 3  # 12 rows and 11 rows in windows of 4
    assert summary.cost.per_draw == 5
    assert summary.cost.per_stream == 30


def test_two_releases_of_one_table_differ(protector, table):
    assert not protector.protect(table).table.equals(protector.protect(table).table)


def test_time_stamps_in_csv_come_out_to_the_letter(protector, tmp_path):
    lines = ["time,acc_x,acc_y", *(f"2026-01-01T00:00:0{i}.{j}00Z,0.5,1" for i in range(2) for j in range(10))]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    protector.protect(tmp_path / "in.csv", tmp_path / "out.csv")
    released = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in released] == [line.split(",")[0] for line in lines]


def test_cells_are_quoted_only_where_they_must_be(protector, table, tmp_path):
    names = pa.array(["a,b" if index < 5 else 'say "c"' if index < 9 else "c" for index in range(23)])
    source = write(table.set_column(4, "recording", names).drop_columns(["time"]), tmp_path / "in.csv")
    protector.protect(source, tmp_path / "out.csv", keep_names=True)
    assert read(tmp_path / "out.csv")["recording"].equals(pa.chunked_array([names]))
    cells = [line.split(",", 2)[2] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert cells == ['"a,b"'] * 5 + ['"say ""c"""'] * 4 + ["c"] * 14


def test_standard_input_and_output_carry_csv(protector, table, monkeypatch):
    held = io.BytesIO()
    pa_csv.write_csv(table, held)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(held.getvalue())))
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, write_through=True))
    protector.protect("-", "-")
    assert pa_csv.read_csv(io.BytesIO(out.getvalue())).column_names == KEPT


def test_whole_numbers_stay_whole_numbers(protector, table):
    whole = table.set_column(1, "acc_x", pa.array(np.arange(23) % 3, type=pa.int16()))
    assert protector.protect(whole).table["acc_x"].type == pa.int16()


def test_an_empty_table_is_released_empty(protector, table, tmp_path):
    for kind in (".csv", ".parquet"):
        source = write(table.slice(0, 0), tmp_path / f"in{kind}")
        summary = protector.protect(source, tmp_path / f"out{kind}")
        assert summary.rows == 0
        assert read(tmp_path / f"out{kind}").column_names == KEPT


def test_pandas_in_pandas_out(protector, table):
    frame = table.to_pandas()
    released = protector.protect(frame).table
    assert list(released.columns) == KEPT
    assert released.dtypes.equals(frame[KEPT].dtypes)


def test_polars_in_polars_out(protector, table):
    import polars

    frame = polars.from_arrow(table)
    released = protector.protect(frame).table
    assert isinstance(released, polars.DataFrame)
    assert released.schema == frame.select(KEPT).schema


def test_arrow_batch_in_arrow_batch_out(protector, table):
    batch = table.to_batches()[0]
    for rows in (23, 0):
        released = protector.protect(batch.slice(0, rows)).table
        assert isinstance(released, pa.RecordBatch)
        assert released.num_rows == rows


def test_what_is_no_table_is_refused(protector):
    with pytest.raises(TableError, match="cannot read a table from list"):
        protector.protect([1, 2, 3])


def test_a_bad_row_late_in_the_file_leaves_no_output(protector, tmp_path):
    rows = ["acc_x,acc_y"] + ["0.1,0.2"] * 400_000 + ["0.1,oops"]
    (tmp_path / "in.csv").write_text("\n".join(rows))
    with pytest.raises(TableError, match=r"column 'acc_y'.* holds text"):
        protector.protect(tmp_path / "in.csv", tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_an_old_output_survives_a_failed_release(protector, tmp_path):
    (tmp_path / "in.csv").write_text("acc_x,acc_y\n0.1,nan\n")
    (tmp_path / "out.csv").write_text("yesterday")
    with pytest.raises(TableError, match="row 1, column 'acc_y'"):
        protector.protect(tmp_path / "in.csv", tmp_path / "out.csv", force=True)
    assert (tmp_path / "out.csv").read_text() == "yesterday"
