"""Readings of producers that are no phone: columns, rows, single objects, and what well-known programs send."""

import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gateway.wire.windows import T0, released, schema

from deeprotect.errors import WireError
from deeprotect.gateway.wire import formats, sensor_logger
from deeprotect.signals import Channel

POLICY = schema("g", "°/s", extra=(Channel("pulse", "1/min", 0, 250), Channel("uv", "1", 0, 12)))


def columns(rows=3, **more):
    sent = {"session": "s1", "time": [T0 + k for k in range(rows)]}
    return sent | {name: [0.5 * k for k in range(rows)] for name in POLICY.names} | more


def read(sent, *, came_ns=T0, **settings):
    body = sent.encode() if isinstance(sent, str) else json.dumps(sent).encode()
    return formats.read(body, POLICY, settings, came_ns=came_ns)


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
    assert lengths == {"acc_x": 2, "gyro_x": 3, "pulse": 3, "uv": 3}


def test_some_of_the_channels_may_come_alone():
    message = read({"time": [T0], "acc_y": [1.0]})
    assert [each.channels for each in message.readings] == [("acc_y",)]
    assert message.session == ""


def test_a_release_is_read_back_as_it_was_written():
    window = released(read(columns()), POLICY)
    sent = json.loads(formats.columns(window))
    assert (sent["stream"], sent["session"], sent["message"], sent["placeholder"]) == ("walker", "12", 7, False)
    assert sent["time"] == [T0, T0 + 1, T0 + 2]
    assert by_channel(read(sent)) == {name: window.values[:3, k].tolist() for k, name in enumerate(POLICY.names)}


def test_where_sensors_were_read_at_different_times_rows_are_the_clocks_ticks():
    message = read(columns(acc_x=[None, 1.0, 2.0]))
    window = released(message, POLICY)
    sent = json.loads(formats.columns(window))
    assert sent["time"] == window.times_ns.tolist()
    assert sent["acc_x"] == window.values[:, 0].tolist()


def test_rows_go_out_to_an_app_that_expects_the_phone_as_an_android_phone_would_send_them():
    payload = json.loads(sensor_logger.write(released(read(columns()), POLICY)))["payload"]
    assert {each["name"] for each in payload} == {
        "accelerometer",
        "gravity",
        "totalacceleration",
        "gyroscope",
        "heartrate",
        "custom",
    }
    assert {tuple(each["values"]) for each in payload if each["name"] == "custom"} == {("uv",)}


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"session": "s"},
        {"time": 5},
        {"time": T0},
        {"time": T0, "accx": 1.0},
        5,
        "walk",
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


@given(st.lists(st.tuples(st.integers(10**18, 2**62 - 1), st.floats(allow_nan=False, allow_infinity=False))))
def test_every_time_and_value_survives_the_wire(pairs):
    times, values = [time for time, _ in pairs], [value for _, value in pairs]
    for stamps in (times, [str(time) for time in times]):
        message = read({"time": stamps, "pulse": values})
        found = message.readings[0] if pairs else None
        assert (found is None) == (not pairs)
        if found is not None:
            assert found.times_ns.tolist() == times
            np.testing.assert_array_equal(found.values[:, 0], values)


NOW_S = T0 // 10**9
MICRO = T0 // 1000 * 1000


def times_of(message):
    return sorted({time for each in message.readings for time in each.times_ns.tolist()})


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        (T0, T0),
        (str(T0), T0),
        (T0 // 1000, MICRO),
        (T0 // 10**6, T0 // 10**6 * 10**6),
        (NOW_S, NOW_S * 10**9),
        (NOW_S + 0.25, NOW_S * 10**9 + 250_000_000),
        ("2023-10-28T13:52:24.401773+00:00", MICRO),
        ("2023-10-28T15:52:24.401773123+02:00", T0),
        ("2023-10-28 13:52:24.401773", MICRO),
    ],
)
def test_a_time_of_today_is_read_in_the_one_unit_that_it_can_have(sent, meant):
    assert times_of(read({"time": sent, "pulse": 60})) == [meant]
    assert times_of(read({"time": [sent], "pulse": [60]})) == [meant]


@pytest.mark.parametrize(("unit", "sent"), [("ms", 5000), ("us", 5_000_000), ("s", 5), ("s", 5.0), ("ns", 5 * 10**9)])
def test_a_registered_unit_holds_for_whatever_time(unit, sent):
    assert times_of(read({"time": sent, "pulse": 60}, time=unit)) == [5 * 10**9]


@pytest.mark.parametrize(("sent", "unit"), [(T0 // 10**6, "ms"), (T0 // 1000, "us"), (NOW_S, "s"), (NOW_S + 0.5, "s")])
def test_a_time_that_is_not_of_today_is_not_guessed_and_the_answer_names_the_option(sent, unit):
    with pytest.raises(WireError, match=f"--time {unit}"):
        read({"time": sent, "pulse": 60}, came_ns=T0 + 90_000 * 10**9)


@pytest.mark.parametrize("sent", [-5, 0, 17, 10**17, 2**62, 10**30, 1e300, 10**400, "soon", True, None, {}, [[T0]]])
def test_a_time_that_is_none_is_refused_with_the_options_that_there_are(sent):
    with pytest.raises(WireError, match=r"--time|time"):
        read({"time": sent, "pulse": 60})


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s", "iso"])
@pytest.mark.parametrize("sent", [-5, 2**62, 10**30, 1e300, "soon", True, {}, "9999-01-01T00:00:00Z"])
def test_a_registered_unit_takes_no_nonsense_either(unit, sent):
    with pytest.raises(WireError):
        read({"time": sent, "pulse": 60}, time=unit)


def test_a_device_without_a_clock_is_read_at_its_arrival():
    assert times_of(read({"pulse": 60}, time="arrival")) == [T0]
    step = 20_000_000  # 50 Hz
    assert times_of(read([{"pulse": 60}, {"pulse": 61}], time="arrival")) == [T0 - step, T0]
    assert times_of(read("60.5", time="arrival", fields={"pulse": "."})) == [T0]


def test_a_mapping_says_where_each_channel_is():
    sent = {"device": {"id": 7}, "payload": {"ts": T0 // 10**6, "ax": 1.0, "v": [2.0, "3.5"]}, "who": "s7"}
    fields = {"acc_x": "payload.ax", "acc_y": "payload.v.0", "acc_z": "payload.v.1"}
    message = read(sent, time="ms", fields=fields | {"time": "payload.ts", "session": "who"})
    assert by_channel(message) == {"acc_x": [1.0], "acc_y": [2.0], "acc_z": [3.5]}
    assert (times_of(message), message.session) == ([T0 // 10**6 * 10**6], "s7")


def test_a_list_on_the_way_is_a_reading_each():
    sent = {"imu": [{"t": T0 + k, "a": {"x": k}} for k in range(3)]}
    message = read(sent, fields={"acc_x": "imu.a.x", "time": "imu.t"})
    assert by_channel(message) == {"acc_x": [0, 1, 2]}
    assert times_of(message) == [T0, T0 + 1, T0 + 2]


TELEGRAF = {"fields": {"acc_x": 1.0, "note": "x"}, "name": "imu", "tags": {"host": "a"}, "timestamp": NOW_S}


def test_what_telegraf_writes_as_json_is_read():
    for sent in (TELEGRAF, {"metrics": [TELEGRAF]}):
        message = read(sent, came_ns=0)
        assert (by_channel(message), times_of(message)) == ({"acc_x": [1.0]}, [NOW_S * 10**9])
    other = TELEGRAF | {"fields": {"acc_y": 2.0}}
    joined = read({"metrics": [TELEGRAF, other]}, came_ns=0)
    assert by_channel(joined) == {"acc_x": [1.0], "acc_y": [2.0]}


STATE = {
    "entity_id": "sensor.pulse",
    "state": "61.5",
    "attributes": {"unit_of_measurement": "bpm"},
    "last_changed": "2023-10-28T13:52:24.401773+00:00",
    "last_updated": "2023-10-28T13:52:24.401773+00:00",
}


def test_states_of_home_assistant_are_read_and_those_that_say_nothing_are_not():
    event = {"event_type": "state_changed", "data": {"entity_id": "sensor.pulse", "old_state": {}, "new_state": STATE}}
    for sent in (STATE, [STATE], event, {"id": 3, "type": "event", "event": event}):
        message = read(sent)
        assert (by_channel(message), times_of(message)) == ({"pulse": [61.5]}, [MICRO])
    for nothing in ("", "on", "1e999", "nan", "0x10"):
        with pytest.raises(WireError, match=r"expected channels|must be"):
            read(STATE | {"state": nothing})


def test_an_entity_without_a_reading_or_that_was_removed_is_no_mistake():
    removed = {"event_type": "state_changed", "data": {"entity_id": "sensor.pulse", "old_state": STATE}}
    removed["data"]["new_state"] = None
    absent = [STATE | {"state": nothing} for nothing in ("unavailable", "unknown")]
    for sent in (*absent, absent[:1], removed, {"id": 3, "type": "event", "event": removed}):
        assert read(sent).readings == ()
    later = STATE | {"last_updated": "2023-10-28T13:52:25+00:00"}
    assert by_channel(read([absent[0], later])) == {"pulse": [61.5]}
    with pytest.raises(WireError, match="expected channels"):
        read(absent[0] | {"entity_id": "sensor.puls"})


def test_a_mapped_field_or_a_topic_of_a_bare_state_may_be_unavailable():
    assert read({"a": {"s": "unavailable"}}, fields={"pulse": "a.s"}, time="arrival").readings == ()
    assert read("unavailable", fields={"pulse": "."}, time="arrival").readings == ()
    assert by_channel(read("61.5", fields={"pulse": "."}, time="arrival")) == {"pulse": [61.5]}


def test_a_pack_of_senml_is_read_with_its_base_fields():
    sent = [
        {"bn": "pul", "bt": NOW_S, "bu": "1/min", "n": "se", "v": 60},
        {"n": "se", "t": 1.5, "v": 62},
        {"n": "other", "vs": "text"},
    ]
    message = read(sent, came_ns=0)
    assert by_channel(message) == {"pulse": [60, 62]}
    assert times_of(message) == [NOW_S * 10**9, NOW_S * 10**9 + 1_500_000_000]
    relative = read([{"n": "pulse", "v": 1, "t": -2}], came_ns=MICRO)
    assert times_of(relative) == [pytest.approx(MICRO - 2 * 10**9, abs=1000)]


@pytest.mark.parametrize("bad", [{"v": "60"}, {"v": True}, {"v": 1e999}, {"v": 1, "t": "x"}, {"v": 1, "bt": [1]}])
def test_senml_that_is_none_is_refused(bad):
    with pytest.raises(WireError):
        formats.read(json.dumps([{"n": "pulse", **bad}]).replace("Infinity", "1e999").encode(), POLICY, {})


def test_line_protocol_is_read_with_escapes_and_types():
    sent = f"""# a comment
imu,host=a\\ b,room=1 acc_x=1.5,acc_y=2i,acc_z=3u,note="a, \\"b\\" c=d",on=true {T0}

imu acc_x=-1e-3,acc_y=.5,acc_z=7. {T0 + 1}
"""
    message = read(sent)
    assert by_channel(message) == {"acc_x": [1.5, -0.001], "acc_y": [2, 0.5], "acc_z": [3, 7]}
    assert times_of(message) == [T0, T0 + 1]


def test_a_line_may_have_no_time_and_a_field_another_name():
    message = read("imu ax=1.5", fields={"acc_x": "imu.ax"})
    assert (by_channel(message), times_of(message)) == ({"acc_x": [1.5]}, [T0])


@pytest.mark.parametrize(
    "line",
    ["walk", "imu acc_x=", "imu acc_x=1.5.2 5", "imu acc_x=nan", "imu acc_x=1e9999", "imu acc_x=0x10", "imu =1",
     "imu acc_x=1 2 3", "imu acc_x=1 12.5", 'imu acc_x="1" 5', "imu acc_x=true", "imu,a acc_x=1", "imu acc_x=1e400",
     "imu acc_x=" + "9" * 400, "imu acc_x=1 " + "9" * 40, "imu " + "," * 5000, "a" * 5000],
)  # fmt: skip
def test_what_is_no_line_protocol_is_refused_in_one_line(line):
    with pytest.raises(WireError) as refused:
        read(line)
    assert "\n" not in str(refused.value)


def test_json_lines_are_rows():
    sent = "\n".join(json.dumps({"time": T0 + k, "pulse": k}) for k in range(3))
    assert by_channel(read(sent)) == {"pulse": [0, 1, 2]}


def test_channels_that_never_come_together_are_read_one_by_one():
    rows = [{"time": T0, "acc_x": 1.0}, {"time": T0 + 5, "acc_y": 2.0}, {"time": T0 + 9, "acc_z": 3.0, "pulse": 60}]
    assert by_channel(read(rows)) == {"acc_x": [1.0], "acc_y": [2.0], "acc_z": [3.0], "pulse": [60]}


@pytest.mark.parametrize("form", ["rows", "flat", "line-protocol", "home-assistant"])
def test_what_leaves_has_the_times_and_values_of_the_release(form):
    window = released(read(columns()), POLICY)
    message = read(formats.write(window, form).decode())
    count = 1 if form == "home-assistant" else 3
    assert by_channel(message) == {
        name: window.values[3 - count : 3, k].tolist() for k, name in enumerate(POLICY.names)
    }
    assert times_of(message) == [T0, T0 + 1, T0 + 2][3 - count :]


def test_a_broker_gets_a_message_for_each_flat_reading():
    window = released(read(columns()), POLICY)
    first, *_ = sent = formats.write_messages(window, "flat")
    assert len(sent) == 3
    assert json.loads(first) == {"time": T0} | dict(zip(POLICY.names, window.values[0].tolist(), strict=True))
    assert len(formats.write_messages(window, "rows")) == 1


CANARY = 123.456789
KEYS = ("time", "fields", "timestamp", "metrics", "entity_id", "state", "bn", "n", "v", "t", "bt", "pulse", "event")
KEYS += ("data", "new_state", "rows", "payload", "session", "last_updated")


@pytest.mark.parametrize(
    "sent",
    [
        {"time": T0, "pulse": str(CANARY)},
        {"time": T0, "pulse": {"v": CANARY}},
        {"time": CANARY, "pulse": 5},
        [{"n": "pulse", "v": str(CANARY)}],
        {"metrics": [{"fields": {"pulse": [CANARY]}, "timestamp": NOW_S}]},
        {"metrics": [CANARY]},
        f"imu pulse={CANARY}.7 {T0}",
        f'imu pulse="{CANARY}" {T0}',
        STATE | {"state": f"x{CANARY}"},
        {"rows": [CANARY]},
    ],
)
def test_a_refusal_quotes_nothing(sent):
    with pytest.raises(WireError) as refused:
        read(sent)
    assert "123" not in str(refused.value)


def test_nests_and_lists_without_end_are_refused():
    deep = "[" * 100_000 + "]" * 100_000
    with pytest.raises(WireError):
        read(deep)
    nested = {"a": {}}
    for _ in range(200):
        nested = {"a": nested}
    with pytest.raises(WireError):
        read({"time": T0, "pulse": 1}, fields={"pulse": "a.a.a"})
    with pytest.raises(WireError):
        read(nested, fields={"pulse": "a.a.a"}, time="arrival")
    with pytest.raises(WireError):
        read([[[{"p": 1}]]], fields={"pulse": "p"}, time="arrival")


@given(st.text())
def test_any_text_is_read_or_refused(text):
    with suppress(WireError):
        read(text)


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS), inner),
    )
)
def test_any_json_is_read_or_refused(message):
    for chosen in ({}, {"fields": {"pulse": "data.v"}}, {"time": "arrival"}, {"time": "iso"}):
        with suppress(WireError):
            read(json.dumps(message), **chosen)
