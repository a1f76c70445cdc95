"""Several files are one table: every row once, in order of names, and no window spans two files."""

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from tests.conftest import walk

from deeprotect import Protector
from deeprotect.errors import TableError
from deeprotect.tables.sources import open_source, paths_of


@pytest.fixture
def files(tmp_path):
    for name, rows in (("b", 10), ("a", 7), ("c", 5)):
        pa_csv.write_csv(walk(rows, recordings=1), tmp_path / f"{name}.csv")
    return tmp_path


def read(table, **how):
    with open_source(table, numbers=["acc_x", "acc_y"], **how) as source:
        return pa.Table.from_batches(source.batches, schema=source.schema)


@pytest.mark.parametrize("way", ["folder", "pattern", "list"])
def test_a_folder_a_pattern_and_a_list_hold_the_same_table(files, way):
    given = {"folder": files, "pattern": str(files / "*.csv"), "list": [files / f"{name}.csv" for name in "abc"]}
    table = read(given[way])
    assert table.num_rows == 22
    assert table["recording"].to_pylist() == ["1/r0"] * 7 + ["2/r0"] * 10 + ["3/r0"] * 5


def test_files_without_a_recording_are_one_each(files):
    for path in files.iterdir():
        pa_csv.write_csv(walk(4).drop_columns(["recording", "time"]), path)
    assert read(files)["recording"].to_pylist() == ["1"] * 4 + ["2"] * 4 + ["3"] * 4


def test_the_mapped_recording_is_numbered_by_file(files):
    for path in files.iterdir():
        table = walk(4).rename_columns(["time", "acc_x", "note", "acc_y", "trial", "activity"])
        pa_csv.write_csv(table, path)
    assert read(files, mapping={"recording": "trial"})["trial"].to_pylist()[::2] == ["1/r0", "1/r1"] + [
        f"{number}/r{index}" for number in (2, 3) for index in (0, 1)
    ]
    with pytest.raises(TableError, match="each of several files is a recording"):
        read(files, mapping={"recording": ""})


def test_no_window_spans_two_files(bundle, files, tmp_path):
    summary = Protector(bundle).protect(files, tmp_path / "out.parquet")
    assert summary.rows == 22
    assert summary.cost.draws == 2 + 3 + 2  # of four rows: 7, 10 and 5 rows
    assert pa_parquet.read_table(tmp_path / "out.parquet").num_rows == 22


def test_columns_may_stand_in_another_order(files):
    table = walk(4, recordings=1)
    pa_csv.write_csv(table.select(table.column_names[::-1]), files / "c.csv")
    assert read(files).num_rows == 21


def test_files_with_other_columns_are_refused_by_name(files):
    pa_csv.write_csv(walk(4).drop_columns(["note"]), files / "b.csv")
    with pytest.raises(TableError, match=r"b\.csv: it lacks column 'note' of .*a\.csv"):
        read(files)


def test_files_of_several_kinds_go_together_when_their_columns_do(files):
    pa_parquet.write_table(walk(4, recordings=1), files / "d.parquet")
    assert read(files).num_rows == 26


def test_a_note_beside_the_tables_is_not_read(files):
    (files / "README.txt").write_text("acc_x are in g\n")
    (files / ".hidden.csv").write_text("")
    assert len(paths_of(files)) == 3


def test_a_file_given_twice_would_be_paid_for_twice(files):
    with pytest.raises(TableError, match="given twice"):
        paths_of([str(files / "a.csv"), str(files / "*.csv")])


@pytest.mark.parametrize("given", [[], ["-", "a.csv"]])
def test_there_is_something_to_read(given):
    with pytest.raises(TableError, match="at least one file"):
        paths_of(given)


def test_a_file_whose_name_has_a_star_is_itself(tmp_path):
    (tmp_path / "a*.csv").write_text("acc_x,acc_y\n1,2\n")
    assert paths_of(str(tmp_path / "a*.csv")) == [str(tmp_path / "a*.csv")]
