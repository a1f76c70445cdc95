"""Cells are copied without what lies beneath them, and released values fit the type of their column."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from deeprotect.errors import TableError
from deeprotect.tables.fields import check_names, decoded, fresh_field, from_numpy, saturated, to_floats

SECRET = bytes(range(200, 232))
FIXED = [
    *(pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.float16(), pa.float32(), pa.float64(), pa.binary(8)),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"), pa.timestamp("ns", "UTC"), pa.duration("s")),
    *(pa.decimal128(20, 2), pa.decimal256(50, 2)),
]
NUMBERS = [
    *(pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
    *(pa.decimal128(3, 3), pa.decimal128(5, 2), pa.decimal128(38, 0), pa.decimal128(5, -2), pa.decimal256(76, 2)),
]


def content(array):
    return b"".join(bytes(part) for part in array.buffers() if part is not None)


@pytest.mark.parametrize("kind", FIXED, ids=str)
def test_what_lies_under_a_null_is_not_copied_whatever_the_type(kind):
    width = kind.bit_width // 8
    values = pa.py_buffer(bytes(2 * width) + SECRET[:width] + bytes(width))
    column = pa.Array.from_buffers(kind, 4, [pa.py_buffer(bytes([0b1011])), values])
    assert SECRET[:width] not in content(decoded(column))
    assert decoded(column).type == kind
    entries = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 3]), column)
    assert SECRET[:width] not in content(decoded(entries))


@pytest.mark.parametrize("kind", FIXED, ids=str)
@pytest.mark.parametrize(("start", "length"), [(1, 2), (0, 4), (4, 0)])
def test_what_lies_before_and_after_the_rows_of_a_batch_is_not_copied(kind, start, length):
    """Batches are stretches of larger ones; here of cells that all differ, without a null."""
    width = kind.bit_width // 8
    cells = [bytes([number] * width) for number in (1, 2, 3, 4)]
    column = pa.Array.from_buffers(kind, 4, [None, pa.py_buffer(b"".join(cells))])[start : start + length]
    assert decoded(column).type == kind
    assert content(decoded(column)).rstrip(b"\0") == b"".join(cells[start : start + length])


def test_a_column_without_memory_has_no_cells():
    assert decoded(pa.Array.from_buffers(pa.float64(), 0, [None, None])).to_pylist() == []


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary()], ids=str)
@given(cells=st.lists(st.none() | st.text(max_size=20), max_size=20))
def test_cells_stay_what_they_are(kind, cells):
    column = pa.array([None if cell is None else cell.encode() for cell in cells], pa.binary()).cast(kind)
    assert decoded(column).to_pylist() == column.to_pylist()
    if kind != pa.string_view():
        assert decoded(column.dictionary_encode()).to_pylist() == column.to_pylist()


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
@given(values=arrays(np.float64, 4, elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_every_released_value_fits_its_column(kind, values):
    column = saturated(values, kind)
    assert column.type == kind
    column.validate(full=True)
    shown = np.array([float(value) for value in column.to_pylist()])
    assert np.isfinite(shown).all()
    assert (np.sign(shown) * np.sign(values) >= 0).all()  # nothing wraps around


@given(arrays(np.int64, 5, elements=st.integers(-128, 127)))
def test_what_fits_is_not_changed(values):
    for kind in (pa.int8(), pa.int64(), pa.float32(), pa.decimal128(5, 2)):
        assert [int(value) for value in saturated(values.astype(np.float64), kind).to_pylist()] == values.tolist()


def test_a_field_is_made_anew():
    field = pa.field("time", pa.float64(), nullable=False, metadata={"unit": "s", "owner": "ann"})
    assert fresh_field(field, "walk.csv").equals(pa.field("time", pa.float64(), nullable=False))
    assert fresh_field(field, "walk.csv").metadata == {b"unit": b"s"}


@pytest.mark.parametrize("names", [["a", "a"], ["a\n"], ["\u202ea"], ["a\x7f"]])
def test_names_are_given_once_and_print(names):
    with pytest.raises(TableError) as refused:
        check_names(pa.schema([(name, pa.int8()) for name in names]), "walk.csv")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("kind", [kind for kind in NUMBERS if not pa.types.is_decimal(kind)], ids=str)
def test_numbers_are_read_as_they_are_from_any_place_of_a_column_and_nan_where_there_is_none(kind):
    column = pa.array([1, None, 3, 4, 5], pa.int8()).cast(kind)
    assert np.array_equal(to_floats(column), [1, np.nan, 3, 4, 5], equal_nan=True)
    assert to_floats(column.slice(2)).tolist() == [3, 4, 5]
    assert to_floats(column.slice(3, 0)).tolist() == []


@pytest.mark.parametrize("kind", ["i1", "u2", "i8", "f4", "f8"])
def test_numbers_become_a_column_wherever_they_lie(kind):
    values = np.arange(12, dtype=kind).reshape(4, 3)
    assert from_numpy(values[:, 1]).equals(pa.array([1, 4, 7, 10], pa.from_numpy_dtype(np.dtype(kind))))
    assert len(from_numpy(values[:0, 1])) == 0
