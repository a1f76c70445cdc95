"""The two sentences that open a card say what the bundle's own numbers say, in words without jargon."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.bundle.card import card_of
from deeprotect.bundle.card_opening import Combinations, factor, opening, span
from deeprotect.privacy.events import Event

JARGON = ("neighbour", "Pufferfish", "code", "ε", "LDP", "epsilon", "mechanism", "adversary", "posterior")
EVENTS = {
    "ldp": Event("ldp", 5.0),
    "named": Event("named", 0.5, inferences=("person",), confidence=0.95),
    "rldp": Event("rldp", 2.0, inferences=("person",)),
}


def sentences(text):
    return [each for each in re.split(r"(?<=[a-z)])\.(?= |$)", text) if each]


@pytest.mark.parametrize("guarantee", EVENTS)
def test_each_promise_is_two_sentences_without_jargon(guarantee):
    found = opening(EVENTS[guarantee], seconds=1.0, classes={"person": 10})
    assert [len(sentences(each)) for each in found] == [1, 1]
    assert not [word for word in JARGON if word.lower() in " ".join(found).lower()]
    assert "stretch of 1 second" in found.promised
    assert found.not_covered.startswith("It does not cover ")
    assert "names of recordings, time stamps" in found.not_covered
    assert "several stretches together" in found.not_covered


def test_a_named_promise_says_for_whom_how_surely_and_under_which_assumption():
    promised, not_covered = opening(EVENTS["named"], seconds=30.0, classes={"person": 10}, ldp_epsilon=5.0)
    assert "stretch of 30 seconds" in promised
    assert "any two of the 10 classes of “person” by more than a factor of 1.7" in promised
    assert "for all of them together with 95 % confidence" in promised
    assert (
        "if recordings are independent of each other and the next one is like those that it was calibrated on"
        in promised
    )
    assert "anything but “person” (where a factor of 149 holds, whatever is assumed)" in not_covered
    assert "people who were not in those recordings" in not_covered


def test_a_promise_beyond_the_useful_label_says_what_the_label_itself_tells():
    event = Event("named", 3.0, inferences=("person",), confidence=0.95, given=("exercise",))
    promised, not_covered = opening(event, seconds=1.0, classes={"person": 10})
    assert promised.startswith("Beyond what “exercise” itself tells, from one stretch")
    assert "what “exercise” alone tells, such as who does what how often" in not_covered


def test_combinations_that_nothing_is_promised_about_are_counted_in_the_opening():
    event = Event("named", 3.0, inferences=("person",), confidence=0.95, given=("mode",))
    some, none = (opening(event, seconds=1.0, combinations=Combinations(18, rare)) for rare in (27, 0))
    assert "classes of “person” with enough recordings by more than a factor" in some.promised
    assert "27 of the 45 combinations of “mode” and “person”, which have too few recordings, " in some.not_covered
    assert "enough recordings" not in none.promised.partition("by more than")[0]
    assert "too few" not in none.not_covered
    assert "combinations of “mode” and “person” with too few recordings, " in opening(event, seconds=1.0).not_covered
    assert [len(sentences(each)) for each in some] == [1, 1]


def test_without_a_bound_for_the_rest_none_is_claimed():
    assert "whatever is assumed" not in opening(EVENTS["named"], seconds=1.0, classes={"person": 10}).not_covered


def test_a_linear_promise_says_that_other_attackers_are_not_bound():
    assert "It does not cover any other attacker" in opening(EVENTS["rldp"], seconds=1.0).not_covered


@given(st.floats(0.001, 60.0))
def test_the_factor_is_never_understated(epsilon):
    shown = re.match(
        r"a factor of ([\d,.]+) \(even odds become at most ([\d,.]+) to 1, .* being ([\d.]+) % sure\)", factor(epsilon)
    )
    if shown is None:
        assert math.exp(epsilon) >= 1e6
        assert "hardly at all" in factor(epsilon)
        return
    odds = float(shown[1].replace(",", ""))
    assert math.exp(epsilon) <= odds <= 1.1 * math.exp(epsilon) + 0.1
    assert shown[1] == shown[2]
    assert 100 / (1 + math.exp(-epsilon)) <= float(shown[3]) <= 100


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "0.4 seconds"),
        (1.0, "1 second"),
        (2.56, "2.56 seconds"),
        (60.0, "1 minute"),
        (90.0, "1.5 minutes"),
        (7200.0, "2 hours"),
    ],
)
def test_times_are_said_as_people_say_them(seconds, said):
    assert span(seconds) == said


def test_the_opening_of_a_card_is_made_from_the_numbers_of_its_bundle(named_bundle, bundle):
    assert "stretch of 0.4 seconds" in card_of(named_bundle).opening.promised
    assert "any two of the 2 classes of “person” by more than a factor of 1.7" in card_of(named_bundle).opening.promised
    assert "a factor of 149" in card_of(bundle).opening.promised


def test_a_held_draw_is_said_with_the_time_that_it_covers(named_bundle):
    event = Event("ldp", 1.0, per="episode")
    assert "stretch of 30 minutes" in opening(event, seconds=1800.0).promised
    assert "stretch of 0.4 seconds" in card_of(named_bundle).opening.promised


def test_nobody_is_said_to_be_wholly_sure():
    assert "being 99.4 % sure" in factor(5.0)
    assert "being 99.999 % sure" in factor(11.0)
    assert all("100" not in factor(epsilon).split("being")[1] for epsilon in (8.0, 9.21, 9.3, 12.0, 13.8))
