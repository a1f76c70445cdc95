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
confidence = 0.95
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


MISTAKES = {
    "negative epsilon": ("epsilon = 5.0", "epsilon = -1", "privacy.epsilon = -1 must be greater than 0"),
    "zero epsilon": ("epsilon = 5.0", "epsilon = 0", "privacy.epsilon = 0 would release nothing"),
    "missing epsilon": ("epsilon = 5.0", "", "privacy.epsilon is missing; add epsilon = 5.0"),
    "misspelt epsilon": ("epsilon = 5.0", "epsilom = 5.0", "privacy.epsilom is not a known key; did you mean epsilon"),
    "infinite epsilon": ("epsilon = 5.0", "epsilon = inf", "privacy.epsilon = inf must be a finite number"),
    "epsilon not a number": ("epsilon = 5.0", "epsilon = nan", "privacy.epsilon = nan must be a finite number"),
    "epsilon as text": ("epsilon = 5.0", 'epsilon = "5"', 'privacy.epsilon = "5" must be a number'),
    "epsilon as boolean": ("epsilon = 5.0", "epsilon = true", "privacy.epsilon = true must be a number"),
    "reversed range": ("[-4.0, 4.0]", "[4.0, -4.0]", "acc_x.range = [4.0, -4.0] is reversed; write [-4.0, 4.0]"),
    "empty range": ("[-4.0, 4.0]", "[1.0, 1.0]", "acc_x.range = [1.0, 1.0] is empty"),
    "half a range": ("[-4.0, 4.0]", "[4.0]", "acc_x.range is too short"),
    "long range": ("[-4.0, 4.0]", "[1, 2, 3]", "acc_x.range = [1, 2, 3] must have 2 values"),
    "infinite range": ("[-4.0, 4.0]", "[-inf, 4.0]", "acc_x.range[0] = -inf must be a finite number"),
    "coarse resolution": ("resolution = 0.5", "resolution = 9", "acc_y has resolution 9.0, wider than its range"),
    "missing unit": ('unit = "g"\n', "", "acc_x.unit is missing"),
    "zero window": ("window = 20", "window = 0", "stream.window = 0 must be at least 1"),
    "fractional window": ("window = 20", "window = 2.5", "stream.window = 2.5 must be a whole number"),
    "negative rate": ("rate_hz = 10", "rate_hz = -3", "stream.rate_hz = -3 must be greater than 0"),
    "unknown mechanism": (AUTO, 'mechanism = "laplase"', 'mechanism = "laplase" is not known; did you mean "laplace"'),
    "subspace for ldp": (AUTO, 'mechanism = "subspace"', 'gives rldp, not ldp; set guarantee = "rldp"'),
    "budget without a limit": (AUTO, 'budget.when_spent = "refuse"', "privacy.budget sets no limit; add per_hour"),
    "budget of nothing": (AUTO, "budget.per_day = 0", "privacy.budget.per_day = 0 must be greater than 0"),
    "budget without end": (AUTO, "budget.per_day = inf", "privacy.budget.per_day = inf must be a finite number"),
    "budget below a draw": (AUTO, "budget.per_day = 0.5", "budget.per_day = 0.5 covers not a single draw of ε = 5"),
    "an hour above a day": (
        AUTO,
        "budget = { per_hour = 9.0, per_day = 8.0 }",
        "privacy.budget.per_hour = 9 is more than per_day = 8; lower it, or raise per_day",
    ),
    "a day above all": (
        AUTO,
        "budget = { per_day = 9.0, in_all = 8.0 }",
        "privacy.budget.per_day = 9 is more than in_all = 8; lower it, or raise in_all",
    ),
    "unknown key of budget": (AUTO, "budget = { per_week = 9.0 }", "privacy.budget.per_week is not a known key"),
    "unknown when_spent": (AUTO, 'budget.when_spent = "refused"', 'did you mean "refuse"?'),
    "ceiling without named": (AUTO, "ldp_ceiling = 3", 'privacy.ldp_ceiling needs guarantee = "named"'),
    "given without named": (AUTO, 'given = "useful"', 'privacy.given needs guarantee = "named", not "ldp"; remove it'),
    "given nothing without named": (AUTO, 'given = "nothing"', 'privacy.given needs guarantee = "named"'),
    "given something else": (LDP, 'guarantee = "named"\ngiven = "usefull"\n', 'did you mean "useful"? choose one of'),
    "given a list": (LDP, 'guarantee = "named"\ngiven = ["activity"]\n', "privacy.given = "),
    "useful and sensitive": ('["subject"]', '["activity"]', "'activity' in both useful and sensitive"),
    "nothing useful": ('["activity"]', "[]", "inferences.useful = [] is empty"),
    "useful not a list": ('["activity"]', '"activity"', "inferences.useful = \"activity\" must be a list"),
    "useful twice": ('["activity"]', '["a", "a"]', "names 'a' twice"),
    "label is a channel": ('["activity"]', '["acc_x"]', "'acc_x' is both a channel and an inference"),
    "label is reserved": ('["activity"]', '["time"]', "'time', a reserved column"),
    "channel is reserved": ("channels.acc_x", "channels.time", "column 'time', a reserved name"),
    "newer version": ("version = 1", "version = 2", "version = 2 is newer than this deeprotect reads (1); upgrade"),
    "no version": ("version = 1", "", "version is missing; add version = 1"),
    "strange version": ("version = 1", "version = true", "version = True must be 1"),
    "misspelt section": ("[training]", "[trainin]", "trainin is not a known key; did you mean training?"),
    "missing section": ("[privacy]", "[inferences.x]", "inferences.x is not a known key"),
    "broken TOML": ("[stream]", "[stream", "not valid TOML"),
    "too many features": ("features = 7", "features = 41", "exceeds the 40 values of a window; use at most 40"),
    "certain confidence": ("0.95", "1.0", "privacy.confidence = 1.0 must be less than 1"),
    "low confidence": ("0.95", "0.2", "privacy.confidence = 0.2 must be at least 0.5"),
    "column of no channel": ("[inferences]", '[stream.columns]\nq = "x"\n[inferences]', "'q', not a channel"),
    "one column twice": (
        "[inferences]",
        '[stream.columns]\nacc_x = "acc_y"\n[inferences]',
        "'acc_x' and 'acc_y' from one column 'acc_y'",
    ),
    "rldp of nothing": (SENSITIVE + "[privacy]\nepsilon = 5.0\n" + LDP, '[privacy]\nepsilon = 5\nguarantee = "rldp"\n',
                        'privacy.guarantee = "rldp" needs inferences.sensitive'),
    "paper with another minimiser": (AUTO + "\n[training]", 'mechanism = "paper"\n[training]\nminimiser = "pca"',
                                     'use minimiser = "paper"'),
    "dear misreading": ("stairs = 0.2", "stairs = 5", "activity.walk.stairs = 5 must be at most 1 (0: costs"),
    "negative misreading": ("stairs = 0.2", "stairs = -1", "activity.walk.stairs = -1 must be at least 0 (0: costs"),
    "infinite misreading": ("stairs = 0.2", "stairs = inf", "activity.walk.stairs = inf must be a finite number"),
    "misreading not a number": ("stairs = 0.2", "stairs = nan", "activity.walk.stairs = nan must be a finite number"),
    "misreading as text": ("stairs = 0.2", 'stairs = "a"', 'activity.walk.stairs = "a" must be a number'),
    "class called as a key": ("stairs = 0.2", "window = 2", "walk.window = 2 must be at most 1 (0: costs nothing"),
    "costs of no class": ("{ walk = 0 }", "{}", "activity.stairs = {} must not be empty (for example walk = {"),
    "cost without a class": ("{ walk = 0 }", "0.5", "activity.stairs = 0.5 must be a table (for example walk ="),
    "right reading costs": ("still = 1", "walk = 1", "activity.walk.walk is the right reading and costs 0; remove it"),
    "costs of a stranger": ("x.activity", "x.mood", "x.mood is not in inferences.useful; useful: activity"),
    "costs misspelt": ("matrix.activity", "matrix.activty", "is not in inferences.useful; did you mean activity?"),
    "endless window": ("window = 20", "window = 1000000000", "window = 1000000000 is too long; use at most 1048576"),
    "long window": ("window = 20", "window = 600000", "stream.window = 600000 with 2 channels is 1200000 values in a "
                    "window; use at most 524288 samples"),
    "number without end": ("window = 20", "window = " + "9" * 5000, "not valid TOML"),
    "version without end": ("version = 1", "version = " + "9" * 4000, "is newer than this deeprotect reads"),
    "many inferences": ('["activity"]', str([f"i{n}" for n in range(65)]), "names 65 inferences; name at most 64"),
    "costs of the sensitive": ("x.activity", "x.subject", "x.subject is not in inferences.useful; useful:"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_that_names_the_key_and_the_fix(old: str, new: str, expected: str) -> None:
    with pytest.raises(PolicyError) as refused:
        Policy.from_toml(changed(old, new, TEXT if old in TEXT else COSTS), where="policy.toml")
    line = str(refused.value)
    assert line.startswith("policy.toml: ")
    assert expected in line
    assert line.isprintable()
    assert len(line) < 650


def test_a_policy_holds_a_bounded_number_of_channels() -> None:
    spec = {"unit": "g", "range": (-1.0, 1.0)}
    many = {f"c{number}": spec for number in range(1024)}
    policy = Policy.from_toml(TEXT)
    assert policy.vary(stream={"channels": many, "window": 1024}).stream.dim == 2**20
    with pytest.raises(PolicyError, match=r"stream.channels has 1025 channels; describe at most 1024"):
        policy.vary(stream={"channels": many | {"one more": spec}})


@pytest.mark.parametrize("ceiling", [0.5, 5.0, 50.0])
def test_a_named_promise_may_have_any_ceiling_and_the_file_says_what_for(ceiling: float) -> None:
    policy = Policy.from_toml(changed(LDP, f'guarantee = "named"\nldp_ceiling = {ceiling}\n'))
    assert (policy.privacy.epsilon, policy.privacy.ldp_ceiling) == (5.0, ceiling)
    assert f"ldp_ceiling = {ceiling}  # an LDP bound on top, whatever the calibration" in policy.to_toml()
    assert Policy.from_toml(policy.to_toml()) == policy


def test_a_named_promise_without_the_key_is_given_nothing_and_says_so_no_more_than_before() -> None:
    named = Policy.from_toml(changed(LDP, 'guarantee = "named"\n'))
    assert named.privacy.given is None
    assert "given" not in named.to_json()["privacy"]
    useful = named.vary(privacy={"given": "useful"})
    assert Policy.from_toml(useful.to_toml()) == Policy.from_json(useful.to_json()) == useful


def test_a_budget_is_any_of_three_limits_and_goes_with_the_bundle() -> None:
    policy = Policy.from_toml(changed(AUTO, "budget = { per_hour = 60, in_all = 600.5 }"))
    assert policy.privacy.budget.limits == {"per_hour": 60.0, "in_all": 600.5}
    assert "per_hour = 60.0  # of one person, in any hour; a ledger keeps it" in policy.to_toml()
    assert Policy.from_toml(policy.to_toml()) == policy == Policy.from_json(policy.to_json())
    assert "budget" not in Policy.from_toml(TEXT).to_toml()


def test_a_budget_does_not_keep_evaluations_from_trying_a_larger_epsilon() -> None:
    policy = Policy.from_toml(changed(AUTO, "budget.in_all = 6.0"))
    assert policy.vary(privacy={"epsilon": 10.0}).privacy.epsilon == 10


def test_broken_toml_is_reported_with_its_line() -> None:
    with pytest.raises(PolicyError, match="line 2"):
        Policy.from_toml(changed("[stream]", "[stream"))


def test_the_guarantee_is_ldp_without_sensitive_inferences_and_named_with_them() -> None:
    silent = changed(LDP, "")
    assert Policy.from_toml(silent).privacy.guarantee == "named"
    assert Policy.from_toml(changed(SENSITIVE, "", silent)).privacy.guarantee == "ldp"
    assert Policy.from_toml(TEXT).privacy.guarantee == "ldp"


@pytest.mark.parametrize("mechanism", GUARANTEES)
@pytest.mark.parametrize("guarantee", ["ldp", "named", "rldp"])
def test_a_mechanism_is_accepted_exactly_for_the_guarantees_it_keeps(mechanism: str, guarantee: str) -> None:
    minimiser = "paper" if mechanism == "paper" else "default"
    changes = {"mechanism": mechanism, "guarantee": guarantee}
    policy = Policy.from_toml(TEXT)
    if guarantee in GUARANTEES[mechanism]:
        varied = policy.vary(privacy=changes, training={"minimiser": minimiser})
        assert (varied.privacy.mechanism, varied.privacy.guarantee) == (mechanism, guarantee)
    else:
        with pytest.raises(PolicyError, match=f'mechanism = "{mechanism}" gives'):
            policy.vary(privacy=changes, training={"minimiser": minimiser})


def test_the_paper_mechanism_brings_the_paper_autoencoder() -> None:
    assert Policy.from_toml(changed(AUTO, 'mechanism = "paper"')).training.minimiser == "paper"
    assert Policy.from_toml(TEXT).training.minimiser == "default"


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
