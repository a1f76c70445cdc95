"""Numbers as people write them: a mark is read in one way inside a column, and never in the wrong one."""

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deeprotect.tables.numbers import MarkEvidence, NumberColumn, has_decimal_commas, strict_mark

WHOLE = st.lists(st.integers(-9_999_999, 9_999_999), min_size=1, max_size=30)
DECIMALS = st.lists(st.integers(-9_999_999, 9_999_999).map(lambda value: value / 1000), min_size=1, max_size=30)
MARKS = {".": ",", ",": "."}


def read(*columns):
    """Read columns as a reader does: collect the evidence of all before reading any."""
    numbers = [NumberColumn() for _ in columns]
    cells = [pa.array(column, pa.large_string()) for column in columns]
    for each, column in zip(numbers, cells, strict=True):
        each.look(column)
    for each in numbers:
        each.settle([other.evidence for other in numbers])
    return [each.read(column)[0].tolist() for each, column in zip(numbers, cells, strict=True)]


def grouped(value, mark, places=0):
    """As a spreadsheet shows it, with this decimal mark."""
    return f"{value:,.{places}f}".translate(str.maketrans({",": MARKS[mark], ".": mark}))


@given(WHOLE)
def test_thousands_beside_a_whole_number_are_thousands(values):
    assume(any(abs(value) < 1000 for value in values) or any(abs(value) >= 1_000_000 for value in values))
    assert read([grouped(value, ".") for value in values]) == [values]


@given(DECIMALS, st.sampled_from(".,"))
def test_grouped_decimals_are_read_where_one_cell_shows_the_mark(values, mark):
    assert read([*(grouped(value, mark, 4) for value in values)]) == [values]


@given(DECIMALS, st.sampled_from(".,"))
def test_plain_decimals_are_never_taken_for_thousands(values, mark):
    """Numbers with three decimals, as `%.3f` writes them."""
    assert read([f"{value:.3f}".replace(".", mark) for value in values]) == [values]


@given(DECIMALS, st.sampled_from(".,"), st.randoms())
def test_a_strict_reader_and_a_tolerant_one_agree_or_the_strict_one_refuses(values, mark, random):
    cells = [f"{value:.3f}".replace(".", mark) if random.random() < 0.7 else f"{value:.0f}" for value in values]
    strict, (tolerant,) = strict_mark([MarkEvidence.of(cells)]), read(cells)
    try:
        plainly = [float(cell.replace(strict or ".", ".")) for cell in cells]
    except ValueError:
        return
    assert plainly == tolerant


@pytest.mark.parametrize(
    ("cells", "elsewhere", "values"),
    [
        (["-3,276", "-48"], [], [-3276, -48]),
        (["-3,276", "-48"], ["0,5"], [-3.276, -48]),
        (["-3,276", "-48"], ["0.5"], [-3276, -48]),
        (["-3.276", "-48"], [], [-3.276, -48]),
        (["-3.276", "-48"], ["0,5"], [-3276, -48]),
        (["1.234.567", "1.234"], [], [1_234_567, 1234]),
        (["9,812", "9,807"], [], [9.812, 9.807]),
        (["9.812"] * 9 + ["9,5"], [], [9.812] * 9 + [9.5]),
    ],
)
def test_a_mark_is_read_as_the_column_or_the_table_shows_it(cells, elsewhere, values):
    assert read(cells, elsewhere)[0] == values


def test_text_with_a_comma_is_no_decimal():
    assert has_decimal_commas(pa.array(["1,5", "2,25", None]))
    assert not has_decimal_commas(pa.array(["walk, fast", "1,5", "run"]))
    assert not has_decimal_commas(pa.array([1.5]))
