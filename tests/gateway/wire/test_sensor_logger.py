"""Messages of the phone app, in and out."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.gateway.wire.windows import T0, G, body, entry, released, schema

from deeprotect.errors import InputError, WireError
from deeprotect.gateway.wire import formats, sensor_logger
from deeprotect.gateway.wire.sensor_layout import layout
from deeprotect.signals import Channel

SECRET = 123.456789  # a canary


def acc_of(message):
    return next(each for each in message.readings if "acc_x" in each.channels)


def test_a_time_stamp_larger_than_a_float_holds_arrives_to_the_nanosecond():
    for time in (T0, str(T0)):
        read = formats.read(body(entry("totalacceleration", time, 1, 2, 3)), schema(), {})
        assert acc_of(read).times_ns.tolist() == [T0]
        assert json.loads(sensor_logger.write(released(read, schema())))["payload"][0]["time"] == T0


def test_a_released_message_has_the_form_of_the_apps_own():
    read = formats.read(body(entry("totalacceleration", T0, 1, 2, 3), entry("gyroscope", T0, 1, 2, 3)), schema(), {})
    message = json.loads(sensor_logger.write(released(read, schema())))
    assert list(message) == ["messageId", "sessionId", "deviceId", "payload"]
    assert (message["messageId"], message["sessionId"], message["deviceId"]) == (7, "12", "walker")
    assert [each["name"] for each in message["payload"]] == ["totalacceleration", "gyroscope"]
    for each in message["payload"]:
        assert list(each) == ["name", "values", "accuracy", "time"]
        assert each["accuracy"] == 3
        assert type(each["time"]) is int
        assert list(each["values"]) == ["z", "y", "x"]
        assert all(type(value) is float for value in each["values"].values())


def test_a_reading_is_written_in_the_order_of_the_phones_platform():
    sent = entry("gyroscope", T0, 1, 2, 3) | {"accuracy": 0}
    android = sensor_logger.write(released(formats.read(body(sent), schema(), {}), schema()))
    assert b'"accuracy":3,"time":' in android
    del sent["accuracy"]
    apple = json.loads(sensor_logger.write(released(formats.read(body(sent), schema(), {}), schema())))
    assert list(apple["payload"][0]) == ["name", "time", "values"]


def test_nothing_but_channels_of_the_policy_passes():
    body_ = body(
        entry("gyroscope", T0, 1, 2, 3),
        {"name": "location", "time": T0, "values": {"latitude": SECRET, "longitude": SECRET}},
        {"name": "network", "time": T0, "values": {"ssid": "home", "bssid": str(SECRET)}},
        {"name": "annotation", "time": T0, "values": {"text": f"at {SECRET}"}},
        {"name": "microphone", "time": T0, "values": {"dBFS": -SECRET}},
        {"name": "magnetometer", "time": T0, "values": {"x": SECRET, "y": SECRET, "z": SECRET}},
        {"name": "camera", "time": T0, "values": "not even an object"},
        userId=str(SECRET),
    )
    read = formats.read(body_, schema(), {})
    assert [each.channels for each in read.readings] == [("gyro_x", "gyro_y", "gyro_z")]
    assert str(SECRET) not in repr(read)
    assert str(SECRET).encode() not in sensor_logger.write(released(read, schema()))


def test_the_names_of_device_session_and_person_are_replaced():
    read = formats.read(body(entry("gyroscope", T0, 1, 2, 3), userId="anna"), schema(), {})
    text = sensor_logger.write(released(read, schema())).decode()
    assert not any(name in text for name in ("anna", "c5ae-60-4-95-1917", "62be-97-4f-a7-e06b"))


def test_the_test_button_is_recognised():
    for values in ([], {}):
        read = formats.read(body({"name": "test", "time": 0, "values": values}), schema(), {})
        assert read.is_test
        assert not read.readings


def test_accelerometer_has_no_gravity_and_total_is_the_sum_of_both_by_time_stamp():
    later = T0 + 10_000_000
    read = formats.read(
        body(
            entry("accelerometer", later, 0.5, 0.25, 1.0),
            entry("gravity", T0, 0.0, 0.0, 9.0),
            entry("accelerometer", T0, 1.0, 0.0, 0.0),
            entry("gravity", later, 3.0, 0.0, 8.0),
        ),
        schema(),
        {},
    )
    values = dict(zip(acc_of(read).times_ns.tolist(), acc_of(read).values.tolist(), strict=True))
    assert values == {T0: [1.0, 0.0, 9.0], later: [3.5, 0.25, 9.0]}


def test_acceleration_without_gravity_is_no_total_acceleration():
    read = formats.read(body(entry("accelerometer", T0, 1, 2, 3)), schema(), {})
    assert not read.readings
    linear = formats.read(body(entry("accelerometer", T0, 1, 2, 3)), schema(), {"acceleration": "linear"})
    assert acc_of(linear).values.tolist() == [[1, 2, 3]]


def test_gravity_from_far_away_in_time_is_not_added():
    read = formats.read(body(entry("accelerometer", T0, 1, 2, 3), entry("gravity", T0 + 10**9, 0, 0, G)), schema(), {})
    assert not read.readings


def test_parts_of_a_released_total_add_up_to_it_and_carry_nothing_raw():
    times = [T0 + k * 20_000_000 for k in range(10)]
    raw = [entry("accelerometer", t, SECRET, SECRET, SECRET) for t in times]
    raw += [entry("gravity", t, -SECRET / 2, 0.125, SECRET) for t in times]
    read = formats.read(body(*raw), schema(), {})
    window = released(read, schema())
    payload = json.loads(sensor_logger.write(window))["payload"]
    parts = {name: [e["values"] for e in payload if e["name"] == name] for name in ("accelerometer", "gravity")}
    for axis, column in zip("xyz", window.values[:, :3].T, strict=True):
        both = [a[axis] + g[axis] for a, g in zip(parts["accelerometer"], parts["gravity"], strict=True)]
        assert both == pytest.approx(column.tolist())
        assert [g[axis] for g in parts["gravity"]] == pytest.approx([column.mean()] * 10)
    again = sensor_logger.write(window)
    other = [entry("accelerometer", t, 0, 0, 0) for t in times] + [entry("gravity", t, 0, 0, 0) for t in times]
    assert again == sensor_logger.write(released(formats.read(body(*other), schema(), {}), schema()))


def test_a_release_goes_out_under_every_name_that_the_phone_sent():
    read = formats.read(
        body(entry("accelerometer", T0, 1, 2, 3), entry("totalacceleration", T0, 1, 2, 12)), schema(), {}
    )
    assert acc_of(read).values.tolist() == [[1, 2, 12]]
    payload = json.loads(sensor_logger.write(released(read, schema())))["payload"]
    assert {each["name"] for each in payload} == {"accelerometer", "totalacceleration"}


@pytest.mark.parametrize(
    ("settings", "name", "sent", "meant"),
    [
        ({"platform": "ios"}, "totalacceleration", (0.0, 0.0, -G), (0.0, 0.0, G)),
        ({"platform": "ios", "standardised": True}, "totalacceleration", (0.0, 0.0, G), (0.0, 0.0, G)),
        ({"platform": "ios"}, "accelerometeruncalibrated", (0.0, 0.5, -1.0), (0.0, -0.5 * G, G)),
        ({"platform": "ios", "standardised": True}, "accelerometeruncalibrated", (0.0, 0.0, G), (0.0, 0.0, G)),
        ({"platform": "android"}, "accelerometeruncalibrated", (0.0, 0.0, G), (0.0, 0.0, G)),
    ],
)
def test_signs_and_units_of_platforms_are_read_as_android_means_them_and_written_back(settings, name, sent, meant):
    for unit, factor in (("m/s²", 1.0), ("g", 1 / G), ("mg", 1000 / G)):
        policy = schema(unit)
        read = formats.read(body(entry(name, T0, *sent)), policy, settings)
        assert acc_of(read).values[0].tolist() == pytest.approx([value * factor for value in meant])
        drawn = np.zeros((10, 6))
        drawn[:, :3] = acc_of(read).values  # as if the draw were the reading itself
        values = json.loads(sensor_logger.write(released(read, policy, values=drawn)))["payload"][0]["values"]
        assert [values[axis] for axis in "xyz"] == pytest.approx(list(sent))


def test_rotation_in_degrees_is_converted_and_keeps_its_sign_on_every_platform():
    for settings in ({}, {"platform": "ios"}):
        read = formats.read(body(entry("gyroscope", T0, math.pi, 0, -math.pi / 2)), schema(gyro="°/s"), settings)
        assert read.readings[0].values[0].tolist() == pytest.approx([180.0, 0.0, -90.0])


def test_a_policy_of_motion_without_gravity_reads_the_accelerometer_alone():
    policy = schema(prefix="userAcceleration")
    read = formats.read(body(entry("accelerometer", T0, 1, 2, 3), entry("gravity", T0, 0, 0, 9)), policy, {})
    assert read.readings[0].values.tolist() == [[1, 2, 3]]
    assert {e["name"] for e in json.loads(sensor_logger.write(released(read, policy)))["payload"]} == {"accelerometer"}


def test_other_channels_pass_only_where_the_device_was_registered_with_them():
    policy = schema(gyro=None, extra=(Channel("uv", "1", 0, 12),))
    sent = body({"name": "uvsensor", "values": {"index": 3}, "accuracy": 3, "time": T0})
    assert not formats.read(sent, policy, {}).readings
    read = formats.read(sent, policy, {"channels": {"uv": "uvsensor.index"}})
    assert read.readings[0].values.tolist() == [[3.0]]
    assert json.loads(sensor_logger.write(released(read, policy)))["payload"][0]["name"] == "uvsensor"


AIR = (Channel("pressure", "hPa", 300, 1100), Channel("relative_altitude", "m", -500, 500))


def barometer(time, **values):
    return {"name": "barometer", "values": values, "time": time}


def test_channels_of_one_sensor_may_have_different_units():
    policy = schema(gyro=None, extra=AIR)
    sent = body(barometer(T0, pressure=1013.25, relativeAltitude=-0.5))
    for settings in ({}, {"channels": {"pressure": "barometer.pressure", "relative_altitude": "barometer.height"}}):
        key = "relativeAltitude" if not settings else "height"
        (air,) = formats.read(sent.replace(b"relativeAltitude", key.encode()), policy, settings).readings
        assert air.channels == ("pressure", "relative_altitude")
        assert air.values.tolist() == [[1013.25, -0.5]]


def test_each_channel_is_converted_by_its_own_unit_and_back():
    policy = schema(gyro=None, extra=(Channel("pressure", "kPa", 30, 110), AIR[1]))
    read = formats.read(body(barometer(T0, pressure=1000.0, relativeAltitude=2.5)), policy, {})
    assert read.readings[0].values.tolist() == [[100.0, 2.5]]
    drawn = np.zeros((10, 5))
    drawn[:, 3:] = read.readings[0].values
    values = json.loads(sensor_logger.write(released(read, policy, values=drawn)))["payload"][0]["values"]
    assert values == {"pressure": pytest.approx(1000.0), "relativeAltitude": pytest.approx(2.5)}


def test_a_sensor_that_never_has_one_of_its_values_is_read_for_the_others():
    policy = schema(gyro=None, extra=AIR)
    sent = body(barometer(T0, pressure=1013.25), barometer(T0 + 1, pressure=1013.5, relativeAltitude=None))
    (air,) = formats.read(sent, policy, {}).readings
    assert (air.channels, air.values.tolist()) == (("pressure",), [[1013.25], [1013.5]])


@pytest.mark.parametrize(
    ("channel", "entry_", "value"),
    [
        (Channel("illuminance", "lux", 0, 1e5), {"name": "light", "values": {"lux": 30}, "time": T0}, 30.0),
        (Channel("heart_rate", "bpm", 20, 250), {"name": "heartrate", "values": {"bpm": 61}, "time": T0}, 61.0),
    ],
)
def test_sensors_without_axes_are_found_by_the_channels_name(channel, entry_, value):
    (found,) = formats.read(body(entry_), schema(gyro=None, extra=(channel,)), {}).readings
    assert found.values.tolist() == [[value]]


def test_two_channels_that_would_be_the_same_sensor_are_not_guessed():
    both = (Channel("wrist_acc_x", "g", -4, 4), Channel("chest_acc_x", "g", -4, 4))
    assert layout(schema(gyro=None, extra=both), {})[0].channels == ("acc_y", "acc_z")


def test_a_reading_that_lacks_a_value_is_left_out():
    holes = ({"x": 1, "y": 2}, {"x": 1, "y": 2, "z": None}, {})
    sent = [{"name": "gyroscope", "time": T0 + k, "values": values} for k, values in enumerate(holes)]
    read = formats.read(body(*sent, entry("gyroscope", T0 + 9, 1, 2, 3)), schema(), {})
    assert read.readings[0].times_ns.tolist() == [T0 + 9]


def test_a_list_is_no_message_of_the_app():
    with pytest.raises(WireError, match="must have a payload"):
        sensor_logger.from_json([], schema(), {})


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"null",
        b'{"payload": 3}',
        b'{"payload": [3]}',
        b'{"payload": [], "payload": []}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"payload":' + b"[" * 5000 + b"]" * 5000 + b"}",
        body(entry("gyroscope", T0, float("nan"), 0, 0)),
        body(entry("gyroscope", T0, float("inf"), 0, 0)),
        body(entry("gyroscope", T0, 1, 0, 0)).replace(b'"x": 1', b'"x": 1e400'),
        body(entry("gyroscope", T0, 10**400, 0, 0)),
        body(entry("gyroscope", T0, 1, 0, 0)).replace(b'"x": 1', b'"x": ' + b"9" * 5000),
        body(entry("gyroscope", T0, "1", 0, 0)),
        body(entry("gyroscope", T0, True, 0, 0)),
        body(entry("gyroscope", T0, [1], 0, 0)),
        body({"name": "gyroscope", "time": T0, "values": [1, 2, 3]}),
        body({"name": "gyroscope", "time": T0}),
        *(body(entry("gyroscope", t, 1, 2, 3)) for t in (1.5, 1e18, -1, 2**62, 2**80, "1e18", "٣", "", None, True)),
        body(entry("gyroscope", T0, 1, 2, 3), session=["s"]),
        body(entry("gyroscope", T0, 1, 2, 3), session="s" * 1000),
        body(entry("gyroscope", T0, 1, 2, 3), session="a\nb"),
        body(entry("gyroscope", T0, 1, 2, 3), session="\ud800"),
    ],
)
def test_what_is_not_the_apps_is_refused_in_one_line_without_a_value(sent):
    with pytest.raises(WireError) as refused:
        formats.read(sent, schema(), {})
    assert "\n" not in str(refused.value)
    assert not any(digits in str(refused.value) for digits in ("999", "400", "1e18"))


def test_settings_that_are_wrong_are_refused_in_one_line():
    for settings in ({"platform": "windows"}, {"plattform": "ios"}, {"channels": {"a": "no dot"}}):
        with pytest.raises(InputError, match=r"^sensors: "):
            formats.read(body(entry("gyroscope", T0, 1, 2, 3)), schema(), settings)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
_names = st.sampled_from(["accelerometer", "gravity", "totalacceleration", "gyroscope", "test", "location"])
_entries = st.fixed_dictionaries(
    {"name": _names | _json, "time": st.integers(0, 2**63) | _json},
    optional={"values": st.dictionaries(st.sampled_from("xyz"), st.floats() | _json) | _json},
)


@given(st.lists(_entries | _json, max_size=6), _json)
def test_any_json_is_read_or_refused(payload, session):
    sent = json.dumps({"payload": payload, "sessionId": session}).encode()
    try:
        read = formats.read(sent, schema("g", "°/s"), {"platform": "ios"})
    except WireError:
        return
    for each in read.readings:
        assert each.values.shape == (len(each.times_ns), len(each.channels))
        assert np.isfinite(each.values).all()


@given(st.binary(max_size=200))
@example(b'{"payload":[]}')
def test_any_bytes_are_read_or_refused(sent):
    try:
        read = formats.read(sent, schema(), {})
    except WireError:
        return
    assert not read.readings
