"""What an ε is worth, in words."""

from deeprotect.evaluation.methods import WORDS
from deeprotect.policy.sections import GUARANTEES
from deeprotect.privacy.guarantees import PLAIN, STRONGEST_FIRST, promise, terms


def test_every_mechanism_and_every_guarantee_of_a_policy_has_words() -> None:
    assert set(GUARANTEES) - {"auto"} <= set(WORDS)
    assert {"none"} | {guarantee for kept in GUARANTEES.values() for guarantee in kept} == set(PLAIN)


def test_rldp_never_sounds_like_a_bound_on_every_attacker() -> None:
    text = promise("rldp", 5.0, sensitive=["person"])
    assert "nonlinear attacker is not bound" in text
    assert "person" in text


def test_ldp_says_that_epsilon_is_per_window_and_adds_up() -> None:
    text = promise("ldp", 5.0)
    assert "148" in text
    assert "per window" in text
    assert "T times" in text


def test_the_named_promise_says_what_it_leaves_out() -> None:
    assert "several windows together are not bound" in promise("named", 1.0, sensitive=["person"])


def test_given_the_useful_label_the_promise_is_about_what_is_told_beyond_it() -> None:
    text = promise("named", 1.0, sensitive=["person"], given=["activity"])
    assert text.startswith(
        "Beyond “activity”, one window tells no observer classes of “person” apart by more than a factor e^1"
    )
    assert "who does what how often" in text
    found = terms("named", sensitive=["person"], given=["activity"])
    assert "What “activity” alone tells" in found.not_covered
    assert "several windows together" in found.not_covered


def test_every_guarantee_says_whom_it_holds_against_and_where_it_ends() -> None:
    found = [terms(guarantee, sensitive=["person"]) for guarantee in STRONGEST_FIRST]
    assert len({each.against for each in found}) == len({each.not_covered for each in found}) == len(found)
    assert terms("none").against == "Nobody."
    assert "several windows together" in terms("named").not_covered


def test_without_a_promise_nothing_sounds_like_one() -> None:
    assert promise("none").startswith("Nothing is promised")
