"""The claim about readings: what any one of them says goes into one window, and so into one draw at most."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gateway.conftest import NAMES, START, STEP, channel_bundle

from deeprotect.gateway.wire.message import Message
from deeprotect.gateway.wire.sensor_layout import total_of
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release import by_time
from deeprotect.release.by_time import ByTime, phase_of
from deeprotect.release.engine import Released
from deeprotect.release.episodes import Episodes, live_observing
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.signals.readings import Readings

PIPELINES = {"a draw for each window": channel_bundle(), "held draws": channel_bundle(every="2 s")}
SECONDS = 6
STRANGE = [0.0, -3.5, 2.0, 1.7e308, -1.7e308]


class Overhearing:
    """What each draw was made from: the samples of the windows that it listened to, by part and episode."""

    def __init__(self, pipeline):
        ledger = MemoryLedger(Price.of(pipeline.mechanism))
        self.episodes, self.made = Episodes(pipeline, ledger, live_observing(pipeline)), {}
        shown = np.zeros((pipeline.hold.windows, pipeline.schema.window, len(pipeline.schema.channels)))
        self.nothing = Released(shown, np.zeros((len(shown), 1)), np.zeros(1, dtype=bool))

    def take(self, each):
        self.episodes.take(each, each.samples, number=each.number)
        for episode, request in self.episodes.due():
            self.made[episode.part, episode.number] = request.observed.tobytes()
            episode.settle(self.nothing)
        list(self.episodes.leaving(SystemEntropy()))
        self.episodes.expire()


def draw_inputs(pipeline, messages):
    clock, heard = ByTime(pipeline.schema, phase=phase_of("watch")), Overhearing(pipeline)
    for message in messages:
        for window in clock.push(message.readings):
            heard.take(window)
    for window in clock.finish():
        heard.take(window)
    return heard.made


@dataclass(frozen=True)
class Arrivals:
    """Readings in the order in which they come, each (sensor, stamp, values); messages of so many at a time."""

    readings: tuple[tuple[str, int, tuple[float, ...]], ...]
    sizes: tuple[int, ...]

    def messages(self):
        start, place = 0, 0
        while start < len(self.readings):
            size = self.sizes[place % len(self.sizes)]
            yield self._message(self.readings[start : start + size])
            start, place = start + size, place + 1

    def with_values(self, number, values):
        sensor, stamp, old = self.readings[number]
        changed = (sensor, stamp, tuple(values[: len(old)]))
        return replace(self, readings=(*self.readings[:number], changed, *self.readings[number + 1 :]))

    @staticmethod
    def _message(some):
        by_sensor = {}
        for sensor, stamp, values in some:
            by_sensor.setdefault(sensor, []).append((stamp, values))
        channels = {"both": NAMES, "x": NAMES[:1], "y": NAMES[1:]}
        return Message(
            "s",
            tuple(
                Readings(
                    sensor,
                    channels[sensor],
                    np.array([stamp for stamp, _ in rows], dtype=np.int64),
                    np.array([values for _, values in rows], dtype=np.float64),
                )
                for sensor, rows in by_sensor.items()
            ),
        )


@st.composite
def devices(draw):
    """Half the policy's rate up to four times as fast, with jitter, gaps, delays and readings that come twice."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    jitter, lost, twice, delayed = (
        draw(st.sampled_from(choice)) for choice in ((0, 0.1, 0.5), (0, 0.1), (0, 0.1), (0, 0.2))
    )
    arrivals = []
    for sensor in draw(st.sampled_from([("both",), ("x", "y")])):
        step = STEP / draw(st.sampled_from([0.5, 0.96, 1.0, 1.2, 2.4, 4.0]))
        count = int(SECONDS * 10 * STEP / step)
        stamps = START + random.integers(0, STEP) + (np.arange(count) + random.uniform(-jitter, jitter, count)) * step
        for stamp in stamps[random.uniform(size=count) >= lost].astype(np.int64).tolist():
            values = tuple(random.normal(size=2 if sensor == "both" else 1).tolist())
            for _ in range(1 + (random.uniform() < twice)):
                late = random.choice([0.3, 1.5, 5.0]) * 10 * STEP if random.uniform() < delayed else 0
                arrivals.append((stamp + late, sensor, stamp, values))
    arrivals.sort(key=lambda each: each[0])
    sizes = tuple(draw(st.lists(st.integers(1, 40), min_size=1, max_size=4)))
    return Arrivals(tuple(each[1:] for each in arrivals), sizes)


def changed_draws(pipeline, device, number, values):
    before = draw_inputs(pipeline, device.messages())
    after = draw_inputs(pipeline, device.with_values(number % len(device.readings), values).messages())
    return [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]


@pytest.mark.long
@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
@settings(max_examples=150, deadline=None)
@given(device=devices(), number=st.integers(0, 10**6), values=st.tuples(*[st.sampled_from(STRANGE)] * 2))
def test_a_changed_reading_changes_what_at_most_one_draw_is_made_from(pipeline, device, number, values):
    assert len(changed_draws(pipeline, device, number, values)) <= 1


def test_readings_do_inform_draws():
    """Otherwise the test above would hold for nothing."""
    pipeline = PIPELINES["a draw for each window"]
    readings = tuple(("both", START + tick * STEP // 4, (0.1, 0.2)) for tick in range(240))
    found = [len(changed_draws(pipeline, Arrivals(readings, (10,)), number, (1.0, 1.0))) for number in range(40, 200)]
    assert found == [1] * 160


@given(st.lists(st.integers(0, 400), max_size=30), st.lists(st.integers(0, 400), max_size=30), st.data())
def test_a_reading_of_gravity_goes_into_one_sum_at_most(moved, pulled, data):
    """Accelerometer and gravity of a phone are two readings that make one; stamps in milliseconds, in any order."""
    linear, gravity = (np.array(each, dtype=np.int64) * 10**6 for each in (moved, pulled))
    series = {"accelerometer": (linear, np.zeros((len(moved), 3))), "gravity": (gravity, np.zeros((len(pulled), 3)))}
    changed = {name: (stamps, values.copy()) for name, (stamps, values) in series.items()}
    name = data.draw(st.sampled_from([name for name, (stamps, _) in series.items() if len(stamps)] or [""]))
    if name:
        changed[name][1][data.draw(st.integers(0, len(series[name][0]) - 1))] = 1.0
    before, after = total_of(series), total_of(changed)
    assert before[0].tolist() == after[0].tolist()
    assert np.count_nonzero((before[1] != after[1]).any(axis=1)) <= 1


def test_a_window_that_looks_beyond_its_border_is_caught(monkeypatch):
    """Planted: the edge is bridged to the next window's first reading, as it once was."""
    last, real = {}, by_time.window_samples

    def crossing(own, place, *, window):
        samples = real(own, place, window=window)
        if samples is not None:
            samples[0] = (last.get("row", samples[0]) + samples[0]) / 2
            last["row"] = samples[-1].copy()
        return samples

    monkeypatch.setattr(by_time, "window_samples", crossing)
    readings = tuple(("both", START + tick * STEP * 2, (0.1, 0.2)) for tick in range(40))
    last.clear()
    before = draw_inputs(PIPELINES["a draw for each window"], Arrivals(readings, (5,)).messages())
    last.clear()
    after = draw_inputs(
        PIPELINES["a draw for each window"], Arrivals(readings, (5,)).with_values(9, (1.0, 1.0)).messages()
    )
    assert sum(before[key] != after[key] for key in before) > 1
