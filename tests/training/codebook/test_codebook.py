import numpy as np
import pyarrow as pa
import pytest
from tests.training.conftest import POLICY

from deeprotect.bundle.network import STEPS
from deeprotect.errors import TableError
from deeprotect.policy import Policy
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.signals import Hold
from deeprotect.training.codebook import codebook
from deeprotect.training.codebook.codebook import learn_codes
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.labelled_windows import Targets, read_windows


@pytest.fixture(scope="module")
def models(gym_windows):
    return FittedModels(gym_windows)


@pytest.fixture(scope="module")
def protection(gym_policy, models):
    return learn(models, gym_policy)


@pytest.fixture(scope="module")
def book(gym_policy, models):
    return models.codes(gym_policy).book(Hold())


def test_there_is_a_code_for_each_useful_class(book):
    assert book.codes == ("run", "still", "walk")
    assert book.prior == pytest.approx([1 / 3] * 3, abs=0.05)


def test_windows_are_coded_by_models_that_did_not_see_them_and_still_right(book, gym_windows):
    truth = np.array(book.codes)[book.coded]
    assert np.mean(truth == gym_windows.labels["activity"]) > 0.95


def test_the_cost_is_low_where_the_output_is_what_the_code_means(book):
    assert (book.cost({}).argmin(axis=1) == np.arange(3)).all()
    assert book.cost({}).diagonal().max() < 0.2


def test_the_columns_of_meaning_and_of_reading_are_the_same_classes(book, gym_windows):
    targets = Targets.read(gym_windows.targets(["activity"]), len(gym_windows))
    assert tuple(targets.classes[0]) == book.outputs.classes["activity"] == ("run", "still", "walk")
    assert (book.meaning["activity"].argmax(axis=1) == np.arange(3)).all()
    assert (book.outputs.read["activity"].argmax(axis=1) == np.arange(3)).all()


COSTS = {"run": {"walk": 0.1}, "walk": {"run": 0.1}}
CHEAP = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])
DEAR = 1 - CHEAP - np.eye(3)


def weighing(policy, costs):
    """The policy under ε = 2 ldp with these costs."""
    privacy = {"guarantee": "ldp", "epsilon": 2.0}
    return policy.vary(privacy=privacy, training={"cost_matrix": {"activity": costs} if costs else {}})


def test_a_cheap_misreading_is_preferred_to_a_dear_one(gym_windows, gym_policy, models, protection, book):
    """run and walk are nearly the same to this app: it predicts the wrong one of them more often, at lower cost."""
    plain, weighed = (learn(models, weighing(gym_policy, each)) for each in ({}, COSTS))
    before, after = plain.mechanism.probabilities, weighed.mechanism.probabilities
    assert book.prior @ (after * CHEAP).sum(axis=1) > book.prior @ (before * CHEAP).sum(axis=1) + 0.2
    assert book.prior @ (after * DEAR).sum(axis=1) < book.prior @ (before * DEAR).sum(axis=1) - 0.02
    assert weighed.mechanism.event == plain.mechanism.event
    assert weighed.mechanism.real_epsilon <= 2.0
    assert weighed.encoder is plain.encoder


def test_with_costs_accuracy_and_cost_are_each_called_what_they_are(gym_windows, gym_policy, models, book):
    plain, weighed = (learn(models, weighing(gym_policy, each)) for each in ({}, COSTS))
    right = book.prior @ (weighed.mechanism.probabilities * (1 - book.cost({}))).sum(axis=1)
    assert weighed.made_of["expected_accuracy"] == pytest.approx(right, abs=1e-6)
    assert weighed.made_of["expected_accuracy"] < plain.made_of["expected_accuracy"] - 0.1
    assert weighed.made_of["expected_cost"] == pytest.approx(weighed.mechanism.expected_error(), abs=1e-6)
    assert weighed.made_of["expected_cost"] < 1 - plain.made_of["expected_accuracy"]
    assert "expected_cost" not in plain.made_of


def test_costs_that_say_what_is_so_anyway_change_nothing(gym_windows, gym_policy, models, protection):
    plain, same = (learn(models, weighing(gym_policy, each)).mechanism for each in ({}, {"run": {"walk": 1.0}}))
    assert np.array_equal(plain.cost, same.cost)
    assert plain.probabilities == pytest.approx(same.probabilities, abs=1e-6)


def test_the_released_window_is_one_of_the_public_outputs(protection, gym_windows, book):
    released = protection.release(gym_windows.flat, entropy=SeededEntropy(0))
    public = book.outputs.samples.reshape(-1, 16)
    distance = np.abs(released.windows[:, None, :] - public[None, :, :]).max(axis=2).min(axis=1)
    assert distance.max() <= 0.5 / STEPS


def test_no_training_window_is_released(book, gym_windows):
    public = book.outputs.samples.reshape(-1, 16)
    distance = np.abs(public[:, None, :] - gym_windows.flat[None, :, :]).max(axis=2).min(axis=1)
    assert distance.min() > 1e-3
    assert book.outputs.clearance.min() >= 1


def test_a_policy_with_another_epsilon_uses_the_same_book(gym_windows, gym_policy, models, protection):
    other = learn(models, gym_policy.vary(privacy={"epsilon": 0.1}))
    assert other.encoder is protection.encoder
    assert other.made_of["expected_accuracy"] < protection.made_of["expected_accuracy"]


def test_several_useful_inferences_make_joint_codes(gym_table):
    inferences = {"useful": ["activity", "side"]}
    policy = Policy.from_tables({**POLICY, "inferences": inferences, "training": {"people": "person", "max_epochs": 3}})
    side = ["left" if row % 480 < 240 else "right" for row in range(gym_table.num_rows)]
    book = learn_codes(read_windows(gym_table.append_column("side", pa.array(side)), policy), policy).book(Hold())
    assert set(book.codes) <= {
        f"{activity} & {side}" for activity in ("run", "still", "walk") for side in ("left", "right")
    }
    assert len(book.codes) >= 3
    assert set(book.meaning) == {"activity", "side"}


def test_too_few_windows_of_every_class_are_refused(gym_table, gym_policy):
    few = pa.concat_tables([gym_table.slice(240 * piece, 40) for piece in range(3)])
    with pytest.raises(TableError, match="record more"):
        learn_codes(read_windows(few, gym_policy), gym_policy)


def test_a_useful_inference_of_one_class_is_refused_by_name(gym_table):
    inferences = {"useful": ["side", "activity"]}
    policy = Policy.from_tables({**POLICY, "inferences": inferences})
    table = gym_table.append_column("side", pa.array(["left"] * gym_table.num_rows))
    with pytest.raises(TableError, match="fewer than two classes of 'side'"):
        learn_codes(read_windows(table, policy), policy)


def test_distortion_is_the_mean_distance_from_windows_to_outputs(book):
    flat = np.array([[0.0, 0.0], [0.2, 0.0], [1.0, 1.0]])
    outputs = np.array([[[0.0, 0.0], [0.0, 0.2]], [[1.0, 1.0], [1.0, 0.8]]])
    found = codebook._distortion(flat, np.array([0, 0, 1]), outputs, codes=2)
    assert found == pytest.approx(np.array([[0.2, 1.8], [1.9, 0.1]]))
    assert book.distortion.shape == (3, 3)
