import numpy as np
import pytest

from deeprotect.errors import TableError
from deeprotect.signals import Channel, Schema
from deeprotect.signals.schema import all_inside, check_finite, largely_outside, refuse_outside

SCHEMA = Schema((Channel("acc_x", "g", -4, 4), Channel("acc_y", "g", -4, 4)), rate_hz=10, window=4)


def good_rows():
    return np.zeros((6, 2))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 4.1, -4.1])
def test_what_is_no_number_in_the_range_is_looked_at_again(value):
    rows = good_rows()
    assert all_inside(rows, SCHEMA)
    rows[2, 1] = value
    assert not all_inside(rows, SCHEMA)


def test_rows_inside_the_range_pass():
    check_finite(good_rows(), SCHEMA, first_row=0, where="walk.csv")
    assert largely_outside(good_rows(), SCHEMA) == []
    assert largely_outside(np.empty((0, 2)), SCHEMA) == []


@pytest.mark.parametrize(("value", "kind"), [(np.nan, "not a number"), (np.inf, "infinite"), (-np.inf, "infinite")])
def test_a_sample_that_is_no_number_is_named_by_row_and_column(value, kind):
    rows = good_rows()
    rows[2, 1] = value
    with pytest.raises(TableError, match=rf"walk\.csv: row 103, column 'acc_y' is .*{kind}"):
        check_finite(rows, SCHEMA, first_row=100, where="walk.csv")


def test_columns_in_another_unit_are_found():
    rows = good_rows()
    rows[:4, 1] = 9.81
    assert largely_outside(rows, SCHEMA) == [SCHEMA.channels[1]]
    rows[:, 0] = -9.81
    assert largely_outside(rows, SCHEMA) == list(SCHEMA.channels)


def test_a_saturated_sensor_is_no_mistake():
    rows = good_rows()
    rows[:3, 0] = 17.0
    assert largely_outside(rows, SCHEMA) == []


def test_the_refusal_names_the_column_and_its_range_and_no_figure_of_the_data():
    with pytest.raises(TableError, match=r"column 'acc_x' lies largely outside its public range \[-4, 4\] g") as caught:
        refuse_outside(SCHEMA.channels[0], "walk.csv")
    assert "%" not in str(caught.value)


def test_a_name_in_a_refusal_is_of_one_line_and_cannot_steer_a_terminal():
    strange = Channel("x\n\x1b[2Jverdict: holds", "g\r", 0, 1)
    with pytest.raises(TableError) as caught:
        refuse_outside(strange, "walk.csv")
    assert str(caught.value).isprintable()
    with pytest.raises(TableError) as caught:
        check_finite(np.array([[np.nan]]), Schema((strange,), rate_hz=1, window=1), first_row=0, where="walk.csv")
    assert str(caught.value).isprintable()
