"""Channels find their place among a browser's motion streams, or are refused with what a browser has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.errors import PolicyError
from deeprotect.exporting.protector_file import Place, places_of
from deeprotect.signals import Channel

GRAVITY = "accelerationIncludingGravity"


@pytest.mark.parametrize(
    ("name", "unit", "place"),
    [
        ("acc_x", "m/s²", Place(GRAVITY, 0, 1.0)),
        ("acc_z", "g", Place(GRAVITY, 2, 9.80665)),
        ("Accelerometer Y (mg)", "mg", Place(GRAVITY, 1, 0.00980665)),
        ("linear_acc_y", "m/s²", Place("acceleration", 1, 1.0)),
        ("userAcceleration.x", "g", Place("acceleration", 0, 9.80665)),
        ("gyro_x", "°/s", Place("rotationRate", 0, 1.0)),
        ("rotationRate.z", "rad/s", Place("rotationRate", 2, 57.29577951308232)),
        ("wy", "rad/s", Place("rotationRate", 1, 57.29577951308232)),
    ],
)
def test_a_channel_is_an_axis_of_a_stream(name, unit, place):
    assert places_of([Channel(name, unit, -1.0, 1.0)]) == (place,)


@pytest.mark.parametrize(
    ("name", "unit"), [("mic", "1"), ("acc_x", "px"), ("acc", "g"), ("mag_x", "µT"), ("gravity_x", "g"), ("x", "g")]
)
def test_what_a_browser_has_not_is_refused(name, unit):
    with pytest.raises(PolicyError, match="not a motion sensor of a browser"):
        places_of([Channel(name, unit, -1.0, 1.0)])


def test_one_axis_twice_is_refused():
    with pytest.raises(PolicyError, match="same axis"):
        places_of([Channel("acc_x", "g", -1.0, 1.0), Channel("accel_x", "m/s²", -1.0, 1.0)])


@given(st.text(max_size=30), st.text(max_size=10))
def test_no_name_writes_a_line_of_its_own(name, unit):
    with pytest.raises(PolicyError) as refused:
        places_of([Channel(name, unit, -1.0, 1.0), Channel("mic", "1", -1.0, 1.0)])
    assert str(refused.value).isprintable()
