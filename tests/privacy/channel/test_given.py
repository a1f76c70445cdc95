"""Given the useful class: the promise holds whatever people do how often, and says what it leaves out."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deeprotect.errors import PolicyError
from deeprotect.privacy.accounting import totals
from deeprotect.privacy.channel.calibration import (
    FEWEST_GIVEN,
    SensitiveCounts,
    confidence_intervals,
    miss_of_each,
    sets,
)
from deeprotect.privacy.channel.combinations import Combination, tables_of
from deeprotect.privacy.channel.design import design
from deeprotect.privacy.channel.rounding import make
from deeprotect.privacy.events import Event
from deeprotect.privacy.mechanisms.mechanism import load

seeds = st.integers(0, 10**6)
USEFUL, PEOPLE = ("walk", "still"), ("ann", "bob")


def counted(counts, epsilon=1.0, useful=USEFUL, people=PEOPLE):
    return tables_of("person", np.asarray(counts), given=useful, classes=people, epsilon=epsilon)


def channel(counts, epsilon=1.0, ceiling=None, confidence=0.95, useful=USEFUL, people=PEOPLE):
    tables, left_out = counted(counts, epsilon, useful, people)
    codes = np.asarray(counts).shape[2]
    cost = 1.0 - np.eye(codes)[:, : len(useful)]
    plan = design(cost, np.ones(codes), secrets=tables, ldp_epsilon=ceiling, confidence=confidence, given=["activity"])
    return make(plan, outputs=useful, without_promise=left_out)


def named(counts, epsilon=1.0):
    """The same windows, with the useful class forgotten."""
    by_class = np.asarray(counts).sum(axis=0)
    secret = SensitiveCounts("person", PEOPLE, by_class, epsilon)
    return make(design(1.0 - np.eye(by_class.shape[1]), np.ones(by_class.shape[1]), secrets=[secret]))


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
    counts = np.rint(20_000 * READ).astype(int)  # as many windows of each: nearly the truth, whatever the confidence
    old, new = named(counts, 0.5), channel(counts, 0.5)
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


@settings(max_examples=15, deadline=None)
@given(seeds, st.floats(0.2, 4.0))
def test_it_implies_the_old_promise_for_every_timetable_that_classes_share_and_no_more_than_the_mixes_differ(
    seed, epsilon
):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(2), size=(2, 2))
    found = channel(np.rint(50_000 * truth).astype(int), epsilon)
    shared = rng.dirichlet(np.ones(2))
    assert log_ratio(released(truth, [shared, shared], found.probabilities)) <= epsilon + 1e-9
    mixes = rng.dirichlet(np.ones(2), size=2)
    apart = float(np.abs(np.log(mixes[0] / mixes[1])).max())
    assert log_ratio(released(truth, mixes, found.probabilities)) <= epsilon + apart + 1e-9


def test_it_holds_for_true_conditionals_as_often_as_stated():
    """All useful classes and all people at once, with few windows of each."""
    rng, kept, trials = np.random.default_rng(5), 0, 60
    for _ in range(trials):
        truth = rng.dirichlet([6.0, 3.0, 2.0], size=(2, 3))
        counts = np.array([[rng.multinomial(60, p) for p in people] for people in truth])
        found = channel(counts, 0.8, confidence=0.8, people=("ann", "bob", "eve"))
        kept += all(log_ratio(people @ found.probabilities) <= 0.8 for people in truth)
    assert kept >= 0.8 * trials


def test_the_confidence_is_spent_over_all_useful_classes_together():
    counts = np.full((2, 2, 3), 40)
    tables, _ = counted(counts)
    alone = confidence_intervals(counts[0], confidence=0.95)
    wider = confidence_intervals(counts.reshape(4, 3), confidence=0.95)
    for number, (low, high) in enumerate(sets(tables, confidence=0.95)):
        assert (low == wider[0][2 * number : 2 * number + 2]).all()
        assert (high == wider[1][2 * number : 2 * number + 2]).all()
        assert (high > alone[1]).all()
    assert miss_of_each(0.95, 4) < miss_of_each(0.95, 2)


def test_ldp_implies_it_for_every_conditional():
    rng = np.random.default_rng(1)
    found = make(design(1.0 - np.eye(4), np.ones(4), ldp_epsilon=1.3))
    for _ in range(200):
        assert log_ratio(rng.dirichlet(np.full(4, 0.1), size=2) @ found.probabilities) <= 1.3 + 1e-12


def test_rare_combinations_are_promised_nothing_and_listed():
    rare = FEWEST_GIVEN - 1
    counts = np.array([[[50, 5], [40, 2], [rare, 0]], [[3, 60], [0, 0], [4, 5]]])
    tables, left_out = counted(counts, people=("ann", "bob", "eve"))
    assert [(table.given, table.classes) for table in tables] == [("walk", ("ann", "bob"))]
    assert left_out == [
        Combination("person", "walk", "eve", rare),
        Combination("person", "still", "ann", 63),  # often enough, and nobody to compare with
        Combination("person", "still", "bob", 0),
        Combination("person", "still", "eve", 9),
    ]
    found = channel(counts, people=("ann", "bob", "eve"))
    (secret,) = found.certificate()["secrets"]
    assert (secret["combinations"], secret["given"]) == (2, ["walk"])
    assert ["walk", "eve", rare] in secret["without_promise"]
    step = next(step for step in found.derive() if step.name == "without promise")
    assert "“walk” with “person” “eve” (19 times)" in step.found
    assert step.holds is None


def test_a_combination_seen_just_often_enough_is_promised_something():
    counts = np.array([[[FEWEST_GIVEN, 0], [0, FEWEST_GIVEN]]] * 2)
    tables, left_out = counted(counts)
    assert len(tables) == 2
    assert left_out == []
    assert counted(counts - 1 + np.eye(2, dtype=int))[0] == []


COUNTS = np.array([[[60, 20], [40, 30], [9, 2]], [[10, 70], [20, 50], [15, 45]]])
MADE = channel(COUNTS, 1.0, 3.0, people=("ann", "bob", "eve"))


def test_the_event_says_what_is_given_and_the_certificate_what_is_trusted():
    assert MADE.event == Event("named", 1.0, inferences=("person",), confidence=0.95, given=("activity",))
    assert str(MADE.event) == "ε = 1 named per window for “person” given “activity”"
    certificate = MADE.certificate()
    assert certificate["given"] == ["activity"]
    assert certificate["neighbours"].startswith(
        "windows of one useful class and any two classes of an inference that is named"
    )
    assert "no class that was seen is missing from the counts" in certificate["assumes"]
    assert certificate["derived_epsilon"] == max(MADE.named_epsilons) <= 1.0
    assert certificate["ldp_epsilon"] <= 3.0


def test_a_promise_given_something_is_not_added_to_one_given_nothing():
    other = Event("named", 2.0, inferences=("person",), confidence=0.95)
    with pytest.raises(Exception, match="account for each kind apart"):
        totals([(MADE.event, 1), (other, 1)])


def test_it_survives_its_json():
    fields = json.loads(json.dumps(MADE.to_json()))
    again = load(fields)
    assert again.to_json() == MADE.to_json()
    assert again.certificate() == MADE.certificate()
    assert again.without_promise == MADE.without_promise == (Combination("person", "walk", "eve", 11),)


def test_only_a_named_promise_is_given_anything():
    for guarantee in ("ldp", "rldp"):
        with pytest.raises(PolicyError, match="only a named promise"):
            Event(guarantee, 1.0, given=("activity",))


def test_many_tables_keep_the_promise_and_lose_little(monkeypatch):
    """All classes of all tables share one λ, or one set stands for a table: never weaker, and hardly dearer."""
    from deeprotect.privacy.channel import design as designs

    rng = np.random.default_rng(3)
    truth = 0.2 * rng.dirichlet(np.ones(4), size=(4, 5)) + 0.8 * np.eye(4)[:, None]
    counts = np.array([[rng.multinomial(80, p / p.sum()) for p in people] for people in truth])
    names = tuple("abcd"), tuple("vwxyz")
    exact = channel(counts, 2.0, 5.0, useful=names[0], people=names[1])
    monkeypatch.setattr(designs, "_EXACT", 0)
    shared = channel(counts, 2.0, 5.0, useful=names[0], people=names[1])
    monkeypatch.setattr(designs, "_MANY", 0)
    small = channel(counts, 2.0, 5.0, useful=names[0], people=names[1])
    assert exact.expected_error() - 1e-6 <= shared.expected_error() <= small.expected_error() + 1e-6
    assert small.expected_error() < exact.expected_error() + 0.01
    assert max(each.real_epsilon for each in (exact, shared, small)) <= 2.0
