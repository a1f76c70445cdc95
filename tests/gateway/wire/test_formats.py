"""Formats by what they look like, and by name."""

import json
import random

import pyarrow as pa
import pytest
from tests.gateway.wire.windows import T0, body, entry, released, schema

from deeprotect.errors import WireError
from deeprotect.gateway.wire import formats

POLICY = schema()
PHONE = body(entry("totalacceleration", T0, 1, 2, 3), entry("gyroscope", T0, 1, 2, 3))


@pytest.mark.parametrize("form", [form for form in formats.FORMS if form != "arrow"])
def test_a_release_in_any_form_of_text_is_read_again(form):
    window = released(formats.read(PHONE, POLICY, {}), POLICY)
    again = formats.read(formats.write(window, form), POLICY, {})
    assert again.session == ("" if form in ("flat", "line-protocol") else "12")
    assert {name for each in again.readings for name in each.channels} == set(POLICY.names)


def test_an_app_gets_arrow_and_a_device_cannot_send_it():
    rows = json.dumps({"time": [T0, T0 + 1], **{name: [1.0, 2.0] for name in POLICY.names}}).encode()
    window = released(formats.read(rows, POLICY, {}), POLICY)
    body = formats.write(window, "arrow")
    found = pa.ipc.open_stream(body).read_all()
    assert found.column_names == ["time", *POLICY.names]
    assert found["time"].type == pa.timestamp("ns", tz="UTC")
    assert found["time"].cast(pa.int64()).to_pylist() == [T0, T0 + 1]
    assert found["acc_x"].to_pylist() == window.values[:2, 0].tolist()
    assert found.schema.metadata == {
        b"stream": b"walker",
        b"session": b"12",
        b"message": b"7",
        b"placeholder": b"false",
    }
    with pytest.raises(WireError):
        formats.read(body, POLICY, {})


def test_ten_thousand_damaged_messages_are_read_or_refused():
    chance, refused = random.Random(7), 0
    rows = json.dumps({"session": "s", "time": [T0, T0 + 1], "acc_x": [1.5, -2.25e-3]}).encode()
    for whole in (PHONE, rows):
        for _ in range(5000):
            damaged = bytearray(whole)
            for _ in range(chance.randint(1, 4)):
                damaged[chance.randrange(len(damaged))] = chance.choice(b'{}[]",:0123456789eE+-.ntf\\u \xff\x00')
            try:
                formats.read(bytes(damaged), POLICY, {})
            except WireError:
                refused += 1
    assert 1000 < refused < 10_000
