"""Useful inferences that are numbers: their levels and what a misreading costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import POLICY

from deeprotect.policy import Policy
from deeprotect.policy.sections import Number

CADENCE = """
[inferences.numeric.cadence]
unit = "steps/min"
range = [60, 200]
levels = 18
"""
TEXT = POLICY.replace('useful = ["activity"]', 'useful = ["activity", "cadence"]' + CADENCE)

ranges = st.tuples(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(ranges, st.integers(2, 64))
def test_each_level_is_called_by_its_middle_to_within_a_tenth_of_its_width(limits, levels):
    number = Number(unit="x", range=limits, levels=levels)
    assert len(set(number.names)) == levels
    assert all(len(name) < 30 for name in number.names)
    for level, value in enumerate(number.values):
        assert abs(value - (limits[0] + (level + 0.5) * number.step)) < 0.1 * number.step


def test_no_level_is_called_minus_nought():
    assert Number(unit="x", range=(-3, 3), levels=3).names == ("-2", "0", "2")


def test_a_misreading_costs_its_distance_as_a_share_of_the_longest():
    policy = Policy.from_toml(TEXT)
    costs = policy.costs["cadence"]
    names = policy.inferences.numeric["cadence"].names
    assert costs[names[0]][names[-1]] == 1.0
    assert costs[names[3]][names[5]] == pytest.approx(2 / 17)
    assert all(true not in row for true, row in costs.items())


def test_costs_of_classes_stand_beside_those_of_numbers():
    policy = Policy.from_toml(TEXT).vary(training={"cost_matrix": {"activity": {"walk": {"still": 0.5}}}})
    assert policy.costs["activity"] == {"walk": {"still": 0.5}}
    assert set(policy.costs) == {"activity", "cadence"}


def test_a_number_survives_toml_and_a_manifest():
    policy = Policy.from_toml(TEXT)
    assert Policy.from_toml(policy.to_toml()) == policy
    assert Policy.from_json(policy.to_json()) == policy
    assert "numeric" not in Policy.from_toml(POLICY).to_toml()
    assert "numeric" not in Policy.from_toml(POLICY).to_json()["inferences"]
