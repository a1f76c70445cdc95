import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from deeprotect.errors import PolicyError
from deeprotect.signals import Channel, Schema

ACC = Channel("acc_x", "g", -4.0, 4.0, resolution=0.001)
GYRO = Channel("gyro_x", "rad/s", -34.9, 34.9)
SCHEMA = Schema((ACC, GYRO), rate_hz=10, window=4)
ANY_FLOAT = st.floats(allow_nan=False, width=64)


@given(arrays(np.float64, (5, 2), elements=ANY_FLOAT))
def test_scaled_samples_lie_in_the_unit_interval_whatever_comes_in(samples):
    scaled = SCHEMA.scale(samples)
    assert ((scaled >= 0) & (scaled <= 1)).all()


@given(arrays(np.float64, (5, 2), elements=ANY_FLOAT))
def test_unscaled_samples_lie_in_the_public_range_whatever_the_decoder_says(scaled):
    samples = SCHEMA.unscale(scaled)
    assert ((samples >= SCHEMA.low) & (samples <= SCHEMA.high)).all()


@given(arrays(np.float64, (5, 2), elements=st.floats(0, 1)))
def test_scaling_undoes_unscaling_up_to_the_resolution(scaled):
    error = np.abs(SCHEMA.scale(SCHEMA.unscale(scaled)) - scaled)
    assert (error <= [0.0005 / 8 + 1e-9, 1e-9]).all()


def test_released_samples_print_as_the_sensor_would_write_them():
    samples = SCHEMA.unscale(np.full((1, 2), 0.53751234))
    assert str(float(samples[0, 0])) == "0.3"


def test_each_channel_keeps_its_own_resolution_whoever_is_beside_it():
    steps = (0.5, 0.5, None, 0.25, 0.5)
    channels = tuple(Channel(f"c{place}", "g", -1.0, 1.0, resolution=step) for place, step in enumerate(steps))
    samples = Schema(channels, rate_hz=10, window=1).unscale(np.full((2, 3, 5), 0.8))
    assert samples[0, 0].tolist() == pytest.approx([0.5, 0.5, 0.6, 0.5, 0.5])
    assert (samples == samples[0, 0]).all()


@pytest.mark.parametrize("limits", [(1.0, 1.0), (2.0, 1.0), (float("nan"), 1.0), (-float("inf"), 1.0)], ids=str)
def test_a_range_must_be_two_finite_numbers_in_order(limits):
    with pytest.raises(PolicyError, match="channel 'x'"):
        Channel("x", "g", *limits)


WIDE = Channel("x", "g", -1.7e308, 1.7e308)  # high - low is infinite, and whether x - low is depends on the sample


def test_a_range_that_is_too_wide_to_scale_is_refused():
    with pytest.raises(PolicyError, match="too wide"):
        Schema((ACC, WIDE), rate_hz=10.0, window=4)


@pytest.mark.parametrize("changes", [{"channels": ()}, {"window": 0}, {"rate_hz": 0.0}], ids=str)
def test_a_stream_needs_channels_a_window_and_a_rate(changes):
    with pytest.raises(PolicyError):
        Schema(**{"channels": (ACC,), "rate_hz": 10.0, "window": 4, **changes})
