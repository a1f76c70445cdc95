"""The transformer keeps scikit-learn's rules, and releases."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from deeprotect import Policy
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.statement import statement
from deeprotect.sklearn import WindowProtector

FAST = {"mechanism": "laplace", "feature_extractor": "pca", "random_state": 0}
_DRAWN_ANEW = "it compares two transforms of the same rows, and each draws anew"
EXPECTED_FAILURES = {"check_estimators_pickle": _DRAWN_ANEW, "check_fit_idempotent": _DRAWN_ANEW}


@pytest.mark.filterwarnings("ignore:largely outside the public range")  # the checks' samples know no range
@parametrize_with_checks(
    [WindowProtector(**FAST), WindowProtector(mechanism="baseline")],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_it_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def data(rows=80):
    windows = np.random.default_rng(0).random((rows, 12))
    return windows, np.where(windows.mean(axis=1) > 0.5, "walk", "rest")


def test_what_comes_out_is_released():
    windows, labels = data()
    step = WindowProtector(**FAST).fit(windows, labels)
    first, second = step.transform(windows), step.transform(windows)
    assert (first != second).mean() > 0.5  # drawn anew, whatever the seed
    assert (first == windows).mean() < 0.1
    assert first.min() >= 0
    assert first.max() <= 1


def test_it_stands_in_a_pipeline_and_in_a_search_over_epsilon():
    windows, labels = data()
    steps = make_pipeline(WindowProtector(**FAST), RidgeClassifier())
    search = GridSearchCV(steps, {"windowprotector__epsilon": [1.0, 20.0]}, cv=2).fit(windows, labels)
    assert set(search.predict(windows)) <= {"walk", "rest"}
    assert search.best_estimator_[0].protector_.epsilon in (1.0, 20.0)


def with_people():
    windows, labels = data()
    people = np.where(np.arange(len(windows)) % 2, "ann", "bob")
    channels = {name: {"unit": "g", "range": [0.0, 1.0]} for name in ("acc_x", "acc_y")}
    names = {"useful": ["activity"], "sensitive": ["person"]}
    return Policy.of(rate_hz=10, window=6, channels=channels, epsilon=3.0, **names), windows, labels, people


def test_a_policy_says_what_rows_are_and_which_labels_are_meant():
    policy, windows, labels, people = with_people()
    step = WindowProtector(policy, **FAST).fit(windows, labels, sensitive=people)
    assert step.protector_.policy.inferences.sensitive == ("person",)
    assert step.protector_.epsilon == 3.0
    with pytest.raises(ValueError, match="sensitive has 0 columns; the policy names 1: person"):
        clone(step).fit(windows, labels)
    with pytest.raises(ValueError, match="y has 2 columns; the policy names 1: activity"):
        clone(step).fit(windows, np.column_stack([labels, people]), sensitive=people)
    with pytest.raises(ValueError, match="X has 10 features, but the policy's windows have 12 values"):
        clone(step).fit(windows[:, :10], labels, sensitive=people)


def test_an_app_with_one_output_learns_behind_a_policy_with_sensitive_labels():
    policy, windows, labels, people = with_people()
    steps = make_pipeline(WindowProtector(policy, **FAST), RidgeClassifier())
    assert steps.fit(windows, labels, windowprotector__sensitive=people).predict(windows).shape == labels.shape
    with config_context(enable_metadata_routing=True):
        step = WindowProtector(policy, **FAST).set_fit_request(sensitive=True)
        steps = make_pipeline(step, RidgeClassifier())
        grid = {"windowprotector__epsilon": [1.0, 20.0]}
        search = GridSearchCV(steps, grid, cv=2, error_score="raise").fit(windows, labels, sensitive=people)
        scores = cross_val_score(steps, windows, labels, cv=2, params={"sensitive": people}, error_score="raise")
    assert set(search.predict(windows)) <= {"walk", "rest"}
    assert len(scores) == 2


@pytest.mark.long
def test_the_default_policy_works_with_an_app_of_one_output():
    windows, labels = data(160)
    steps = make_pipeline(WindowProtector(max_epochs=3, random_state=0), RidgeClassifier())
    scores = cross_val_score(steps, windows, labels, cv=2, error_score="raise")
    grid = {"windowprotector__mechanism": ["channel", "laplace"]}
    search = GridSearchCV(steps, grid, cv=2, error_score="raise").fit(windows, labels)
    assert scores.mean() > 0.55
    assert search.predict(windows).shape == labels.shape


def test_a_sensitive_inference_may_be_named():
    policy, windows, labels, people = with_people()
    steps = make_pipeline(WindowProtector(Policy.of(policy, max_epochs=3), random_state=0), RidgeClassifier())
    assert steps.fit(windows, labels, windowprotector__sensitive=people).predict(windows).shape == labels.shape


def test_transforms_are_charged_to_a_ledger(tmp_path):
    windows, labels = data()
    step = WindowProtector(**FAST, ledger=tmp_path / "spent.db", stream="watch").fit(windows, labels)
    step.transform(windows)
    step.transform(windows[:3])
    found = statement(Database.existing(str(tmp_path / "spent.db")))
    assert [person.draws for person in found.people] == [83]


def test_a_ledger_may_be_the_fitted_protectors_own_and_a_clone_shares_it(tmp_path):
    windows, labels = data()
    step = WindowProtector(**FAST).fit(windows, labels)
    step.set_params(ledger=step.protector_.ledger(tmp_path / "spent.db", stream="watch")).transform(windows)
    assert clone(step).ledger is step.ledger
    with pytest.raises(ValueError, match="this ledger was opened with another protector"):
        clone(step).set_params(random_state=1).fit(windows, labels).transform(windows)


def test_wrong_input_is_a_value_error_of_transform_as_of_fit(tmp_path):
    windows, labels = data()
    step = WindowProtector(**FAST).fit(windows, labels)
    step.set_params(ledger=tmp_path / "spent.db")
    with pytest.raises(ValueError, match="add stream=NAME"):
        step.transform(windows)
    with pytest.raises(ValueError, match="epsilon"):
        WindowProtector(**FAST, epsilon=-1.0).fit(windows, labels)


def test_missing_labels_are_missing():
    windows, labels = data()
    some = labels.astype(object)
    some[:10], some[10:20] = None, float("nan")
    assert WindowProtector(**FAST).fit(windows, some).protector_.bundle.manifest.training.classes == {
        "label": ["rest", "walk"]
    }


def test_it_travels_as_a_pickle():
    windows, labels = data()
    step = pickle.loads(pickle.dumps(WindowProtector(**FAST).fit(windows, labels)))
    assert step.transform(windows).shape == windows.shape


def test_a_frame_of_rows_is_refused_without_a_cell_of_it():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"acc_x": [0.1, 0.2], "person": ["bob", "cid"]})
    fitted = WindowProtector(**FAST).fit(*data())
    for step in (lambda: WindowProtector(**FAST).fit(frame, ["a", "b"]), lambda: fitted.transform(frame)):
        with pytest.raises(ValueError, match="columns that are not numbers: “person”") as refused:
            step()
        assert "bob" not in str(refused.value)
