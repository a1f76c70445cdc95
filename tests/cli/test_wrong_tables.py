"""Wrong tables of every kind: one line that says what to do, the right exit code, no cell printed, nothing lost."""

import gzip
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from tests.cli.test_wrong_input import snapshot

TABLES = tomllib.loads((Path(__file__).parents[1] / "tables" / "wrong_tables.toml").read_text())["wrong"]
GOOD = "time,acc_x,acc_y,recording,activity\n" + "".join(f"{row / 10},3.14159,0.5,Sekrit,walk\n" for row in range(20))
CELLS = ("3.14159", "3,14159", "Sekrit", "314159")
VERBS = {
    "protect": ["protect", "protector", "walk.csv"],
    "train": ["train", "policy.toml", "--data", "walk.csv", "--out"],
    "init": ["init", "walk.csv", "--useful", "activity", "--out"],
    "check": ["check", "walk.csv"],
    "prepare": ["prepare", "walk.csv", "--out"],
}
OUT = {"protect": "new.csv", "train": "new", "init": "new.toml", "prepare": "new.csv"}


def command(case):
    verb = case["verb"]
    out = [] if verb == "check" else [case.get("out", OUT[verb])]
    return [*VERBS[verb], *out, *case.get("with", [])]


def assert_refused(done, folder, before, *, code, says):
    """`check` lists what it finds on standard output; every other word is a single line on standard error."""
    said = done.stdout if code == 1 else done.stderr
    assert done.returncode == code, done.stderr
    assert says in said
    assert "Traceback" not in done.stdout + done.stderr
    assert not [cell for cell in CELLS if cell in done.stdout + done.stderr]
    assert all(line.isprintable() for line in said.splitlines())
    assert (done.stdout, done.stderr.count("\n")) == ("", 1) if code == 2 else done.stderr == ""
    assert snapshot(folder) == before


@pytest.mark.parametrize("case", TABLES, ids=lambda case: case["name"])
def test_a_wrong_table_is_refused_in_one_line(folder, deeprotect, case):
    text = GOOD if case["text"] == "GOOD" else case["text"].replace("π", "3.14159")
    (folder / "walk.csv").write_bytes(text.encode())
    before = snapshot(folder)
    done = deeprotect(*command(case))
    assert_refused(done, folder, before, code=case.get("code", 1 if case["verb"] == "check" else 2), says=case["says"])


def test_no_wrong_table_is_there_twice():
    assert len({case["name"] for case in TABLES}) == len(TABLES)
    assert len({(case["text"], *command(case)) for case in TABLES}) == len(TABLES)


def test_a_good_table_is_good(folder, deeprotect):
    """Or else the cases above might be refused for another reason."""
    (folder / "walk.csv").write_text(GOOD)
    for verb in ("check", "init", "prepare", "protect"):
        done = deeprotect(*command({"verb": verb}))
        assert done.returncode == 0, done.stderr
        (folder / OUT.get(verb, "none")).unlink(missing_ok=True)


ROWS = b"acc_x,acc_y,note\n" + b"3.14159,0,Sekrit\n" * 100
NOT_TEXT = {
    "Parquet under the name of CSV": (b"PAR1" + bytes(8) + b"PAR1", "it is Parquet, not CSV"),
    "Arrow under the name of CSV": (b"ARROW1\0\0" + bytes(8), "it is Arrow, not CSV"),
    "a workbook": (b"PK\x03\x04" + bytes(30), "Excel workbook"),
    "an old workbook": (b"\xd0\xcf\x11\xe0" + bytes(30), "Excel workbook"),
    "a database": (b"SQLite format 3\0" + bytes(30), "SQLite"),
    "HDF5": (b"\x89HDF\r\n" + bytes(30), "HDF5"),
    "bzip2": (b"BZh91AY&SY", "unpack it first"),
    "xz": (b"\xfd7zXZ\0", "unpack it first"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(9), "unpack it first"),
    "noise": (bytes(range(128, 256)) * 9 + bytes(9), "it is not text"),
    "a zero byte": (ROWS + b"3.14159,0,\0Sekrit\n", "it is not text"),
    "gzip cut off": (gzip.compress(ROWS)[:-4], "truncated"),
    "gzip damaged": (gzip.compress(ROWS)[:40] + b"Sekrit" * 9, "damaged"),
    "UTF-16 cut off": ("acc_x,acc_y\n3.14159,0\n".encode("utf-16")[:-1], "begins as UTF-16"),
    "letters of nobody": (b"acc_x,acc_y,note\n3.14159,0,\x81\x8d\n", "neither UTF-8, UTF-16 nor Latin"),
    "one endless line": (b"x" * (2 << 20), "first line is too long"),
}


@pytest.mark.parametrize("name", NOT_TEXT)
@pytest.mark.parametrize("verb", ["protect", "check"])
def test_what_is_no_text_is_refused_in_one_line(folder, deeprotect, name, verb):
    content, says = NOT_TEXT[name]
    (folder / "walk.csv").write_bytes(content)
    before = snapshot(folder)
    assert_refused(deeprotect(*command({"verb": verb})), folder, before, code=2, says=says)


@pytest.mark.parametrize("name", NOT_TEXT)
def test_nor_is_it_taken_from_standard_input(folder, deeprotect, name):
    content, says = NOT_TEXT[name]
    before = snapshot(folder)
    done = deeprotect("protect", "protector", "-", "new.csv", text=content)
    assert_refused(done, folder, before, code=2, says=says)


STRANGE = {
    "time as a list": ({"time": pa.array([[0.0], [0.1]])}, "column 'time' is list"),
    "time as a struct": ({"time": pa.array([{"a": 1}, {"a": 2}])}, "column 'time' is struct"),
    "time as a date": ({"time": pa.array([1, 2], pa.date32())}, "column 'time' is date32[day]"),
    "time as bytes": ({"time": pa.array([b"Sekrit", b"\xff"])}, "column 'time' is binary"),
    "time as truth": ({"time": pa.array([True, False])}, "column 'time' is bool"),
    "time as nothing": ({"time": pa.nulls(2)}, "time is missing at row 1"),
    "time as words": ({"time": pa.array(["Sekrit", "Sekrit"]).dictionary_encode()}, "neither numbers nor ISO 8601"),
    "time without a value": ({"time": pa.array([0.0, None])}, "time is missing at row 2"),
    "recording as a list": ({"recording": pa.array([["Sekrit"], ["b"]])}, "column 'recording' is list"),
    "recording as a struct": ({"recording": pa.array([{"a": "Sekrit"}] * 2)}, "column 'recording' is struct"),
    "recording that is no number": ({"recording": pa.array([1.0, float("nan")])}, "recording is missing at row 2"),
    "recording that is null": ({"recording": pa.array(["Sekrit", None])}, "recording is missing at row 2"),
    "recording as nothing": ({"recording": pa.nulls(2)}, "recording is missing at row 1"),
    "recording without letters": ({"recording": pa.array(["Sekrit", ""])}, "recording is missing at row 2"),
    "a channel of text": ({"acc_x": pa.array(["3.14159", "0"])}, "column 'acc_x' is string"),
    "a channel of truth": ({"acc_x": pa.array([True, False])}, "column 'acc_x' is bool"),
    "a channel of lists": ({"acc_x": pa.array([[3.14159], [0.0]])}, "column 'acc_x' is list"),
    "a channel of dates": ({"acc_x": pa.array([1, 2], pa.timestamp("s"))}, "column 'acc_x' is timestamp"),
    "a channel of nothing": ({"acc_x": pa.nulls(2)}, "column 'acc_x' is null"),
    "a channel with a hole": ({"acc_x": pa.array([3.14159, None])}, "row 2, column 'acc_x' is missing"),
    "an infinite channel": ({"acc_x": pa.array([3.14159, float("inf")])}, "row 2, column 'acc_x' is infinite"),
}


def parquet(columns):
    return pa.table({"acc_x": pa.array([3.14159, 0.0]), "acc_y": pa.array([0.5, 0.5])} | columns)


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_parquet_file_is_refused_in_one_line(folder, deeprotect, name):
    columns, says = STRANGE[name]
    pa_parquet.write_table(parquet(columns), folder / "walk.parquet")
    before = snapshot(folder)
    done = deeprotect("protect", "protector", "walk.parquet", "new.csv")
    assert_refused(done, folder, before, code=2, says=says)


def test_another_unit_than_the_policy_says_is_refused(folder, deeprotect):
    field = pa.field("acc_x", pa.float64(), metadata={"unit": "m/s²"})
    table = parquet({})
    pa_parquet.write_table(table.cast(table.schema.set(0, field)), folder / "walk.parquet")
    before = snapshot(folder)
    done = deeprotect("protect", "protector", "walk.parquet", "new.csv")
    assert_refused(done, folder, before, code=2, says="column 'acc_x' is in m/s², the policy says g")


@pytest.mark.parametrize("kind", [".parquet", ".arrow", ".feather"])
@pytest.mark.parametrize("verb", ["protect", "check", "prepare"])
def test_a_file_that_is_not_what_its_name_says_is_refused(folder, deeprotect, kind, verb):
    (folder / f"odd{kind}").write_bytes(b"Sekrit, 3.14159")
    before = snapshot(folder)
    done = deeprotect(*(part.replace("walk.csv", f"odd{kind}") for part in command({"verb": verb})))
    assert_refused(done, folder, before, code=2, says="cannot be read as")


SEVERAL = {
    "other columns": (b"acc_x,acc_z\n3.14159,0\n", "it lacks column 'acc_"),
    "no header": (b"3.14159,0\n0,0\n", "b.csv: its first line holds values"),
    "nothing": (b"", "b.csv: it is empty"),
}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("given", ["data", "data/*.csv"])
def test_files_that_do_not_go_together_are_refused_before_the_work(folder, deeprotect, name, given):
    content, says = SEVERAL[name]
    (folder / "data").mkdir()
    (folder / "data" / "a.csv").write_bytes(b"acc_x,acc_y\n3.14159,0\n")
    (folder / "data" / "b.csv").write_bytes(content)
    before = snapshot(folder)
    assert_refused(deeprotect("protect", "protector", given, "new.csv"), folder, before, code=2, says=says)


@pytest.mark.parametrize(("given", "says"), [("none/*.csv", "no file matches"), ("empty", "the folder holds no table")])
def test_no_file_at_all_is_refused(folder, deeprotect, given, says):
    (folder / "empty").mkdir()
    before = snapshot(folder)
    assert_refused(deeprotect("protect", "protector", given, "new.csv"), folder, before, code=2, says=says)
