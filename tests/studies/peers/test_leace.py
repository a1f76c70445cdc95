"""Linear erasure."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, RidgeClassifier
from tests.studies.peers.conftest import asking, fit_peer, texts

from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows, Targets
from studies.peers.leace import erasure


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
    few = windows[np.flatnonzero((texts(windows, "person") != "bob") | (np.arange(len(windows)) % 2 == 0))]
    person = texts(few, "person")
    erased = erasure(few.flat, Targets.read(person, len(few)))(few.flat)
    assert RidgeClassifier(1e-6).fit(few.flat, person).score(few.flat, person) > 0.75  # the most common has 0.4
    scores = LinearRegression().fit(erased, person[:, None] == np.unique(person)).predict(erased)
    np.testing.assert_allclose(scores, np.tile(scores.mean(axis=0), (len(few), 1)), atol=1e-7)
    shares = np.unique(person, return_counts=True)[1] / len(few)
    np.testing.assert_allclose(scores[0], shares, atol=1e-7)


def test_a_nonlinear_reader_may_still_read_what_leace_leaves(windows: LabelledWindows, policy: Policy) -> None:
    release = fit_peer("leace", windows, asking(policy, useful=["person"], sensitive=["activity"]))
    released, activity = release(windows.flat), texts(windows, "activity")
    learn = np.arange(len(windows)) % 2 == 0
    forest = RandomForestClassifier(30, random_state=0).fit(released[learn], activity[learn])
    assert forest.score(released[~learn], activity[~learn]) > 0.7


def test_leace_changes_nothing_that_tells_nothing() -> None:
    windows = np.random.default_rng(0).uniform(size=(40, 3))
    both = np.vstack([windows, windows])
    labels = np.repeat(["a", "b"], 40)
    np.testing.assert_allclose(erasure(both, Targets.read(labels, 80))(both), both, atol=1e-6)
