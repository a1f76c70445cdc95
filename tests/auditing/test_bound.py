"""The bound is valid: as often as it says, for one attack and for several together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.auditing.audit import Finding
from deeprotect.auditing.distinguisher import CONFIDENCE, Rule, Tally, confidence_of_each, lower_bound
from deeprotect.auditing.pairs import Pair

SHARES = st.floats(0.01, 0.9)


@given(SHARES, SHARES, st.integers(0, 10**6))
def test_the_bound_stays_below_the_true_ratio_as_often_as_it_says(p, q, seed):
    rng, runs, trials = np.random.default_rng(seed), 500, 2_000
    bounds = lower_bound(rng.binomial(runs, p, trials), rng.binomial(runs, q, trials), runs)
    truth = max(0.0, np.log(p / q))
    assert (bounds > truth + 1e-12).mean() < 0.05


@given(st.lists(st.tuples(SHARES, SHARES), min_size=2, max_size=4), st.integers(0, 10**6))
def test_bounds_of_several_attacks_hold_together(attacks, seed):
    rng, runs, trials = np.random.default_rng(seed), 500, 2_000
    each, wrong = confidence_of_each(len(attacks)), np.zeros(trials, dtype=bool)
    for p, q in attacks:
        bounds = lower_bound(rng.binomial(runs, p, trials), rng.binomial(runs, q, trials), runs, confidence=each)
        wrong |= bounds > max(0.0, np.log(p / q)) + 1e-12
    assert wrong.mean() < 1 - CONFIDENCE


def test_the_most_that_runs_can_show_is_the_textbook_value():
    assert lower_bound(100_000, 0, 100_000) == pytest.approx(10.2, abs=0.02)
    assert lower_bound(0, 0, 100) == lower_bound(100, 100, 100) == lower_bound(0, 100, 100) == 0


def test_more_confidence_shows_less():
    assert lower_bound(900, 10, 1_000, confidence=0.99) < lower_bound(900, 10, 1_000)


def _finding(first, second, runs, *, allowed, confidence):
    window = np.zeros((1, 1))
    tally = Tally(int(first), int(second), runs, confidence)
    rule = Rule(lambda rows: rows[:, 0], 0.0, swapped=False, kind="any")
    pair = Pair(window, window, "two windows", allowed)
    return Finding("ldp", 8.0, "one window is seen", tally, runs, pair, rule, (window[0], window[0]))


@pytest.mark.parametrize(("runs", "p", "q"), [(500, 0.5, 0.2), (2_000, 0.9, 0.004), (500, 0.03, 0.01)])
def test_audits_of_sound_protectors_fail_as_seldom_as_they_say_even_where_inputs_allow_no_more(runs, p, q):
    """Four attacks each, all on inputs that show just what they allow, far below the claim."""
    rng, audits, each = np.random.default_rng(7), 500, confidence_of_each(4)
    allowed, failed = float(np.log(p / q)), 0
    for _ in range(audits):
        sides = zip(rng.binomial(runs, p, 4), rng.binomial(runs, q, 4), strict=True)
        findings = [_finding(*side, runs, allowed=allowed, confidence=each) for side in sides]
        failed += not all(finding.holds for finding in findings)
    assert failed / audits < 1 - CONFIDENCE


def test_what_is_shown_above_what_the_inputs_allow_fails_below_the_claim():
    finding = _finding(1_990, 2, 2_000, allowed=4.0, confidence=0.95)
    assert 4.0 < finding.epsilon < finding.claim
    assert not finding.holds
    assert "ABOVE WHAT THESE INPUTS ALLOW" in finding.verdict
    assert _finding(1_990, 2, 2_000, allowed=None, confidence=0.95).holds
