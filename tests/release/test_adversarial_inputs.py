"""Strange numbers through the whole pipe: refused in one line without a sample in it, or released inside the range."""

import math
import re
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.networks import affine, clipped, largest

from deeprotect import Protector
from deeprotect.bundle import Bundle
from deeprotect.bundle.network import Network, OutputTable
from deeprotect.errors import TableError
from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.mechanisms import laplace

DIM = 8  # four samples of two channels
SMALLEST = np.nextafter(0.0, 1.0)
STRANGE = [0.0, -0.0, SMALLEST, -SMALLEST, 1e-310, 1e-40, -1e-40, 1.5, -3.999999, 4.0, -4.0]
FAR = [4.000001, -1e3, 1e30, -1e39, 1.7e308, -1.7e308]
NOT_NUMBERS = [math.nan, math.inf, -math.inf]
RANDOM = np.random.default_rng(0)
WEIGHTS = np.linalg.qr(RANDOM.normal(size=(DIM, 3)))[0].T.astype(np.float32).astype(np.float64)


def mechanisms():
    plan = design(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.5, 0.5]), ldp_epsilon=5.0)
    return {
        "baseline": laplace.baseline(DIM, 5.0),
        "laplace": laplace.certified(Box((-2.0,) * 3, (2.0,) * 3), 5.0),
        "channel": make(plan, variants=3),
    }


MECHANISMS = mechanisms()


def networks(mechanism):
    """An encoder and a decoder of the mechanism's shape, from finite weights."""
    if mechanism.dim == DIM:
        return Network((), DIM), clipped(DIM)
    if mechanism.dim == 3:
        return affine(WEIGHTS.T), affine(WEIGHTS)
    return largest(DIM, np.arange(DIM) % 2), OutputTable.of(np.linspace(0, 1, 6 * DIM).reshape(6, DIM))


@pytest.fixture(params=MECHANISMS)
def protector(bundle, policy, request):
    mechanism = MECHANISMS[request.param]
    encoder, decoder = networks(mechanism)
    privacy = {"mechanism": "auto", "guarantee": mechanism.event.guarantee}
    policy = policy.vary(privacy=privacy, inferences={"sensitive": list(mechanism.event.inferences)})
    facts = bundle.manifest
    return Protector(
        Bundle.make(
            policy,
            mechanism,
            encoder=encoder,
            decoder=decoder,
            feature_extractor=facts.feature_extractor,
            training=facts.training,
            results=[],
            created="2026-01-01T00:00:00+00:00",
            made_with={},
        )
    )


def table(x, y):
    return pa.table({"acc_x": pa.array(x, pa.float64()), "acc_y": pa.array(y, pa.float64())})


def assert_inside(released, rows):
    assert released.num_rows == rows
    for name in ("acc_x", "acc_y"):
        values = released.column(name).to_numpy()
        assert np.isfinite(values).all()
        assert ((values >= -4) & (values <= 4)).all()


def test_strange_finite_numbers_are_released_inside_the_range(protector):
    values = STRANGE * 3 + FAR
    assert_inside(protector.protect(table(values, values[::-1])).table, len(values))


def test_one_sample_and_no_sample_at_all_are_released(protector):
    assert_inside(protector.protect(table([-0.0], [SMALLEST])).table, 1)
    assert_inside(protector.protect(table([], [])).table, 0)


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_what_is_no_number_is_refused_in_one_line_that_holds_no_sample(protector, value):
    secret = 3.14159
    with pytest.raises(TableError, match=r"row 3, column 'acc_y'") as refused:
        protector.protect(table([secret] * 5, [secret, secret, value, secret, secret]))
    assert "\n" not in str(refused.value)
    assert "3.14" not in str(refused.value)


def test_a_table_of_huge_numbers_is_clipped_with_a_warning_that_holds_no_figure(protector):
    """Refused, it would tell whoever wrote the range where the samples lie."""
    with pytest.warns(UserWarning, match="largely outside the public range, and clipped to it: “acc_x”;") as warned:
        assert_inside(protector.protect(table([7.77e300] * 6, [0.0] * 6)).table, 6)
    assert not re.search(r"\d", str(warned[0].message))


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(MECHANISMS)),
    st.lists(st.floats(allow_nan=True, allow_infinity=True, width=64), min_size=DIM, max_size=DIM),
)
def test_every_mechanism_takes_every_number_there_is(name, values):
    """Success or failure must say nothing about the data; and the result is a number that float64 holds."""
    mechanism = MECHANISMS[name]
    code = np.array(values)[: mechanism.dim][None, :]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        released = mechanism.privatise(code, entropy=SeededEntropy(0))
    assert released.shape == code.shape
    assert np.isfinite(released).all()


@pytest.mark.parametrize("name", sorted(MECHANISMS))
@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1e-310, 0.0), (-1e-40, 0.0), (math.inf, 1e308)])
def test_numbers_that_mean_the_same_are_released_alike(name, one, other):
    """With the same random words, so that a difference could only come from the number's form."""
    mechanism = MECHANISMS[name]
    drawn = [
        mechanism.privatise(np.full((50, mechanism.dim), value), entropy=SeededEntropy(7)) for value in (one, other)
    ]
    assert np.array_equal(*drawn)


@pytest.mark.parametrize("name", ["baseline", "laplace"])
def test_no_number_can_move_a_code_off_its_grid(name):
    """Clipping is in integers: whatever a network computes, codes differ by `grid_steps` at most."""
    box = MECHANISMS[name].box
    wild = np.array([[-3.4e38], [3.4e38], [math.nan], [math.inf], [-math.inf], [1e-45], [-0.0]]).repeat(box.dim, axis=1)
    position = box.to_grid(wild)
    assert position.min() >= 0
    assert position.max() <= box.grid_steps


def test_releases_draw_from_the_system_only(protector):
    """The same table twice gives different data: no seed is hidden anywhere."""
    same = table(np.linspace(-1, 1, 400), np.linspace(1, -1, 400))
    assert protector.protect(same).table != protector.protect(same).table
