"""Bounds of a network hold for every input and are tight where they can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from deeprotect.errors import PolicyError
from deeprotect.privacy.network import Activation, Affine, Conv1d, Flatten, Fold, interval, lipschitz

VALUES = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "leaky": lambda x: np.where(x < 0, 0.01 * x, x),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "gelu": lambda x: x * ndtr(x),
}


def convolve(signal, kernel, *, stride, padding):
    padded = np.pad(signal, ((0, 0), (padding, padding)))
    times = range(0, padded.shape[1] - kernel.shape[2] + 1, stride)
    return np.array([[(one * padded[:, t : t + kernel.shape[2]]).sum() for t in times] for one in kernel])


@pytest.mark.parametrize("shape", VALUES)
@given(low=st.floats(-6, 6), width=st.floats(0, 6), where=st.floats(0, 1))
def test_an_activation_stays_inside_its_interval(shape, low, width, where):
    bottom, top = Activation(shape).interval(np.array([low]), np.array([low + width]))
    value = VALUES[shape](np.array([low + where * width]))
    assert bottom[0] - 1e-12 <= value[0] <= top[0] + 1e-12


def test_gelu_knows_its_dip():
    bottom, top = Activation("gelu").interval(np.array([-3.0]), np.array([0.0]))
    assert bottom[0] == pytest.approx(-0.16997, abs=1e-5)
    assert top[0] == 0.0


@pytest.mark.parametrize("shape", VALUES)
def test_an_activation_is_never_steeper_than_its_constant(shape):
    x = np.linspace(-8, 8, 100_001)
    slope = np.abs(np.diff(VALUES[shape](x)) / np.diff(x)).max()
    assert slope <= Activation(shape).lipschitz() * (1 + 1e-9)
    assert slope >= 0.99 * Activation(shape).lipschitz()


def test_an_affine_interval_is_exact():
    weights, bias = np.array([[1.0, -2.0], [0.5, 0.0]]), np.array([1.0, 0.0])
    low, high = interval([Affine(weights, bias)], np.zeros(2), np.ones(2))
    assert low == pytest.approx([-1.0, 0.0], abs=1e-8)
    assert high == pytest.approx([2.0, 0.5])


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), (3, 2)])
def test_a_convolution_of_a_point_is_the_convolution(stride, padding):
    rng = np.random.default_rng(0)
    kernel, signal = rng.normal(size=(4, 3, 3)), rng.normal(size=(3, 11))
    layer = Conv1d(kernel, np.zeros(4), stride, padding)
    low, high = layer.interval(signal, signal)
    expected = convolve(signal, kernel, stride=stride, padding=padding)
    assert low == pytest.approx(expected, abs=1e-7)
    assert high == pytest.approx(expected, abs=1e-7)


def build(seed, shape):
    rng = np.random.default_rng(seed)
    kernel = rng.normal(size=(4, 3, 3))
    weights = rng.normal(size=(2, 4 * 5))
    layers = [
        Fold(3),
        Conv1d(kernel, np.ones(4), 2, 1),
        Activation(shape),
        Flatten(),
        Affine(weights, np.zeros(2)),
        Activation("tanh"),
    ]

    def run(x):
        hidden = convolve(x.reshape(10, 3).T, kernel, stride=2, padding=1) + 1.0
        return np.tanh(weights @ VALUES[shape](hidden).ravel())

    return layers, run


@pytest.mark.parametrize("shape", VALUES)
def test_no_window_leaves_the_bounds_of_a_convolutional_encoder(shape):
    layers, run = build(3, shape)
    low, high = interval(layers, np.zeros(30), np.ones(30))
    rng = np.random.default_rng(4)
    outputs = np.array([run(rng.integers(0, 2, 30).astype(float)) for _ in range(300)])
    assert (outputs >= low).all()
    assert (outputs <= high).all()


@pytest.mark.parametrize("shape", VALUES)
def test_no_pair_of_windows_is_stretched_beyond_the_lipschitz_bound(shape):
    layers, run = build(5, shape)
    rng = np.random.default_rng(6)
    bound = lipschitz(layers)
    for _ in range(200):
        x = rng.random(30)
        y = np.clip(x + 0.05 * rng.normal(size=30), 0, 1)
        assert np.linalg.norm(run(x) - run(y)) <= bound * np.linalg.norm(x - y)


def test_orthonormal_sigmoid_layers_shrink_by_a_quarter_each():
    rng = np.random.default_rng(0)
    first = np.linalg.qr(rng.normal(size=(30, 15)))[0].T
    second = np.linalg.qr(rng.normal(size=(15, 7)))[0].T
    layers = [Affine(first, np.zeros(15)), Activation("sigmoid"), Affine(second, np.zeros(7)), Activation("sigmoid")]
    assert lipschitz(layers) == pytest.approx(1 / 16)


def test_an_unknown_activation_is_refused():
    with pytest.raises(PolicyError, match="sine"):
        Activation("sine")
