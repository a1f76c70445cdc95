"""Each layer computes what it says, of one row at a time, whatever the numbers; and nothing outside the vocabulary."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.bundle.layers.erasing import Erase
from deeprotect.bundle.layers.layer import Bounds
from deeprotect.bundle.layers.products import Affine, Convolution, Product, Spectrum, Statistics
from deeprotect.bundle.layers.rounding import Argmax, Clip, Quantise, Round, Scale, Table
from deeprotect.bundle.layers.structure import OPS, Concatenation, Flatten, Residual, Unflatten, prepare, read_layers
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.bundle.network import Network
from deeprotect.errors import BundleError

RANDOM = np.random.default_rng(0)


def integers(*shape, most=100):
    return RANDOM.integers(-most, most + 1, size=shape).astype(np.int32)


def product(*shape, shift=0):
    outputs = shape[-1]
    return Product(integers(*shape), integers(outputs), 2, np.full(outputs, shift, np.int32))


def quantise(copies=1, values=6, *, clip=(-2000, 2000), factor=300):
    steep = np.abs(integers(copies, values, most=factor)) + 1
    return Quantise(integers(copies, values), 8, steep.astype(np.int32), 0, Clip(*clip))


def waves(samples):
    angles = 2 * np.pi / samples * np.arange(samples)
    return [np.rint(128 * wave(angles)).astype(np.int32) for wave in (np.cos, np.sin)]


def spectrum(samples=3, shift=7):
    return Spectrum(*waves(samples), shift)


FIRST = quantise()
AFFINE, RELU = Affine(product(6, 4, shift=9)), Round(Clip(0, 1000))
CONVOLUTION = Convolution(product(3, 2, 4, shift=8), stride=2, padding=1)
SAME = Convolution(product(3, 2, 2, shift=9), stride=1, padding=1)
ERASE = Erase(np.array([1, 4], np.int32), integers(2, 4, most=1 << 14))
CODES = np.arange(8, dtype=np.int32)[::-1].copy()
CHAINS = {
    "affine": (FIRST, AFFINE),
    "affine in float64": (quantise(clip=(-(1 << 22), 1 << 22), factor=30_000), Affine(product(6, 4)), RELU),
    "erase": (ERASE,),
    "quantise": (FIRST,),
    "ramps": (FIRST, quantise(5, clip=(0, 64))),
    "convolution": (FIRST, Unflatten(2), CONVOLUTION, Flatten()),
    "rounded": (FIRST, AFFINE, RELU),
    "table": (FIRST, AFFINE, Table(integers(401), -200)),
    "scale": (FIRST, Scale(11)),
    "statistics": (FIRST, Unflatten(2), Statistics()),
    "statistics of large numbers": (quantise(clip=(-(1 << 20), 1 << 20), factor=9999), Unflatten(2), Statistics()),
    "spectrum": (FIRST, Unflatten(2), spectrum()),
    "spectrum in float64": (quantise(clip=(-(1 << 22), 1 << 22), factor=30_000), Unflatten(2), spectrum()),
    "concatenation": (FIRST, Concatenation(((), (AFFINE,), (AFFINE, RELU)))),
    "branches that share rows": (
        FIRST,
        Concatenation(((), (RELU,), (Unflatten(2), Flatten(), RELU), (quantise(),), ())),
    ),
    "residual of relu": (FIRST, Unflatten(2), Residual((RELU,)), Flatten()),
    "residual": (FIRST, Unflatten(2), Residual((SAME, RELU)), Flatten()),
    "argmax": (FIRST, Affine(product(6, 6, shift=5)), RELU, Argmax((2, 4), CODES)),
}
WIDE = [-3.4e38, 3.4e38, 1e-45, 0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -0.5]
BLOCKS = (1, 2, 3, 7, 64, 500)


def network(name):
    return Network(CHAINS[name], 6)


def back(chain):
    """Written and read again."""
    tensors = TensorWriter()
    listed = [layer.to_json(tensors) for layer in chain]
    return read_layers(listed, TensorReader(tensors.to_bytes()))


def run(chain, rows, *, ours=False):
    most = np.abs(rows).max()
    given = replace(Bounds.between(-most, most, rows.shape[:-1]), ours=ours)
    return prepare(chain, given).step(rows, None)


@pytest.mark.parametrize("name", CHAINS)
def test_what_is_read_computes_what_was_written(name):
    rows = RANDOM.normal(size=(40, 6))
    assert np.array_equal(Network(back(CHAINS[name]), 6)(rows), network(name)(rows))


@given(st.integers(0, 3000), st.integers(1, 600))
def test_blocks_are_about_as_large_as_asked_for_and_hold_every_row_once(count, size):
    found = network("affine")
    found.__dict__["_block"] = size
    borders = found._borders(count)
    assert borders == sorted(set(borders))
    assert (borders[0], borders[-1]) == (0, count) if count else not borders
    assert all(stop - start <= 1.5 * size + 1 for start, stop in pairwise(borders))


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("size", BLOCKS)
def test_the_code_of_a_window_is_a_function_of_that_window(name, size):
    """Whatever the block and the place in it, to the bit."""
    rows = np.random.default_rng(size).normal(size=(1003, 6))
    whole = network(name)(rows)
    cut = [network(name)(rows[start : start + size]) for start in range(0, len(rows), size)]
    assert np.array_equal(np.concatenate(cut), whole)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_every_place_in_a_block_gives_the_same(name, size):
    row, others = RANDOM.normal(size=(1, 6)), RANDOM.normal(size=(size, 6))
    alone = network(name)(row)
    for place in range(size):
        block = others.copy()
        block[place] = row
        assert np.array_equal(network(name)(block)[place : place + 1], alone)


@pytest.mark.parametrize("name", CHAINS)
def test_memory_is_used_again_only_where_nobody_else_needs_it(name):
    rows = integers(6, 40).astype(np.float32)
    before, chain = rows.copy(), CHAINS[name]
    found = run(chain, rows)
    assert np.array_equal(rows, before)
    assert np.array_equal(run(chain, rows.copy(), ours=True), found)


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
def test_no_number_makes_a_layer_fail_or_warn_or_leave_its_bounds(name, values):
    """A failure would be an exact bit about the window."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = network(name)(np.array([values]))
    bounds = network(name).bounds
    assert ((bounds.low.ravel() <= found) & (found <= bounds.high.ravel())).all()


@pytest.mark.parametrize("name", CHAINS)
def test_windows_as_they_lie_in_memory_give_what_flat_rows_give(name):
    """(row, time, channel), also where the samples of a channel lie together, as in a table."""
    rows = RANDOM.normal(size=(700, 6))
    by_channel = np.ascontiguousarray(rows.reshape(700, 3, 2).transpose(2, 0, 1)).transpose(1, 2, 0)
    assert np.array_equal(network(name)(by_channel), network(name)(rows))


def test_an_affine_map_is_that_of_whole_numbers():
    layer, rows = Affine(product(6, 4)), integers(6, 30)
    wanted = layer.product.weights.T.astype(object) @ rows.astype(object) + 4 * layer.product.bias[:, None]
    assert np.array_equal(run((layer,), rows.astype(np.float32)), wanted.astype(float))


def test_a_convolution_is_the_sum_over_its_kernel():
    layer, series = Convolution(product(3, 2, 4), stride=2, padding=1), integers(7, 2, 5)
    padded = np.pad(series, ((1, 1), (0, 0), (0, 0)))
    bias = 4 * layer.product.bias[:, None]
    wanted = [np.einsum("kcn,kcf->fn", padded[at : at + 3], layer.product.weights) + bias for at in range(0, 7, 2)]
    for rows in (series, series[:, :, :1]):
        assert np.array_equal(run((layer,), rows.astype(np.float32)), np.array(wanted)[:, :, : rows.shape[2]])


@pytest.mark.parametrize("samples", [1, 2, 20, 21, 256, 300])
def test_a_spectrum_is_the_fourier_transforms_magnitude(samples):
    series = integers(samples, 2, 5)
    wanted = np.abs(np.fft.rfft(series, axis=0)).reshape(-1, 5)
    np.testing.assert_allclose(run((spectrum(samples),), series.astype(np.float32)), wanted, atol=0.01 * wanted.max())


def test_statistics_are_means_deviations_least_and_largest_values():
    series = integers(9, 2, 5)
    wanted = np.concatenate([getattr(series, name)(axis=0) for name in ("mean", "std", "min", "max")])
    assert np.array_equal(run((Statistics(),), series.astype(np.float32)), wanted.astype(np.float32))


def test_ramps_fill_bin_after_bin():
    whole = np.array([[0], [1]], np.int32), np.array([[2], [1]], np.int32)
    layer = Quantise(whole[0], 0, whole[1], -1, Clip(0, 4))
    assert run((layer,), np.array([[-1.0, 0.5, 2.0, 9.0]], np.float32)).tolist() == [[0, 2, 4, 4], [0, 0, 2, 4]]


def test_of_two_whole_numbers_the_even_one_is_next():
    halves = np.array([[-1.5, -0.5, 0.5, 1.5, 2.5]], np.float32)
    assert run((Round(Clip(-9, 9)),), halves).tolist() == [[-2, 0, 0, 2, 2]]


def test_a_table_stands_for_a_function_of_whole_numbers():
    layer = Table(np.array([5, 6, 7], np.int32), -1)
    assert run((layer,), np.array([[-9.0, -1.0, 0.4, 1.0, 9.0]], np.float32)).tolist() == [[5, 5, 6, 7, 7]]


def test_scores_become_the_code_of_their_classes():
    layer = Argmax((2, 3), np.arange(10, 16, dtype=np.int32))
    first, second = [1280, 0, 0, 1280, 0], [0, 256, 256, 256, 260]
    assert run((layer,), np.array([first, second], np.float32).T).tolist() == [[11, 15]]


def test_of_equal_scores_the_first_counts():
    layer = Argmax((3,), np.arange(3, dtype=np.int32))
    assert layer.decide(np.array([[1.0, 7.0, 7.0]]).T).tolist() == [1]


UNROUNDED = Affine(product(4, 4))
UNFIT = {
    "affine of another width": (FIRST, AFFINE, RELU, AFFINE),
    "series for flat rows": (FIRST, Unflatten(2), AFFINE),
    "flat rows for series": (FIRST, Statistics()),
    "channels that do not divide": (FIRST, Unflatten(4)),
    "a kernel longer than the window": (FIRST, Unflatten(2), Convolution(product(9, 2, 2), stride=1, padding=0)),
    "padding beyond the kernel": (FIRST, Unflatten(2), Convolution(product(3, 2, 2), stride=1, padding=10**9)),
    "no stride": (FIRST, Unflatten(2), Convolution(product(3, 2, 2), stride=0, padding=1)),
    "ramps that do not rise": (Quantise(*[np.zeros((1, 6), np.int32), 0] * 2, Clip(0, 1)),),
    "a way around of another shape": (FIRST, Residual((AFFINE, RELU))),
    "codes for other classes": (FIRST, Argmax((3, 3), np.arange(8, dtype=np.int32))),
    "a negative code": (FIRST, Argmax((2, 4), -np.arange(8, dtype=np.int32))),
    "branches that double without end": (FIRST, *(Concatenation(((), ())),) * 20),
    "waves for another window": (FIRST, Unflatten(2), spectrum(4)),
}
INEXACT = {
    "real numbers that are added up": (AFFINE,),
    "a convolution of real numbers": (Unflatten(2), CONVOLUTION),
    "statistics of real numbers": (Unflatten(2), Statistics()),
    "a spectrum of real numbers": (Unflatten(2), spectrum()),
    "scores that are not whole": (FIRST, Affine(product(6, 6, shift=9)), Argmax((6,), np.arange(6, dtype=np.int32))),
    "a product of a product that was not rounded": (FIRST, AFFINE, UNROUNDED),
    "sums beyond 2^52": (FIRST, *(Affine(Product(integers(6, 6) + 30_000, integers(6), 0, integers(6, most=0))),) * 4),
    "a way around beyond 2^24": (FIRST, *(Residual(()),) * 20),
    "branches in float64": (quantise(clip=(-(1 << 22), 1 << 22)), Concatenation(((Affine(product(6, 4)),),))),
}


@pytest.mark.parametrize("name", [*UNFIT, *INEXACT])
def test_layers_that_do_not_fit_or_could_round_a_sum_are_refused_before_they_run(name):
    with pytest.raises(BundleError, match=r"train again|takes"):
        Network((UNFIT | INEXACT)[name], 6)


@pytest.mark.parametrize("ends", [(1, 1), (2, 1), (0, 1 << 24), (-(1 << 24), 0)])
def test_a_clip_is_a_range_that_float32_holds(ends):
    with pytest.raises(BundleError, match="no range"):
        Clip(*ends)


def test_work_counts_what_goes_in_and_what_comes_out():
    """Statistics give few numbers of many, ramps many of few."""
    for chain in ((FIRST, Unflatten(2), Statistics()), (FIRST, quantise(40))):
        given = Bounds.anything(6)
        for layer in chain:
            prepared = layer.prepare(given)
            assert isinstance(layer, Unflatten) or prepared.work >= max(given.most.size, prepared.bounds.most.size)
            given = prepared.bounds


FOREIGN = [
    {"op": "python", "code": "import os"},
    {"op": "affine", "weights": "/etc/passwd", "bias": "t1", "shift": "t2", "bias_shift": 0},
    {"op": "table", "values": "eval", "low": 0},
    {"op": "unflatten", "channels": 2.5},
    {"op": "round", "low": 0, "high": 1e9},
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
    many = [{"op": "concatenation", "branches": [[{"op": "flatten"}]] * 200}] * 2
    for listed in (nested, [{"op": "flatten"}] * 10_000, many):
        with pytest.raises(BundleError, match="at most"):
            read_layers(listed, TensorReader(TensorWriter().to_bytes()))


def test_the_vocabulary_is_closed():
    assert set(OPS) == {
        "affine", "argmax", "concatenation", "convolution", "erase", "flatten", "quantise", "residual", "round",
        "scale", "spectrum", "statistics", "table", "unflatten",
    }  # fmt: skip
