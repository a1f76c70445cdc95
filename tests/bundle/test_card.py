"""The card says all that is promised and all that is not, on a terminal, as a page, and inside the bundle."""

import re
import zipfile
from dataclasses import replace
from html import unescape

import pytest

from deeprotect.bundle import Bundle, signing
from deeprotect.bundle.card import card, card_of, card_page
from deeprotect.bundle.verification.verify import verify
from deeprotect.privacy.guarantees import factor, promise

KINDS = ["channel ldp", "channel rldp", "laplace", "baseline"]

BELIEVE_NOTHING = "believe nothing in it, and read `deeprotect describe`"


def test_the_card_says_what_is_promised_and_what_is_not(bundle):
    text = card(bundle)
    words = promise("ldp", 5.0, seconds=0.4)
    assert "ε = 5 ldp per window" in text
    assert words.promised in text
    assert words.not_covered in text
    assert "T·ε" in text


@pytest.mark.parametrize("kind", ["channel ldp", "laplace"])
def test_the_first_sentence_has_the_ldp_factor_in_under_35_words(made, kind):
    first = card_of(made(kind)).opening.promised.split(". ")[0]
    assert first.startswith(
        "Whatever you do in one stretch of 0.4 seconds, its release can shift anyone's odds about it by "
    )
    assert f"by at most a factor of {factor(made(kind).certificate['ldp_epsilon'])}, whatever they know" in first
    assert len(first.split()) < 35


@pytest.mark.parametrize("kind", ["paper mode 2"])
def test_without_an_ldp_factor_the_first_sentence_is_short_too(made, kind):
    assert len(card_of(made(kind)).opening.promised.split(". ")[0].split()) < 35


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_named_in_a_card_or_anywhere_in_a_bundle(made, tmp_path, kind):
    made(kind).save(tmp_path / "protector")
    parts = [path.read_bytes() for path in (tmp_path / "protector").iterdir()]
    assert parts
    assert not [name for name in (b"ann", b"bob") for part in parts if re.search(rb"\b" + name + rb"\b", part)]
    assert made(kind).manifest.training.classes["person"] == ["1", "2"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_card_names_no_class_at_all(made, kind):
    text = card(with_costs(made(kind)))
    assert not [name for names in CLASSES.values() for name in names if re.search(rf"\b{name}\b", text)]


CLASSES = {"activity": ["walk", "still"], "person": ["ann", "bob", "“1”", "“2”"]}


def with_costs(bundle):
    policy = bundle.policy.vary(training={"cost_matrix": {"activity": {"walk": {"still": 0.2}}}})
    return replace(bundle, manifest=bundle.manifest.model_copy(update={"policy": policy.to_json()}))


def test_the_card_names_the_users_costs_where_there_are_some(made):
    bundle = made("channel ldp")
    assert "Misreading" not in card(bundle)
    expected = {"chosen_for_expected_cost": {"channel": 0.1, "laplace": 0.3}}
    chosen = bundle.manifest.feature_extractor.model_copy(update=expected)
    text = card(with_costs(replace(bundle, manifest=bundle.manifest.model_copy(update={"feature_extractor": chosen}))))
    assert "- Misreading “activity” costs 0.2 to 0.2 in 1 cases that the policy lists, 1 in all others" in text
    assert "Chosen for the lowest expected cost of misreading: channel 0.100, laplace 0.300" in text


def test_the_card_says_what_becomes_of_windows_nobody_can_name(made):
    bundle = made("channel ldp")
    assert "abstains" not in card(bundle)
    copy = replace(bundle)
    vars(copy)["certificate"] = bundle.certificate | {"codes": bundle.certificate["outputs"] + 1}
    text = card(copy)
    assert "The coder abstains on a window that fits none of" in text


@pytest.mark.parametrize("kind", ["channel ldp", "channel rldp", "paper mode 2"])
def test_every_guarantee_has_words_for_both(made, kind):
    text, event = card(made(kind)), made(kind).mechanism.event
    about = {"sensitive": event.inferences}
    words = promise(event.guarantee, event.epsilon, seconds=0.4, **about)
    for sentence in (words.promised, words.holds, words.not_covered):
        assert text.count(sentence) == 1
    small_print = promise(event.guarantee, **about)
    assert small_print.against in text
    assert small_print.covers in text


def changed(bundle, **changes):
    return replace(bundle, manifest=bundle.manifest.model_copy(update=changes))


def about(bundle, **words):
    return changed(bundle, policy=bundle.policy.vary(about=words).to_json())


def test_who_answers_for_it_and_what_it_is_for_comes_from_the_policy(channel_bundle):
    assert "- Owner: not stated\n- Contact: not stated\n" in card(channel_bundle)
    words = {
        "owner": "Clinic North",
        "contact": "privacy@clinic.example",
        "purpose": "counting exercises at home",
        "out_of_scope": "diagnosis",
        "population": "adults after surgery",
    }
    text = card(about(channel_bundle, **words))
    assert "- Owner: the bundle says: “Clinic North”\n- Contact: the bundle says: “privacy@clinic.example”\n" in text
    for word in words.values():
        assert word in text


def test_the_card_says_that_released_samples_are_no_measurements(channel_bundle, bundle):
    assert "the output is synthetic" in card(channel_bundle)
    assert "counting steps or measuring angles, distances or pulses; the output is" in card(channel_bundle)
    assert "the output is noisy" in card(bundle)


def test_the_card_says_who_attacked_and_with_what_success(channel_bundle):
    assert "No attacker was run in training" in card(channel_bundle)
    result = {"mechanism": "channel", "guarantee": "ldp", "epsilon": 0.5, "windows": 9, "useful": {}}
    numbers = {"raw": 0.8, "adaptive": 0.21, "chance": 0.2}
    manifest = channel_bundle.manifest.model_validate(
        channel_bundle.manifest.model_dump() | {"results": [result | {"sensitive": {"person": numbers}}]}
    )
    text = card(replace(channel_bundle, manifest=manifest))
    assert "“person” (sensitive), accuracy: guessing the most common class 0.200" in text
    assert "class 0.200, attacker retrained on released windows 0.210, attacker on raw windows 0.800" in text


def read(bundle, policy=None, **useful):
    result = {"mechanism": "channel", "guarantee": "ldp", "epsilon": 0.5, "windows": 9, "useful": useful}
    body = bundle.manifest.model_dump() | {"results": [result]} | ({} if policy is None else {"policy": policy})
    return replace(bundle, manifest=bundle.manifest.model_validate(body))


def test_a_card_begins_with_what_an_app_still_reads_and_ends_its_opening_with_what_is_not_covered(channel_bundle):
    found = card_of(read(channel_bundle, activity={"app": 0.916, "clean": 0.908, "chance": 0.184}))
    reads = "An unchanged app reads “activity” correctly in 92 % of released windows and in 91 % of raw ones."
    assert found.paragraphs == (reads, found.beyond, found.opening.promised, found.opening.not_covered)
    assert found.beyond.startswith("How much else can be read was not counted")
    assert card_of(channel_bundle).reads == ""


def test_of_a_number_a_card_begins_with_how_far_an_app_is_off_in_its_unit(channel_bundle):
    levels = {"numeric": {"activity": {"unit": "km/h", "range": (0, 40), "levels": 4}}}
    policy = channel_bundle.policy.vary(inferences=levels).to_json()
    found = card_of(read(channel_bundle, policy, activity={"error": 0.1, "error_clean": 0.05, "error_median": 0.3}))
    assert found.reads == (
        "What an unchanged app reads as “activity” is off by 4 “km/h” on released windows, on average, and by 2 on raw "
        "ones."
    )


def test_the_card_says_what_becomes_of_names(channel_bundle):
    assert "Recordings leave as 1, 2, … unless --keep-names is given" in card(channel_bundle)


def test_the_page_has_the_same_words_and_fetches_nothing(channel_bundle):
    found, page = card_of(channel_bundle), card_page(channel_bundle)
    text = unescape(page.replace("<b>", "").replace("</b>", ""))
    for words in (found.title, *found.opening, *(line.strip() for each in found.sections for line in each.lines)):
        assert words in text
    assert "http" not in page
    assert "<script" not in page


def test_words_from_a_policy_are_no_markup(channel_bundle):
    page = card_page(about(channel_bundle, owner="<script>alert(1)</script>", contact='"><img src=x>'))
    assert "<script" not in page
    assert "<img" not in page


@pytest.mark.parametrize("name", ["protector", "protector.zip"])
def test_the_card_is_inside_the_bundle_and_nothing_reads_it(channel_bundle, tmp_path, name):
    channel_bundle.save(tmp_path / name)
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name) as archive:
            content = archive.read("card.html")
    else:
        content = (tmp_path / name / "card.html").read_bytes()
        (tmp_path / name / "card.html").write_text("all is well")
    assert content == card_page(channel_bundle).encode()
    assert card(Bundle.load(tmp_path / name)) == card(channel_bundle)


def test_a_card_that_lies_does_not_verify(channel_bundle, tmp_path):
    path = tmp_path / "protector"
    channel_bundle.save(path)
    assert verify(path).holds
    page = (path / "card.html").read_text()
    (path / "card.html").write_text(page.replace("factor of 1.7", "factor of 1.1"))
    assert "card.html does not say what the manifest says" in str(verify(path))
    (path / "card.html").write_text("in no words of ours")
    assert "card.html does not say what the manifest says" in str(verify(path))
    (path / "card.html").unlink()
    assert verify(path).holds


def test_a_signed_bundle_has_a_card_too(channel_bundle, tmp_path):
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    signing.save(channel_bundle, tmp_path / "signed", key=ed25519.Ed25519PrivateKey.generate())
    assert (tmp_path / "signed" / "card.html").exists()


@pytest.mark.parametrize("stated", [None, "1", "9"])
def test_a_card_of_another_version_is_said_to_be_so_first(channel_bundle, tmp_path, stated):
    """Whoever forges one may state any version: nothing vouches for the page, so nobody is to believe it."""
    made_with = {name: made for name, made in channel_bundle.manifest.made_with.items() if name != "card"}
    manifest = channel_bundle.manifest.model_copy(
        update={"made_with": made_with | ({"card": stated} if stated else {})}
    )
    replace(channel_bundle, manifest=manifest).save(tmp_path / "other")
    page = tmp_path / "other" / "card.html"
    assert "card.html says what the manifest says" in str(verify(tmp_path / "other"))
    page.write_text(page.read_text().replace("</body>", "<p>certified by everyone</p></body>"))
    first, *others = str(verify(tmp_path / "other")).splitlines()
    assert first == f"{'-':6}{'card':20}this version did not write card.html: {BELIEVE_NOTHING}"
    assert not any("card.html" in line or "everyone" in line for line in others)


def test_a_card_of_this_version_that_says_something_else_comes_first(channel_bundle, tmp_path):
    channel_bundle.save(tmp_path / "protector")
    (tmp_path / "protector" / "card.html").write_text("certified by everyone")
    first, *_, last = str(verify(tmp_path / "protector")).splitlines()
    assert first == f"{'FAILS':6}{'card':20}card.html does not say what the manifest says: {BELIEVE_NOTHING}"
    assert last == "verdict: does not hold"
