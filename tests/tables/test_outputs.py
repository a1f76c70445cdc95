"""An output is refused before the work: what exists, what is an input under any name, what has no place."""

import os

import pytest

from deeprotect.errors import InputError
from deeprotect.tables.outputs import Output


@pytest.fixture
def raw(tmp_path):
    (tmp_path / "raw.csv").write_text("acc_x\n1\n")
    return tmp_path / "raw.csv"


def test_what_exists_is_refused_and_so_is_a_link_to_nothing(raw):
    (raw.parent / "link").symlink_to("nothing")
    for path in (raw, raw.parent, raw.parent / "link"):
        with pytest.raises(InputError, match="exists already"):
            Output.at(path).check_absent()
    Output.at(raw.parent / "new.csv").check_absent()
    Output.at("-").check_absent()


def test_an_input_is_refused_under_any_of_its_names(raw, monkeypatch):
    folder = raw.parent
    (folder / "soft.csv").symlink_to(raw)
    os.link(raw, folder / "hard.csv")
    monkeypatch.chdir(folder)
    for name in ("raw.csv", "./raw.csv", folder / "raw.csv", "soft.csv", "hard.csv", f"../{folder.name}/raw.csv"):
        with pytest.raises(InputError, match="it is the input"):
            Output.at(name).check_no_input(["other.csv", raw])
    Output.at("new.csv").check_no_input([raw])
    Output.at("-").check_no_input(["-"])


@pytest.mark.parametrize("name", [".", "..", "", "/", "none/new.csv", "raw.csv/new.csv"])
def test_a_name_that_no_file_can_have_is_refused(raw, monkeypatch, name):
    monkeypatch.chdir(raw.parent)
    with pytest.raises(InputError):
        Output.at(name).check_file()


def test_a_pipe_and_a_device_are_no_place_for_a_table(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/null"):
        with pytest.raises(InputError, match="not a regular file"):
            Output.at(path).check_file()


def test_a_good_name_passes(tmp_path):
    Output.at(tmp_path / "new.csv").check_file()
    Output.at("-").check_file()
    Output.at("new.parquet").check_kind()
    Output.at("-").check_kind()
    with pytest.raises(InputError, match=r"unknown kind of table '\.xlsx'"):
        Output.at("new.xlsx").check_kind()
