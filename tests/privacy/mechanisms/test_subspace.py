"""Noise along the sensitive directions hides exactly those, and leaves the rest alone."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from deeprotect.errors import InputError, PolicyError
from deeprotect.privacy.box import Box
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.privacy.events import Event
from deeprotect.privacy.mechanisms.laplace import baseline, paper_mode2
from deeprotect.privacy.mechanisms.mechanism import load
from deeprotect.privacy.mechanisms.relaxed import basis
from deeprotect.privacy.mechanisms.subspace import Subspace, by_rows, subspace
from studies.features.expected_noise import expected_noise


def directions(rank, *, dim=30, seed=0):
    return basis(np.random.default_rng(seed).normal(size=(dim, rank)))


def neighbours(base, count, seed):
    """Pairs in the box that differ along the directions, as far apart as the box allows."""
    rng = np.random.default_rng(seed)
    change = rng.normal(size=(count, base.shape[1])) @ base.T
    change /= np.abs(change).max(axis=1, keepdims=True)
    first = np.where(change < 0, -change, 0.0)
    return first, first + change


def positions(window, base):
    return np.rint(window @ base * 4096)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(0.05, 20.0))
def test_no_relaxed_neighbours_exceed_the_stated_epsilon(seed, rank, epsilon):
    base = directions(rank, seed=seed)
    mechanism = subspace(base, epsilon)
    first, second = neighbours(base, 2000, seed)
    steps = np.abs(positions(first, base) - positions(second, base)).sum(axis=1).max()
    assert Fraction(int(steps)) / mechanism.scale <= mechanism.real_epsilon <= Fraction(epsilon)


def test_the_worst_neighbours_of_one_direction_nearly_reach_the_epsilon():
    base = directions(1)
    mechanism = subspace(base, 5.0)
    first, second = neighbours(base, 1, 0)
    steps = int(np.abs(positions(first, base) - positions(second, base)).sum())
    assert 4.99 < float(Fraction(steps) / mechanism.scale) <= 5.0


def test_neighbours_leave_the_same_residual():
    base = directions(3)
    first, second = neighbours(base, 2000, 7)
    across = np.eye(30) - base @ base.T
    residuals = [np.rint(window @ across * 2**16) for window in (first, second)]
    released = [subspace(base, 1.0).privatise(w, entropy=SystemEntropy()) @ across for w in (first, second)]
    # A boundary of the 2^-16 grid may split a pair, which is why this is called a mitigation: hardly ever.
    assert (residuals[0] == residuals[1]).mean() > 0.9999
    assert np.abs(released[0] - released[1]).max() < 2**-15 * np.sqrt(30)


def test_noise_lies_in_the_span_of_the_directions():
    base = directions(2)
    window = np.random.default_rng(1).random((50, 30))
    noise = subspace(base, 1.0).privatise(window, entropy=SystemEntropy()) - window
    across = noise - noise @ base @ base.T
    assert np.abs(across).max() <= 2**-12
    assert np.abs(noise).max() > 0.05


def test_without_noise_the_window_comes_back():
    window = np.random.default_rng(1).random((20, 30))
    almost_silent = subspace(directions(3), 1e8)
    released = almost_silent.privatise(window, entropy=SystemEntropy())
    assert expected_noise(almost_silent) < 1e-6
    assert np.abs(released - window).max() < 1e-3


def test_windows_outside_the_box_are_clipped_before_anything_else():
    mechanism = subspace(directions(2), 1.0)
    wild = np.array([[np.nan, np.inf, -np.inf, 1e300, -1e300] * 6])
    tame = np.array([[0.5, 1.0, 0.0, 1.0, 0.0] * 6])
    released = [mechanism.privatise(x, entropy=SeededEntropy(3)) for x in (wild, tame)]
    assert (released[0] == released[1]).all()


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_expected_error_is_the_measured_one(rank):
    mechanism = subspace(directions(rank), 2.0)
    window = np.full((20_000, 30), 0.5)
    error = np.abs(mechanism.privatise(window, entropy=SeededEntropy(8)) - window).sum(axis=1).mean()
    assert error == pytest.approx(expected_noise(mechanism), rel=0.03)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_it_adds_at_least_five_times_less_noise_than_literal_mode_two_and_the_baseline(rank):
    base = directions(rank)
    literal = paper_mode2(Box((0.0,) * 7, (0.1,) * 7), 5.0, directions=base)
    mechanism = subspace(base, 5.0)
    assert literal.noise_scales[0] > 5 * mechanism.noise_scales[0]
    assert expected_noise(baseline(30, 5.0)) > 5 * expected_noise(mechanism)


def test_half_the_noise_is_refused():
    honest = subspace(directions(2), 1.0)
    with pytest.raises(PolicyError, match="larger scale"):
        Subspace(honest.event, honest.directions, honest.scale / 2)


def test_it_cannot_state_ldp():
    honest = subspace(directions(2), 1.0)
    with pytest.raises(PolicyError, match="rldp"):
        Subspace(Event("ldp", 1.0), honest.directions, honest.scale)


def test_directions_that_are_not_orthonormal_are_refused():
    with pytest.raises(PolicyError, match=r"relaxed\.basis"):
        subspace(2 * directions(2), 1.0)


BLOCKS = (1, 2, 3, 7, 64, 500)


@pytest.mark.parametrize(("dim", "rank"), [(1, 1), (2, 1), (30, 3), (301, 9)])
def test_a_row_of_a_product_has_the_same_bits_in_blocks_of_any_size_and_at_any_place(dim, rank):
    rng = np.random.default_rng(dim)
    for inner, outer in ((dim, rank), (rank, dim)):
        matrix, rows = rng.normal(size=(inner, outer)), rng.normal(size=(500, inner))
        alone = np.concatenate([by_rows(row[None], matrix) for row in rows])
        assert np.allclose(alone, rows @ matrix)
        for block in BLOCKS:
            parts = [by_rows(rows[start : start + block], matrix) for start in range(0, 500, block)]
            assert np.concatenate(parts).tobytes() == alone.tobytes()
        assert by_rows(np.asfortranarray(rows), matrix).tobytes() == alone.tobytes()
        for place in range(64):
            turned = by_rows(np.roll(rows[:64], place, axis=0), matrix)
            assert np.roll(turned, -place, axis=0).tobytes() == alone[:64].tobytes()


class OneWord:
    """The same word for all."""

    def words(self, count):
        return np.full(count, 0x5555_5555_5555_5555, dtype=np.uint64)


def test_with_the_same_words_a_window_is_released_alike_in_any_block_and_at_any_place():
    mechanism = subspace(directions(5, dim=61), 2.0)
    windows = np.random.default_rng(3).random((500, 61))
    alone = np.concatenate([mechanism.privatise(row[None], entropy=OneWord()) for row in windows])
    for block in BLOCKS:
        parts = [
            mechanism.privatise(windows[start : start + block], entropy=OneWord()) for start in range(0, 500, block)
        ]
        assert np.concatenate(parts).tobytes() == alone.tobytes()


def test_many_directions_are_loaded_without_a_single_programme(monkeypatch):
    monkeypatch.setattr(optimize, "linprog", None)
    honest = subspace(directions(256, dim=256), 1.0)
    assert load(honest.to_json()).scale == honest.scale


def test_more_directions_than_can_be_checked_are_refused():
    with pytest.raises(PolicyError, match="shorter windows"):
        Subspace(Event("rldp", 1.0), np.eye(512)[:, :257], Fraction(10**6))


def test_windows_of_another_size_are_refused():
    with pytest.raises(InputError, match="30 samples"):
        subspace(directions(2), 1.0).privatise(np.zeros((1, 29)), entropy=SystemEntropy())


def test_its_certificate_promises_no_ldp():
    certificate = subspace(directions(2), 1.0, inferences=("subject",)).certificate()
    assert certificate["guarantee"] == "rldp"
    assert certificate["ldp_epsilon"] is None
    assert certificate["inferences"] == ["subject"]
