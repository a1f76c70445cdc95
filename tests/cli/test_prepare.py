"""The verb `prepare`, as a user types it: a messy table becomes one that `protect` takes."""

import json

import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest


def messy(folder):
    """Other names, another unit, rows out of order, a gap, a hole and a double."""
    lines = (folder / "walk.csv").read_text().replace('"', "").splitlines()
    lines[0] = lines[0].replace("time", "Timestamp").replace("recording", "Trial")
    lines[7], lines[8] = lines[8], lines[7]
    lines[20] = lines[20].replace(lines[20].split(",")[1], "", 1)
    lines.insert(150, lines[150])
    del lines[50:60]
    (folder / "messy.csv").write_text("\n".join(lines) + "\n")


def test_what_is_mended_is_said_in_numbers_and_can_be_protected(folder, deeprotect):
    messy(folder)
    assert deeprotect("protect", "protector", "messy.csv", "out.csv").returncode == 2
    assert deeprotect("check", "messy.csv").returncode == 1
    done = deeprotect("prepare", "messy.csv", "--out", "clean.csv")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        "dropped rows with missing, infinite or unreadable samples: 1",
        "dropped duplicate rows: 1",
        "rows moved to their place in time: 2",
        "gaps, after each of which a new recording begins: 1",
        "clean.csv: 189 of 191 rows, 3 recordings (of 2)",
    ]
    assert deeprotect("check", "clean.csv", "policy.toml").returncode == 0
    assert deeprotect("protect", "protector", "clean.csv", "out.csv").returncode == 0


def test_a_script_gets_json_and_units_and_rates_are_changed(folder, deeprotect):
    done = deeprotect("prepare", "walk.csv", "--out", "clean.parquet", "--rate-hz", "5", "--unit", "acc=g:mg", "--json")
    told = json.loads(done.stderr)
    assert (told["rows_in"], told["rows_out"], told["resampled_to_hz"]) == (200, 100, 5)
    clean = pa_parquet.read_table(folder / "clean.parquet")
    assert clean.schema.field("acc_x").metadata == {b"unit": b"mg"}
    first = pa_csv.read_csv(folder / "walk.csv")["acc_x"].to_numpy()[:2].mean() * 1000
    assert abs(clean["acc_x"][0].as_py() - first) < 1e-6


def test_what_exists_is_overwritten_only_by_force(folder, deeprotect):
    (folder / "clean.csv").write_text("mine")
    assert deeprotect("prepare", "walk.csv", "--out", "clean.csv").returncode == 2
    assert (folder / "clean.csv").read_text() == "mine"
    assert deeprotect("prepare", "walk.csv", "--out", "clean.csv", "--force").returncode == 0
    assert len((folder / "clean.csv").read_text().splitlines()) == 201


def test_it_writes_to_standard_output(folder, deeprotect):
    done = deeprotect("prepare", "walk.csv", "--out", "-")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 201
    assert "standard" not in done.stderr


def test_several_files_become_one_table(folder, deeprotect):
    (folder / "data").mkdir()
    for name in "ab":
        (folder / "data" / f"{name}.csv").write_bytes((folder / "walk.csv").read_bytes())
    done = deeprotect("prepare", "data/*.csv", "--out", "clean.csv")
    assert done.stderr.splitlines()[-1] == "clean.csv: 400 of 400 rows, 4 recordings (of 4)"
    assert deeprotect("protect", "protector", "clean.csv", "out.csv").returncode == 0


@pytest.mark.parametrize("cell", ["1,234.5", "fast", ""])  # a thousands separator makes cells of a wrong number
def test_a_table_that_would_lose_many_rows_is_refused_with_the_reason(folder, deeprotect, cell):
    rows = [f"{number / 10},{number % 4},{cell if number % 5 == 0 else number % 3}" for number in range(200)]
    (folder / "phone.csv").write_text("\n".join(["time,acc_x,acc_y", *rows]) + "\n")
    done = deeprotect("prepare", "phone.csv", "--out", "clean.csv")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "40 of 200 rows would be dropped, 40 of them" in done.stderr
    assert not (folder / "clean.csv").exists()
    done = deeprotect("prepare", "phone.csv", "--out", "clean.csv", "--max-dropped", "0.2")
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1].startswith("clean.csv: 160 of")


def test_equal_rows_are_no_loss(folder, deeprotect):
    rows = [f"{number // 2 / 10},{number // 2 % 4},0.5" for number in range(200)]
    (folder / "phone.csv").write_text("\n".join(["time,acc_x,acc_y", *rows]) + "\n")
    done = deeprotect("prepare", "phone.csv", "--out", "clean.csv")
    assert (done.returncode, "100 of 200 rows" in done.stderr) == (0, True)


def test_labels_that_differ_by_case_or_blanks_become_one(folder, deeprotect):
    ways = ["walk", "Walk", "walk ", "rest", "walk"]
    rows = [f"{number / 10},{number % 4},0.5,{ways[number % 5]},{ways[number % 5]}" for number in range(200)]
    (folder / "phone.csv").write_text("\n".join(["time,acc_x,acc_y,activity,note", *rows]) + "\n")
    found = deeprotect("check", "phone.csv")
    assert "spellings that differ only in case or spaces (activity, note): 4" in found.stdout
    done = deeprotect("prepare", "phone.csv", "--out", "clean.csv")
    assert "spellings of activity rewritten as the usual one: 2" in done.stderr
    assert set(pa_csv.read_csv(folder / "clean.csv")["activity"].to_pylist()) == {"walk", "rest"}
    assert "blanks" not in deeprotect("check", "clean.csv").stdout
