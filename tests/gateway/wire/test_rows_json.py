"""Rows as JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.wire.windows import T0, released, schema

from deeprotect.errors import WireError
from deeprotect.gateway.wire import rows_json, sensor_logger
from deeprotect.signals import Channel

POLICY = schema("g", "°/s", extra=(Channel("pulse", "1/min", 0, 250),))


def columns(rows=3, **more):
    sent = {"session": "s1", "time": [T0 + k for k in range(rows)]}
    return sent | {name: [0.5 * k for k in range(rows)] for name in POLICY.names} | more


def read(sent):
    return rows_json.read(json.dumps(sent).encode(), POLICY, {})


def by_channel(message):
    return {name: each.values[:, k].tolist() for each in message.readings for k, name in enumerate(each.channels)}


def test_columns_and_rows_say_the_same():
    sent = columns()
    rows = [{name: sent[name][k] for name in ("time", *POLICY.names)} for k in range(3)]
    for form in (sent, {"session": "s1", "rows": rows}):
        message = read(form)
        assert message.session == "s1"
        assert by_channel(message) == {name: sent[name] for name in POLICY.names}
        assert {tuple(each.times_ns.tolist()) for each in message.readings} == {tuple(sent["time"])}
    assert by_channel(read(rows)) == by_channel(read(sent))


def test_columns_that_the_policy_does_not_name_are_not_looked_at():
    assert by_channel(read(columns(secret=["anything", {}, None], gps=3))) == by_channel(read(columns()))


def test_a_missing_value_leaves_its_sensors_reading_out_and_no_other():
    message = read(columns(acc_x=[None, 1.0, 2.0]))
    lengths = {each.channels[0]: len(each) for each in message.readings}
    assert lengths == {"acc_x": 2, "gyro_x": 3, "pulse": 3}


def test_some_of_the_channels_may_come_alone():
    message = read({"time": [T0], "acc_y": [1.0]})
    assert [each.channels for each in message.readings] == [("acc_y",)]
    assert message.session == ""


def test_a_release_is_read_back_as_it_was_written():
    window = released(read(columns()), POLICY)
    sent = json.loads(rows_json.write(window))
    assert (sent["stream"], sent["session"], sent["message"], sent["placeholder"]) == ("walker", "12", 7, False)
    assert sent["time"] == [T0, T0 + 1, T0 + 2]
    assert by_channel(read(sent)) == {name: window.values[:3, k].tolist() for k, name in enumerate(POLICY.names)}


def test_where_sensors_were_read_at_different_times_rows_are_the_clocks_ticks():
    message = read(columns(acc_x=[None, 1.0, 2.0]))
    window = released(message, POLICY)
    sent = json.loads(rows_json.write(window))
    assert sent["time"] == window.times_ns.tolist()
    assert sent["acc_x"] == window.values[:, 0].tolist()


def test_rows_go_out_to_an_app_that_expects_the_phone_as_an_android_phone_would_send_them():
    payload = json.loads(sensor_logger.write(released(read(columns()), POLICY)))["payload"]
    assert {each["name"] for each in payload} == {
        "accelerometer",
        "gravity",
        "totalacceleration",
        "gyroscope",
        "custom",
    }
    assert {tuple(each["values"]) for each in payload if each["name"] == "custom"} == {("pulse",)}


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"session": "s"},
        {"time": 5},
        {"rows": {"time": 5}},
        {"rows": [5]},
        columns(acc_x=[1.0]),
        columns(acc_x=5),
        columns(acc_x=["1", "2", "3"]),
        columns(acc_x=[True, 1, 2]),
        columns(acc_x=[10**400, 1, 2]),
        columns(acc_x=[float("nan"), 1, 2]),
        columns(time=[1.5, 2, 3]),
        columns(time=[None, 2, 3]),
        columns(time=["1", 2, "x"]),
        columns(session=5),
    ],
)
def test_what_is_no_rows_is_refused_in_one_line(sent):
    with pytest.raises(WireError) as refused:
        read(sent)
    assert "\n" not in str(refused.value)


@given(st.lists(st.tuples(st.integers(0, 2**62 - 1), st.floats(allow_nan=False, allow_infinity=False))))
def test_every_time_and_value_survives_the_wire(pairs):
    times, values = [time for time, _ in pairs], [value for _, value in pairs]
    for stamps in (times, [str(time) for time in times]):
        message = read({"time": stamps, "pulse": values})
        found = message.readings[0] if pairs else None
        assert (found is None) == (not pairs)
        if found is not None:
            assert found.times_ns.tolist() == times
            np.testing.assert_array_equal(found.values[:, 0], values)
