"""`protect` as a user types it: dropped names and times, columns under other names, several files."""

import json

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from tests.cli.test_wrong_input import snapshot
from tests.conftest import walk

NUMBERED = "recordings are numbered 1, 2, … in the order of the table"


@pytest.fixture
def ready(folder, channel_bundle):
    channel_bundle.save(folder / "channel")
    return folder


def column(folder, name, file="out.csv"):
    return pa_csv.read_csv(folder / file)[name].to_pylist()


def choosing(bundle, **columns):
    """A bundle whose policy says which columns are time and recording: its author's doing, not the operator's."""
    policy = bundle.policy.vary(stream={"columns": columns}).to_json()
    return type(bundle)(bundle.manifest.model_copy(update={"policy": policy}), bundle.files).checked("test")


def test_recordings_are_numbered_and_a_line_lists_every_column_that_leaves_as_it_is(ready, deeprotect):
    done = deeprotect("protect", "channel", "walk.csv", "out.csv")
    assert done.returncode == 0, done.stderr
    assert f"copied unchanged: time; {NUMBERED}\n" in done.stderr
    assert column(ready, "recording") == [1] * 100 + [2] * 100


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--keep-names",), "copied unchanged: time, recording\n"),
        (("--relative-time",), f"no column is copied unchanged; {NUMBERED}\n"),
        (("--relative-time", "--keep-names"), "copied unchanged: recording\n"),
        (("--map", "time=", "--map", "recording="), "no column is copied unchanged\n"),
    ],
)
def test_the_line_says_what_was_asked_for(folder, deeprotect, options, says):
    done = deeprotect("protect", "protector", "walk.csv", "out.csv", *options)
    assert done.returncode == 0, done.stderr
    assert says in done.stderr
    if "--keep-names" in options:
        assert set(column(folder, "recording")) == {"r0", "r1"}


@pytest.mark.parametrize("name", ["time", "recording"])
@pytest.mark.parametrize("private", ["note", "heart_rate"])
def test_a_bundle_does_not_choose_which_private_column_leaves(folder, deeprotect, bundle, name, private):
    table = (
        walk(40, recordings=1)
        .drop_columns([name])
        .append_column("heart_rate", pa.array([60 + row / 10 for row in range(40)]))
    )
    pa_csv.write_csv(table, folder / "private.csv")
    choosing(bundle, **{name: private}).save(folder / "choosing")
    done = deeprotect("protect", "choosing", "private.csv", "out.csv")
    assert done.returncode == 0, done.stderr
    assert private in done.stderr.partition("left out, not channels: ")[2].partition("\n")[0]
    assert private not in pa_csv.read_csv(folder / "out.csv").column_names


def test_the_operator_chooses_and_the_line_says_so(folder, deeprotect, bundle):
    pa_csv.write_csv(walk(40, recordings=1), folder / "one.csv")
    choosing(bundle, recording="activity2").save(folder / "choosing")
    done = deeprotect("protect", "choosing", "one.csv", "out.csv", "--keep-names", "--map", "recording=note")
    assert "copied unchanged: time, note\n" in done.stderr
    assert set(column(folder, "note")) == {"private"}


@pytest.mark.parametrize("mapped", ["recording=acc_y", "time=acc_x", "acc_x=time", "acc_y=recording"])
def test_a_channel_is_never_the_time_or_the_recording(folder, deeprotect, mapped):
    done = deeprotect("protect", "protector", "walk.csv", "out.csv", "--map", mapped)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "channel" in done.stderr or "map each column once" in done.stderr
    assert not (folder / "out.csv").exists()


def test_the_summary_says_so_too(ready, deeprotect):
    done = deeprotect("protect", "channel", "walk.csv", "out.csv", "--json")
    said = json.loads(done.stderr)
    assert (said["renumbered"], said["unchanged"]) == (True, ["time"])


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
    done = deeprotect("protect", "protector", "a.csv", "b.csv", "out.csv")
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


WALKS = ("walks/0.csv", "walks/1.csv")


@pytest.mark.parametrize("out", ["out.csv", "out"])
@pytest.mark.parametrize("ledger", [(), ("--ledger", "ledger.db", "--stream", "walk")])
def test_a_dry_run_tells_the_cost_of_the_run_and_leaves_nothing(folder, deeprotect, out, ledger):
    (folder / "walks").mkdir()
    for place in WALKS:
        pa_csv.write_csv(walk(30), folder / place)
    before = snapshot(folder)
    command = ("protect", "protector", "walks", out, *ledger)
    dry = deeprotect(*command, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert snapshot(folder) == before
    assert "dry run: would release 60 rows of 4 recordings" in dry.stderr
    done = deeprotect(*command)
    assert done.returncode == 0, done.stderr
    cost = "ldp: ε = 5 per window, ε = 80 for the whole stream (16 windows)"
    assert cost in dry.stderr
    assert cost in done.stderr


def test_a_dry_run_refuses_what_the_run_would_refuse_and_charges_no_ledger_that_is_there(folder, deeprotect):
    given = ("--ledger", "ledger.db", "--stream", "walk")
    assert deeprotect("protect", "protector", "walk.csv", "out.csv", *given).returncode == 0
    before = snapshot(folder)
    for wrong in (("nothing.csv", "new.csv"), ("walk.csv", "out.csv"), ("walk.csv", "new.xyz")):
        assert deeprotect("protect", "protector", *wrong, *given, "--dry-run").returncode == 2
    assert deeprotect("protect", "protector", "walk.csv", "new.csv", *given, "--dry-run").returncode == 0
    assert snapshot(folder) == before


def test_recordings_shorter_than_a_window_are_said_to_cost_a_whole_draw(folder, deeprotect):
    pa_csv.write_csv(walk(11, recordings=4), folder / "short.csv")  # of 2 or 3 rows; a window has 4
    done = deeprotect("protect", "protector", "short.csv", "out.csv")
    assert "4 recordings are shorter than a window; each costs a whole draw all the same\n" in done.stderr
    assert "(4 windows)" in done.stderr
    assert "shorter" not in deeprotect("protect", "protector", "walk.csv", "long.csv").stderr
