"""Sensors are known by the names people give their columns, with ranges that belong to the hardware."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deeprotect.errors import PolicyError
from deeprotect.policy.known_sensors import KNOWN, axis_of, bare, factor_of, recognise, scale_of, triads, unit_in
from deeprotect.signals import Channel

NAMES = {
    "accelerometer": ["acc_x", "ax", "a_y", "accel-x", "AccX", "xacc", "userAcceleration.z", "body_acc_x", "acc1"],
    "gyroscope": ["gyro_z", "gyr_y", "wx", "gx", "rotationRate.x", "wrist.gyro.z", "Gyroscope y (rad/s)"],
    "magnetic_field": ["mag_x", "mx", "magnetometer_z"],
    "orientation": ["pitch", "attitude.roll", "azimuth", "rot_x", "qw"],
    "microphone": ["audio", "mic", "mel_07"],
    "gps": ["latitude", "lng"],
    "touch_screen": ["touch_x", "touch_pressure"],
    "barometer": ["pressure", "Pressure (hPa)", "relativeAltitude", "airPressure"],
    "thermometer": ["temperature", "kitchen_temp", "outdoor.temperature"],
    "hygrometer": ["humidity", "rh"],
    "carbon_dioxide": ["co2", "CO₂ (ppm)", "office_co2"],
    "light": ["illuminance", "light", "lux"],
    "heart_rate": ["heart_rate", "HeartRate", "bpm", "pulse"],
    "blood_pressure": ["blood_pressure", "systolic"],
    "electricity_meter": ["power", "voltage_1"],
}
PAIRS = [(kind, name) for kind, names in NAMES.items() for name in names]
STRANGERS = ["x", "time", "timestamp", "recording", "activity", "subject", "label", "day", "max", "accuracy", "my_id"]


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_a_usual_column_name_is_recognised(kind: str, name: str) -> None:
    sensor = recognise(name)
    assert sensor is not None
    assert sensor.kind == kind


@pytest.mark.parametrize("name", STRANGERS)
def test_a_name_that_is_no_sensor_is_left_alone(name: str) -> None:
    assert recognise(name) is None


@settings(deadline=None)
@given(st.text())
def test_any_name_is_recognised_or_not_without_failing(name: str) -> None:
    assert recognise(name) is None or recognise(name) in KNOWN


@pytest.mark.parametrize("sensor", KNOWN, ids=lambda sensor: sensor.short)
def test_every_known_range_makes_a_channel(sensor) -> None:
    for unit, scale in sensor.scales.items():
        assert Channel(sensor.short, unit, scale.low, scale.high, scale.resolution).high > scale.low


def test_a_range_is_the_same_motion_in_every_unit() -> None:
    acc, gyro = recognise("acc_x"), recognise("gyro_x")
    assert acc is not None
    assert gyro is not None
    assert acc.scales["m/s²"].high == pytest.approx(acc.scales["g"].high * 9.80665)
    assert gyro.scales["rad/s"].high == pytest.approx(math.radians(gyro.scales["°/s"].high), abs=1e-4)


@pytest.mark.parametrize(("spelling", "unit"), [("m/s^2", "m/s²"), ("m/s2", "m/s²"), (" G ", "g"), ("mg", "mg")])
def test_a_unit_may_be_spelt_in_several_ways(spelling: str, unit: str) -> None:
    assert scale_of(recognise("acc_x"), spelling, column="acc_x")[0] == unit


@pytest.mark.parametrize(
    ("column", "spelling", "unit", "low"),
    [
        ("pressure", "mbar", "hPa", 300.0),
        ("temperature", "Celsius", "°C", -40.0),
        ("humidity", "%RH", "%", 0.0),
        ("co2", "ppm", "ppm", 0.0),
        ("light", "lux", "lx", 0.0),
        ("heart_rate", "1/min", "bpm", 20.0),
        ("eda", "us", "µS", 0.0),
    ],
)
def test_sensors_of_rooms_and_bodies_have_public_ranges(column: str, spelling: str, unit: str, low: float) -> None:
    found, scale = scale_of(recognise(column), spelling, column=column)
    assert (found, scale.low) == (unit, low)


def test_both_micro_signs_are_one_unit() -> None:
    sensor = recognise("mag_x")
    assert scale_of(sensor, "\u00b5T", column="mag_x") == scale_of(sensor, "\u03bcT", column="mag_x")


def test_a_unit_without_a_known_range_is_refused_rather_than_guessed() -> None:
    with pytest.raises(PolicyError, match=r"column 'acc_x': no accelerometer range is known in unit 'ft/s²'"):
        scale_of(recognise("acc_x"), "ft/s²", column="acc_x")


def test_a_unit_in_brackets_is_read_from_the_name() -> None:
    assert unit_in("Acceleration x (m/s^2)") == "m/s^2"
    assert unit_in("mean()-X") is None


AXES = {
    "x": ["acc_x", "ax", "xacc", "AccX", "x", "acc x (g)", "accXRaw", "wrist.acc.x", "X-Acc"],
    "y": ["gyroy", "w_y", "Acceleration y (m/s^2)", "y_acc"],
    "z": ["mag.z", "userAcceleration.z", "gyro_z_1", "Gyroscope Z"],
    None: ["pressure", "heart rate", "co2", "", "temperature (x)"],
}


@pytest.mark.parametrize(("axis", "name"), [(axis, name) for axis, names in AXES.items() for name in names])
def test_an_axis_is_known_by_its_place_in_a_name(axis, name) -> None:
    assert axis_of(name) == axis


def test_three_names_that_differ_in_an_axis_alone_are_one_sensor() -> None:
    names = ["acc_x", "gyroX", "acc_y", "gyroY", "acc_z", "gyroZ", "mag_x", "mag_y"]
    assert triads(names) == [(0, 2, 4), (1, 3, 5)]
    assert triads(["x", "y", "z"]) == [(0, 1, 2)]


def test_units_of_one_quantity_convert_and_others_do_not() -> None:
    assert factor_of("g", "m/s²") == 9.80665
    assert factor_of("dps", "rad/s") == math.radians(1)
    assert factor_of("rad/s", "°/s") == math.degrees(1)
    assert factor_of("mbar", "hPa") == factor_of("lux", "lx") == 1.0
    assert factor_of("g", "rad/s") is factor_of("furlong", "m") is factor_of("furlong", "mile") is None


def test_what_is_in_brackets_is_not_of_the_name() -> None:
    assert (bare("Acc x [g]").strip(), unit_in("Acc x [g]"), unit_in("Acc x ()")) == ("Acc x", "g", None)
