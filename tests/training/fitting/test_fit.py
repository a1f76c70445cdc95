import numpy as np
import pytest

from deeprotect import Protector
from deeprotect.bundle import Bundle
from deeprotect.errors import TableError
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import FittedModels
from studies.features.expected_noise import expected_noise

OPTIONS = [
    ("baseline", "ldp", "default"),
    ("paper", "ldp", "paper"),
    ("paper", "rldp", "paper"),
    ("laplace", "ldp", "default"),
    ("laplace", "ldp", "pca"),
    ("channel", "ldp", "default"),
    ("channel", "rldp", "default"),
]


def asking_for(policy, mechanism, guarantee, feature_extractor):
    training = {"feature_extractor": feature_extractor, "max_epochs": 3}
    return policy.vary(privacy={"mechanism": mechanism, "guarantee": guarantee}, training=training)


@pytest.mark.long
@pytest.mark.parametrize(("mechanism", "guarantee", "feature_extractor"), OPTIONS)
def test_every_mechanism_becomes_a_bundle_that_protects(
    gym_table, gym_policy, tmp_path, mechanism, guarantee, feature_extractor
):
    Protector.train(asking_for(gym_policy, mechanism, guarantee, feature_extractor), gym_table).save(
        tmp_path / "bundle"
    )
    protector = Protector.load(tmp_path / "bundle")
    released = protector.protect(gym_table).table
    assert released.num_rows == gym_table.num_rows
    assert released.column_names == ["acc_x", "acc_y", "recording"]
    event = protector.bundle.mechanism.event
    assert event.epsilon == 5
    assert protector.bundle.mechanism.name == mechanism
    assert protector.bundle.manifest.certificate["derived_epsilon"] <= 5
    assert "clean" in protector.bundle.manifest.results[0].useful["activity"]
    assert str(event) in protector.describe()


def test_the_bundle_computes_what_the_laboratory_computes(gym_windows, gym_policy, gym_table):
    policy = asking_for(gym_policy, "laplace", "ldp", "default")
    bundle: Bundle = Protector.train(policy, gym_table).bundle
    code = bundle.encode(gym_windows.samples)
    assert code.shape == (len(gym_windows), 3)
    assert np.abs(code).max() <= 1
    assert bundle.decode(code).shape == gym_windows.samples.shape


def test_auto_takes_the_mechanism_with_the_best_utility_to_be_expected_and_says_why(gym_table, gym_policy):
    protector = Protector.train(gym_policy.vary(privacy={"mechanism": "auto"}, training={"max_epochs": 15}), gym_table)
    expected = protector.bundle.manifest.feature_extractor.chosen_for_expected_accuracy
    assert "channel" in expected
    assert protector.bundle.mechanism.name == max(expected, key=expected.get)
    assert "Chosen for the highest expected app accuracy" in protector.describe()


def test_auto_takes_the_mechanism_of_least_cost_where_the_policy_gives_costs(gym_table, gym_policy):
    costs = {"activity": {"run": {"walk": 0.1}, "walk": {"run": 0.1}}}
    policy = gym_policy.vary(
        privacy={"mechanism": "auto", "epsilon": 1.0}, training={"max_epochs": 3, "cost_matrix": costs}
    )
    bundle = Protector.train(policy, gym_table).bundle
    expected = bundle.manifest.feature_extractor.chosen_for_expected_cost
    assert set(expected) == {"channel", "laplace"}
    assert bundle.mechanism.name == min(expected, key=expected.get)
    assert not bundle.manifest.feature_extractor.chosen_for_expected_accuracy
    numbers = bundle.manifest.results[0].useful["activity"]
    assert 0 <= numbers["app_cost"] <= 1 - numbers["app"] + 1e-9
    assert bundle.policy.training.cost_matrix == costs


@pytest.mark.parametrize("costs", [{"jog": {"walk": 0.1}}, {"walk": {"jog": 0.1}}])
def test_costs_of_a_class_that_no_window_shows_are_refused_with_the_known_ones(gym_table, gym_policy, costs):
    with pytest.raises(TableError) as refused:
        Protector.train(gym_policy.vary(training={"cost_matrix": {"activity": costs}}), gym_table)
    assert "training.cost_matrix.activity names 'jog'" in str(refused.value)
    assert "run, still, walk" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_certified_noise_is_at_least_five_times_smaller_than_the_papers(gym_windows, gym_policy):
    models = FittedModels(gym_windows)
    literal, certified = (
        learn(models, asking_for(gym_policy, mechanism, "ldp", "paper")).mechanism for mechanism in ("paper", "laplace")
    )
    assert expected_noise(literal) >= 5 * expected_noise(certified)


def test_a_label_with_one_class_is_refused(gym_table, gym_policy):
    with pytest.raises(TableError, match="column 'activity' has only 'still'"):
        Protector.train(gym_policy, gym_table.slice(0, 240))


def test_training_data_leave_nothing_in_the_bundle_but_public_facts(gym_table, gym_policy, tmp_path):
    Protector.train(asking_for(gym_policy, "laplace", "ldp", "pca"), gym_table).save(tmp_path / "bundle")
    size = sum(path.stat().st_size for path in (tmp_path / "bundle").iterdir())
    assert size < 100_000  # 3,600 rows of two channels would be 57,600 bytes alone
