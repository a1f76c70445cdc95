"""Channels on their way through a bundle: whole, or altered and refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.privacy.channel.test_discrete_channel import ldp, named
from tests.privacy.edited import edited

from deeprotect.errors import BundleError, PolicyError
from deeprotect.privacy.channel.ratios import WHOLE
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.mechanisms.mechanism import load

ALL_CHANNELS = {
    "ldp": ldp(variants=4),
    "named": named(codes=("a", "b", "c", "d"), outputs=("a", "b", "c", "d")),
    "both": named(1.0, 1.5),
}


@pytest.mark.parametrize("channel", ALL_CHANNELS.values(), ids=ALL_CHANNELS.keys())
def test_a_channel_survives_its_json(channel):
    again = load(json.loads(json.dumps(channel.to_json())))
    assert again.to_json() == channel.to_json()
    assert again.certificate() == channel.certificate()
    code = np.random.default_rng(0).integers(0, 4, (50, 1)).astype(float)
    released = [m.privatise(code, entropy=SeededEntropy(1)) for m in (channel, again)]
    assert (released[0] == released[1]).all()


def test_permuted_rows_and_an_edited_set_change_the_certificate():
    fields = ALL_CHANNELS["ldp"].to_json()
    fields["weights"] = fields["weights"][::-1]
    assert load(fields).certificate() != ALL_CHANNELS["ldp"].certificate()
    fields = ALL_CHANNELS["both"].to_json()
    fields["promises"][0]["low"] = [0] * 4
    fields["event"]["epsilon"] = fields["promises"][0]["epsilon"] = 1.5
    changed = load(fields).certificate()
    assert changed["integers_sha256"] != ALL_CHANNELS["both"].certificate()["integers_sha256"]
    assert changed["derived_epsilon"] != ALL_CHANNELS["both"].certificate()["derived_epsilon"]


def shifted(amount):
    """The first row gives `amount` more to its first output, taken from its second."""
    row = [int(part) for part in ALL_CHANNELS["ldp"].to_json()["weights"][0].split()]
    return " ".join(map(str, [row[0] + amount, row[1] - amount, *row[2:]]))


def broken(path, value, source="named"):
    return edited(ALL_CHANNELS[source].to_json(), path, value)


WRONG = {
    "weights raised": broken(["weights", 0], shifted(1 << 58), "ldp"),
    "weights raised by little": broken(["weights", 0], shifted(1 << 30), "ldp"),
    "row does not sum": broken(["weights", 0], " ".join(["1"] * 5), "ldp"),
    "row of another length": broken(["weights", 0], str(WHOLE), "ldp"),
    "row of words": broken(["weights", 0], "a b c d e", "ldp"),
    "negative weight": broken(["weights", 0], f"-1 {WHOLE + 1} 0 0 0", "ldp"),
    "endless digits": broken(["weights", 0], "1" * 5000, "ldp"),
    "weights as numbers": broken(["weights"], [[1, 2]], "ldp"),
    "no weights": broken(["weights"], [], "ldp"),
    "smaller epsilon": broken(["event", "epsilon"], 1.0, "ldp"),
    "smaller epsilon and ceiling": broken(["event", "epsilon"], 1.0, "ldp") | {"ldp_ceiling": [1.0]},
    "ceiling only": broken(["ldp_ceiling"], [1.0], "both"),
    "two ceilings": broken(["ldp_ceiling"], [1.0, 2.0], "both"),
    "no ceiling": broken(["ldp_ceiling"], [], "ldp"),
    "named stated as ldp": broken(["event", "guarantee"], "ldp"),
    "secret's epsilon": broken(["promises", 0, "epsilon"], 0.5),
    "event's epsilon": broken(["event", "epsilon"], 0.5),
    "a wider set": broken(["promises", 0, "low"], [0] * 4),
    "permuted codes": broken(
        ["weights"], ALL_CHANNELS["named"].to_json()["weights"][1:] + ALL_CHANNELS["named"].to_json()["weights"][:1]
    ),
    "a set of five codes": broken(["promises", 0, "low"], [0] * 5),
    "half a unit": broken(["promises", 0, "low"], [0.5] * 4),
    "negative ends": broken(["promises", 0, "low"], [-1] * 4),
    "no set": broken(["promises", 0, "low"], ...),
    "no promises": broken(["promises"], []),
    "promises are nothing": broken(["promises"], None),
    "a promise is nothing": broken(["promises", 0], None),
    "something left out that the event does not name": broken(
        ["unpromised"], [{"inference": "gender", "given": "", "classes": ["f"], "recordings": 1, "needed": 9}], "both"
    ),
    "another secret": broken(["event", "inferences"], ["gender"]),
    "variants": broken(["variants"], 0),
    "half a variant": broken(["variants"], 1.5),
    "labels": broken(["codes"], ["a"]),
    "prior": broken(["prior"], [1.0]),
    "cost": broken(["cost"], [[1.0]]),
    "delta": broken(["event", "delta"], 0.1),
    "uncertain ldp": broken(["event", "confidence"], 0.9, "ldp"),
    "lines in a code": broken(["codes"], ["a\nverdict: holds", "b", "c", "d"]),
    "escapes in an output": broken(["outputs"], ["a\x1b[2K", "b", "c", "d"]),
    "lines in a class": broken(["promises", 0, "classes"], ["a\nb", "b", "c"]),
    "endless class": broken(["promises", 0, "classes"], ["a" * 101, "b", "c"]),
}


@pytest.mark.parametrize("fields", WRONG.values(), ids=WRONG.keys())
def test_an_altered_channel_is_refused_in_one_line(fields):
    with pytest.raises(BundleError) as refused:
        load(json.loads(json.dumps(fields)))
    assert str(refused.value).isprintable()
    assert str(refused.value).startswith("mechanism")


def test_a_channel_with_half_the_noise_cannot_be_made():
    strong, weak = ldp(5, 4.0), ldp(5, 2.0)
    with pytest.raises(PolicyError, match="ldp epsilon"):
        replace(weak, weights=strong.weights)
    loose, tight = named(2.0), named(1.0)
    with pytest.raises(PolicyError, match="person"):
        replace(tight, weights=loose.weights)
