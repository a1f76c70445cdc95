import numpy as np
import pytest

from deeprotect.errors import TableError
from deeprotect.signals import Channel, Schema
from deeprotect.signals.checks import check_samples

SCHEMA = Schema((Channel("acc_x", "g", -4, 4), Channel("acc_y", "g", -4, 4)), rate_hz=10, window=4)


def good_rows():
    return np.zeros((6, 2))


def test_rows_inside_the_range_pass():
    check_samples(good_rows(), SCHEMA, first_row=0, where="walk.csv")


@pytest.mark.parametrize(("value", "kind"), [(np.nan, "not a number"), (np.inf, "infinite"), (-np.inf, "infinite")])
def test_a_sample_that_is_no_number_is_named_by_row_and_column(value, kind):
    rows = good_rows()
    rows[2, 1] = value
    with pytest.raises(TableError, match=rf"walk\.csv: row 103, column 'acc_y' is .*{kind}"):
        check_samples(rows, SCHEMA, first_row=100, where="walk.csv")


def test_a_column_in_another_unit_is_named_with_its_range():
    rows = good_rows()
    rows[:, 0] = 9.81
    with pytest.raises(TableError, match=r"100% of column 'acc_x' lies outside its public range \[-4, 4\] g"):
        check_samples(rows, SCHEMA, first_row=0, where="walk.csv")


def test_a_saturated_sensor_is_no_mistake():
    rows = good_rows()
    rows[0, 0] = 17.0
    check_samples(rows, SCHEMA, first_row=0, where="walk.csv")


def test_messages_never_carry_a_sample():
    rows = good_rows()
    rows[:, 0] = 9.8112345
    with pytest.raises(TableError) as caught:
        check_samples(rows, SCHEMA, first_row=0, where="walk.csv")
    assert "9.8" not in str(caught.value)
