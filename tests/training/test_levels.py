"""Levels of a number: from a table's column to labels, which one to guess, and how far off guesses are."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import POLICY

from deeprotect.errors import TableError
from deeprotect.policy import Policy
from deeprotect.policy.sections import Number
from deeprotect.training.labelled_windows import read_windows
from deeprotect.training.levels import distances, levels_of, median_error, medians

SPEED = Number(unit="km/h", range=(0, 40), levels=4)
RULES = Policy.from_toml(POLICY).vary(
    stream={"window": 2},
    training={"features": 4},
    inferences={"useful": ["speed"], "numeric": {"speed": {"unit": "km/h", "range": (0, 40), "levels": 4}}},
)


def speeds(cells) -> pa.Table:
    rows = len(cells)
    return pa.table({"acc_x": np.zeros(rows), "acc_y": np.ones(rows), "speed": cells})


def test_a_value_outside_the_range_has_the_level_at_that_end_and_a_missing_one_none():
    values = np.array([-7.0, 0.0, 9.9, 10.0, 40.0, 1e9, np.nan, np.inf])
    assert levels_of(SPEED, values).tolist() == ["5", "5", "5", "15", "35", "35", None, None]


def test_a_window_has_the_level_of_the_mean_of_its_rows_that_have_a_number():
    cells = [8.0, 14.0, None, 22.0, None, None, 39.0, 90.0]
    assert read_windows(speeds(cells), RULES).labels["speed"].tolist() == ["15", "25", None, "35"]


@pytest.mark.parametrize("kind", [pa.int8(), pa.float32(), pa.float64()])
def test_numbers_of_any_type_are_read(kind):
    assert read_windows(speeds(pa.array([8, 14, 3, 3], kind)), RULES).labels["speed"].tolist() == ["15", "5"]


def test_text_in_a_number_column_is_refused_without_showing_it(tmp_path):
    path = tmp_path / "rides.csv"
    path.write_text("acc_x,acc_y,speed\n0,0,12\n0,0,sekret\n")
    with pytest.raises(TableError) as refused:
        read_windows(path, RULES)
    assert "column 'speed', row 2 holds text where a number is needed" in str(refused.value)
    assert "sekret" not in str(refused.value)
    with pytest.raises(TableError) as refused:
        read_windows(speeds(["12", "sekret"]), RULES)
    assert "column 'speed' is string, and [inferences.numeric.speed] says that it is a number" in str(refused.value)
    assert "sekret" not in str(refused.value)


def test_the_levels_do_not_depend_on_what_the_table_shows():
    few, many = (set(read_windows(speeds(cells), RULES).classes("speed")) for cells in ([1.0] * 4, [*range(40)]))
    assert few == {"5"} < many == set(SPEED.names)


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=7), st.randoms())
def test_no_guess_has_a_smaller_expected_distance_than_the_median(weights, random):
    values = np.arange(len(weights)) * 3.0
    random.shuffle(values)
    shares = np.array([weights]) / sum(weights)
    expected = np.abs(values[:, None] - values) @ shares[0]
    assert expected[medians(shares, values)[0]] == pytest.approx(expected.min())


@given(st.lists(st.sampled_from(SPEED.names), min_size=1, max_size=20))
def test_no_constant_is_nearer_than_the_median(truth):
    labels = np.array(truth, dtype=object)
    constant = min(distances(labels, np.full(len(labels), level)).mean() for level in SPEED.names)
    assert median_error(labels) == pytest.approx(constant)
