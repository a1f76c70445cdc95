"""The erasing layer: what it gives is y, in exact arithmetic, and so no network behind it sees anything else."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.device.random_networks import INPUTS, Maker
from tests.fibres import STEPS, moves, neighbours, windows

from deeprotect.bundle.layers.erasing import MIDDLE, ONE, Erase
from deeprotect.bundle.network import Network
from deeprotect.errors import BundleError

SEEDS = st.integers(0, 2**32 - 1)


def layer(pivots, others):
    return Erase(np.array(pivots, np.int32), np.array(others, np.int32))


@pytest.mark.parametrize("around", [MIDDLE, 3, STEPS - 3])
def test_each_window_of_a_small_box_gives_its_own_y_and_no_more(around):
    """All windows of the box: y as fractions give it, and equal for those that agree on it and for no others."""
    erase = layer([1], [[11_111, -3 * ONE // 2]])
    box = np.array([*product(range(around - 3, around + 4), repeat=3)])
    found = Network((erase,), 3)(windows(box))
    for window, y in zip(box - MIDDLE, found, strict=True):
        first, last = moves(erase, window[[1]])
        assert y.tolist() == [window[0] - first, 0, window[2] - last]
    fibres = np.unique(found, axis=0, return_counts=True)[1]
    assert len(fibres) > 49  # of 49 pairs (first, last), each in several windows
    assert fibres.max() > 1


@given(SEEDS)
def test_windows_of_equal_y_give_the_same_bits_behind_any_network(seed):
    maker = Maker(seed)
    erase = Erase(*_drawn(maker))
    one, other = neighbours(erase, maker.random)
    with np.errstate(all="ignore"):
        layers = maker.chain((erase,), Network((), INPUTS).bounds, length=6)
        network = _readable(layers)
    assert network.layers[0] is erase
    np.testing.assert_array_equal(network(one), network(other))


def _readable(layers):
    """Without a last layer whose sums could be inexact, which a reader refuses."""
    try:
        return Network(layers, INPUTS)
    except BundleError:
        return Network(layers[:-1], INPUTS)


def _drawn(maker):
    rank = 1 + maker.below(3)
    others = maker.random.integers(-ONE, ONE + 1, size=(rank, INPUTS - rank)).astype(np.int32)
    return np.sort(maker.random.permutation(INPUTS)[:rank]).astype(np.int32), others


def test_a_coder_that_reads_residues_learns_nothing_of_the_pivots():
    """Scaled up instead of rounded, y modulo 2^14 is the pivot times a public odd number, and so the pivot."""
    random, by = np.random.default_rng(0), 12_345
    steps = random.integers(0, STEPS + 1, size=(2000, 2))
    wrong = ONE * steps[:, 1] - by * steps[:, 0]
    recovered = (-wrong * pow(by, -1, ONE)) % ONE
    assert (recovered == steps[:, 0] % ONE).all()
    # Of the layer's y, every pivot that fits into the range is as good an explanation as every other.
    erase = layer([0], [[by]])
    y = Network((erase,), 2)(windows(steps))[:, 1].astype(int)
    for value in y[:50]:
        pivots = random.integers(0, STEPS + 1, 200)
        rest = value + MIDDLE + np.array([moves(erase, [pivot - MIDDLE])[0] for pivot in pivots])
        inside = (rest >= 0) & (rest <= STEPS)
        explained = Network((erase,), 2)(windows(np.stack([pivots, rest], axis=1)[inside]))
        assert (explained[:, 1] == value).all()
        assert len(np.unique(pivots[inside] % 8)) == 8  # not even the lowest bits are known


@given(SEEDS)
def test_no_value_is_beyond_what_the_layer_says(seed):
    maker = Maker(seed)
    network = Network((Erase(*_drawn(maker)),), INPUTS)
    ends = maker.random.choice([0.0, 1.0, np.inf, -np.inf, np.nan], size=(50, INPUTS))
    assert (np.abs(network(ends)) <= network.bounds.most).all()


@pytest.mark.parametrize(
    ("pivots", "others"), [([3], [[1, 1]]), ([-1], [[1, 1]]), ([0, 0], [[1], [1]]), ([0, 1], [[1, 1]])]
)
def test_pivots_must_be_places_of_their_own(pivots, others):
    with pytest.raises(BundleError, match="pivots are not places"):
        layer(pivots, others)


def test_windows_of_another_length_are_refused():
    with pytest.raises(BundleError, match="windows of 3 values"):
        Network((layer([0], [[1, 1]]),), 4)
