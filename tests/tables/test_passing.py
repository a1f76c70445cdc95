"""Recordings become 1, 2, … and time starts from 0 on request; everything else about them is unchanged."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.signals import Channel, Schema
from deeprotect.tables.columns import Columns, Rows
from deeprotect.tables.passing import BesideCells, PassThrough

SCHEMA = Schema((Channel("acc_x", "g", -4.0, 4.0),), 10.0, 4)
NUMBERED, RELATIVE = PassThrough(), PassThrough(recording="named", time="relative")


def passed(table, passing, *, blocks=(None,)):
    """What leaves beside the samples when the table comes in blocks of so many rows."""
    columns = Columns.of(table.schema, SCHEMA, mapping={}, where="t")
    kept = pa.schema([table.field(name) for name in columns.kept])
    schema = passing.schema(kept, columns)
    cells = BesideCells(columns, passing, schema.remove(schema.get_field_index("acc_x")))
    parts, start = [], 0
    for rows in blocks:
        piece = table.slice(start, rows).combine_chunks().to_batches()[0]
        parts.append(cells.of(Rows(columns.samples(piece), columns.recording(piece), piece)))
        start += len(piece)
    return pa.concat_tables(parts)


def table(**columns):
    rows = len(next(iter(columns.values())))
    return pa.table({"acc_x": np.zeros(rows), **columns})


def test_names_leave_only_where_that_is_said():
    given = table(recording=["anna", "anna", "bert"], time=[5.0, 5.1, 9.0])
    assert passed(given, PassThrough()).to_pydict() == {"recording": ["1", "1", "2"], "time": [5.0, 5.1, 9.0]}
    assert passed(given, PassThrough(recording="named")).equals(given.drop_columns(["acc_x"]))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.data())
def test_recordings_are_numbered_in_order_however_the_table_is_cut(lengths, data):
    names = [f"name-{97 - index}" for index, length in enumerate(lengths) for _ in range(length)]
    cut = data.draw(st.integers(1, len(names)))
    blocks = [size for size in (cut, len(names) - cut) if size]
    numbers = passed(table(recording=names), NUMBERED, blocks=blocks)["recording"].to_pylist()
    assert numbers == [str(index + 1) for index, length in enumerate(lengths) for _ in range(length)]


@pytest.mark.parametrize(
    ("kind", "leaves"),
    [
        (pa.string(), pa.string()),
        (pa.large_string(), pa.large_string()),
        (pa.int32(), pa.int32()),
        (pa.float64(), pa.float64()),
        (pa.int8(), pa.int64()),  # a hundred recordings would not fit
        (pa.bool_(), pa.int64()),
        (pa.date32(), pa.int64()),
    ],
)
def test_numbers_have_the_type_of_the_names_where_it_holds_them(kind, leaves):
    names = pa.array([0, 0, 1], pa.int32())
    column = names.cast(kind) if pa.types.is_date(kind) else pa.array(names.to_pylist()).cast(kind)
    numbers = passed(table(recording=column), NUMBERED)["recording"]
    assert numbers.type == leaves
    assert numbers.to_pylist() == (
        ["1", "1", "2"] if pa.types.is_large_string(leaves) or leaves == pa.string() else [1, 1, 2]
    )


@pytest.mark.parametrize(
    ("stamps", "leave"),
    [
        (pa.array([1e9 + 0.1, 1e9 + 0.2, 1e9 + 7.0]), [0.0, 0.1, 0.0]),
        (pa.array([2**62 + 100, 2**62 + 200, 2**62 + 900]), [0, 100, 0]),
        (pa.array([2**63 + 100, 2**63 + 200, 2**63 + 900], pa.uint64()), [0, 100, 0]),
        (pa.array(["1700000000.1", "1700000000.2", "1700000009"]), ["0", "0.1", "0"]),
        (pa.array(["17000000001", "17000000002", "17000000900"]), ["0", "1", "0"]),
        (
            pa.array(["2026-01-31T12:00:00.1Z", "2026-01-31T12:00:00.2Z", "2026-02-01T07:00:00Z"]),
            ["1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00.100000Z", "1970-01-01T00:00:00.000000Z"],
        ),
        (pa.array(["12:00:00.1", "12:00:00.2", "13:30:00"]), ["00:00:00.000000", "00:00:00.100000", "00:00:00.000000"]),
    ],
)
@pytest.mark.parametrize("blocks", [(None,), (1, 1, 1), (1, 2)])
def test_time_counts_from_the_beginning_of_each_recording(stamps, leave, blocks):
    given = table(time=stamps, recording=["anna", "anna", "bert"])
    left = passed(given, RELATIVE, blocks=blocks)
    assert left["time"].type == stamps.type
    assert left["time"].to_pylist() == leave
    assert left["recording"].to_pylist() == ["anna", "anna", "bert"]


@pytest.mark.parametrize("blocks", [(None,), (1, 1, 1), (1, 2), (2, 1)])
def test_how_a_stamp_is_written_does_not_depend_on_the_others_of_its_batch(blocks):
    given = table(time=pa.array(["0", "20000000000.5", "40000000000"]))
    assert passed(given, RELATIVE, blocks=blocks)["time"].to_pylist() == ["0", "2.00000000005e+10", "40000000000"]


@pytest.mark.parametrize("kind", [pa.timestamp("ns", tz="UTC"), pa.timestamp("ms"), pa.time64("us"), pa.duration("ms")])
def test_stamps_keep_their_type(kind):
    stamps = pa.array([10**6, 10**6 + 100, 10**6 + 900]).cast(kind)
    left = passed(table(time=stamps), RELATIVE)["time"]
    assert left.type == kind
    assert left.cast(pa.int64()).to_pylist() == [0, 100, 900]
