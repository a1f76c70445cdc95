"""Each layer computes what it says, of one row at a time, whatever the numbers; and nothing outside the vocabulary."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.bundle.layers.activations import Activation
from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.layers.products import Affine, Convolution, Scale
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Residual, Unflatten, run
from deeprotect.bundle.layers.summaries import LONGEST_PRODUCT, PiecewiseLinear, Spectrum, Statistics
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.bundle.layers.vocabulary import OPS, read_layers
from deeprotect.bundle.network import Network
from deeprotect.errors import BundleError

RANDOM = np.random.default_rng(0)


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


AFFINE, BINS, RELU = Affine(floats(6, 4), floats(4)), np.sort(floats(5, 6), axis=0), Activation("relu")
SCALE, NOTHING = Scale(floats(6), floats(6), floats(6)), np.zeros(6, np.float32)
CHAINS = {
    "affine": (AFFINE,),
    "scale": (SCALE,),
    "scale without shift or offset": (Scale(NOTHING, floats(6), NOTHING),),
    "convolution": (Unflatten(2), Convolution(floats(3, 2, 4), floats(4), stride=2, padding=1), Flatten()),
    "activations": tuple(Activation(each) for each in ("relu", "tanh", "sigmoid", "clip")),
    "statistics": (Unflatten(2), Statistics()),
    "spectrum": (Unflatten(2), Spectrum()),
    "piecewise linear": (PiecewiseLinear(BINS, np.full((5, 6), 0.5, np.float32)),),
    "concatenation": (Concatenation(((), (AFFINE,), (AFFINE, RELU))),),
    "branches that share rows": (SCALE, Concatenation(((), (RELU,), (Unflatten(2), Flatten(), RELU), (SCALE,), ()))),
    "residual of relu": (SCALE, Unflatten(2), Residual((RELU,)), Flatten()),
    "residual": (Unflatten(2), Residual((Convolution(floats(3, 2, 2), floats(2), stride=1, padding=1),)), Flatten()),
    "argmax": (Argmax((2, 4), np.arange(8)[::-1].copy(), least_share=0.5, reject=8),),
}
WIDE = [-3.4e38, 3.4e38, 1e-45, 0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -0.5]


def network(name):
    return Network(CHAINS[name], 6)


def back(chain):
    """Written and read again."""
    tensors = TensorWriter()
    listed = [layer.to_json(tensors) for layer in chain]
    return read_layers(listed, TensorReader(tensors.to_bytes()))


@pytest.mark.parametrize("name", CHAINS)
def test_what_is_read_computes_what_was_written(name):
    rows = RANDOM.normal(size=(40, 6))
    assert np.array_equal(Network(back(CHAINS[name]), 6)(rows), network(name)(rows))


@given(st.integers(0, 3000), st.integers(1, 600))
def test_blocks_are_about_as_large_as_asked_for_and_hold_every_row_once(count, size):
    network = Network((AFFINE,), 6)
    network.__dict__["_block"] = size
    borders = network._borders(count)
    assert borders == sorted(set(borders))
    assert (borders[0], borders[-1]) == (0, count) if count else not borders
    assert all(stop - start <= 1.5 * size + 1 for start, stop in pairwise(borders))


@pytest.mark.parametrize("name", CHAINS)
def test_memory_is_used_again_only_where_nobody_else_needs_it(name):
    rows = floats(6, 40)
    before, one_by_one = rows.copy(), rows
    for layer in CHAINS[name]:
        given_rows = one_by_one.copy()
        result = layer(one_by_one)
        assert np.array_equal(one_by_one, given_rows)
        one_by_one = result
    assert np.array_equal(run(CHAINS[name], rows), one_by_one)
    assert np.array_equal(rows, before)
    assert np.array_equal(run(CHAINS[name], rows, ours=True), one_by_one)


@pytest.mark.parametrize("name", CHAINS)
@given(st.integers(0, 999), st.lists(st.sampled_from(WIDE), min_size=6, max_size=6))
def test_no_window_touches_another(name, place, values):
    """Every other row is exchanged for strange numbers, and a row comes out as before, to the bit."""
    rows = np.random.default_rng(1).normal(size=(1000, 6))
    others = np.tile(values, (1000, 1))
    others[place] = rows[place]
    assert np.array_equal(network(name)(rows)[place], network(name)(others)[place])


@pytest.mark.parametrize("name", CHAINS)
@given(st.lists(st.sampled_from(WIDE), min_size=6, max_size=6))
def test_no_number_makes_a_layer_fail_or_warn(name, values):
    """A failure would be an exact bit about the window."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert network(name)(np.array([values])).shape == (1, network(name).outputs)


@pytest.mark.parametrize("name", CHAINS)
def test_windows_as_they_lie_in_memory_give_what_flat_rows_give(name):
    """(row, time, channel), also where the samples of a channel lie together, as in a table."""
    rows = RANDOM.normal(size=(700, 6))
    by_channel = np.ascontiguousarray(rows.reshape(700, 3, 2).transpose(2, 0, 1)).transpose(1, 2, 0)
    assert np.array_equal(network(name)(by_channel), network(name)(rows))


@pytest.mark.parametrize("name", CHAINS)
def test_no_layer_writes_into_its_input(name):
    """Branches share it."""
    rows = floats(6, 20)
    before = rows.copy()
    for layer in CHAINS[name]:
        given = rows.copy()
        rows = layer(given)
        assert np.array_equal(given, before)
        before = rows.copy()


def test_a_convolution_is_the_sum_over_its_kernel():
    layer = Convolution(floats(3, 2, 4), floats(4), stride=2, padding=1)
    series = floats(7, 2, 5)
    padded = np.pad(series, ((1, 1), (0, 0), (0, 0)))
    bias = layer.bias[:, None]
    wanted = [np.einsum("kcn,kcf->fn", padded[at : at + 3], layer.kernel) + bias for at in range(0, 7, 2)]
    np.testing.assert_allclose(layer(series), wanted, rtol=1e-5, atol=1e-6)
    assert layer.shape((7, 2)) == (4, 4)


@pytest.mark.parametrize("samples", [1, 2, 20, 21, LONGEST_PRODUCT, LONGEST_PRODUCT + 1])
def test_a_spectrum_is_the_fourier_transforms_magnitude(samples):
    series = floats(samples, 2, 5)
    wanted = np.abs(np.fft.rfft(series, axis=0, norm="ortho")).reshape(-1, 5)
    np.testing.assert_allclose(Spectrum()(series), wanted, atol=2e-3)  # under the root, 1e-6 is added


def test_a_spectrum_is_that_of_a_cosine():
    time = np.arange(20)
    series = np.cos(2 * np.pi * 3 * time / 20).astype(np.float32)[:, None, None]
    found = Spectrum()(series)[:, 0]
    assert found.argmax() == 3
    assert found[3] == pytest.approx(np.sqrt(20) / 2, rel=1e-4)


def test_statistics_are_means_deviations_least_and_largest_values():
    series = floats(9, 2, 5)
    wanted = np.concatenate([getattr(series, name)(axis=0) for name in ("mean", "std", "min", "max")])
    np.testing.assert_allclose(Statistics()(series), wanted, atol=1e-5)


def test_a_piecewise_linear_encoding_fills_bin_after_bin():
    layer = PiecewiseLinear(np.array([[0.0], [1.0]], np.float32), np.array([[1.0], [2.0]], np.float32))
    assert layer(np.array([[-1.0, 0.5, 2.0, 9.0]], np.float32)).tolist() == [[0, 0.5, 1, 1], [0, 0, 0.5, 1]]


def test_scores_become_the_code_of_their_classes_or_are_rejected():
    layer = Argmax((2, 3), np.array([10, 11, 12, 13, 14, 15]), least_share=0.5, reject=99)
    sure, torn = [5.0, 0.0, 0.0, 5.0, 0.0], [5.0, 0.0, 1.0, 1.1, 1.0]
    assert layer(np.array([sure, torn], np.float32).T).tolist() == [[11, 99]]


UNFIT = {
    "affine of another width": (AFFINE, AFFINE),
    "series for flat rows": (Unflatten(2), AFFINE),
    "flat rows for series": (Statistics(),),
    "channels that do not divide": (Unflatten(4),),
    "a kernel longer than the window": (Unflatten(2), Convolution(floats(9, 2, 2), floats(2), stride=1, padding=0)),
    "padding beyond the kernel": (Unflatten(2), Convolution(floats(3, 2, 2), floats(2), stride=1, padding=10**9)),
    "no stride": (Unflatten(2), Convolution(floats(3, 2, 2), floats(2), stride=0, padding=1)),
    "bins of no width": (PiecewiseLinear(BINS, np.zeros((5, 6), np.float32)),),
    "a way around of another shape": (Residual((AFFINE,)),),
    "codes for other classes": (Argmax((3, 3), np.arange(8)),),
    "a negative code": (Argmax((2, 4), -np.arange(8)),),
    "branches that double without end": (Concatenation(((), ())),) * 20,
}


@pytest.mark.parametrize("name", UNFIT)
def test_layers_that_do_not_fit_are_refused_before_they_run(name):
    with pytest.raises(BundleError, match=r"train again|takes"):
        Network(UNFIT[name], 6)


FOREIGN = [
    {"op": "python", "code": "import os"},
    {"op": "affine", "weights": "/etc/passwd", "bias": "t1"},
    {"op": "activation", "function": "eval"},
    {"op": "unflatten", "channels": 2.5},
    {"op": "concatenation", "branches": "all"},
    {"op": "residual"},
    {},
    "affine",
]


@pytest.mark.parametrize("layer", FOREIGN, ids=str)
def test_what_is_outside_the_vocabulary_is_refused(layer):
    tensors = TensorWriter()
    AFFINE.to_json(tensors)
    with pytest.raises(BundleError):
        read_layers([layer], TensorReader(tensors.to_bytes()))


def test_layers_without_end_are_refused():
    nested = []
    for _ in range(50):
        nested = [{"op": "residual", "layers": nested}]
    for listed in (nested, [{"op": "flatten"}] * 10_000):
        with pytest.raises(BundleError, match="at most"):
            read_layers(listed, TensorReader(TensorWriter().to_bytes()))


def test_the_vocabulary_is_closed():
    assert set(OPS) == {
        "activation", "affine", "argmax", "concatenation", "convolution", "flatten", "piecewise linear", "residual",
        "scale", "spectrum", "statistics", "unflatten",
    }  # fmt: skip
