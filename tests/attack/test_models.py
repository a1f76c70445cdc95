"""Inference models by name."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from deeprotect.attack.models import LANDMARKS, MODELS, train
from deeprotect.errors import InputError
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import Labels

CHANNELS = 2
WINDOW_MODELS = [name for name in MODELS if name != "code_table"]
ONE_BY_ONE = ("ridge", "naive_bayes")
NONLINEAR = [name for name in WINDOW_MODELS if name not in ONE_BY_ONE]


def _named(numbers: np.ndarray) -> Labels:
    return np.array([f"class {number}" for number in numbers], dtype=object)


def _levels(bits: np.ndarray, seed: int) -> Floats:
    """Windows of 6 samples of 2 channels, each channel around a low or a high level."""
    noise = np.random.default_rng(seed).normal(0, 0.06, (len(bits), 6, CHANNELS))
    return np.asarray((0.35 + 0.3 * bits[:, None] + noise).reshape(len(bits), -1))


def _crossed(count: int, seed: int) -> tuple[Floats, Labels]:
    """The class is whether the two channels are at different levels: neither tells anything alone."""
    bits = np.random.default_rng(seed).integers(2, size=(count, CHANNELS))
    return _levels(bits, seed), _named(bits[:, 0] ^ bits[:, 1])


def _straight(count: int, seed: int) -> tuple[Floats, Labels]:
    """Three classes that a plane can part."""
    numbers = np.random.default_rng(seed).integers(3, size=count)
    return _levels(np.stack([numbers == 1, numbers == 2], axis=1).astype(int), seed), _named(numbers)


def _codes(count: int, seed: int) -> tuple[Floats, Labels]:
    """Codes 0 to 3 whose class is their parity."""
    codes = np.random.default_rng(seed).integers(4, size=count)
    return codes[:, None].astype(np.float64), _named(codes % 2)


def _accuracy(name: str, learn: tuple[Floats, Labels], test: tuple[Floats, Labels]) -> float:
    model = train(name, *learn, seed=0, channels=CHANNELS if name in WINDOW_MODELS else 1)
    return float(np.mean(model.predict(test[0]) == test[1].astype(str)))


@pytest.mark.parametrize("name", WINDOW_MODELS)
def test_every_model_tells_apart_what_is_apart(name: str) -> None:
    assert _accuracy(name, _straight(128, 0), _straight(300, 1)) > 0.95


@pytest.mark.parametrize("name", NONLINEAR)
def test_every_model_but_two_sees_a_class_that_no_value_shows_alone(name: str) -> None:
    assert _accuracy(name, _crossed(400, 0), _crossed(400, 1)) > 0.9


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_a_class_that_no_value_shows_alone_is_hidden_from_who_adds_values_up(name: str) -> None:
    assert _accuracy(name, _crossed(400, 0), _crossed(400, 1)) < 0.65


def test_a_code_table_reads_codes() -> None:
    assert _accuracy("code_table", _codes(200, 0), _codes(200, 1)) == 1.0


@pytest.mark.parametrize("name", MODELS)
def test_every_model_stays_at_chance_on_windows_that_tell_nothing(name: str) -> None:
    make = _codes if name == "code_table" else _crossed
    learn, test = ((make(400, seed)[0], make(400, seed + 10)[1]) for seed in (0, 1))
    assert abs(_accuracy(name, learn, test) - 0.5) < 0.1


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_scores(name: str) -> None:
    windows, labels = _codes(60, 0) if name == "code_table" else _straight(60, 0)
    first, second = (train(name, windows, labels, seed=7).scores(windows) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.long
@pytest.mark.parametrize("name", ["kernel_ridge", "svm", "random_forest", "extra_trees", "gradient_boosting", "cnn"])
def test_another_seed_gives_other_scores(name: str) -> None:
    windows, labels = _straight(400 if name in ("kernel_ridge", "svm") else 60, 0)
    unclear = np.random.default_rng(0).random((20, windows.shape[1]))
    first, second = (train(name, windows, labels, seed=seed).scores(unclear) for seed in (0, 1))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_five_windows_with_a_class_of_one_window_are_enough_to_fit(name: str, classes: int) -> None:
    windows = np.arange(5.0)[:, None] / 4 if name == "code_table" else _straight(5, 0)[0]
    model = train(
        name, windows, _named(np.array([0, 0, 0, 0, 1]) + np.array([0, 0, 0, classes - 2, classes - 2])), seed=0
    )
    scores = model.scores(windows)
    assert scores.shape == (5, classes)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", MODELS)
def test_constant_windows_give_the_most_common_class(name: str) -> None:
    windows = np.full((40, 1 if name == "code_table" else 6), 0.3)
    model = train(name, windows, _named(np.arange(40) % 4 == 0), seed=0)
    assert set(model.predict(windows)) == {"class False"}


@pytest.mark.parametrize("name", MODELS)
def test_a_single_class_is_always_guessed(name: str) -> None:
    model = train(name, np.zeros((5, 2)), np.array(["only"] * 5, dtype=object), seed=0)
    assert model.predict(np.ones((3, 2))).tolist() == ["only"] * 3
    assert model.log_prior.tolist() == [0.0]
    assert model.scores(np.ones((3, 2))).tolist() == [[0.0]] * 3


@pytest.mark.parametrize("name", MODELS)
def test_the_prior_is_the_share_of_each_class_in_training(name: str) -> None:
    windows = np.arange(8.0)[:, None] % 3
    model = train(name, windows, np.array(list("bbabbbab"), dtype=object), seed=0)
    assert model.classes.tolist() == ["a", "b"]
    np.testing.assert_allclose(np.exp(model.log_prior), [0.25, 0.75])


@pytest.mark.parametrize("name", MODELS)
def test_scores_of_probabilistic_models_are_log_posteriors(name: str) -> None:
    windows, labels = _codes(60, 0) if name == "code_table" else _straight(60, 0)
    model = train(name, windows, labels, seed=0)
    assert model.probabilistic == (name not in ("ridge", "kernel_ridge", "svm"))
    if model.probabilistic:
        np.testing.assert_allclose(np.exp(model.scores(windows)).sum(axis=1), 1.0)


def test_a_class_that_no_leaf_holds_is_doubted_alike_however_rare_it_is() -> None:
    """Or pooling, which divides the prior out of all windows but one, would always end at the rarest class."""
    numbers = np.repeat([0, 1, 2], [900, 95, 5])
    model = train("extra_trees", np.eye(3)[numbers], _named(numbers), seed=0)
    evidence = model.scores(np.eye(3)[:1]) - model.log_prior
    assert evidence[0, 1] == pytest.approx(evidence[0, 2])
    assert evidence[0, 0] > 0 > evidence[0, 2]


def test_a_code_never_seen_gives_the_prior() -> None:
    model = train("code_table", np.array([[0.0], [0], [2], [2]]), np.array(list("aaab"), dtype=object), seed=0)
    for unseen in (-1.0, 1.0, 9.0):
        np.testing.assert_allclose(model.scores(np.array([[unseen]])), model.log_prior[None])


def test_a_code_that_comes_alike_with_all_labels_gives_the_prior() -> None:
    codes, labels = np.tile([0.0, 1.0], 20)[:, None], np.array(list("aabbbb" * 7)[:40], dtype=object)
    model = train("code_table", codes, labels, seed=0)
    np.testing.assert_allclose(model.scores(codes), np.tile(model.log_prior, (40, 1)), atol=1e-12)


def test_many_codes_give_the_posterior_of_their_channel() -> None:
    """k-ary randomised response over 3 labels, posterior by Bayes' rule."""
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=100_000, p=[0.6, 0.3, 0.1])
    codes = np.where(rng.random(len(labels)) < 0.4, labels, rng.integers(3, size=len(labels)))
    joint = np.diag([0.6, 0.3, 0.1]) * 0.4 + np.outer([0.2] * 3, [0.6, 0.3, 0.1])
    model = train("code_table", codes[:, None].astype(np.float64), _named(labels), seed=0)
    scores = model.scores(np.arange(3.0)[:, None])
    np.testing.assert_allclose(np.exp(scores), joint / joint.sum(axis=1, keepdims=True), atol=0.01)


def test_a_code_table_refuses_windows() -> None:
    with pytest.raises(InputError, match="one column of codes"):
        train("code_table", *_straight(20, 0), seed=0)


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="ridge"):
        train("oracle", *_straight(20, 0), seed=0)


def test_no_labels_are_refused() -> None:
    with pytest.raises(InputError, match="label"):
        train("ridge", np.empty((0, 2)), np.empty(0, dtype=object), seed=0)


def test_a_kernel_machine_that_counts_repeated_windows_once_is_the_one_that_reads_them_all() -> None:
    random = np.random.default_rng(0)
    table, labels = random.random((30, 6)), random.choice(["ann", "bob", "eve"], 900)
    windows = table[(random.integers(0, 10, 900) + 10 * (labels == "bob") + 20 * (labels == "eve")) % 30]
    counted = train("svm", windows, labels.astype(object), seed=0)
    plain = make_pipeline(
        StandardScaler(), Nystroem(n_components=LANDMARKS, random_state=0), LinearSVC(dual=False, random_state=0)
    ).fit(windows, labels)
    np.testing.assert_allclose(counted.scores(table), plain.decision_function(table), atol=0.02)
    assert (counted.predict(table) == plain.predict(table)).all()
