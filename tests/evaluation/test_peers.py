"""Peers: what others do, fitted on the same windows and released in the same form."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, RidgeClassifier

from deeprotect.errors import InputError, PolicyError, TableError
from deeprotect.evaluation.methods import WORDS
from deeprotect.evaluation.peers import PEERS, Release, opendp
from deeprotect.evaluation.peers.downsampling import EVERY
from deeprotect.evaluation.peers.leace import erasure
from deeprotect.policy import Policy
from deeprotect.privacy.box import GRID_STEPS
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.laplace import baseline
from deeprotect.training.dataset import LabelledWindows
from deeprotect.training.labels import Targets

needs_opendp = pytest.mark.skipif(not PEERS["opendp"].installed(), reason="pip install opendp")
HERE = [pytest.param(name, marks=needs_opendp if name == "opendp" else ()) for name in PEERS]


def _fit(name: str, windows: LabelledWindows, policy: Policy) -> Release:
    peer = PEERS[name]
    return peer.fit(windows, policy, 5.0 if peer.guarantee == "ldp" else None)


def _asking(policy: Policy, *, useful: list[str], sensitive: list[str]) -> Policy:
    changed = {"inferences": {"useful": useful, "sensitive": sensitive}, "privacy": {"epsilon": 5.0}}
    return Policy.from_tables(policy.model_dump(exclude_unset=True) | changed)


def _texts(windows: LabelledWindows, name: str) -> np.ndarray:
    return windows.labels[name].astype(str)


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few steps show form and repetition as well as many."""
    monkeypatch.setattr("deeprotect.evaluation.peers.adversarial.STEPS", 20)


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize("name", HERE)
def test_every_peer_keeps_form_and_range(name: str, windows: LabelledWindows, policy: Policy) -> None:
    release = _fit(name, windows, policy)
    released = release(windows.flat[:50])
    assert released.shape == windows.flat[:50].shape
    assert released.dtype == np.float64
    assert released.min() >= 0.0
    assert released.max() <= 1.0
    assert np.abs(released - windows.flat[:50]).max() > 1e-3


def test_only_opendp_promises_anything() -> None:
    assert {name for name, peer in PEERS.items() if peer.guarantee != "none"} == {"opendp"}
    assert all(WORDS[name] and peer.name == name for name, peer in PEERS.items())


def test_the_list_of_peers_needs_neither_torch_nor_opendp() -> None:
    code = "import sys, deeprotect.evaluation.peers; sys.exit(bool({'torch', 'opendp'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["leace", "adversarial"])
def test_without_a_sensitive_inference_it_refuses_in_one_line(
    name: str, windows: LabelledWindows, policy: Policy
) -> None:
    with pytest.raises(PolicyError, match=r"^\w+ hides named inferences only; add inferences.sensitive.*$"):
        _fit(name, windows, _asking(policy, useful=["activity"], sensitive=[]))


@pytest.mark.parametrize("name", ["leace", "adversarial"])
def test_a_single_sensitive_class_is_refused(name: str, windows: LabelledWindows, policy: Policy) -> None:
    ann = windows[_texts(windows, "person") == "ann"]
    with pytest.raises(TableError, match="fewer than two classes of 'person'"):
        _fit(name, ann, policy)


def test_downsampling_keeps_every_fifth_sample_and_straight_lines_between(policy: Policy) -> None:
    series = np.random.default_rng(0).uniform(size=(4, 13, 2))
    windows = LabelledWindows(series, {}, np.zeros(4, np.int64), rows=52, fingerprint="")
    released = _fit("downsampling", windows, policy)(windows.flat).reshape(series.shape)
    kept = [0, EVERY, 2 * EVERY]
    np.testing.assert_allclose(released[:, kept], series[:, kept])
    bends = np.diff(released[:, : 2 * EVERY + 1], 2, axis=1)
    np.testing.assert_allclose(bends[:, [0, 1, 2, 3, 5, 6, 7, 8]], 0, atol=1e-12)  # lines meet in the fifth
    np.testing.assert_allclose(released[:, 2 * EVERY :], np.repeat(series[:, [2 * EVERY]], 3, axis=1))


@given(samples=st.integers(1, 40))
def test_downsampling_leaves_two_samples_of_any_window_that_has_them(samples: int) -> None:
    line = np.linspace(0.1, 0.9, samples)[None, :, None]
    windows = LabelledWindows(line, {}, np.zeros(1, np.int64), rows=samples, fingerprint="")
    released = PEERS["downsampling"].fit(windows, None, None)(windows.flat)  # type: ignore[arg-type]
    held = (samples - 1) % max(1, min(EVERY, samples - 1)) if samples > 1 else 0
    np.testing.assert_allclose(released[0, : samples - held], line[0, : samples - held, 0])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), values=st.integers(1, 12), missing=st.floats(0, 0.5), flat=st.booleans())
def test_leace_leaves_no_covariance_with_any_label(seed: int, values: int, missing: float, flat: bool) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=(60, 2)).astype(object)
    windows = rng.uniform(size=(60, values)) + labels[:, :1].astype(float) * rng.normal(size=values)
    if flat:  # the covariance is then singular
        windows = np.hstack([windows, windows, np.ones((60, 2))])
    labels[rng.uniform(size=labels.shape) < missing] = None
    targets = Targets.read(labels, 60)
    erased = erasure(windows, targets)(windows)
    for column in range(len(targets.counts)):
        known = targets.codes[:, column] >= 0
        shown = np.eye(3)[targets.codes[known, column]]
        covariance = (erased[known] - erased[known].mean(axis=0)).T @ (shown - shown.mean(axis=0)) / known.sum()
        assert np.abs(covariance).max() < 1e-8


def test_a_linear_reader_retrained_on_what_leace_leaves_knows_the_shares_of_classes_only(
    windows: LabelledWindows,
) -> None:
    few = windows[np.flatnonzero((_texts(windows, "person") != "bob") | (np.arange(len(windows)) % 2 == 0))]
    person = _texts(few, "person")
    erased = erasure(few.flat, Targets.read(person, len(few)))(few.flat)
    assert RidgeClassifier(1e-6).fit(few.flat, person).score(few.flat, person) > 0.75  # the most common has 0.4
    scores = LinearRegression().fit(erased, person[:, None] == np.unique(person)).predict(erased)
    np.testing.assert_allclose(scores, np.tile(scores.mean(axis=0), (len(few), 1)), atol=1e-7)
    shares = np.unique(person, return_counts=True)[1] / len(few)
    np.testing.assert_allclose(scores[0], shares, atol=1e-7)


def test_a_nonlinear_reader_may_still_read_what_leace_leaves(windows: LabelledWindows, policy: Policy) -> None:
    release = _fit("leace", windows, _asking(policy, useful=["person"], sensitive=["activity"]))
    released, activity = release(windows.flat), _texts(windows, "activity")
    learn = np.arange(len(windows)) % 2 == 0
    forest = RandomForestClassifier(30, random_state=0).fit(released[learn], activity[learn])
    assert forest.score(released[~learn], activity[~learn]) > 0.7


def test_leace_changes_nothing_that_tells_nothing() -> None:
    windows = np.random.default_rng(0).uniform(size=(40, 3))
    both = np.vstack([windows, windows])
    labels = np.repeat(["a", "b"], 40)
    np.testing.assert_allclose(erasure(both, Targets.read(labels, 80))(both), both, atol=1e-6)


def test_a_static_attacker_falls_far_before_the_adversarial_autoencoder_and_the_app_stays(
    windows: LabelledWindows, policy: Policy
) -> None:
    learn = np.arange(len(windows)) % 2 == 0
    private, released = windows.flat, _fit("adversarial", windows, policy)(windows.flat)
    raw, seen = {}, {}
    for name in ("activity", "person"):
        labels = _texts(windows, name)
        model = RandomForestClassifier(30, random_state=0).fit(private[learn], labels[learn])
        raw[name] = model.score(private[~learn], labels[~learn])
        seen[name] = model.score(released[~learn], labels[~learn])
    assert raw["person"] > 0.9
    assert seen["person"] < 0.6  # chance is a third
    assert seen["activity"] > 0.7


@pytest.mark.usefixtures("hurry")
def test_the_adversarial_autoencoder_repeats_itself_with_its_seed(windows: LabelledWindows, policy: Policy) -> None:
    other = Policy.from_tables(policy.model_dump(exclude_unset=True) | {"training": {"seed": 1}})
    first, again, another = (_fit("adversarial", windows, each)(windows.flat) for each in (policy, policy, other))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, another)


@pytest.mark.parametrize("name", ["leace", "adversarial"])
@pytest.mark.usefixtures("hurry")
def test_missing_labels_and_several_inferences_are_fine(name: str, windows: LabelledWindows, policy: Policy) -> None:
    rng = np.random.default_rng(0)
    labels = {"activity": windows.labels["activity"], "person": windows.labels["person"].copy()}
    labels["person"][rng.uniform(size=len(windows)) < 0.5] = None
    labels["hand"] = rng.choice(np.array(["left", "right", None], dtype=object), size=len(windows))
    asked = _asking(policy, useful=["activity"], sensitive=["person", "hand"])
    assert np.isfinite(_fit(name, replace(windows, labels=labels), asked)(windows.flat)).all()


def test_opendp_needs_an_epsilon(windows: LabelledWindows, policy: Policy) -> None:
    with pytest.raises(PolicyError, match="give one"):
        PEERS["opendp"].fit(windows, policy, None)


def test_without_opendp_the_peer_says_what_to_install(
    windows: LabelledWindows, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(InputError, match="pip install opendp"):
        PEERS["opendp"].fit(windows, policy, 1.0)


@needs_opendp
@pytest.mark.parametrize(("dim", "epsilon"), [(6, 5.0), (30, 1.0)])
def test_opendp_draws_as_much_noise_as_the_baseline(dim: int, epsilon: float) -> None:
    draws, ours = 20_000, baseline(dim, epsilon)
    theirs = np.abs(opendp._laplace(GRID_STEPS * dim, epsilon)([0] * draws)) / GRID_STEPS
    # Both estimate E|noise|; the standard error of an exponential mean is that mean over the root of the draws.
    error = 5 * dim / epsilon / np.sqrt(draws)
    assert theirs.mean() == pytest.approx(ours.expected_error() / dim, abs=error)
    zeros = np.zeros((draws // dim, dim))
    drawn = np.abs(ours.privatise(zeros, entropy=SeededEntropy(0)))
    assert theirs.mean() == pytest.approx(drawn.mean(), abs=2 * error)
