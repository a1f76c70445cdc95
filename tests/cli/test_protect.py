"""`protect` as a user types it: names and times that stay behind, columns under other names, several files."""

import json

import pyarrow.csv as pa_csv
import pytest
from tests.conftest import walk

NUMBERED = "recordings are numbered 1, 2, …"


@pytest.fixture
def named(folder, named_bundle):
    named_bundle.save(folder / "named")
    return folder


def column(folder, name, file="out.csv"):
    return pa_csv.read_csv(folder / file)[name].to_pylist()


def test_names_that_told_something_sensitive_stay_behind_and_a_line_says_so(named, deeprotect):
    done = deeprotect("protect", "named", "walk.csv", "out.csv")
    assert done.returncode == 0, done.stderr
    assert f"{NUMBERED}: in the training table their names tell “person”; --keep-names keeps them" in done.stderr
    assert column(named, "recording") == [1] * 100 + [2] * 100


def test_names_of_which_nothing_is_known_stay_behind_too(folder, deeprotect, bundle):
    training = bundle.manifest.training.model_copy(update={"names_tell": None})
    unknown = type(bundle)(bundle.manifest.model_copy(update={"training": training}), bundle.files)
    unknown.save(folder / "unknown")
    done = deeprotect("protect", "unknown", "walk.csv", "out.csv")
    assert f"{NUMBERED}: nobody knows what their names tell; --keep-names keeps them" in done.stderr
    assert set(column(folder, "recording")) == {1, 2}


def test_names_that_tell_nothing_sensitive_are_kept(folder, deeprotect):
    done = deeprotect("protect", "protector", "walk.csv", "out.csv")
    assert NUMBERED not in done.stderr
    assert set(column(folder, "recording")) == {"r0", "r1"}


def test_both_can_be_asked_for(named, deeprotect):
    assert NUMBERED not in deeprotect("protect", "named", "walk.csv", "kept.csv", "--keep-names").stderr
    assert NUMBERED not in deeprotect("protect", "protector", "walk.csv", "numbered.csv", "--renumber").stderr
    assert set(column(named, "recording", "kept.csv")) == {"r0", "r1"}
    assert set(column(named, "recording", "numbered.csv")) == {1, 2}


def test_the_summary_says_so_too(named, deeprotect):
    done = deeprotect("protect", "named", "walk.csv", "out.csv", "--json")
    assert json.loads(done.stderr)["renumbered"] is True


def test_time_can_leave_as_if_every_recording_began_at_nought(folder, deeprotect):
    (folder / "late.csv").write_text(
        "time,acc_x,acc_y,recording\n1700000000.1,0,0,a\n1700000000.2,0,0,a\n1700000900.0,0,0,b\n1700000900.1,0,0,b\n"
    )
    done = deeprotect("protect", "protector", "late.csv", "out.csv", "--relative-time")
    assert done.returncode == 0, done.stderr
    assert column(folder, "time") == [0.0, 0.1, 0.0, 0.1]


def test_columns_of_the_table_at_hand_are_mapped(folder, deeprotect):
    names = ["Uhr", "X", "note", "acc_y", "Fahrt", "activity"]
    pa_csv.write_csv(walk(40).rename_columns(names), folder / "other.csv")
    command = ("protect", "protector", "other.csv", "out.csv")
    assert "column 'acc_x' is missing" in deeprotect(*command).stderr
    done = deeprotect(*command, "--map", "acc_x=X", "--map", "time=Uhr", "--map", "recording=Fahrt")
    assert done.returncode == 0, done.stderr
    assert pa_csv.read_csv(folder / "out.csv").column_names == ["Uhr", "X", "acc_y", "Fahrt"]


def test_columns_without_names_are_named(folder, deeprotect):
    lines = (folder / "walk.csv").read_text().splitlines()
    (folder / "bare.csv").write_text("\n".join(lines[1:]) + "\n")
    command = ("protect", "protector", "bare.csv", "out.csv")
    assert "first line holds values" in deeprotect(*command).stderr
    done = deeprotect(*command, "--columns", "time,acc_x,note,acc_y,recording,activity")
    assert done.returncode == 0, done.stderr
    assert len(column(folder, "acc_x")) == 200


def test_several_inputs_are_one_release(folder, deeprotect):
    for name in ("a.csv", "b.csv"):
        pa_csv.write_csv(walk(40), folder / name)
    done = deeprotect("protect", "protector", "a.csv", "b.csv", "out.csv", "--renumber")
    assert done.returncode == 0, done.stderr
    assert "released 80 rows" in done.stderr
    assert column(folder, "recording") == [1] * 20 + [2] * 20 + [3] * 20 + [4] * 20


def test_training_takes_several_files_other_columns_and_none(folder, deeprotect):
    for name in ("a.csv", "b.csv"):
        pa_csv.write_csv(walk(80).rename_columns(["Uhr", "X", "note", "acc_y", "recording", "activity"]), folder / name)
    maps = ("--map", "acc_x=X", "--map", "time=Uhr")
    done = deeprotect("train", "policy.toml", "--data", "a.csv", "--data", "b.csv", "--out", "new", *maps)
    assert done.returncode == 0, done.stderr
    training = json.loads((folder / "new" / "manifest.json").read_text())["training"]
    assert (training["rows"], training["recordings"]) == (160, 4)
    (folder / "bare.csv").write_text("\n".join((folder / "a.csv").read_text().splitlines()[1:]) + "\n")
    named = ("--columns", "Uhr,X,note,acc_y,recording,activity")
    done = deeprotect("train", "policy.toml", "--data", "bare.csv", "--out", "bare", *maps, *named)
    assert done.returncode == 0, done.stderr
