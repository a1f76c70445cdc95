"""Models of the user's own: what they are given, what becomes of what they say, and what is refused."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC

from deeprotect.attack.own_models import ANOTHER, OwnMethod, OwnModel, loaded, own_models
from deeprotect.errors import InputError
from deeprotect.signals import Channel, Schema
from deeprotect.training.labelled_windows import LabelledWindows

SCHEMA = Schema((Channel("a", "g", -2.0, 2.0), Channel("b", "V", 0.0, 100.0)), rate_hz=10.0, window=3)
RANDOM = np.random.default_rng(0)
SCALED = RANDOM.random((40, 6))
LABELS = np.where(SCALED[:, 0] > 0.5, "high", "low").astype(object)


class Guesses(ClassifierMixin, BaseEstimator):
    """Names one thing, whatever it sees; notes what it was given."""

    def __init__(self, name: str = "high") -> None:
        self.name = name

    def fit(self, X, y):
        self.seen_ = X
        return self

    def predict(self, X):
        return np.repeat(self.name, len(X))


class Fails(Guesses):
    def fit(self, X, y):
        raise ValueError(f"could not read {X[0, 0]}")


class Doubles(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * X


def own(estimator) -> OwnModel:
    return OwnModel("app 'mine'", "mine", estimator, SCHEMA, ("level",))


def test_rows_are_in_the_units_of_the_policy_channel_by_channel_at_each_sample():
    fitted = own(Guesses()).fit(SCALED, LABELS)
    seen = fitted.estimator.seen_
    assert seen.shape == (40, 6)
    np.testing.assert_allclose(seen[:, ::2], SCALED[:, ::2] * 4 - 2)
    np.testing.assert_allclose(seen[:, 1::2], SCALED[:, 1::2] * 100)


@pytest.mark.parametrize("estimator", [LogisticRegression(), RidgeClassifier(), SVC(), Guesses()])
def test_probabilities_scores_and_bare_guesses_are_read(estimator):
    fitted = own(estimator).fit(SCALED, LABELS)
    alone = fitted.estimator.predict(_units(SCALED)).astype(str)
    assert fitted.predict(SCALED).tolist() == alone.tolist()
    assert fitted.probabilistic == hasattr(estimator, "predict_proba")


def test_three_classes_of_a_machine_that_scores_pairs_are_read():
    labels = np.array(["x", "y", "z"], dtype=object)[np.arange(40) % 3]
    fitted = own(SVC(decision_function_shape="ovo")).fit(SCALED, labels)
    assert fitted.predict(SCALED).tolist() == fitted.estimator.predict(_units(SCALED)).tolist()


def test_a_guess_that_is_no_label_is_never_right():
    assert set(own(Guesses("sideways")).fit(SCALED, LABELS).predict(SCALED)) == {ANOTHER}


def test_what_was_given_is_not_fitted_itself_unless_it_is_frozen():
    given = LogisticRegression()
    own(given).fit(SCALED, LABELS)
    assert not hasattr(given, "coef_")
    frozen = FrozenEstimator(LogisticRegression().fit(_units(SCALED), LABELS.astype(str)))
    again = own(frozen).fit(SCALED[:3], np.array(["low"] * 3, dtype=object))
    assert again.predict(SCALED).tolist() == frozen.predict(_units(SCALED)).tolist()


def test_a_frozen_one_is_asked_about_what_it_knows():
    windows = LabelledWindows(
        SCALED.reshape(40, 3, 2),
        {"level": LABELS, "person": np.array(["ann", "bob"] * 20, dtype=object)},
        np.zeros(40, dtype=np.int64),
        40,
        "",
    )
    frozen = {"mine": FrozenEstimator(LogisticRegression().fit(_units(SCALED), LABELS.astype(str)))}
    given = {"windows": windows, "schema": SCHEMA}
    assert own_models(frozen, "app", inferences=["level", "person"], **given)["mine"].inferences == ("level",)
    with pytest.raises(InputError, match="app 'mine' knows no class of “person”"):
        own_models(frozen, "app", inferences=["person"], **given)


def test_classes_of_a_notebook_travel_to_other_processes():
    class Local(Guesses): ...

    fitted = pickle.loads(pickle.dumps(own(Local()).fit(SCALED, LABELS)))
    assert set(fitted.predict(SCALED)) == {"high"}
    assert pickle.loads(pickle.dumps(own(Local()))).estimator.name == "high"


def test_a_failure_names_the_estimator_and_quotes_no_sample():
    with pytest.raises(InputError, match="app 'mine' failed with ValueError") as told:
        own(Fails()).fit(SCALED, LABELS)
    assert "could not read" not in str(told.value)
    assert isinstance(told.value.__cause__, ValueError), "Python shows the whole story"


def test_a_method_releases_inside_the_public_range():
    windows = LabelledWindows(SCALED.reshape(40, 3, 2), {"level": LABELS}, np.zeros(40, dtype=np.int64), 40, "")
    release = OwnMethod("twice", Doubles(), SCHEMA).fit(windows, ["level"], seed=0)
    np.testing.assert_allclose(release(SCALED)[:, 1::2], np.minimum(1, 2 * SCALED[:, 1::2]))
    assert (release(SCALED) <= 1).all()
    assert (release(SCALED) >= 0).all()


def test_a_method_that_gives_back_another_shape_is_refused():
    windows = LabelledWindows(SCALED.reshape(40, 3, 2), {"level": LABELS}, np.zeros(40, dtype=np.int64), 40, "")

    class Shorter(Doubles):
        def transform(self, X):
            return X[:, :2]

    with pytest.raises(InputError, match="method 'short' must give back as many finite numbers as it takes, 6"):
        OwnMethod("short", Shorter(), SCHEMA).fit(windows, ["level"], seed=0)(SCALED)


def test_a_module_and_an_object_name_an_estimator(tmp_path, monkeypatch):
    (tmp_path / "my_apps.py").write_text(
        "from sklearn.linear_model import RidgeClassifier\nridge = RidgeClassifier()\n"
        "def made():\n    return RidgeClassifier(alpha=3)\nnumber = 3\nraise_me = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = loaded(["my_apps:ridge", "my_apps:made", "sklearn.svm:SVC"], "app")
    assert [(name, type(each).__name__) for name, each in found.items()] == [
        ("ridge", "RidgeClassifier"),
        ("made", "RidgeClassifier"),
        ("SVC", "SVC"),
    ]
    (tmp_path / "broken_apps.py").write_text("1 / 0\n")
    for text, says in {
        "ridge": "write MODULE:OBJECT",
        "my_apps:": "write MODULE:OBJECT",
        "my_apps:nothing": "there is no such object",
        "no_such_module:nothing": "there is no such object",
        "my_apps:number": "give an object with fit and predict",
        "broken_apps:ridge": "failed with ZeroDivisionError",
    }.items():
        with pytest.raises(InputError, match=says):
            loaded(text, "app")
    with pytest.raises(InputError, match="ridge: that name is there already"):
        loaded(["my_apps:ridge", "my_apps:ridge"], "app")
    with pytest.raises(InputError, match="not Fraction"):
        loaded({"mine": Fraction(1)}, "app")


def _units(scaled):
    return (scaled.reshape(-1, 3, 2) * [4, 100] - [2, 0]).reshape(-1, 6)
