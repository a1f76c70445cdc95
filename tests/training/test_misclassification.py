"""The user's costs reach the channel: the matrix is what the policy says, and the channel is the cheapest under it."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from deeprotect.privacy.channel.design import design
from deeprotect.training.codebook.codebook import CodeBook, matrix
from deeprotect.training.codebook.synthesis import Outputs

CLASSES = ("run", "still", "walk")
prices = st.floats(0.0, 1.0)
some_costs = st.fixed_dictionaries(
    {true: st.fixed_dictionaries({read: prices for read in CLASSES if read != true}) for true in CLASSES}
)


def book(meaning, read, prior=(1 / 3, 1 / 3, 1 / 3)):
    """A code book of known numbers; `meaning` and `read` by inference."""
    outputs = Outputs(
        np.zeros((3, 1, 1)), read, dict.fromkeys(read, CLASSES), np.ones(3), np.full(3, 5), np.full(3, 0.2)
    )
    return CodeBook(
        nn.Identity(),
        CLASSES,
        np.array(prior),
        meaning,
        np.zeros(0, dtype=np.int64),
        outputs,
        np.zeros((3, 3)),
    )


def stochastic(seed):
    return np.random.default_rng(seed).dirichlet([0.5] * 3, size=3)


def cheapest(cost, prior, epsilon):
    """By brute force over all extreme ε-LDP channels.

    An output's column is a mixture of patterns whose entries are 1 or e^ε; at a vertex as many patterns are used as
    there are codes, and each pattern leaves as the output that costs least given it.
    """
    patterns = np.array(list(product([1.0, np.exp(epsilon)], repeat=len(prior))))
    price = (patterns * prior) @ cost
    found = []
    for basis in combinations(range(len(patterns)), len(prior)):
        chosen = patterns[list(basis)].T
        if abs(np.linalg.det(chosen)) > 1e-9:
            share = np.linalg.solve(chosen, np.ones(len(prior)))
            if share.min() > -1e-12:
                found.append(share @ price[list(basis)].min(axis=1))
    return min(found)


def test_a_matrix_has_zeros_for_right_readings_and_ones_where_nothing_is_said():
    rows = {"walk": {"run": 0.2, "still": 0.9}, "run": {"run": 0.0}, "elsewhere": {"run": 0.5}}
    assert matrix(CLASSES, rows).tolist() == [[0, 1, 1], [1, 0, 1], [0.2, 0.9, 0]]


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_without_costs_the_cost_is_the_share_of_misreadings_to_the_last_bit(seed):
    meaning, read = stochastic(seed), stochastic(seed + 1)
    found = book({"activity": meaning}, {"activity": read}).cost({})
    assert np.array_equal(found, 1.0 - np.mean([meaning @ read.T], axis=0))


@settings(deadline=None)
@given(st.integers(0, 10**6), some_costs)
def test_the_cost_is_what_is_to_be_expected_of_the_true_class_and_the_reading(seed, rows):
    """Two useful inferences, of which the policy prices one."""
    meaning = {"activity": stochastic(seed), "mood": stochastic(seed + 1)}
    read = {"activity": stochastic(seed + 2), "mood": stochastic(seed + 3)}
    found = book(meaning, read).cost({"activity": rows})
    for code, output in product(range(3), repeat=2):
        total = 0.0
        for (true, name), (wrong, other) in product(enumerate(CLASSES), repeat=2):
            if true != wrong:
                total += meaning["activity"][code, true] * read["activity"][output, wrong] * rows[name][other]
                total += meaning["mood"][code, true] * read["mood"][output, wrong]
        assert found[code, output] == pytest.approx(total / 2, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), some_costs, st.floats(0.05, 6.0))
def test_the_channel_is_the_cheapest_for_the_users_costs_by_brute_force(seed, rows, epsilon):
    prior = np.random.default_rng(seed).dirichlet([2.0] * 3)
    known = book({"activity": stochastic(seed + 1)}, {"activity": stochastic(seed + 2)}, prior)
    cost = known.cost({"activity": rows})
    found = design(cost, prior, ldp_epsilon=epsilon, distortion=known.cost({}))
    assert found.expected_cost == pytest.approx(cheapest(cost, prior, epsilon), abs=3e-7)


def test_under_much_noise_the_class_that_is_cheap_for_all_is_said():
    """ε = 0.1: saying `walk` to everybody costs 2/3 of 0.1; without costs nothing is better than guessing."""
    known = book({"activity": np.eye(3)}, {"activity": np.eye(3)})
    rows = {"run": {"walk": 0.1}, "still": {"walk": 0.1}}
    found = design(known.cost({"activity": rows}), known.prior, ldp_epsilon=0.1)
    assert found.expected_cost <= 0.2 / 3 + 1e-6
    assert found.probabilities[:, 2].min() > 0.9
