"""Protectors that come with the package: found by name wherever a bundle is, and only as they were made."""

import shutil
import warnings
from pathlib import Path

import pytest

import deeprotect
from deeprotect import Protector
from deeprotect.bundle import Bundle, ready
from deeprotect.bundle.manifest import Measured
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


@pytest.mark.parametrize("stated", [{}, {"activity": 0.9}])
def test_figures_on_new_people_come_from_the_index_or_from_those_kept_aside(stated):
    entry = ready.Entry(digest="0" * 64, licence="MIT", figures=stated)
    unseen = {
        "people": 5,
        "useful": {"activity": {"clean": 0.8, "app": 0.85, "chance": 0.3}},
        "sensitive": {"gender": {"raw": 0.9, "adaptive": 0.55, "chance": 0.6}},
    }
    result = {"mechanism": "channel", "guarantee": "ldp", "epsilon": 5.0, "windows": 9, "useful": {}}
    found = ready.figures_on_new_people(entry, [Measured(**result, unseen=unseen), Measured(**result)])
    kept = {"activity_raw": 0.8, "activity": 0.85, "activity_guessing": 0.3}
    assert found == (stated or kept | {"gender_raw": 0.9, "gender": 0.55, "gender_guessing": 0.6})


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
