"""Protectors that come with the package: found by name wherever a bundle is, and only as they were made."""

import shutil
import warnings
from pathlib import Path

import pytest

import deeprotect
from deeprotect import Protector
from deeprotect.bundle import Bundle, ready
from deeprotect.errors import BundleError, ShadowedWarning
from deeprotect.exporting.protector_file import ProtectorFile
from deeprotect.gateway.mediation.gateway import Bundles

NAMES = tuple(ready.entries())


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A folder where nothing has the name of a protector."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_is_one():
    assert "activity" in NAMES
    assert {each.stem for each in ready.FOLDER.glob("*.zip")} == {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_each_is_loaded_by_its_name_and_proves_its_promise(name):
    assert Protector.load(name).bundle.digest == ready.entries()[name].digest
    report = deeprotect.verify(name)
    assert report.holds
    # Where the words of cards have changed: Bundle.load(name).save(ready.FOLDER / f"{name}.zip") keeps its digest.
    assert next(step for step in report.steps if step.name == "card").holds


@pytest.mark.parametrize("name", NAMES)
def test_its_card_counts_on_people_it_never_met_and_states_its_source_and_licence(name):
    card = Protector.load(name).describe()
    assert "people that were kept aside from training: the coder misreads" in card
    assert "MotionSense (MIT licence), Malekzadeh et al. 2019" in card


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_it_was_learnt_in_a_hurry(name):
    assert "Quick training" not in Protector.load(name).describe()


@pytest.mark.parametrize("name", NAMES)
def test_pages_and_phones_get_those_whose_sensors_a_page_has(name):
    bundle = Bundle.load(name)
    if "gravity_x" in bundle.schema.names:
        with pytest.raises(Exception, match="gravity_x"):  # a page has no gravity by itself
            ProtectorFile.of(bundle)
    else:
        assert bundle.digest in ProtectorFile.of(bundle).text


def test_the_gateway_serves_them():
    served = Bundles({name: Path(name) for name in NAMES})
    assert {name: served.get(name).digest for name in NAMES} == {n: e.digest for n, e in ready.entries().items()}
    assert not served.replaced()


def test_a_bundle_that_lies_there_wins_and_says_so(bundle, elsewhere):
    bundle.save(elsewhere / "activity")
    with pytest.warns(ShadowedWarning, match="the ready protector of that name is not used"):
        assert Bundle.load("activity").digest == bundle.digest


def test_a_path_to_a_bundle_says_nothing(bundle, elsewhere):
    (elsewhere / "mine").mkdir()
    bundle.save(elsewhere / "mine" / "activity")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Bundle.load("mine/activity").digest == bundle.digest


def test_another_bundle_in_its_place_is_refused(bundle, elsewhere, monkeypatch):
    folder = elsewhere / "installed"
    shutil.copytree(ready.FOLDER, folder)
    bundle.save(folder / "activity.zip")
    monkeypatch.setattr(ready, "FOLDER", folder)
    with pytest.raises(BundleError, match="activity: not the protector that came with this version"):
        Bundle.load("activity")


def test_a_name_that_nothing_has_tells_where_names_are():
    with pytest.raises(BundleError, match="no such bundle"):
        Bundle.load("walking")
