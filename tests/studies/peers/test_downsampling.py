"""Every fifth sample, and straight lines."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.studies.peers.conftest import fit_peer

from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows
from studies.peers import PEERS
from studies.peers.downsampling import STEP


def test_downsampling_keeps_every_fifth_sample_and_straight_lines_between(policy: Policy) -> None:
    series = np.random.default_rng(0).uniform(size=(4, 13, 2))
    windows = LabelledWindows(series, {}, np.zeros(4, np.int64), rows=52, fingerprint="")
    released = fit_peer("downsampling", windows, policy)(windows.flat).reshape(series.shape)
    kept = [0, STEP, 2 * STEP]
    np.testing.assert_allclose(released[:, kept], series[:, kept])
    bends = np.diff(released[:, : 2 * STEP + 1], 2, axis=1)
    np.testing.assert_allclose(bends[:, [0, 1, 2, 3, 5, 6, 7, 8]], 0, atol=1e-12)  # lines meet in the fifth
    np.testing.assert_allclose(released[:, 2 * STEP :], np.repeat(series[:, [2 * STEP]], 3, axis=1))


@given(samples=st.integers(1, 40))
def test_downsampling_leaves_two_samples_of_any_window_that_has_them(samples: int) -> None:
    line = np.linspace(0.1, 0.9, samples)[None, :, None]
    windows = LabelledWindows(line, {}, np.zeros(1, np.int64), rows=samples, fingerprint="")
    released = PEERS["downsampling"].fit(windows, None, None)(windows.flat)  # type: ignore[arg-type]
    held = (samples - 1) % max(1, min(STEP, samples - 1)) if samples > 1 else 0
    np.testing.assert_allclose(released[0, : samples - held], line[0, : samples - held, 0])
