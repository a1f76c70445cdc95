"""Promises given the useful class that were altered on their way: refused."""

import json

import pytest
from tests.privacy.channel.test_given import LEAST, MADE
from tests.privacy.edited import edited

from deeprotect.errors import BundleError
from deeprotect.privacy.channel.betting import UNIT
from deeprotect.privacy.mechanisms.mechanism import load


def broken(path, value):
    return edited(MADE.to_json(), path, value)


WALK, STILL = (["promises", place] for place in range(2))
EVE = ["unpromised", 0]
PROMISES = MADE.to_json()["promises"]
WRONG = {
    "a useful class left out": broken(["promises"], PROMISES[:1]),
    "a useful class twice": broken([*STILL, "given"], "walk"),
    "a useful class of no output": broken([*STILL, "given"], "run"),
    "outputs without names": broken(["outputs"], []),
    "a class left out of one useful class": broken(["unpromised"], []),
    "a class left out of a set": broken([*STILL, "classes"], ["ann", "bob"]),
    "a class promised and not promised": broken([*WALK, "classes"], ["ann", "bob", "eve"]),
    "a class without a promise twice": broken(["unpromised"], MADE.to_json()["unpromised"] * 2),
    "fewer recordings than needed": broken([*WALK, "recordings"], LEAST - 1),
    "fewer recordings than the set is of": broken([*WALK, "recordings"], LEAST),
    "more recordings than can be": broken([*WALK, "recordings"], 1 << 40),
    "negative recordings": broken([*EVE, "recordings"], -1),
    "other recordings needed": broken([*EVE, "needed"], LEAST - 1),
    "no list of what is left out": broken(["unpromised"], ...),
    "the list is nothing": broken(["unpromised"], None),
    "no promises": broken(["promises"], []),
    "promises are one": broken(["promises"], {}),
    "a promise is nothing": broken(WALK, None),
    "a wider set": edited(broken([*WALK, "low"], [0, 0]), [*WALK, "high"], [UNIT, UNIT]),
    "a set of three codes": broken([*WALK, "low"], [0, 0, 0]),
    "a set that sums to less than one": broken([*WALK, "high"], [UNIT // 3, UNIT // 3]),
    "a smaller epsilon": broken([*WALK, "epsilon"], 0.5),
    "two epsilons": edited(broken([*WALK, "epsilon"], 2.5), ["event", "epsilon"], 2.5),
    "given nothing": broken(["event", "given"], []),
    "given without the word": broken(["event", "given"], ...),
    "counts as of old": broken(["promises"], ...) | {"secrets": {"person": {"classes": ["ann"], "counts": [[1, 2]]}}},
    "more confidence": broken(["event", "confidence"], 0.9999),
    "no ceiling for what is left out": broken(["ldp_ceiling"], []),
    "lines in a useful class": broken([*EVE, "given"], "walk\nverdict: holds"),
    "lines in a class": broken([*EVE, "classes"], ["eve\x1b[2K"]),
    "given a line": broken(["event", "given"], ["activity\nholds"]),
    "given is text": broken(["event", "given"], "activity"),
}


@pytest.mark.parametrize("fields", WRONG.values(), ids=WRONG.keys())
def test_an_altered_promise_is_refused_in_one_line(fields):
    with pytest.raises(BundleError) as refused:
        load(json.loads(json.dumps(fields)))
    assert str(refused.value).isprintable()
    assert str(refused.value).startswith("mechanism")


def test_a_class_that_a_maker_leaves_out_of_the_promise_is_listed():
    """What a maker may still do: call a combination rare. Whoever reads the promise is told."""
    rest = [*MADE.to_json()["unpromised"], {**MADE.to_json()["unpromised"][0], "given": "still"}]
    altered = edited(broken([*STILL, "classes"], ["ann", "bob"]), ["unpromised"], rest)
    found = load(altered).certificate()
    assert found["secrets"][0]["unpromised"] == 2
    assert "2 of 6 combinations" in found["unpromised"][0]
    assert found["integers_sha256"] != MADE.certificate()["integers_sha256"]
