"""The contract that every mechanism keeps, and what a bundle may not contain."""

import json

import numpy as np
import pytest
from tests.privacy.edited import edited

from deeprotect.errors import BundleError
from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.mechanisms.laplace import baseline, certified, paper_mode1, paper_mode2
from deeprotect.privacy.mechanisms.mechanism import load
from deeprotect.privacy.mechanisms.relaxed import basis
from studies.features.expected_noise import expected_noise

DIRECTIONS = basis(np.random.default_rng(0).normal(size=(12, 2)))
WIDE = Box((-4.0,) * 3, (4.0,) * 3)
ALL_MECHANISMS = {
    "baseline": (baseline(12, 5.0), 12),
    "paper mode 1": (paper_mode1(Box.unit(3), 5.0, dim_x=12), 3),
    "paper mode 2": (
        paper_mode2(Box.unit(3), 5.0, directions=DIRECTIONS, inferences=("subject",)),
        3,
    ),
    "laplace": (certified(Box.unit(3), 5.0), 3),
    "laplace, uneven": (certified(Box((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)), 5.0), 3),
    "channel": (make(design(1.0 - np.eye(4), np.ones(4), ldp_epsilon=5.0), variants=3), 1),
}
every = pytest.mark.parametrize(("mechanism", "width"), ALL_MECHANISMS.values(), ids=ALL_MECHANISMS.keys())


@every
def test_a_mechanism_survives_its_json(mechanism, width):
    again = load(json.loads(json.dumps(mechanism.to_json())))
    assert again.to_json() == mechanism.to_json()
    assert again.certificate() == mechanism.certificate()
    assert again.event == mechanism.event
    code = np.random.default_rng(0).random((5, width))
    released = [m.privatise(code, entropy=SeededEntropy(1)) for m in (mechanism, again)]
    assert (released[0] == released[1]).all()


@every
def test_a_certificate_states_and_derives_epsilon(mechanism, width):
    certificate = json.loads(json.dumps(mechanism.certificate()))
    assert certificate["mechanism"] == mechanism.name
    assert 0 < certificate["derived_epsilon"] <= certificate["epsilon"] == 5.0
    assert certificate["sensitivity"] is None if mechanism.public_outputs else certificate["sensitivity"] > 0
    assert {"guarantee", "method", "exact", "neighbours", "assumes", "ldp_epsilon"} <= certificate.keys()


@every
def test_released_codes_have_the_shape_of_the_private_ones(mechanism, width):
    for count in (0, 1, 17):
        released = mechanism.privatise(np.zeros((count, width)), entropy=SeededEntropy(1))
        assert released.shape == (count, width)
        assert released.dtype == np.float64


@every
def test_the_private_code_is_left_as_it_was(mechanism, width):
    code = np.linspace(-1, 2, 4 * width).reshape(4, width)
    before = code.copy()
    mechanism.privatise(code, entropy=SeededEntropy(1))
    assert (code == before).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda epsilon: baseline(12, epsilon),
        lambda epsilon: paper_mode1(Box.unit(3), epsilon, dim_x=12),
        lambda epsilon: paper_mode2(Box.unit(3), epsilon, directions=DIRECTIONS),
        lambda epsilon: certified(WIDE, epsilon),
    ],
)
def test_twice_the_budget_means_half_the_noise(make):
    assert expected_noise(make(1.0)) == pytest.approx(2 * expected_noise(make(2.0)), rel=1e-4)


@every
def test_a_mechanism_derives_again_what_it_states(mechanism, width):
    steps = list(mechanism.derive())
    assert any(step.name.startswith("ε") and step.holds for step in steps)
    assert not any(step.breaks for step in steps)


@every
def test_what_is_released_is_known_by_its_public_output_or_not_at_all(mechanism, width):
    released = mechanism.privatise(np.zeros((50, width)), entropy=SeededEntropy(3))
    outputs = mechanism.output_of(released)
    if mechanism.public_outputs is None:
        assert outputs is None
    else:
        assert released.max() < mechanism.public_outputs
        assert outputs.max() < mechanism.public_outputs / mechanism.variants


@every
def test_fresh_noise_for_every_window(mechanism, width):
    released = mechanism.privatise(np.full((200, width), 0.5), entropy=SeededEntropy(2))
    different = len(np.unique(released, axis=0))
    assert 1 < different <= mechanism.public_outputs if mechanism.public_outputs else different == 200


@every
def test_a_smaller_stated_epsilon_is_refused(mechanism, width):
    fields = mechanism.to_json()
    fields["event"]["epsilon"] = mechanism.certificate()["derived_epsilon"] / 2
    with pytest.raises(BundleError, match="epsilon"):
        load(fields)


def broken(path, value, source="laplace, uneven"):
    return edited(ALL_MECHANISMS[source][0].to_json(), path, value)


WRONG = [
    broken(["kind"], "gaussian"),
    broken(["kind"], 3),
    broken(["kind"], ...),
    broken(["name"], "mine"),
    broken(["event"], None),
    broken(["event"], []),
    broken(["event", "guarantee"], "none"),
    broken(["event", "epsilon"], float("nan")),
    broken(["event", "epsilon"], 10**400),
    broken(["event", "epsilon"], "5"),
    broken(["event", "epsilon"], True),
    broken(["event", "inferences"], [1]),
    broken(["box"], None),
    broken(["box", "low"], [0.0, 0.0]),
    broken(["box", "low"], [0.0, None, 0.0]),
    broken(["box", "high"], [1.0, float("inf"), 1.0]),
    broken(["box", "grid_steps"], 0),
    broken(["box", "grid_steps"], 4096.0),
    broken(["scales"], []),
    broken(["scales"], ["1/0", "1/1", "1/1"]),
    broken(["scales"], ["0/1", "1/1", "1/1"]),
    broken(["scales"], ["1e999999999", "1/1", "1/1"]),
    broken(["scales"], ["-5/1", "1/1", "1/1"]),
    broken(["scales"], [3, 3, 3]),
    broken(["scales"], ["9007199254740993/1"] * 3),
    broken(["event", "erased"], "person"),
    broken(["event", "erased"], ["person"] * 65),
    broken(["kind"], "subspace-laplace"),
    [],
    "mechanism",
]


@pytest.mark.parametrize("fields", WRONG, ids=range(len(WRONG)))
def test_a_broken_description_is_refused_in_one_line(fields):
    with pytest.raises(BundleError) as refused:
        load(fields)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("mechanism")
