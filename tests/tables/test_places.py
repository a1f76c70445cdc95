"""Tables in other places and kinds: at addresses, in gzip, in Excel; and one line where a package is missing."""

import gzip
import sys
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from tests.conftest import walk

from deeprotect import Protector, check, prepare
from deeprotect.errors import InputError, TableError
from deeprotect.tables.sources import open_source


@pytest.fixture
def protector(bundle):
    return Protector(bundle)


@pytest.fixture
def memory():
    """A file system of fsspec's, empty."""
    system = pytest.importorskip("fsspec").filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def put(memory, name, table):
    with memory.open(name, "wb") as stream:
        if name.endswith(".parquet"):
            pa_parquet.write_table(table, stream)
        else:
            pa_csv.write_csv(table, stream)


def columns_of(path):
    with open_source(path) as source:
        return pa.Table.from_batches(source.batches, schema=source.schema)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_lies_at_an_address_is_released_to_another(protector, memory, kind):
    put(memory, f"/raw/walk.{kind}", walk(40))
    release = protector.protect(f"memory://raw/walk.{kind}", f"memory://out/walk.{kind}")
    assert release.rows == 40
    released = columns_of(f"memory://out/walk.{kind}")
    assert released.column_names == ["time", "acc_x", "acc_y", "recording"]
    assert released["acc_x"].to_pylist() != walk(40)["acc_x"].to_pylist()


def test_every_verb_reads_addresses_and_several_of_them(protector, memory, tmp_path):
    for name in "ab":
        put(memory, f"/raw/{name}.csv", walk(40))
    assert check("memory://raw/a.csv").rows == 40
    assert prepare("memory://raw/*.csv", tmp_path / "clean.csv").rows_out == 80
    assert protector.protect("memory://raw", tmp_path / "out.parquet").rows == 80
    assert prepare("memory://raw/a.csv", "memory://clean.parquet").rows_out == 40
    assert columns_of("memory://clean.parquet").num_rows == 40


def test_the_same_content_at_an_address_costs_once(protector, memory, tmp_path):
    put(memory, "/walk.csv", walk(40))
    named = {"ledger": str(tmp_path / "spent.db"), "stream": "phone"}
    assert protector.protect("memory://walk.csv", **named).draws.charged == 10
    assert protector.protect("memory://walk.csv", **named).draws.charged == 0


def test_what_exists_at_an_address_and_the_input_are_never_replaced(protector, memory):
    put(memory, "/walk.csv", walk(40))
    put(memory, "/other.csv", walk(8))
    with pytest.raises(InputError, match="exists already"):
        protector.protect("memory://walk.csv", "memory://other.csv")
    with pytest.raises(InputError, match="it is the input"):
        protector.protect("memory://walk.csv", "memory://walk.csv", force=True)
    assert protector.protect("memory://walk.csv", "memory://other.csv", force=True).rows == 40


@pytest.mark.parametrize("turned", [False, True])
def test_an_input_is_not_replaced_under_its_name_as_an_address(protector, tmp_path, monkeypatch, turned):
    pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    pa_csv.write_csv(walk(40), "walk.csv")
    names = ["walk.csv", f"file://{tmp_path}/walk.csv"]
    with pytest.raises(InputError, match="it is the input"):
        protector.protect(*(reversed(names) if turned else names), force=True)
    assert columns_of("walk.csv")["note"].to_pylist() == ["private"] * 40


def test_nothing_appears_at_an_address_when_a_release_fails(protector, memory):
    put(memory, "/walk.csv", walk(40))
    memory.pipe("/bad.csv", memory.cat("/walk.csv") + b"4.0,fast,x,0,r1,walk\n")
    with pytest.raises(TableError):
        protector.protect("memory://bad.csv", "memory://out.csv")
    assert not memory.exists("/out.csv")


@pytest.mark.parametrize(
    ("source", "out", "says"),
    [
        ("memory://nothing.csv", "out.csv", "no such file"),
        ("memory://walk.csv", "memory://folder/", "an output folder must be local"),
        ("memory://walk.csv", "folder/", "is released into a file"),
        ("nowhere://walk.csv", "out.csv", "unknown kind of address, nowhere://"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_in_one_line(
    protector, memory, tmp_path, monkeypatch, source, out, says
):
    monkeypatch.chdir(tmp_path)
    put(memory, "/walk.csv", walk(40))
    with pytest.raises(InputError, match=says) as refused:
        protector.protect(source, out)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_without_fsspec_or_its_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    pytest.importorskip("fsspec")
    with pytest.raises(InputError, match="s3fs"):
        check("s3://bucket/walk.csv")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError, match="pip install fsspec"):
        check("s3://bucket/walk.csv")


def test_csv_is_written_in_gzip_that_names_neither_file_nor_time(protector, tmp_path):
    protector.protect(walk(40), tmp_path / "ann.csv.gz")
    packed = (tmp_path / "ann.csv.gz").read_bytes()
    assert gzip.decompress(packed).startswith(b"time,acc_x,acc_y,recording\n")
    assert (packed[3], packed[4:8]) == (0, bytes(4))  # no flag, so no name; no time
    assert prepare(tmp_path / "ann.csv.gz", tmp_path / "again.csv.gz").rows_out == 40
    with pytest.raises(InputError, match=r"unknown kind of table '\.parquet\.gz'"):
        protector.protect(walk(40), tmp_path / "ann.parquet.gz")


def workbook(path, rows):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


def test_a_sheet_of_excel_is_read_as_if_it_were_exported(tmp_path):
    first = datetime(2026, 1, 31, 12)
    rows = [
        [first + timedelta(seconds=number / 10), 0.1 * (number % 3), number % 4, "walk", None] for number in range(40)
    ]
    workbook(tmp_path / "phone.xlsx", [["Timestamp", "acc_x", "acc_y", "activity"], *rows, [None] * 5])
    report = check(tmp_path / "phone.xlsx")
    assert (report.rows, report.rate_hz, report.problems) == (40, 10.0, ())
    counts = prepare(tmp_path / "phone.xlsx", tmp_path / "clean.csv")
    assert (counts.rows_in, counts.rows_out) == (40, 40)
    assert columns_of(str(tmp_path / "clean.csv")).column_names == ["recording", "time", "acc_x", "acc_y", "activity"]


def test_notes_above_the_names_of_a_sheet_are_refused(tmp_path):
    rows = [[number / 10, 0.5, number % 3] for number in range(20)]
    workbook(tmp_path / "notes.xlsx", [["Exported by a phone"], ["time", "acc_x", "acc_y"], *rows])
    with pytest.raises(TableError, match="column names are on line 2; remove the line above them"):
        check(tmp_path / "notes.xlsx")


def test_what_is_no_workbook_is_refused_in_one_line(tmp_path):
    pytest.importorskip("openpyxl")
    for content in (b"", b"PK\x03\x04 no archive", b"time,acc_x\n0,1\n"):
        (tmp_path / "odd.xlsx").write_bytes(content)
        with pytest.raises(TableError, match="cannot be read as Excel"):
            check(tmp_path / "odd.xlsx")


def test_without_openpyxl_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "phone.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"pip install 'deeprotect\[prepare\]', or export the sheet as CSV"):
        check(tmp_path / "phone.xlsx")
