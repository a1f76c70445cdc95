"""The card says all that is promised and all that is not, on a terminal, as a page, and inside the bundle."""

import zipfile
from dataclasses import replace
from html import unescape

import pytest

from deeprotect.bundle import Bundle, signing
from deeprotect.bundle.card import card, card_of
from deeprotect.bundle.card_page import card_page
from deeprotect.bundle.verification.verify import verify
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
    assert "- Cost of misreading “activity”: “walk” as “still” 0.2; every other 1" in text
    assert "Chosen for the least cost of misreading to be expected after release: channel 0.100, laplace 0.300" in text


def test_the_card_says_what_is_given_and_how_long_it_would_last(made):
    text = card(made("channel given"))
    assert (
        "ε = 3 named per window for “person” given “activity”. Beyond “activity”, one window tells no observer" in text
    )
    assert (
        "4 combinations with 2 useful classes, each calibrated on 10 recordings or more that the coder did not" in text
    )
    assert "What “activity” alone tells, such as who does what how often" in text
    assert "Several draws in a row, an estimate (as if they were independent, and shares exact): “person” is" in text
    assert "at one draw every 0.4 s" in text
    assert "an estimate" not in card(made("channel ldp"))
    assert "an estimate" in card(made("channel named"))


def test_the_card_says_what_becomes_of_windows_nobody_can_name(made):
    bundle = made("channel ldp")
    assert "abstains" not in card(bundle)
    copy = replace(bundle)
    vars(copy)["certificate"] = bundle.certificate | {"codes": bundle.certificate["outputs"] + 1}
    text = card(copy)
    assert "classes well leaves as one of them: its reader, the coder, abstains" in text


@pytest.mark.parametrize("kind", ["channel ldp", "channel named", "subspace", "paper mode 2"])
def test_every_guarantee_has_words_for_both(made, kind):
    text, event = card(made(kind)), made(kind).mechanism.event
    small_print = terms(event.guarantee, sensitive=event.inferences)
    for words in (promise(event.guarantee, event.epsilon, sensitive=event.inferences), small_print.against):
        assert words in text.partition("## What is not")[0]
    assert small_print.not_covered in text.partition("## What is not")[2]


def changed(bundle, **changes):
    return replace(bundle, manifest=bundle.manifest.model_copy(update=changes))


def about(bundle, **words):
    return changed(bundle, policy=bundle.policy.vary(about=words).to_json())


def test_who_answers_for_it_and_what_it_is_for_comes_from_the_policy(named_bundle):
    assert "- Owner: not stated\n- Contact: not stated\n" in card(named_bundle)
    words = {
        "owner": "Clinic North",
        "contact": "privacy@clinic.example",
        "purpose": "counting exercises at home",
        "out_of_scope": "diagnosis",
        "population": "adults after surgery",
    }
    text = card(about(named_bundle, **words))
    assert "- Owner: the bundle says: “Clinic North”\n- Contact: the bundle says: “privacy@clinic.example”\n" in text
    for word in words.values():
        assert word in text


def test_the_card_says_that_released_samples_are_no_measurements(named_bundle, bundle):
    assert "The output is synthetic" in card(named_bundle)
    assert "step counts, angles, distances and pulses read from it are fiction" in card(named_bundle)
    assert "are not measurements" in card(bundle)


def test_the_card_says_who_attacked_and_with_what_success(named_bundle):
    assert "No attacker was run in training" in card(named_bundle)
    result = {"mechanism": "channel", "guarantee": "named", "epsilon": 0.5, "windows": 9, "useful": {}}
    numbers = {"raw": 0.8, "adaptive": 0.21, "chance": 0.2}
    manifest = named_bundle.manifest.model_validate(
        named_bundle.manifest.model_dump() | {"results": [result | {"sensitive": {"person": numbers}}]}
    )
    text = card(replace(named_bundle, manifest=manifest))
    assert "“person” (sensitive), share read rightly: attacker on raw windows 0.800" in text
    assert "attacker retrained on released ones 0.210, guessing the most common answer 0.200" in text


def test_the_card_says_what_becomes_of_names(named_bundle):
    assert "Recordings leave as 1, 2, … unless --keep-names is given" in card(named_bundle)


def test_the_page_has_the_same_words_and_fetches_nothing(named_bundle):
    found, page = card_of(named_bundle), card_page(named_bundle)
    text = unescape(page.replace("<b>", "").replace("</b>", ""))
    for words in (found.title, *found.opening, *(line.strip() for each in found.sections for line in each.lines)):
        assert words in text
    assert "http" not in page
    assert "<script" not in page


def test_words_from_a_policy_are_no_markup(named_bundle):
    page = card_page(about(named_bundle, owner="<script>alert(1)</script>", contact='"><img src=x>'))
    assert "<script" not in page
    assert "<img" not in page


@pytest.mark.parametrize("name", ["protector", "protector.zip"])
def test_the_card_is_inside_the_bundle_and_nothing_reads_it(named_bundle, tmp_path, name):
    named_bundle.save(tmp_path / name)
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name) as archive:
            content = archive.read("card.html")
    else:
        content = (tmp_path / name / "card.html").read_bytes()
        (tmp_path / name / "card.html").write_text("all is well")
    assert content == card_page(named_bundle).encode()
    assert card(Bundle.load(tmp_path / name)) == card(named_bundle)


def test_a_card_that_lies_does_not_verify(named_bundle, tmp_path):
    path = tmp_path / "protector"
    named_bundle.save(path)
    assert verify(path).holds
    page = (path / "card.html").read_text()
    (path / "card.html").write_text(page.replace("a factor of 1.7", "a factor of 1.1"))
    assert "card.html does not say what the manifest says" in str(verify(path))
    (path / "card.html").unlink()
    assert verify(path).holds


def test_a_signed_bundle_has_a_card_too(named_bundle, tmp_path):
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    signing.save(named_bundle, tmp_path / "signed", key=ed25519.Ed25519PrivateKey.generate())
    assert (tmp_path / "signed" / "card.html").exists()
