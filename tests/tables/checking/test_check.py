"""A check finds every problem that is planted, counts it, and finds nothing in a table that has none."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import walk

from deeprotect.errors import TableError
from deeprotect.tables.checking.check import check, first_look
from deeprotect.tables.roles import ColumnMap

RATE = 50
RANDOM = np.random.default_rng(0)


def wrist(rows=400, *, gravity=1.0, turn=1.0, recordings=4):
    """A wrist that moves: three axes of each sensor, in g and rad/s unless said."""
    phase = np.arange(rows) / 7
    acc = np.column_stack([0.5 * np.sin(phase), 0.3 * np.cos(phase), 1 + 0.4 * np.sin(2 * phase)]) * gravity
    gyro = np.column_stack([2 * np.sin(phase), np.cos(phase), 0.5 * np.sin(phase)]) * turn
    columns = {f"acc_{axis}": acc[:, index] for index, axis in enumerate("xyz")}
    columns |= {f"gyro_{axis}": gyro[:, index] for index, axis in enumerate("xyz")}
    number = np.arange(rows) * recordings // rows
    return pa.table({"time": np.arange(rows) / RATE, "recording": [f"r{each}" for each in number], **columns})


def put(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def kinds(report):
    return {each.kind: each.count for each in report.problems}


def test_nothing_is_wrong_with_a_good_table():
    report = check(wrist())
    assert (report.problems, report.notes) == ((), ())
    assert (report.rows, report.recordings, report.rate_hz) == (400, 4, RATE)
    assert report.lines()[-1] == "nothing wrong was found"


def test_problems_are_found_all_at_once_and_counted():
    table = wrist()
    time, samples = table["time"].to_numpy().copy(), table["acc_x"].to_numpy().copy()
    time[150:200] += 9  # a gap before row 151
    time[[30, 31]] = time[[31, 30]]
    samples[[10, 20]] = np.nan, np.inf
    recording = table["recording"].to_pylist()
    recording[5] = None
    table = put(put(put(table, "time", time), "acc_x", samples), "recording", recording)
    report = check(table)
    found = {"gaps": 1, "order": 1, "missing": 1, "infinite": 1, "recording missing": 1}
    assert found.items() <= kinds(report).items()
    rows = {each.kind: each.first_row for each in report.problems}
    assert (rows["gaps"], rows["order"], rows["missing"], rows["infinite"]) == (151, 32, 11, 21)


def test_a_row_written_twice_is_told_from_another_with_its_time():
    table = pa.concat_tables([wrist().slice(0, 10), wrist().slice(9, 50)])
    assert kinds(check(table)) == {"duplicates": 1}
    assert kinds(check(put(table, "acc_x", np.arange(60.0)))) == {"repeated time": 1}


@given(st.integers(1, 60), st.integers(0, 10))
def test_what_is_found_does_not_depend_on_how_the_table_is_cut(size, seed):
    random = np.random.default_rng(seed)
    table = wrist(120)
    time = table["time"].to_numpy() + 5 * (random.random(120) < 0.05).cumsum()
    order = np.arange(120)
    order[random.integers(0, 119, 6)] = random.integers(0, 119, 6)
    messy = put(table, "time", time).take(pa.array(np.concatenate([[0, 1, 2], order])))
    whole = check(messy)
    cut = check(pa.concat_tables([messy.slice(0, 40), *(messy.slice(at, size) for at in range(40, 123, size))]))
    assert replace(cut, problems=()) == replace(whole, problems=())
    assert cut.problems == whole.problems


def test_rows_of_interleaved_recordings_are_followed_each():
    table = wrist(200, recordings=2)
    time = np.concatenate([np.arange(100), np.arange(100)]) / RATE
    table = put(table, "time", time).take(pa.array(np.argsort(time, kind="stable")))
    assert kinds(check(table)) == {"interleaved": 198}


@pytest.mark.parametrize(
    ("made", "unit"),
    [
        ({"gravity": 9.81}, "m/s², not g (acc_x, acc_y, acc_z)"),
        ({"gravity": 1000}, "mg, not g"),
        ({"gravity": 16384}, "raw counts, not g"),
        ({"turn": 57.3}, "°/s, not rad/s (gyro_x, gyro_y, gyro_z)"),
    ],
)
def test_a_unit_that_looks_wrong_is_said(made, unit):
    (problem,) = check(wrist(**made)).problems
    assert unit in str(problem)


@pytest.mark.parametrize(
    ("names", "made", "problems"),
    [
        ({"acc": "Accel {} (m/s^2)"}, {"gravity": 9.81}, 0),
        ({"acc": "Accel {} (m/s^2)"}, {"gravity": 1.0}, 1),
        ({"gyro": "gyro{} [deg/s]"}, {"turn": 57.3}, 0),
        ({"gyro": "gyro{} [deg/s]"}, {"turn": 1.0}, 1),
    ],
)
def test_a_unit_in_the_name_is_what_a_column_is_held_against(names, made, problems):
    table = wrist(**made)
    for sensor, pattern in names.items():
        renamed = {f"{sensor}_{axis}": pattern.format(axis.upper()) for axis in "xyz"}
        table = table.rename_columns([renamed.get(name, name) for name in table.column_names])
    assert len(check(table).problems) == problems


def test_a_resting_device_is_in_no_wrong_unit():
    still = wrist()
    for axis in "xyz":
        still = put(still, f"gyro_{axis}", RANDOM.normal(0, 0.01, 400))
        still = put(still, f"acc_{axis}", (axis == "z") + RANDOM.normal(0, 0.01, 400))
    assert check(still).problems == ()
    free = wrist()
    for axis in "xyz":  # gravity taken away by the phone
        free = put(free, f"acc_{axis}", RANDOM.normal(0, 0.05, 400))
    assert check(free).problems == ()


def test_a_sensor_that_is_stuck_is_said():
    (problem,) = check(put(wrist(), "gyro_x", np.full(400, 0.25))).problems
    assert (problem.kind, problem.columns) == ("stuck", ("gyro_x",))


def test_an_uneven_rate_is_said_and_jitter_is_not():
    time = np.arange(400) / RATE + RANDOM.uniform(-0.2, 0.2, 400) / RATE
    assert check(put(wrist(), "time", time)).problems == ()
    uneven = np.cumsum(np.where(np.arange(400) % 5 == 0, 0.04, 0.02))
    assert kinds(check(put(wrist(), "time", uneven))) == {"uneven rate": 76}  # a recording's first row has no step


def test_numbers_kept_as_text_are_read_and_what_is_none_is_counted():
    texts = [f"{value:.3f}".replace(".", ",") for value in wrist()["acc_x"].to_pylist()]
    assert check(put(wrist(), "acc_x", texts)).problems == ()
    texts[7] = "Sekrit"
    report = check(put(wrist(), "acc_x", texts))
    assert kinds(report) == {"text": 1}
    assert "Sekrit" not in "\n".join(report.lines())


def test_recordings_named_after_their_labels_are_noted():
    names = [f"p0{number}-walk" for number in range(4) for _ in range(100)]
    table = put(wrist(), "recording", names).append_column("person", pa.array([name[:3] for name in names]))
    (note,) = check(table).notes
    assert (note.kind, note.columns) == ("telling", ("person",))
    assert "p00" not in str(note)


def test_columns_are_found_under_their_usual_names():
    renamed = {"time": "Timestamp", "recording": "Trial"}
    table = wrist().rename_columns([renamed.get(name, name) for name in wrist().column_names])
    report = check(table)
    assert (report.roles.time, report.roles.recording) == ("Timestamp", "Trial")
    assert report.problems == ()
    mapped = check(table, mapping=ColumnMap.without_policy({"recording": ""}))
    assert mapped.roles.recording is None


def test_a_policy_adds_what_it_asks_for(policy):
    report = check(walk(40), policy)
    assert report.problems == ()
    short = check(walk(6), policy)
    assert [note.kind for note in short.notes] == ["short"]  # two recordings of three rows, windows of four
    without = check(walk(40).drop_columns(["acc_y", "activity"]), policy)
    assert kinds(without) == {"columns": 1, "labels": 1}


def test_the_same_as_json():
    report = check(put(wrist(), "acc_x", [None] * 400))
    told = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert [each["kind"] for each in told["problems"]] == ["missing"]
    assert told["problems"][0]["count"] == 400


def test_a_first_look_reads_no_further(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("time,acc_x\n" + "".join(f"{row / 10},0.{row % 7}\n" for row in range(300_000)) + "Sekrit\n")
    assert first_look(path, mapping=ColumnMap(), columns=None).problems == ()
    with pytest.raises(TableError, match="no such file"):
        first_look(tmp_path / "none.csv", mapping=ColumnMap(), columns=None)
    assert kinds(check(path)) == {"ragged": 1}


@pytest.mark.parametrize("rows", [2000, 2999])
def test_a_run_in_metres_is_not_in_g_however_hard_it_shakes(rows):
    shaken = np.random.default_rng(0).normal([0.5, 1.0, 9.8], 6.0, (rows, 3))
    table = pa.table({"time": np.arange(rows) / 50} | {f"acc_{axis}": shaken[:, n] for n, axis in enumerate("xyz")})
    assert "look like m/s²" in str(check(table))
