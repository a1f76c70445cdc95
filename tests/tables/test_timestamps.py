"""Time stamps of every kind: the same steps come out, nanoseconds never pass through float, nothing is quoted."""

from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.errors import TableError
from deeprotect.tables.timestamps import Timeline

EPOCH = 1_700_000_000
TENTHS = {
    "seconds": (["0", "0.1", "0.2"], None),
    "seconds with commas": (["0,0", "0,1", "0,2"], None),
    "seconds since 1970": ([f"{EPOCH}.0", f"{EPOCH}.1", f"{EPOCH}.2"], 1.0),
    "milliseconds since 1970": ([f"{EPOCH}000", f"{EPOCH}100", f"{EPOCH}200"], 1e3),
    "microseconds since 1970": ([f"{EPOCH}000000", f"{EPOCH}100000", f"{EPOCH}200000"], 1e6),
    "nanoseconds since 1970": ([f"{EPOCH}000000000", f"{EPOCH}100000000", f"{EPOCH}200000000"], 1e9),
    "ISO 8601": ([f"2026-01-31T12:00:00.{tenth}Z" for tenth in range(3)], 1e9),
    "ISO 8601 with a zone": ([f"2026-01-31T12:00:00.{tenth}+01:00" for tenth in range(3)], 1e9),
    "with a zone without colon": ([f"2026-01-31 12:00:00.{tenth} +0100" for tenth in range(3)], 1e9),
    "with UTC in letters": ([f"2026-01-31 12:00:00.{tenth} UTC" for tenth in range(3)], 1e9),
    "without a zone": ([f"2026-01-31 12:00:00.{tenth}" for tenth in range(3)], 1e9),
    "with slashes": ([f"2026/01/31 12:00:00.{tenth}" for tenth in range(3)], 1e9),
    "with a decimal comma": ([f"2026-01-31 12:00:00,{tenth}" for tenth in range(3)], 1e9),
    "a time of day": ([f"9:59:59.{tenth}" for tenth in range(3)], 1e9),
    "blanks around": ([" 0 ", " 0.1 ", " 0.2 "], None),
    "a plus": (["+0", "+0.1", "+0.2"], None),
}


@pytest.mark.parametrize("kind", TENTHS)
def test_tenths_of_a_second_are_read_however_they_are_written(kind):
    cells, per_second = TENTHS[kind]
    timeline = Timeline("time", "walk.csv")
    offsets = timeline.read(pa.array(cells))
    assert timeline.per_second == per_second
    assert np.diff(offsets) / (per_second or 1.0) == pytest.approx([0.1, 0.1], rel=1e-5)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, 100, 200], pa.timestamp("ms", "UTC")),
        pa.array([0, 100_000, 200_000], pa.time64("us")),
        pa.array([0, 100, 200], pa.time32("ms")),
        pa.array([0, 100_000_000, 200_000_000], pa.duration("ns")),
        pa.array([0, 100, 200], pa.timestamp("ms")).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_arrow_says_itself_which_unit_it_is(column):
    timeline = Timeline("time", "walk.csv")
    assert np.diff(timeline.read(column)) / timeline.per_second == pytest.approx([0.1, 0.1])


@given(st.integers(10**18, 2 * 10**18), st.lists(st.integers(1, 10**9), min_size=1, max_size=20))
def test_nanoseconds_never_pass_through_float(origin, steps):
    stamps = origin + np.cumsum([0, *steps])
    for column in (pa.array(stamps), pa.array([str(stamp) for stamp in stamps])):
        timeline = Timeline("time", "walk.csv")
        offsets = timeline.read(column)
        assert np.diff(offsets).tolist() == steps
        assert timeline.stamps(offsets).to_pylist() == stamps.tolist()


def test_the_origin_is_the_first_stamp_of_the_source_not_of_a_batch():
    timeline = Timeline("time", "walk.csv")
    assert timeline.read(pa.array(["5", "6"])).tolist() == [0, 1]
    assert timeline.read(pa.array(["7.5"])).tolist() == [2.5]


@pytest.mark.parametrize(("name", "per_second"), [("Time (s)", 1), ("t_ms", 1e3), ("time [us]", 1e6), ("timeNs", 1e9)])
def test_a_unit_in_the_name_is_believed(name, per_second):
    timeline = Timeline(name, "walk.csv")
    timeline.read(pa.array([0, 20, 40]))
    assert timeline.per_second == per_second


def test_nanoseconds_since_boot_are_not_taken_for_microseconds_since_1970():
    """Android counts so; after twelve days the number has the size of the other."""
    timeline = Timeline("timestamp", "walk.csv")
    timeline.read(pa.array([12 * 86_400 * 10**9 + step * 20_000_000 for step in range(3)]))
    assert timeline.per_second is None


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}]),
        pa.array([1], pa.date32()),
        pa.array([1], pa.date64()),
        pa.array([b"Sekrit"]),
        pa.array([True]),
        pa.array(["Sekrit"]),
        pa.array(["Sekrit"]).dictionary_encode(),
        pa.array(["31/01/2026 12:00"]),
        pa.array(["12:00 Sekrit"]),
        pa.array(["1", "Sekrit"]),
    ],
    ids=lambda column: str(column.type)[:20],
)
def test_what_is_no_time_is_refused_without_a_word_of_it(column):
    with pytest.raises(TableError, match=r"column 'when' is .*convert it") as refused:
        Timeline("when", "walk.csv").read(column)
    assert "Sekrit" not in str(refused.value)
    assert str(refused.value).isprintable()


def test_where_a_table_is_only_looked_at_what_can_be_read_is_read():
    timeline = Timeline("time", "walk.csv")
    offsets = timeline.read_some(pa.array(["0", "Sekrit", None, "0.5", "2026-01-31T12:00:00Z"]))
    assert np.isnan(offsets).tolist() == [False, True, True, False, True]
    assert Timeline("time", "walk.csv").read_some(pa.array([[1], [2]])).shape == (2,)


@pytest.mark.parametrize("cells", [["inf"], ["-inf", "inf"], ["1700000000", "inf", "inf"]])
def test_infinite_stamps_are_none_and_nobody_is_warned(cells):
    offsets = Timeline("time", "walk.csv").read(pa.array(cells))
    assert np.isfinite(offsets).tolist() == [cell == "1700000000" for cell in cells]


@given(st.lists(st.none() | st.text(max_size=12), min_size=1, max_size=20))
def test_any_text_is_read_or_refused_and_never_something_else(cells):
    column = pa.array(cells, pa.string())
    assert len(Timeline("time", "walk.csv").read_some(column)) == len(cells)
    with suppress(TableError):
        assert len(Timeline("time", "walk.csv").read(column)) == len(cells)
