"""Given the useful class: the promise holds whatever people do how often, and says what it leaves out."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recordings import correlated, promises, recorded

from deeprotect.errors import PolicyError
from deeprotect.privacy.channel.betting import needed
from deeprotect.privacy.channel.calibration import RecordedShares
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.channel.promises import Unpromised, miss_of_an_end
from deeprotect.privacy.events import Event
from deeprotect.privacy.mechanisms.mechanism import load

seeds = st.integers(0, 10**6)
USEFUL, PEOPLE = ("walk", "still"), ("ann", "bob")


def channel(counts, epsilon=1.0, ceiling=None, useful=USEFUL, people=PEOPLE, recordings=5000):
    shares = recorded(counts, epsilon=epsilon, recordings=recordings, given=useful, classes=people)
    return designed(shares, ceiling=ceiling)


def designed(shares, *, ceiling=None, confidence=0.95):
    found, rest = shares.calibrated(confidence=confidence)
    cost = 1.0 - np.eye(shares.codes)[:, : len(shares.given)]
    options = {"promises": found, "ldp_epsilon": ceiling, "confidence": confidence, "given": ["activity"]}
    return make(design(cost, np.ones(shares.codes), **options), outputs=shares.given, unpromised=rest)


def named(counts, epsilon=1.0):
    """The same recordings, with the useful class forgotten."""
    found = promises(np.asarray(counts).sum(axis=0), epsilon=epsilon, recordings=5000, classes=PEOPLE)
    return make(design(1.0 - np.eye(2), np.ones(2), promises=found))


def log_ratio(released):
    """The largest log ratio of two classes; released is (class, output)."""
    return float(np.log(released.max(axis=0) / released.min(axis=0)).max())


def released(conditionals, timetable, probabilities):
    """P(output | class) of people with these shares of useful classes; timetable is (class, useful class)."""
    return np.einsum("su,usz,zj->sj", np.asarray(timetable), conditionals, probabilities)


# Ann's walking is read as walking and her standing as standing; of Bob's it is the other way round more often.
READ = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.1, 0.9], [0.6, 0.4]]])
HALF_AND_HALF = [[0.5, 0.5], [0.5, 0.5]]


def test_people_who_do_other_things_than_in_calibration_break_the_old_promise_and_not_this_one():
    old, new = named(READ, 0.5), channel(READ, 0.5)  # so many recordings: nearly the truth, whatever the confidence
    assert log_ratio(released(READ, HALF_AND_HALF, old.probabilities)) <= 0.5
    # A population that only walks: the timetables agree, and still the old promise is gone.
    walkers = [[1.0, 0.0], [1.0, 0.0]]
    assert log_ratio(released(READ, walkers, old.probabilities)) > 1.0
    assert log_ratio(released(READ, walkers, new.probabilities)) <= 0.5
    # Ann walks, Bob sits: what tells them apart is what they do, which is useful and no secret.
    apart = [[0.9, 0.1], [0.1, 0.9]]
    assert log_ratio(released(READ, apart, old.probabilities)) > 0.5
    for useful in range(2):
        assert log_ratio(READ[useful] @ new.probabilities) <= 0.5
        assert useful != 0 or log_ratio(READ[useful] @ old.probabilities) > 1.0


@pytest.mark.long
@settings(max_examples=15, deadline=None)
@given(seeds, st.floats(0.2, 4.0))
def test_it_implies_the_old_promise_for_every_timetable_that_classes_share_and_no_more_than_the_mixes_differ(
    seed, epsilon
):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(2), size=(2, 2))
    found = channel(truth, epsilon)
    shared = rng.dirichlet(np.ones(2))
    assert log_ratio(released(truth, [shared, shared], found.probabilities)) <= epsilon + 1e-9
    mixes = rng.dirichlet(np.ones(2), size=2)
    apart = float(np.abs(np.log(mixes[0] / mixes[1])).max())
    assert log_ratio(released(truth, mixes, found.probabilities)) <= epsilon + apart + 1e-9


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.3])
def test_it_holds_for_true_conditionals_as_often_as_stated(correlation):
    """All useful classes and all people at once, with few recordings of each."""
    rng, kept, trials = np.random.default_rng(5), 0, 30
    for _ in range(trials):
        truth = rng.dirichlet([6.0, 3.0, 2.0], size=(2, 3))
        cells = [
            [correlated(rng, p, recordings=20, windows=30, correlation=correlation) for p in people] for people in truth
        ]
        found = designed(RecordedShares("person", ("ann", "bob", "eve"), cells, 0.8, USEFUL), confidence=0.8)
        kept += all(log_ratio(people @ found.probabilities) <= 0.8 for people in truth)
    assert kept >= 0.8 * trials


def test_ldp_implies_it_for_every_conditional():
    rng = np.random.default_rng(1)
    found = make(design(1.0 - np.eye(4), np.ones(4), ldp_epsilon=1.3))
    for _ in range(200):
        assert log_ratio(rng.dirichlet(np.full(4, 0.1), size=2) @ found.probabilities) <= 1.3 + 1e-12


LEAST = needed(miss_of_an_end(0.95, inferences=1, cells=6, codes=2))


def test_combinations_with_few_recordings_are_promised_nothing_and_listed():
    many, eve = [[60, 40, LEAST - 1], [70, 3, 4]], ("ann", "bob", "eve")
    shares = recorded(np.ones((2, 3, 2)), recordings=many, given=USEFUL, classes=eve)
    found = designed(shares, ceiling=3.0)
    assert [(each.given, each.classes) for each in found.promises] == [("walk", ("ann", "bob"))]
    assert found.unpromised == (
        Unpromised("person", "walk", ("eve",), LEAST - 1, LEAST),
        Unpromised("person", "still", eve, 3, LEAST),  # of Ann there are enough, and nobody to compare her with
    )
    (secret,) = found.certificate()["secrets"]
    assert (secret["promised"], secret["unpromised"], secret["given"]) == (2, 4, ["walk"])
    step = next(step for step in found.derive() if step.name == "without promise")
    assert "4 of 6 combinations of a useful class and “person” have no named promise; ε-LDP holds" in step.found
    assert f"one has 3 recordings to calibrate with and needs {LEAST}; record about {2 * LEAST} of each" in step.found
    assert step.holds is None


def test_without_a_ceiling_nothing_would_hold_where_nothing_is_promised_and_there_is_no_channel():
    shares = recorded(np.ones((2, 2, 2)), recordings=[[60, 60], [60, 1]], given=USEFUL, classes=PEOPLE)
    with pytest.raises(PolicyError, match="need an ldp_ceiling"):
        designed(shares)


COUNTS = np.array([[[60, 20], [40, 30], [9, 2]], [[10, 70], [20, 50], [15, 45]]])
MADE = channel(COUNTS, 1.0, 3.0, people=("ann", "bob", "eve"), recordings=[[90, 80, 5], [70, 60, 50]])


def test_the_event_says_what_is_given_and_the_certificate_what_is_trusted():
    assert MADE.event == Event("named", 1.0, inferences=("person",), confidence=0.95, given=("activity",))
    assert str(MADE.event) == "ε = 1 named per window for “person” given “activity”"
    certificate = MADE.certificate()
    assert certificate["given"] == ["activity"]
    assert certificate["neighbours"].startswith(
        "windows of one useful class and any two classes of an inference that is named"
    )
    assert "no class that was recorded is missing" in certificate["assumes"]
    assert certificate["derived_epsilon"] == max(MADE.named_epsilons) <= 1.0
    assert certificate["ldp_epsilon"] <= 3.0


def test_it_survives_its_json():
    fields = json.loads(json.dumps(MADE.to_json()))
    again = load(fields)
    assert again.to_json() == MADE.to_json()
    assert again.certificate() == MADE.certificate()
    assert again.unpromised == MADE.unpromised == (Unpromised("person", "walk", ("eve",), 5, LEAST),)


def test_only_a_named_promise_is_given_anything():
    for guarantee in ("ldp", "rldp"):
        with pytest.raises(PolicyError, match="only a named promise"):
            Event(guarantee, 1.0, given=("activity",))
