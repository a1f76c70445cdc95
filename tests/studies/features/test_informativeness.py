"""Informativeness lies in [0, 1]: nothing for noise, everything for the label itself."""

import numpy as np
import pytest

from deeprotect.errors import InputError
from studies.features.informativeness import informativeness


def test_the_label_itself_tells_everything_and_noise_nothing() -> None:
    generator = np.random.default_rng(0)
    label = generator.integers(0, 4, 4000)
    features = np.stack([label.astype(float), generator.random(4000), np.ones(4000)], axis=1)
    everything, noise, constant = informativeness(features, label)
    assert everything == pytest.approx(1.0, abs=0.01)
    assert noise < 0.01
    assert constant == 0.0


def test_half_the_bits_are_half_the_information() -> None:
    label = np.random.default_rng(1).integers(0, 4, 8000)
    assert informativeness((label // 2)[:, None].astype(float), label)[0] == pytest.approx(0.5, abs=0.01)


def test_an_increasing_change_of_scale_changes_nothing() -> None:
    generator = np.random.default_rng(2)
    feature = generator.normal(size=(2000, 1))
    label = feature[:, 0] + generator.normal(size=2000) > 0
    np.testing.assert_allclose(informativeness(feature, label), informativeness(np.exp(feature), label), atol=0.01)


def test_rows_without_a_label_are_left_out() -> None:
    label = np.array(["a", "b"] * 500 + [None] * 500, dtype=object)
    feature = np.concatenate([np.tile([0.0, 1.0], 500), np.random.default_rng(3).random(500)])[:, None]
    assert informativeness(feature, label)[0] == pytest.approx(1.0, abs=0.01)


def test_a_label_that_never_changes_is_refused() -> None:
    with pytest.raises(InputError, match="two classes"):
        informativeness(np.zeros((5, 1)), ["a"] * 5)
