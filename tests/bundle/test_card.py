from dataclasses import replace

import pytest

from deeprotect.bundle.card import card
from deeprotect.privacy.guarantees import promise, terms


def test_the_card_says_what_is_promised_and_what_is_not(bundle):
    text = card(bundle)
    assert "ε = 5 ldp per window" in text
    assert promise("ldp", 5.0) in text
    assert terms("ldp").not_covered in text
    assert "T·ε" in text


def test_the_card_names_the_users_costs_where_there_are_some(made):
    bundle = made("channel ldp")
    assert "Cost of misreading" not in card(bundle)
    policy = bundle.policy.vary(training={"cost_matrix": {"activity": {"walk": {"still": 0.2}}}})
    expected = {"chosen_for_expected_cost": {"channel": 0.1, "laplace": 0.3}}
    chosen = bundle.manifest.minimiser.model_copy(update=expected)
    changes = {"policy": policy.to_json(), "minimiser": chosen}
    text = card(replace(bundle, manifest=bundle.manifest.model_copy(update=changes)))
    assert "- Cost of misreading activity: walk as still 0.2; every other 1" in text
    assert "Chosen for the least cost of misreading to be expected after release: channel 0.100, laplace 0.300" in text


def test_the_card_says_what_becomes_of_windows_nobody_can_name(made):
    bundle = made("channel ldp")
    assert "abstains" not in card(bundle)
    changed = {**bundle.manifest.certificate, "codes": bundle.manifest.certificate["outputs"] + 1}
    text = card(replace(bundle, manifest=bundle.manifest.model_copy(update={"certificate": changed})))
    assert "classes well leaves as one of them: the coder abstains" in text


@pytest.mark.parametrize("kind", ["channel ldp", "channel named", "subspace", "paper mode 2"])
def test_every_guarantee_has_words_for_both(made, kind):
    text, event = card(made(kind)), made(kind).mechanism.event
    small_print = terms(event.guarantee, sensitive=event.inferences)
    for words in (promise(event.guarantee, event.epsilon, sensitive=event.inferences), small_print.against):
        assert words in text.partition("## What is not")[0]
    assert small_print.not_covered in text.partition("## What is not")[2]
