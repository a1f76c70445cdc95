"""Enrolment: a new person's own head, and the promise of before."""

import numpy as np
import pyarrow as pa
import pytest
from tests.training.conftest import SPEED, gym

from deeprotect import Protector
from deeprotect.bundle.card import card
from deeprotect.bundle.verification.verify import verify
from deeprotect.errors import BundleError, TableError
from deeprotect.training.codebook.personal_head import CoderParts, personal
from deeprotect.training.fitting.fit import enrol
from deeprotect.training.labelled_windows import read_windows

WINDOWS = 22
"""Windows of eight rows, three times sixty rows with one activity each."""


def limping(*, seconds: int, start: float = 0.0) -> pa.Table:
    """Someone new, who walks as others run, and runs faster still; only useful labels, no recording."""
    random, parts = np.random.default_rng(int(start)), []
    for activity, speed in SPEED.items():
        phase = np.arange(seconds * 10) * 2.3 * speed + start
        noise = random.normal(0, 0.1, (2, seconds * 10))
        parts.append(
            {
                "acc_x": (speed > 0) * np.sin(phase) + 0.3 + noise[0],
                "acc_y": 2.3 * speed * np.cos(phase) + noise[1],
                "activity": np.full(seconds * 10, activity),
            }
        )
    return pa.table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


@pytest.fixture(scope="module")
def protector(gym_policy):
    ldp = gym_policy.vary(inferences={"sensitive": []}, privacy={"guarantee": "ldp"})
    return Protector.train(ldp, gym(people=7))  # two of them are kept aside


@pytest.fixture(scope="module")
def enrolled(protector):
    return protector.enrol(limping(seconds=6))


def accuracy(protector, table):
    windows = read_windows(table, protector.policy.vary(training={"people": None}))
    codes = protector.bundle.encode(windows.samples)[:, 0].astype(int)
    names = np.array(protector.bundle.manifest.training.classes["activity"])
    known = windows.labelled("activity")
    return float(np.mean(names[codes][known] == windows.labels["activity"][known]))


def test_seconds_of_a_new_person_teach_the_coder_to_read_them(protector, enrolled):
    later = limping(seconds=20, start=40.0)
    assert accuracy(protector, later) < 0.75
    assert accuracy(enrolled, later) > accuracy(protector, later) + 0.1


def test_mechanism_certificate_and_outputs_are_those_of_before(protector, enrolled):
    before, after = protector.bundle.manifest, enrolled.bundle.manifest
    assert after.mechanism == before.mechanism
    assert after.certificate == before.certificate | {"beyond": None}  # counted on the coder of before
    assert after.policy == before.policy
    assert (enrolled.bundle.decoder.steps == protector.bundle.decoder.steps).all()
    assert enrolled.bundle.digest != protector.bundle.digest


def test_only_the_head_differs(protector, enrolled):
    before, after = (each.bundle.encoder for each in (protector, enrolled))
    rows = np.random.default_rng(0).random((40, before.inputs))
    below = [CoderParts.of(each).below(rows) for each in (before, after)]
    assert (below[0] == below[1]).all()
    assert not np.array_equal(CoderParts.of(before).weights, CoderParts.of(after).weights)


def test_an_enrolled_bundle_is_an_ordinary_one_that_verifies(enrolled, tmp_path):
    enrolled.save(tmp_path / "mine.zip")
    report = verify(tmp_path / "mine.zip")
    assert report.verdict == "holds", str(report)
    released = Protector.load(tmp_path / "mine.zip").protect(limping(seconds=3)).table
    assert released.num_rows == 90


def test_the_card_says_that_it_is_somebodys_own_and_what_was_measured_on_others_is_gone(protector, enrolled):
    assert f"Enrolled: then trained on {WINDOWS} windows of one person" in card(enrolled.bundle)
    assert "Enrolled" not in card(protector.bundle)
    assert enrolled.bundle.manifest.results == []
    assert "expected_accuracy" not in enrolled.bundle.manifest.feature_extractor.model_dump()


def test_classes_that_were_not_shown_keep_their_head(protector):
    table = limping(seconds=6)
    two = table.filter(pa.compute.not_equal(table["activity"], "still"))
    before, after = (CoderParts.of(each.bundle.encoder) for each in (protector, protector.enrol(two)))
    names = protector.bundle.manifest.training.classes["activity"]
    rows = CoderParts.of(protector.bundle.encoder).below(np.random.default_rng(1).random((40, 16)))
    scores = [rows @ each.weights + each.bias for each in (before, after)]
    still = names.index("still")
    assert np.abs(scores[0][:, still] - scores[1][:, still]).max() < 0.2  # rounded anew, and no more
    assert np.abs(scores[0] - scores[1]).max() > 0.2


def test_a_promise_that_is_not_ldp_is_refused(gym_policy, gym_table):
    relaxed = {"mechanism": "paper", "guarantee": "rldp"}
    plain = Protector.train(
        gym_policy.vary(privacy=relaxed, training={"feature_extractor": "paper", "max_epochs": 2}), gym_table
    )
    with pytest.raises(BundleError, match="the bundle's promise is rldp; enrol keeps ε-LDP only"):
        plain.enrol(limping(seconds=6))


def test_noise_on_features_has_no_head_to_learn(gym_policy, gym_table):
    quick = {"feature_extractor": "pca"}
    plain = Protector.train(
        gym_policy.vary(privacy={"mechanism": "laplace", "guarantee": "ldp"}, training=quick), gym_table
    )
    with pytest.raises(BundleError, match="has no head to learn"):
        plain.enrol(limping(seconds=6))


@pytest.mark.long
def test_a_coder_of_people_is_not_taught_a_new_one(gym_policy, gym_table):
    """Owner or other: the head tells those people apart who were in training."""
    own = pa.array(np.where(gym_table["person"].to_numpy(zero_copy_only=False) == "p1", "owner", "other"))
    table = gym_table.append_column("owner", own)
    asked = gym_policy.vary(inferences={"useful": ["owner"], "sensitive": []}, privacy={"guarantee": "ldp"})
    owner = Protector.train(asked, table)
    with pytest.raises(BundleError, match="does not tell “owner” apart class by class"):
        owner.enrol(table)


def test_a_class_that_the_bundle_does_not_know_is_named(protector):
    table = limping(seconds=6)
    swimming = table.set_column(2, "activity", pa.array(["swim"] * table.num_rows))
    with pytest.raises(
        TableError, match="'swim' of 'activity' is not a class of the bundle; it knows: run, still, walk"
    ):
        protector.enrol(swimming)


def test_one_class_alone_teaches_nothing(protector):
    table = limping(seconds=6)
    walking = table.filter(pa.compute.equal(table["activity"], "walk"))
    with pytest.raises(TableError, match="fewer than two classes"):
        protector.enrol(walking)


def test_windows_without_a_label_say_nothing(protector):
    table = limping(seconds=6)
    none = pa.table(
        {**{name: table[name] for name in ("acc_x", "acc_y")}, "activity": pa.nulls(len(table), pa.string())}
    )
    both = pa.concat_tables([table, none])
    # The last window now goes on into rows without a label.
    assert enrol(protector.bundle, both).manifest.feature_extractor.enrolled_windows == WINDOWS - 1


def test_the_less_is_shown_the_nearer_the_head_stays(protector):
    windows = read_windows(limping(seconds=12), protector.policy.vary(training={"people": None}))
    names = protector.bundle.manifest.training.classes["activity"]
    codes = np.array([[names.index(each) if each is not None else -1] for each in windows.labels["activity"]])
    before = CoderParts.of(protector.bundle.encoder).weights
    moved = []
    for step in (8, 1):
        encoder = personal(protector.bundle.encoder, windows.flat[::step], codes[::step])
        moved.append(np.abs(CoderParts.of(encoder).weights - before).sum())
    assert 0 < moved[0] < moved[1]
