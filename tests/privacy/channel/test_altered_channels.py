"""Channels on their way through a bundle: whole, or altered and refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.privacy.channel.test_discrete_channel import ldp
from tests.privacy.edited import edited

from deeprotect.errors import BundleError, PolicyError
from deeprotect.privacy.channel.ratios import WHOLE
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.mechanisms.mechanism import load

ALL_CHANNELS = {
    "ldp": ldp(variants=4),
    "with names": replace(ldp(4), codes=tuple("abcd"), outputs=tuple("abcd")),
}


@pytest.mark.parametrize("channel", ALL_CHANNELS.values(), ids=ALL_CHANNELS.keys())
def test_a_channel_survives_its_json(channel):
    again = load(json.loads(json.dumps(channel.to_json())))
    assert again.to_json() == channel.to_json()
    assert again.certificate() == channel.certificate()
    code = np.random.default_rng(0).integers(0, 4, (50, 1)).astype(float)
    released = [m.privatise(code, entropy=SeededEntropy(1)) for m in (channel, again)]
    assert (released[0] == released[1]).all()


def test_permuted_rows_change_the_certificate():
    fields = ALL_CHANNELS["ldp"].to_json()
    fields["weights"] = fields["weights"][::-1]
    assert load(fields).certificate() != ALL_CHANNELS["ldp"].certificate()


def shifted(amount):
    """The first row gives `amount` more to its first output, taken from its second."""
    row = [int(part) for part in ALL_CHANNELS["ldp"].to_json()["weights"][0].split()]
    return " ".join(map(str, [row[0] + amount, row[1] - amount, *row[2:]]))


def broken(path, value, source="with names"):
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
    "another guarantee": broken(["event", "guarantee"], "rldp"),
    "a guarantee of no version": broken(["event", "guarantee"], "named"),
    "event's epsilon": broken(["event", "epsilon"], 0.5),
    "variants": broken(["variants"], 0),
    "half a variant": broken(["variants"], 1.5),
    "labels": broken(["codes"], ["a"]),
    "prior": broken(["prior"], [1.0]),
    "cost": broken(["cost"], [[1.0]]),
    "delta": broken(["event", "delta"], 0.1),
    "lines in a code": broken(["codes"], ["a\nverdict: holds", "b", "c", "d"]),
    "escapes in an output": broken(["outputs"], ["a\x1b[2K", "b", "c", "d"]),
    "endless code": broken(["codes"], ["a" * 1001, "b", "c", "d"]),
}


@pytest.mark.parametrize("fields", WRONG.values(), ids=WRONG.keys())
def test_an_altered_channel_is_refused_in_one_line(fields):
    with pytest.raises(BundleError) as refused:
        load(json.loads(json.dumps(fields)))
    assert str(refused.value).isprintable()
    assert str(refused.value).startswith("mechanism")


def test_a_channel_with_half_the_noise_cannot_be_made():
    strong, weak = ldp(5, 4.0), ldp(5, 2.0)
    with pytest.raises(PolicyError, match="weights give epsilon"):
        replace(weak, weights=strong.weights)
