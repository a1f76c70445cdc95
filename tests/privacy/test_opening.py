"""The two paragraphs that open a card say what the numbers say, in short sentences without jargon."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.privacy.events import Event
from deeprotect.privacy.guarantees import factor, odds, opening, span

JARGON = ("neighbour", "Pufferfish", "code", "ε", "LDP", "epsilon", "mechanism", "adversary", "posterior")
EVENTS = {
    "ldp": Event("ldp", 5.0),
    "rldp": Event("rldp", 2.0, inferences=("person",)),
}


def sentences(text):
    return [each for each in re.split(r"(?<=[a-z)])\.(?= |$)", text) if each]


@pytest.mark.parametrize("guarantee", EVENTS)
def test_each_promise_opens_with_a_short_sentence_and_has_no_jargon(guarantee):
    found = opening(EVENTS[guarantee], seconds=1.0)
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
