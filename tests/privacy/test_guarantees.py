"""What an ε is worth, in words."""

import re
from pathlib import Path

import deeprotect
from deeprotect.evaluation.methods import WORDS
from deeprotect.policy.sections import GUARANTEES
from deeprotect.privacy.guarantees import PLAIN, STRONGEST_FIRST, promise

PACKAGE = Path(deeprotect.__file__).parent


def test_every_mechanism_and_every_guarantee_of_a_policy_has_words() -> None:
    assert set(GUARANTEES) - {"auto"} <= set(WORDS)
    assert {"none"} | {guarantee for kept in GUARANTEES.values() for guarantee in kept} == set(PLAIN)


def test_rldp_never_sounds_like_a_bound_on_every_attacker() -> None:
    words = promise("rldp", 5.0, sensitive=["person"])
    assert "only along the directions that linear classifiers of “person” look at" in words.promised
    assert "any other attacker" in words.not_covered


def test_ldp_says_that_epsilon_is_per_window_and_adds_up() -> None:
    words = promise("ldp", 5.0)
    assert "shift anyone's odds about it by at most a factor of 149, whatever" in words.promised
    assert "one window" in words.promised
    assert "T·ε" in words.covers
    assert "or more where another recording begins in it" in words.not_covered


def test_of_held_draws_it_says_that_every_recording_begins_an_episode() -> None:
    said = "Every recording, file and live session begins a new one, however short."
    assert promise("ldp", 5.0, per="episode").covers.endswith(said)
    assert said not in promise("ldp", 5.0).covers


def test_every_guarantee_says_whom_it_holds_against_and_where_it_ends() -> None:
    found = [promise(guarantee, sensitive=["person"]) for guarantee in STRONGEST_FIRST]
    assert len({each.against for each in found}) == len({each.not_covered for each in found}) == len(found)
    assert promise("none").against == "Nobody."


def test_without_a_promise_nothing_sounds_like_one() -> None:
    assert promise("none").promised.startswith("Nothing is promised")


def test_every_sentence_of_a_promise_exists_once() -> None:
    """Pages print these words; none says them again in words of its own."""
    sources = [path for path in PACKAGE.rglob("*") if path.suffix in {".py", ".html"} and path.name != "guarantees.py"]
    said = re.compile(
        r"nobody, whatever|times surer|shift \w+('s)? odds|tell any two|by (more than|at most) a factor", re.IGNORECASE
    )
    assert [path.name for path in sources if said.search(path.read_text(encoding="utf-8"))] == []
