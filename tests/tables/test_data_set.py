"""Which files a data set has, and where each goes."""

from pathlib import Path

import pytest

from deeprotect.errors import InputError, TableError
from deeprotect.tables.data_set import parts_of
from deeprotect.tables.outputs import Output

PASSING = ("time", "recording")


def made(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def places(*inputs, passing=PASSING, numbered=False):
    parts = parts_of([str(each) for each in inputs], passing=passing, numbered=numbered)
    return {str(part.source): str(part.place) for part in parts}


def test_a_folder_keeps_its_structure_without_notes_of_other_programs(tmp_path):
    made(
        tmp_path, "a.csv", "deep/er/b.parquet", "_SUCCESS", "_delta/c.parquet", ".hidden.csv", "note.md", "deep/d.arrow"
    )
    assert sorted(places(tmp_path).values()) == ["a.csv", "deep/d.arrow", "deep/er/b.parquet"]


def test_a_pattern_keeps_the_structure_below_what_is_fixed_in_it(tmp_path):
    made(tmp_path, "y/1/a.csv", "y/2/a.csv", "y/2/b.txt", "n/3/a.csv")
    assert sorted(places(tmp_path / "y" / "*" / "*.csv").values()) == ["1/a.csv", "2/a.csv"]
    assert sorted(places(tmp_path / "**" / "a.csv").values()) == ["n/3/a.csv", "y/1/a.csv", "y/2/a.csv"]


def test_several_inputs_keep_the_structure_below_what_they_share(tmp_path, monkeypatch):
    made(tmp_path, "x/a.csv", "y/a.csv", "y/z/b.csv")
    monkeypatch.chdir(tmp_path)
    assert sorted(places("x", "y/").values()) == ["x/a.csv", "y/a.csv", "y/z/b.csv"]
    assert sorted(places("x/a.csv", "../" + tmp_path.name + "/y/z/b.csv").values()) == ["x/a.csv", "y/z/b.csv"]
    assert places("x/a.csv") == {"x/a.csv": "a.csv"}
    assert places("x/a.csv", "x/*.csv") == {"x/a.csv": "a.csv"}


def test_text_of_other_kinds_is_written_as_csv(tmp_path):
    made(tmp_path, "a.tsv", "b.csv.gz", "c.txt", "d.feather")
    assert sorted(places(tmp_path).values()) == ["a.csv", "b.csv.gz", "c.csv", "d.feather"]


def test_numbered_files_keep_nothing_but_their_order_structure_and_kind(tmp_path):
    made(tmp_path, "ann/walk.tsv", "ann/run.csv.gz", "person=bob/x/2.parquet", "person=bob/x/2.csv", "zoe.arrow")
    found = {
        Path(source).relative_to(tmp_path).as_posix(): place
        for source, place in places(tmp_path, numbered=True).items()
    }
    assert found == {
        "ann/run.csv.gz": "1/1.csv.gz",
        "ann/walk.tsv": "1/2.csv",
        "person=bob/x/2.csv": "2/1/1.csv",
        "person=bob/x/2.parquet": "2/1/2.parquet",
        "zoe.arrow": "3.arrow",
    }


def test_two_files_that_would_be_written_under_one_name_are_refused(tmp_path):
    made(tmp_path, "a.tsv", "a.csv")
    with pytest.raises(TableError, match="same name"):
        places(tmp_path)


def test_a_partition_by_a_column_that_does_not_leave_is_refused(tmp_path):
    """Its value would leave as the name of a folder."""
    made(tmp_path, "activity=walk/a.parquet", "activity=run/a.parquet")
    with pytest.raises(InputError, match="'activity'"):
        places(tmp_path)
    with pytest.raises(InputError, match="'activity'"):
        places(tmp_path / "*" / "a.parquet")
    assert sorted(places(tmp_path, passing=("activity",)).values()) == [
        "activity=run/a.parquet",
        "activity=walk/a.parquet",
    ]


def test_a_folder_above_the_data_set_is_no_partition_of_it(tmp_path):
    made(tmp_path, "person=3/x/a.parquet")
    assert list(places(tmp_path / "person=3").values()) == ["x/a.parquet"]


@pytest.mark.parametrize("given", ["nothing", "no*thing.csv", "-"])
def test_what_is_not_there_is_said(tmp_path, given, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("nothing").mkdir()
    with pytest.raises(TableError):
        places(given)


def test_a_linked_file_goes_where_its_link_lies(tmp_path):
    made(tmp_path, "real/a.csv")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "b.csv").symlink_to(tmp_path / "real" / "a.csv")
    assert list(places(tmp_path / "set").values()) == ["b.csv"]


def test_an_output_is_a_folder_unless_its_name_is_a_tables(tmp_path):
    (tmp_path / "there.csv").mkdir()
    assert Output.at(tmp_path / "there.csv").is_folder
    assert all(Output(each).is_folder for each in ("out", "out/", "out.csv/"))
    assert not any(Output(each).is_folder for each in ("out.csv", "out.parquet", "out.xlsx", "-"))
