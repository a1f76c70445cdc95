"""The filter for pipes: what comes in, what leaves, and what never does."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deeprotect.api import Protector
from deeprotect.errors import BudgetError, InputError
from deeprotect.gateway.feeds.filtering import LATE, MOST_BYTES, Filter
from deeprotect.gateway.wire.sensor_layout import SensorSettings

T0, STEP = 1_700_000_000 * 10**9, 10**8
CANARY = "1.2345678"


def line(k, *, x=0.5, y=0.25, tags=",host=a"):
    return f'imu{tags} acc_x={x},acc_y={y},note="private" {T0 + k * STEP}\n'.encode()


@pytest.fixture
def made(bundle):
    def make(*, form="line-protocol", live=None, **chosen):
        told = []
        live = live or Protector(bundle).stream()
        found = Filter(live, bundle.schema, form, "released", SensorSettings.of(chosen), told.append)
        found.told = told
        return found

    return make


def stamps(text):
    return [int(each.rsplit(" ", 1)[1]) for each in text.splitlines()]


def test_a_reading_leaves_when_its_window_is_full_under_its_own_time(made):
    filter_ = made()
    pieces = [filter_.take(line(k)) for k in range(10)]
    assert [len(piece.splitlines()) for piece in pieces] == [0, 0, 0, 4, 0, 0, 0, 4, 0, 0]
    rest = filter_.finish()
    assert stamps("".join(pieces) + rest) == [T0 + k * STEP for k in range(10)]
    assert filter_.released == 10
    assert not filter_.told


def test_nothing_but_channels_and_the_time_leaves(made):
    filter_ = made()
    text = "".join(filter_.take(line(k, tags=f",who={CANARY}")) for k in range(8))
    for each in text.splitlines():
        name, fields, _ = each.split(" ")
        assert name == "released"
        assert [part.partition("=")[0] for part in fields.split(",")] == ["acc_x", "acc_y"]
    assert "private" not in text
    assert CANARY not in text


def test_json_lines_come_and_leave_in_the_unit_that_was_stated(made):
    for unit, first in (("ms", T0 // 10**6), ("iso", "2023-11-14T22:13:20.000000000Z"), ("s", T0 / 10**9)):
        filter_ = made(form="json", time=unit, fields={"acc_x": "a.x", "acc_y": "a.y", "time": "t"})
        times = {"ms": [T0 // 10**6 + 100 * k for k in range(4)], "s": [T0 / 10**9 + 0.1 * k for k in range(4)]}
        times["iso"] = [f"2023-11-14T22:13:20.{k}Z" for k in range(4)]
        sent = [json.dumps({"t": t, "a": {"x": 1, "y": 2}}).encode() for t in times[unit]]
        found = [json.loads(each) for each in "".join(map(filter_.take, sent)).splitlines()]
        assert [list(each) for each in found] == [["time", "acc_x", "acc_y"]] * 4
        assert found[0]["time"] == first


def test_channels_of_one_time_may_come_on_several_lines(made):
    filter_ = made()
    text = "".join(
        filter_.take(f"imu {name}=0.5 {T0 + k * STEP}".encode()) for k in range(4) for name in ("acc_x", "acc_y")
    )
    assert len(text.splitlines()) == 4
    assert not filter_.told


def test_a_gap_ends_a_recording_and_nothing_is_bridged(made):
    filter_ = made()
    before = [filter_.take(line(k)) for k in range(6)]
    after = filter_.take(line(6 + 50))
    assert stamps("".join(before) + after) == [T0 + k * STEP for k in range(6)]
    assert filter_.refused == 0


@pytest.mark.parametrize("order", [(0, 1, 1, 0, 1, 2, 3), (0, 1, 2, 3, *range(-1000, -960)), (0, 50, *range(50), 51)])
def test_a_late_or_repeated_reading_is_left_out_however_late_and_told_once(made, order):
    filter_ = made()
    for k in order:
        filter_.take(line(k))
    filter_.finish()
    new = [k for place, k in enumerate(order) if k > max(order[:place], default=-1)]
    assert (filter_.released, filter_.refused) == (len(new), len(order) - len(new))
    assert filter_.told == [LATE]


HOSTILE = [
    b"\xff\xfe",
    f"imu acc_x={CANARY}.1,acc_y=1 {T0}".encode(),
    f'imu acc_x="{CANARY}",acc_y=1 {T0}'.encode(),
    f"imu acc_x=1e999,acc_y={CANARY} {T0}".encode(),
    f'{{"acc_x": "{CANARY}", "acc_y": 1, "time": {T0}}}'.encode(),
    f'{{"acc_x": NaN, "acc_y": {CANARY}, "time": {T0}}}'.encode(),
    f'{{"acc_x": 1e400, "acc_y": {CANARY}, "time": {T0}}}'.encode(),
    f'{{"acc_x": 1, "acc_y": {CANARY}, "time": -5}}'.encode(),
    f'{{"acc_x": 1, "acc_y": {CANARY}, "time": 1e300}}'.encode(),
    f'{{"acc_x": {"[" * 5000}{CANARY}{"]" * 5000}, "time": {T0}}}'.encode(),
    f'{{"{CANARY}": 1}}'.encode(),
    CANARY.encode(),
    b"x" * (MOST_BYTES + 1),
    f"imu,{CANARY} acc_x=1 {T0}".encode(),
]


@pytest.mark.parametrize("bad", HOSTILE)
def test_a_line_that_cannot_be_read_is_told_without_a_word_of_it_and_the_rest_goes_on(made, bad):
    filter_ = made()
    out = "".join(filter_.take(each) for each in (bad, *map(line, range(4))))
    assert len(out.splitlines()) == 4
    assert filter_.refused == 1
    assert len(filter_.told) == 1
    assert CANARY not in "".join(filter_.told) + out
    assert "\n" not in filter_.told[0]


def test_a_reading_that_lacks_a_channel_is_left_out(made):
    filter_ = made()
    filter_.take(f"imu acc_x={CANARY} {T0}".encode())
    filter_.take(line(1))
    assert filter_.told == ["readings without acc_y were left out"]


def test_when_a_draw_fails_what_waited_is_dropped_and_the_stream_goes_on(made, bundle):
    live, fails = Protector(bundle).stream(), [True]
    push = live.push

    class Failing:
        def push(self, values):
            if fails and fails.pop():
                raise BudgetError("budget spent")
            return push(values)

        finish = live.finish

    filter_ = made(live=Failing())
    text = "".join(filter_.take(line(k)) for k in range(5))
    assert stamps(text) == [T0 + k * STEP for k in range(1, 5)]
    assert (filter_.dropped, filter_.told) == (1, ["budget spent"])


def test_readings_of_another_rate_end_the_filter(made):
    filter_ = made()
    lines = b"".join(f"imu acc_x=1,acc_y=1 {T0 + k * STEP // 2}\n".encode() for k in range(100))
    with pytest.raises(InputError, match="20 Hz, but the policy is for 10 Hz"):
        filter_.run(io.BytesIO(lines), io.BytesIO())


def test_a_line_without_end_is_skipped_to_its_end_in_constant_memory(made):
    filter_ = made()
    out = io.BytesIO()
    filter_.run(io.BytesIO(b"x" * (3 * MOST_BYTES) + b"\n" + b"".join(map(line, range(4)))), out)
    assert len(out.getvalue().splitlines()) == 4
    assert filter_.refused == 1


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=40) | st.integers(-5, 60).map(line), max_size=30))
def test_whatever_comes_no_reading_leaves_twice_or_unasked(bundle_of_session, lines):
    told = []
    filter_ = Filter(
        Protector(bundle_of_session).stream(),
        bundle_of_session.schema,
        "line-protocol",
        "m",
        SensorSettings(),
        told.append,
    )
    out = io.BytesIO()
    filter_.run(io.BytesIO(b"\n".join(each.strip() for each in lines)), out)
    leaving = stamps(out.getvalue().decode())
    sent = [T0 + k * STEP for k in range(-5, 61)]
    assert set(leaving) <= set(sent)
    assert filter_.released == len(leaving)


@pytest.fixture(scope="module")
def bundle_of_session():
    from tests.gateway.conftest import channel_bundle

    return channel_bundle()
