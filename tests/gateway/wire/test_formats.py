"""Formats by content type and by name."""

import json
import random

import pytest
from tests.gateway.wire.windows import T0, body, entry, released, schema

from deeprotect.errors import WireError
from deeprotect.gateway.wire import arrow_ipc, formats

POLICY = schema()
PHONE = body(entry("totalacceleration", T0, 1, 2, 3), entry("gyroscope", T0, 1, 2, 3))


@pytest.mark.parametrize("form", formats.FORMS)
def test_a_release_in_any_form_is_read_again_by_its_content_type(form):
    window = released(formats.read(PHONE, "application/json", POLICY, {}), POLICY)
    again = formats.read(formats.write(window, form), formats.content_type_of(form), POLICY, {})
    assert again.session == ("" if form in ("flat", "line-protocol") else "12")
    assert {name for each in again.readings for name in each.channels} == set(POLICY.names)


def test_json_is_told_from_its_content_whatever_a_sender_calls_it():
    for kind in (None, "", "text/plain", "application/json; charset=utf-8", "application/octet-stream"):
        assert len(formats.read(PHONE, kind, POLICY, {}).readings) == 2
        rows = json.dumps({"time": [T0], "acc_x": [1.0]}).encode()
        assert len(formats.read(rows, kind, POLICY, {}).readings) == 1


def test_arrow_needs_its_content_type():
    window = released(formats.read(PHONE, None, POLICY, {}), POLICY)
    with pytest.raises(WireError):
        formats.read(arrow_ipc.write(window), "application/json", POLICY, {})
    assert formats.read(arrow_ipc.write(window), "Application/vnd.apache.arrow.STREAM; x=y", POLICY, {}).readings


def test_ten_thousand_damaged_messages_are_read_or_refused():
    chance, refused = random.Random(7), 0
    rows = json.dumps({"session": "s", "time": [T0, T0 + 1], "acc_x": [1.5, -2.25e-3]}).encode()
    for whole in (PHONE, rows):
        for _ in range(5000):
            damaged = bytearray(whole)
            for _ in range(chance.randint(1, 4)):
                damaged[chance.randrange(len(damaged))] = chance.choice(b'{}[]",:0123456789eE+-.ntf\\u \xff\x00')
            try:
                formats.read(bytes(damaged), None, POLICY, {})
            except WireError:
                refused += 1
    assert 1000 < refused < 10_000
