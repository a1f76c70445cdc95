"""A prepared table is tidy, every row that is gone is counted, and no sample is made up."""

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.errors import InputError, TableError
from deeprotect.tables.checking.check import check
from deeprotect.tables.preparing.tidy import UnitChange
from deeprotect.tables.roles import ColumnMap

RATE = 50


def tidy(rows=200, recordings=2):
    phase = np.arange(rows) / 7
    number = np.arange(rows) * recordings // rows
    return pa.table(
        {
            "time": (np.arange(rows) - np.searchsorted(number, number)) / RATE,
            "acc_x": np.sin(phase),
            "acc_y": np.cos(phase),
            "recording": [f"r{each}" for each in number],
            "activity": ["walk" if each % 2 else "still" for each in number],
        }
    )


def put(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def samples_of(table):
    return np.column_stack([table["acc_x"].to_numpy(), table["acc_y"].to_numpy()])


def test_of_a_tidy_table_only_the_names_of_recordings_change(run):
    counts, out = run(tidy())
    assert out.drop_columns(["recording"]).to_pydict() == tidy().drop_columns(["recording"]).to_pydict()
    assert out["recording"].to_pylist() == ["1"] * 100 + ["2"] * 100
    assert (counts.rows_in, counts.rows_out, counts.lines()) == (200, 200, [])


def test_rows_are_sorted_by_time_inside_their_recording(run):
    order = np.random.default_rng(0).permutation(100)
    counts, out = run(tidy().take(pa.array(np.concatenate([order, np.arange(100, 200)]))))
    assert samples_of(out).tolist() == samples_of(tidy()).tolist()
    assert counts.moved == np.count_nonzero(order != np.arange(100))


def test_recordings_that_interleave_are_brought_together_by_way_of_the_disk(run, tmp_path):
    order = np.argsort(np.arange(200) % 100, kind="stable")
    _, out = run(tidy().take(pa.array(order)))
    assert samples_of(out).tolist() == samples_of(tidy()).tolist()
    assert out["recording"].to_pylist() == ["1"] * 100 + ["2"] * 100
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]  # nothing temporary is left


def test_rows_that_stand_there_twice_are_dropped_once(run):
    twice = pa.concat_tables([tidy(recordings=1), tidy(recordings=1)])
    numbered = twice.append_column("index", pa.array(range(400)))  # as pandas writes them
    for table in (twice, numbered):
        counts, out = run(table)
        assert (counts.duplicates, counts.restarts, out.num_rows) == (200, 0, 200)


def test_of_rows_with_one_time_the_first_is_kept(run):
    time = tidy()["time"].to_numpy().copy()
    time[50] = time[49]
    counts, out = run(put(tidy(), "time", time))
    assert (counts.repeated_times, out.num_rows) == (1, 199)
    assert samples_of(out)[49].tolist() == samples_of(tidy())[49].tolist()


def test_rows_with_missing_cells_are_dropped_and_nothing_is_filled(run):
    samples = tidy()["acc_x"].to_pylist()
    samples[10], samples[20], samples[30] = None, float("inf"), float("nan")
    counts, out = run(put(tidy(), "acc_x", samples))
    assert (counts.with_missing_cells, out.num_rows) == (3, 197)
    assert set(out["acc_x"].to_pylist()) <= set(samples)


def test_labels_may_be_missing(run):
    _, out = run(put(tidy(), "activity", [None] * 200))
    assert (out.num_rows, out["activity"].null_count) == (200, 200)


@pytest.mark.parametrize("timed", [True, False])
def test_after_a_gap_a_new_recording_begins_and_dropped_rows_make_one(run, timed):
    samples = tidy(recordings=1)["acc_x"].to_pylist()
    samples[60:70] = [None] * 10
    table = put(tidy(recordings=1), "acc_x", samples).drop_columns(["recording"])
    counts, out = run(table if timed else table.drop_columns(["time"]))
    assert (counts.gaps, counts.recordings_out) == (1, 2)
    assert out["recording"].to_pylist() == ["1"] * 60 + ["2"] * 130


def test_a_clock_that_began_anew_begins_a_recording(run):
    table = tidy(recordings=2).drop_columns(["recording"])
    counts, out = run(table)
    assert (counts.restarts, counts.recordings_out, counts.moved) == (1, 2, 0)
    assert samples_of(out).tolist() == samples_of(tidy()).tolist()


def test_numbers_of_recordings_that_start_anew_with_each_person_are_told_apart(run):
    table = put(tidy(recordings=4), "recording", ["1"] * 50 + ["2"] * 50 + ["1"] * 50 + ["2"] * 50)
    table = table.append_column("Subject ID", pa.array(["ann"] * 100 + ["bob"] * 100))
    counts, out = run(table)
    assert (counts.recordings_in, counts.recordings_out) == (4, 4)
    assert samples_of(out).tolist() == samples_of(tidy(recordings=4)).tolist()


def test_people_alone_tell_recordings_apart_and_do_not_name_them(run):
    table = tidy().drop_columns(["recording"]).append_column("user", pa.array(["ann"] * 100 + ["bob"] * 100))
    _, out = run(table.take(pa.array(np.argsort(np.arange(200) % 100, kind="stable"))))
    assert out["recording"].to_pylist() == ["1"] * 100 + ["2"] * 100
    assert out["user"].to_pylist() == ["ann"] * 100 + ["bob"] * 100


@pytest.mark.parametrize("rate_hz", [10.0, 20.0, 12.5])
def test_resampling_takes_means_over_time_and_labels_that_were_there(run, rate_hz):
    counts, out = run(tidy(recordings=2), rate_hz=rate_hz)
    assert counts.rows_out == out.num_rows == 2 * int(100 * rate_hz / RATE)
    assert np.diff(out["time"].to_numpy()[:10]) == pytest.approx([1 / rate_hz] * 9)
    if RATE % rate_hz == 0:
        factor = int(RATE / rate_hz)
        means = samples_of(tidy()).reshape(-1, factor, 2).mean(axis=1)
        assert samples_of(out) == pytest.approx(means)
    assert set(out["activity"].to_pylist()) == {"walk", "still"}
    assert check(out).rate_hz == pytest.approx(rate_hz, rel=0.01)


def test_samples_are_never_made_up(run):
    with pytest.raises(InputError, match="samples would be invented, so give 50 or less"):
        run(tidy(), rate_hz=100.0)


@pytest.mark.parametrize(
    ("stamps", "kind"),
    [
        (1_700_000_000_000_000_000 + np.arange(100) * 20_000_000, pa.int64()),
        (pa.array(1_700_000_000_000 + np.arange(100) * 20, pa.timestamp("ms", "UTC")), pa.timestamp("ms", "UTC")),
        ([f"2026-01-31T12:00:{row / 50:05.2f}Z" for row in range(100)], pa.timestamp("ns", "UTC")),
        ([str(row / 50) for row in range(100)], pa.float64()),
    ],
    ids=["ns", "timestamp", "ISO", "text"],
)
def test_time_of_a_new_rate_is_written_in_kind_and_exactly(run, stamps, kind):
    table = put(tidy(100, recordings=1), "time", stamps)
    _, out = run(table, rate_hz=25.0)
    assert out.schema.field("time").type == kind
    assert check(out).rate_hz == 25
    if kind == pa.int64():
        assert out["time"].to_pylist() == stamps[::2].tolist()
    if pa.types.is_string(table.schema.field("time").type):
        _, kept = run(table)
        assert kept["time"].to_pylist() == stamps  # without a new rate, to the letter


@pytest.mark.parametrize(
    ("change", "factor"),
    [("acc=m/s2:g", 1 / 9.80665), ("acc_x=mg:g", 1e-3), ("accelerometer=g:m/s^2", 9.80665), ("acc=g:g", 1.0)],
)
def test_units_are_converted_by_sensor_or_column(run, change, factor):
    counts, out = run(tidy(), units=(UnitChange.parse(change),))
    assert out["acc_x"].to_numpy() == pytest.approx(tidy()["acc_x"].to_numpy() * factor)
    assert out.schema.field("acc_x").metadata[b"unit"].decode() == UnitChange.parse(change).unit
    assert ("acc_y" in counts.converted) == (not change.startswith("acc_x"))


@pytest.mark.parametrize(("change", "factor"), [("gyro=deg/s:rad/s", np.pi / 180), ("gyro=rad/s:dps", 180 / np.pi)])
def test_a_unit_in_a_name_changes_with_it(run, change, factor):
    table = tidy().rename_columns(["time", "gyro x (old)", "gyro y (old)", "recording", "activity"])
    _, out = run(table, units=(UnitChange.parse(change),))
    unit = UnitChange.parse(change).unit
    assert out[f"gyro x ({unit})"].to_numpy() == pytest.approx(tidy()["acc_x"].to_numpy() * factor)


def test_columns_found_under_other_names_get_the_plain_ones(run):
    table = tidy().rename_columns(["Timestamp", "Accel X", "Accel Y", "Trial", "activity"])
    _, out = run(table)
    assert out.column_names == ["time", "Accel X", "Accel Y", "recording", "activity"]


def test_a_policy_says_which_columns_are_channels(run, policy, bundle):
    table = tidy().rename_columns(["time", "u", "v", "recording", "activity"])
    mapped = policy.vary(stream={"columns": {"acc_x": "u", "acc_y": "v"}, "rate_hz": 10})
    with pytest.raises(TableError, match="no column is named like a sensor"):
        run(table)
    half = put(table, "u", [None] * 100 + [0.5] * 100)
    counts, _ = run(half, policy=mapped, mapping=ColumnMap.of(mapped), max_dropped=0.5)
    assert counts.with_missing_cells == 100


def uneven(*rates_hz, seconds=20):
    """One recording for each rate, whose rows come by turns half a step early and late."""
    times = [np.arange(0, seconds, 1 / rate) for rate in rates_hz]
    times = [time + np.where(np.arange(len(time)) % 2, 0.4, 0) * (time[1] - time[0]) for time in times]
    both = np.concatenate(times)
    recording = np.repeat([f"r{number}" for number in range(len(times))], [len(time) for time in times])
    return pa.table({"time": both, "acc_x": np.sin(both), "acc_y": np.cos(both), "recording": recording})


def test_gaps_are_those_of_the_rate_that_is_asked_for(run):
    """A phone that is slower than the others has no gaps at a rate that it reaches."""
    table = uneven(50, 50, 50, 12)
    assert run(table)[0].gaps > 50
    counts, out = run(table, rate_hz=10.0)
    assert (counts.gaps, counts.recordings_out, counts.too_slow) == (0, 4, 0)
    assert out.num_rows == pytest.approx(4 * 20 * 10, abs=8)
    assert not check(out).problems


def test_a_stretch_that_is_slower_than_the_rate_is_dropped_and_counted(run):
    table = uneven(50, 50, 50, 6)
    counts, out = run(table, rate_hz=10.0)
    assert (counts.recordings_out, counts.too_slow) == (3, 6 * 20)
    assert f"dropped rows of stretches slower than the rate asked for: {6 * 20}" in counts.lines()
    assert out.num_rows == pytest.approx(3 * 20 * 10, abs=6)


def test_a_gap_longer_than_two_and_a_half_rows_of_the_new_rate_still_splits(run):
    table = uneven(50)
    keep = (table["time"].to_numpy() < 8) | (table["time"].to_numpy() > 8.4)
    counts, _ = run(table.filter(pa.array(keep)), rate_hz=10.0)
    assert (counts.gaps, counts.recordings_out) == (1, 2)
