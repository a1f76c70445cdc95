"""What is stated of recordings kept aside follows from counts, and no bundle can state less."""

import json

import numpy as np
import pytest

from deeprotect.bundle import Bundle
from deeprotect.bundle.beyond import excess, points, sentence
from deeprotect.bundle.kept import Kept
from deeprotect.bundle.verification.verify import verify
from deeprotect.errors import BundleError
from deeprotect.privacy.channel.beyond import STEPS
from deeprotect.privacy.channel.design import design, make


def counts(**places):
    """So many recordings at each place: `at_0=20`."""
    found = [0] * (STEPS + 1)
    for place, count in places.items():
        found[int(place.removeprefix("at_"))] = count
    return found


def kept(draw=None, recording=None, classes=(), **more):
    facts = {"of": "recordings", "slots": {"draw": 1, "recording": 0}, "blind": {"person": {"draw": 0.5}}}
    found = {"draw": draw or counts(at_0=18, at_20=2), "recording": recording or counts(at_20=20)}
    return Kept(**facts | {"counts": found, "classes": list(classes)} | more)


@pytest.fixture
def bundle(made):
    return made("channel ldp")


@pytest.fixture
def counted(bundle):
    def make(given):
        certificate = bundle.mechanism.certificate() | {"beyond": given.derived(bundle.mechanism)}
        manifest = bundle.manifest.model_copy(update={"kept": given, "certificate": certificate})
        return Bundle(manifest, bundle.files).checked("here")

    return make


def test_the_card_says_first_what_is_read_beyond_the_useful_label_and_how_surely(counted):
    found = counted(kept())
    said = sentence(found)
    assert said.startswith("Beyond “activity” itself, anyone who sees")
    assert "more often than by guessing, with 95 % confidence" in said
    assert points(excess(found).end) in said
    assert 0 < excess(found).mean < excess(found).end < 1


def test_of_few_recordings_the_estimate_is_said_and_that_no_bound_is_claimed(counted):
    few = counts(at_5=4)
    said = sentence(counted(kept(draw=few, recording=few)))
    assert "more often than by guessing by about 1 percentage point: an estimate from 4 recordings" in said
    assert "No bound is claimed" in said
    assert "12" in said


def test_without_recordings_kept_aside_that_is_said(bundle):
    assert "was not counted: there were too few recordings" in sentence(bundle)


def test_verify_derives_the_number_again(counted, tmp_path):
    counted(kept()).save(tmp_path / "bundle")
    report = verify(tmp_path / "bundle")
    assert report.holds
    (step,) = (step for step in report.steps if step.name == "beyond the label")
    assert step.holds
    assert "20 recordings kept aside" in step.found
    assert "as the bundle's maker says" in report.promise


@pytest.mark.parametrize("key", ["at_most", "mean"])
def test_a_bundle_that_states_less_than_its_counts_give_is_refused(counted, forge, key):
    found = counted(kept())
    less = json.loads(found.manifest.to_json())["certificate"]["beyond"]
    less["draw"][key] /= 2
    path = forge(found, certificate__beyond=less)
    with pytest.raises(BundleError, match="does not follow"):
        Bundle.load(path)
    assert not verify(path).holds


@pytest.mark.parametrize("stated", [None, 1, 1e-300, "draw", ["draw"], {}, {"draw": 1}])
def test_whatever_stands_in_the_place_of_what_counts_give_verify_has_a_verdict(counted, forge, stated):
    path = forge(counted(kept()), certificate__beyond=stated)
    with pytest.raises(BundleError, match="does not follow"):
        Bundle.load(path)
    report = verify(path)
    assert report.verdict == "does not hold"
    assert [step.name for step in report.steps if step.holds is False] == ["certificate", "beyond the label"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (kept(recording=counts(at_0=19)), "not as many for each length"),
        (kept(draw=counts(), recording=counts()), "not as many"),
        (kept(slots={"draw": 1}), "for one draw and for whole ones"),
        (kept(classes=[counts(at_0=3)]), "too few recordings to be anyone's"),
        (kept(blind={"income": {"draw": 0.1}}), "names no"),
    ],
)
def test_counts_that_cannot_be_are_refused(counted, wrong, why):
    with pytest.raises(BundleError, match=why):
        counted(wrong)


def test_counts_that_this_channel_could_not_have_made_are_refused():
    """With ε = 1 a draw that is always misread adds 0.46 at most, and not 1."""
    channel = make(design(1.0 - np.eye(2), np.ones(2), ldp_epsilon=1.0))
    assert kept(draw=counts(at_43=20)).derived(channel)["draw"]["mean"] < 0.47
    with pytest.raises(BundleError, match="for another mechanism"):
        kept(draw=counts(at_45=20)).derived(channel)


def test_counts_without_codes_are_refused(made):
    with pytest.raises(BundleError, match="without codes"):
        kept().derived(made("laplace").mechanism)
