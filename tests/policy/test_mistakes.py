"""Each mistake in a policy is one line that names the key and the fix."""

import pytest
from tests.policy.test_policy import AUTO, COSTS, LDP, SENSITIVE, TEXT, changed

from deeprotect.errors import PolicyError
from deeprotect.policy import Policy

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
    "subspace": (AUTO, 'mechanism = "subspace"', 'is no longer offered; write guarantee = "rldp", which erases'),
    "budget without a limit": (AUTO, 'budget.when_spent = "refuse"', "privacy.budget sets no limit; add per_hour"),
    "budget of nothing": (AUTO, "budget.per_day = 0", "privacy.budget.per_day = 0 must be greater than 0"),
    "budget without end": (AUTO, "budget.per_day = inf", "privacy.budget.per_day = inf must be a finite number"),
    "budget below a draw": (AUTO, "budget.per_day = 0.5", "budget.per_day = 0.5 is less than one draw costs, ε = 5"),
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
    "named": (LDP, 'guarantee = "named"\n', 'guarantee = "named" is no longer offered; write guarantee = "ldp"'),
    "a ceiling": (AUTO, "ldp_ceiling = 3", 'privacy.ldp_ceiling is no longer a key; write guarantee = "ldp", whose'),
    "given": (AUTO, 'given = "useful"', "privacy.given is no longer a key; remove it; write guarantee"),
    "confidence": (AUTO, "confidence = 0.95", "privacy.confidence is no longer a key; remove it; write guarantee"),
    "all of a named promise": (
        LDP, 'guarantee = "named"\ngiven = "useful"\nldp_ceiling = 5.0\n', 'is no longer a key',
    ),
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
    "column of no channel": ("[inferences]", '[stream.columns]\nq = "x"\n[inferences]', "'q', not a channel"),
    "one column twice": (
        "[inferences]",
        '[stream.columns]\nacc_x = "acc_y"\n[inferences]',
        "'acc_x' and 'acc_y' from one column 'acc_y'",
    ),
    "rldp of nothing": (SENSITIVE + "[privacy]\nepsilon = 5.0\n" + LDP, '[privacy]\nepsilon = 5\nguarantee = "rldp"\n',
                        'privacy.guarantee = "rldp" needs inferences.sensitive'),
    "paper with another feature extractor": (AUTO + "\n[training]",
                                             'mechanism = "paper"\n[training]\nfeature_extractor = "pca"',
                                             'use feature_extractor = "paper"'),
    "dear misreading": ("stairs = 0.2", "stairs = 5", "activity.walk.stairs = 5 must be at most 1 (0: costs"),
    "negative misreading": ("stairs = 0.2", "stairs = -1", "activity.walk.stairs = -1 must be at least 0 (0: costs"),
    "infinite misreading": ("stairs = 0.2", "stairs = inf", "activity.walk.stairs = inf must be a finite number"),
    "misreading not a number": ("stairs = 0.2", "stairs = nan", "activity.walk.stairs = nan must be a finite number"),
    "misreading as text": ("stairs = 0.2", 'stairs = "a"', 'activity.walk.stairs = "a" must be a number'),
    "class called as a key": ("stairs = 0.2", "window = 2", "walk.window = 2 must be at most 1 (0: costs nothing"),
    "costs of no class": ("{ walk = 0 }", "{}", "activity.stairs = {} must not be empty (for example walk = {"),
    "cost without a class": ("{ walk = 0 }", "0.5", "activity.stairs = 0.5 must be a table (for example walk ="),
    "right reading costs": ("still = 1", "walk = 1", "walk.walk is a correct classification and costs 0; remove it"),
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
