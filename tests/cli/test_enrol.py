"""`enrol` as a user types it."""

import pyarrow.csv as pa_csv
import pytest
from tests.training.conftest import POLICY, gym
from tests.training.fitting.test_enrol import limping

from deeprotect import Protector
from deeprotect.bundle import Bundle
from deeprotect.policy import Policy


@pytest.fixture(scope="module")
def coded():
    ldp = {"inferences": {"sensitive": []}, "privacy": {"guarantee": "ldp"}, "training": {"max_epochs": 2}}
    return Protector.train(Policy.from_tables(POLICY).vary(**ldp), gym(people=3, seconds=12)).bundle


@pytest.fixture
def ready(folder, coded):
    coded.save(folder / "coded")
    pa_csv.write_csv(limping(seconds=6), folder / "me.csv")
    return folder


@pytest.mark.long
def test_a_persons_seconds_give_a_bundle_of_the_same_promise(ready, deeprotect):
    done = deeprotect("enrol", "coded", "me.csv", "mine.zip")
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("mine.zip: ε = 5 ldp per window, as before; head learnt from 22 windows\n")
    before, after = (Bundle.load(ready / name) for name in ("coded", "mine.zip"))
    assert after.manifest.certificate == before.manifest.certificate
    assert deeprotect("verify", "mine.zip").returncode == 0


def test_a_bundle_that_is_there_is_kept_unless_forced_and_inputs_are_never_overwritten(ready, deeprotect):
    assert deeprotect("enrol", "coded", "me.csv", "coded", "--force").returncode == 2
    assert deeprotect("enrol", "coded", "me.csv", "protector").returncode == 2
    assert deeprotect("enrol", "coded", "me.csv", "protector", "--force").returncode == 0


def test_a_bundle_without_a_head_is_refused_in_one_line(ready, deeprotect):
    done = deeprotect("enrol", "protector", "me.csv", "mine")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no head to learn" in done.stderr
    assert not (ready / "mine").exists()


def test_a_promise_that_is_not_ldp_is_refused_in_one_line(ready, deeprotect, relaxed_bundle):
    relaxed_bundle.save(ready / "relaxed")
    done = deeprotect("enrol", "relaxed", "me.csv", "mine")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "enrol keeps ε-LDP only" in done.stderr
