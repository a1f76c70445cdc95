"""A policy file says what it means, comes back unchanged, and is refused in one line that tells the fix."""

import json

import pytest

from deeprotect.errors import PolicyError
from deeprotect.policy import Policy
from deeprotect.policy.sections import GUARANTEES

TEXT = """\
version = 1
[stream]
rate_hz = 10
window = 20
[stream.channels.acc_x]
unit = "g"
range = [-4.0, 4.0]
[stream.channels.acc_y]
unit = "g"
range = [-2, 2]
resolution = 0.5
[inferences]
useful = ["activity"]
sensitive = ["subject"]
[privacy]
epsilon = 5.0
guarantee = "ldp"
mechanism = "auto"
[training]
features = 7
"""
COSTS = TEXT + "[training.cost_matrix.activity]\nwalk = { stairs = 0.2, still = 1 }\nstairs = { walk = 0 }\n"
AUTO = 'mechanism = "auto"'
SENSITIVE = 'sensitive = ["subject"]\n'
LDP = 'guarantee = "ldp"\n'


def changed(old: str, new: str, text: str = TEXT) -> str:
    assert old in text
    return text.replace(old, new, 1)


def test_a_policy_holds_a_bounded_number_of_channels() -> None:
    spec = {"unit": "g", "range": (-1.0, 1.0)}
    many = {f"c{number}": spec for number in range(1024)}
    policy = Policy.from_toml(TEXT)
    assert policy.vary(stream={"channels": many, "window": 1024}).stream.dim == 2**20
    with pytest.raises(PolicyError, match=r"stream.channels has 1025 channels; describe at most 1024"):
        policy.vary(stream={"channels": many | {"one more": spec}})


def test_a_budget_is_any_of_three_limits_and_goes_with_the_bundle() -> None:
    policy = Policy.from_toml(changed(AUTO, "budget = { per_hour = 60, in_all = 600.5 }"))
    assert policy.privacy.budget.limits == {"per_hour": 60.0, "in_all": 600.5}
    assert "per_hour = 60.0  # ε of one person in any hour; a ledger keeps it" in policy.to_toml()
    assert Policy.from_toml(policy.to_toml()) == policy == Policy.from_json(policy.to_json())
    assert "budget" not in Policy.from_toml(TEXT).to_toml()


def test_a_budget_does_not_keep_evaluations_from_trying_a_larger_epsilon() -> None:
    policy = Policy.from_toml(changed(AUTO, "budget.in_all = 6.0"))
    assert policy.vary(privacy={"epsilon": 10.0}).privacy.epsilon == 10


def test_broken_toml_is_reported_with_its_line() -> None:
    with pytest.raises(PolicyError, match="line 2"):
        Policy.from_toml(changed("[stream]", "[stream"))


def test_the_guarantee_is_ldp_with_and_without_sensitive_inferences() -> None:
    silent = changed(LDP, "")
    assert Policy.from_toml(silent).privacy.guarantee == "ldp"
    assert Policy.from_toml(changed(SENSITIVE, "", silent)).privacy.guarantee == "ldp"


@pytest.mark.parametrize("mechanism", GUARANTEES)
@pytest.mark.parametrize("guarantee", ["ldp", "rldp"])
def test_a_mechanism_is_accepted_exactly_for_the_guarantees_it_keeps(mechanism: str, guarantee: str) -> None:
    feature_extractor = "paper" if mechanism == "paper" else "default"
    changes = {"mechanism": mechanism, "guarantee": guarantee}
    policy = Policy.from_toml(TEXT)
    if guarantee in GUARANTEES[mechanism]:
        varied = policy.vary(privacy=changes, training={"feature_extractor": feature_extractor})
        assert (varied.privacy.mechanism, varied.privacy.guarantee) == (mechanism, guarantee)
    else:
        with pytest.raises(PolicyError, match=f'mechanism = "{mechanism}" gives'):
            policy.vary(privacy=changes, training={"feature_extractor": feature_extractor})


def test_the_paper_mechanism_brings_the_paper_autoencoder() -> None:
    assert Policy.from_toml(changed(AUTO, 'mechanism = "paper"')).training.feature_extractor == "paper"
    assert Policy.from_toml(TEXT).training.feature_extractor == "default"


def test_default_features_never_exceed_the_window() -> None:
    silent = changed("features = 7", "")
    assert Policy.from_toml(silent).training.features == 7
    assert Policy.from_toml(changed("window = 20", "window = 2", silent)).training.features == 4


def test_the_schema_holds_the_channels_in_the_order_of_the_file() -> None:
    schema = Policy.from_toml(TEXT).schema()
    assert schema.names == ("acc_x", "acc_y")
    assert (schema.rate_hz, schema.window, schema.dim) == (10.0, 20, 40)
    assert schema.low.tolist() == [-4.0, -2.0]
    assert [channel.resolution for channel in schema.channels] == [None, 0.5]


def test_a_mapped_column_may_carry_another_name_than_its_channel() -> None:
    text = changed("[inferences]", '[stream.columns]\nacc_x = "Accel X"\n[inferences]')
    stream = Policy.from_toml(text).stream
    assert (stream.column("acc_x"), stream.column("acc_y")) == ("Accel X", "acc_y")


def test_varying_leaves_the_original_and_checks_the_change() -> None:
    policy = Policy.from_toml(TEXT)
    assert policy.vary(privacy={"epsilon": 1.0}).privacy.epsilon == 1.0
    assert policy.privacy.epsilon == 5.0
    with pytest.raises(PolicyError, match=r"privacy.epsilon = -1"):
        policy.vary(privacy={"epsilon": -1})


def test_costs_of_misreading_survive_files_manifests_and_changes() -> None:
    policy = Policy.from_toml(COSTS)
    assert policy.training.cost_matrix == {"activity": {"walk": {"stairs": 0.2, "still": 1.0}, "stairs": {"walk": 0.0}}}
    assert Policy.from_toml(policy.to_toml()) == policy
    assert Policy.from_json(json.loads(json.dumps(policy.to_json(), sort_keys=True))) == policy
    assert policy.vary(privacy={"epsilon": 1.0}).training == policy.training
    assert policy.vary(training={"cost_matrix": {}}) == Policy.from_toml(TEXT)


def test_a_policy_without_costs_does_not_speak_of_them() -> None:
    policy = Policy.from_toml(TEXT)
    assert "cost_matrix" not in policy.to_toml()
    assert "cost_matrix" not in policy.to_json()["training"]


def test_a_class_called_like_a_key_gets_no_comment_of_that_key() -> None:
    policy = Policy.from_toml(changed("stairs = 0.2", "window = 0.2", COSTS))
    assert "window = 0.2\n" in policy.to_toml()


def test_a_policy_cannot_be_changed_in_place() -> None:
    policy = Policy.from_toml(TEXT)
    with pytest.raises(ValueError, match="frozen"):
        policy.privacy.epsilon = 100.0
