"""The two paragraphs that open a card say what the numbers say, in short sentences without jargon."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.privacy.events import Event
from deeprotect.privacy.guarantees import Combinations, factor, odds, opening, span

JARGON = ("neighbour", "Pufferfish", "code", "ε", "LDP", "epsilon", "mechanism", "adversary", "posterior")
EVENTS = {
    "ldp": Event("ldp", 5.0),
    "named": Event("named", 0.5, inferences=("person",), confidence=0.95),
    "rldp": Event("rldp", 2.0, inferences=("person",)),
}


def sentences(text):
    return [each for each in re.split(r"(?<=[a-z)])\.(?= |$)", text) if each]


@pytest.mark.parametrize("guarantee", EVENTS)
@pytest.mark.parametrize("ldp_epsilon", [None, 5.0])
def test_each_promise_opens_with_a_short_sentence_and_has_no_jargon(guarantee, ldp_epsilon):
    found = opening(EVENTS[guarantee], seconds=1.0, ldp_epsilon=ldp_epsilon)
    first = sentences(found.promised)[0]
    assert len(first.split()) < 35
    assert "stretch of 1 second" in first
    assert not [word for word in JARGON if word.lower() in " ".join(found).lower()]
    assert len(sentences(found.not_covered)) == 1
    assert found.not_covered.startswith("It does not cover ")
    assert "recording names, time stamps" in found.not_covered
    assert "several stretches together" in found.not_covered


@given(st.floats(0.01, 12.0), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_nobodys_odds_shift_by_more_than_the_ldp_factor(epsilon, inputs, seed):
    """The first sentence, checked: odds after over odds before are at most e^ε, for any prior and ε-LDP channel."""
    random = np.random.default_rng(seed)
    channel = np.exp(epsilon * random.random((inputs, 4)))
    channel /= channel.sum(axis=1, keepdims=True)  # rows differ by less than e^(2ε); mixing makes that e^ε
    ratio = float((channel.max(axis=0) / channel.min(axis=0)).max())
    prior = random.dirichlet(np.ones(inputs))
    posterior = prior[:, None] * channel / (prior @ channel)
    shown = float(factor(math.log(ratio)).replace(",", "")) if ratio < 1e6 else ratio
    before, after = prior[:, None] / (1 - prior[:, None]), posterior / (1 - posterior)
    assert 1 / shown * (1 - 1e-6) <= (after / before).min() <= (after / before).max() <= shown * (1 + 1e-6)


def test_an_ldp_bound_beside_a_named_promise_comes_first():
    promised, not_covered = opening(EVENTS["named"], seconds=30.0, ldp_epsilon=5.0)
    assert promised.startswith(
        "Whatever you do in one stretch of 30 seconds, its release can shift anyone's odds about it by at most a "
        "factor of 149, whatever they know and however they compute. "
    )
    assert "between any two classes of “person” by at most a factor of 1.7, with 95 % confidence" in promised
    assert "The confidence is for all classes together." in promised
    assert "the next one is like those used for calibration" in promised
    assert "anything but “person” (where the factor is 149)" in not_covered
    assert "people or sensors that were not in those recordings" in not_covered


def test_a_promise_beyond_the_useful_label_says_what_the_label_itself_tells():
    event = Event("named", 3.0, inferences=("person",), confidence=0.95, given=("exercise",))
    promised, not_covered = opening(event, seconds=1.0)
    assert promised.startswith("Beyond “exercise”, one stretch")
    assert (
        "what “exercise” alone reveals, such as who does what and how often, draws during which it changes"
        in not_covered
    )


def test_combinations_that_nothing_is_promised_about_are_counted_in_the_opening():
    event = Event("named", 3.0, inferences=("person",), confidence=0.95, given=("mode",))
    some, none = (opening(event, seconds=1.0, combinations=Combinations(18, rare)) for rare in (27, 0))
    assert "classes of “person” with enough recordings by at most a factor" in some.promised
    assert "27 of the 45 combinations of “mode” and “person”, which have too few recordings, " in some.not_covered
    assert "enough recordings" not in none.promised.partition("by at most")[0]
    assert "too few" not in none.not_covered
    assert "combinations of “mode” and “person” with too few recordings, " in opening(event, seconds=1.0).not_covered
    assert len(sentences(some.promised)[0].split()) < 35


def test_without_a_bound_for_the_rest_none_is_claimed():
    promised, not_covered = opening(EVENTS["named"], seconds=1.0)
    assert "odds about it" not in promised
    assert "the factor is" not in not_covered


def test_a_linear_promise_says_that_other_attackers_are_not_bound():
    assert "It does not cover any other attacker" in opening(EVENTS["rldp"], seconds=1.0).not_covered


@given(st.floats(0.001, 60.0))
def test_the_factor_is_never_understated(epsilon):
    shown = re.fullmatch(r"Even odds become at most ([\d,.]+) to 1, or ([\d.]+) % sure\.", odds(epsilon))
    if shown is None:
        assert math.exp(epsilon) >= 1e6
        assert "hardly a limit" in odds(epsilon)
        return
    assert shown[1] == factor(epsilon)
    assert math.exp(epsilon) <= float(shown[1].replace(",", "")) <= 1.1 * math.exp(epsilon) + 0.1
    assert 100 / (1 + math.exp(-epsilon)) <= float(shown[2]) <= 100


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


def test_a_held_draw_is_said_with_the_time_that_it_covers():
    event = Event("ldp", 1.0, per="episode")
    assert "stretch of 30 minutes" in opening(event, seconds=1800.0).promised


def test_nobody_is_said_to_be_wholly_sure():
    assert "or 99.4 % sure" in odds(5.0)
    assert "or 99.999 % sure" in odds(11.0)
    assert all("100" not in odds(epsilon).split(" or ")[1] for epsilon in (8.0, 9.21, 9.3, 12.0, 13.8))
