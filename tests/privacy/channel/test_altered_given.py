"""Promises given the useful class that were altered on their way: refused."""

import json

import pytest
from tests.privacy.channel.test_given import COUNTS, MADE
from tests.privacy.edited import edited

from deeprotect.errors import BundleError
from deeprotect.privacy.mechanisms.mechanism import load


def broken(path, value):
    return edited(MADE.to_json(), path, value)


PERSON = ["secrets", "person"]
WITHOUT = [*PERSON, "without_promise"]
FEWER = COUNTS[1] // 2
WRONG = {
    "a useful class left out": broken([*PERSON, "tables"], MADE.to_json()["secrets"]["person"]["tables"][:1]),
    "a useful class twice": broken([*PERSON, "tables", 1, "given"], "walk"),
    "a useful class of no output": broken([*PERSON, "tables", 1, "given"], "run"),
    "outputs without names": broken(["outputs"], []),
    "a class left out of one useful class": broken(WITHOUT, {"given": [], "classes": [], "windows": []}),
    "a row left out of a table": edited(
        broken([*PERSON, "tables", 1, "classes"], ["ann", "bob"]),
        [*PERSON, "tables", 1, "counts"],
        COUNTS[1][:2].tolist(),
    ),
    "a row left out and called rare, though seen often": edited(
        edited(
            broken([*PERSON, "tables", 1, "classes"], ["ann", "bob"]),
            [*PERSON, "tables", 1, "counts"],
            COUNTS[1][:2].tolist(),
        ),
        WITHOUT,
        {"given": ["walk", "still"], "classes": ["eve", "eve"], "windows": [11, 60]},
    ),
    "a rare one said to be frequent": broken([*WITHOUT, "windows"], [20]),
    "a rare one in a table": edited(
        broken([*PERSON, "tables", 0, "classes"], ["ann", "bob", "eve"]),
        [*PERSON, "tables", 0, "counts"],
        COUNTS[0].tolist(),
    ),
    "a combination twice": broken(WITHOUT, {"given": ["walk"] * 2, "classes": ["eve"] * 2, "windows": [11] * 2}),
    "negative windows": broken([*WITHOUT, "windows"], [-1]),
    "lists of two lengths": broken([*WITHOUT, "windows"], []),
    "no list of what is left out": broken(WITHOUT, ...),
    "the list is nothing": broken(WITHOUT, None),
    "no tables": broken([*PERSON, "tables"], []),
    "tables are one": broken([*PERSON, "tables"], {}),
    "a table is nothing": broken([*PERSON, "tables", 0], None),
    "smaller counts": broken([*PERSON, "tables", 1, "counts"], FEWER.tolist()),
    "a smaller epsilon": broken([*PERSON, "tables", 0, "epsilon"], 0.5),
    "two epsilons": edited(broken([*PERSON, "tables", 0, "epsilon"], 2.5), ["event", "epsilon"], 2.5),
    "given nothing": broken(["event", "given"], []),
    "given without the word": broken(["event", "given"], ...),
    "the secret as of old": broken(PERSON, {"classes": ["ann"], "counts": [[1, 2]], "epsilon": 1.0}),
    "more confidence": broken(["event", "confidence"], 0.9999),
    "lines in a useful class": broken([*WITHOUT, "given"], ["walk\nverdict: holds"]),
    "lines in a rare class": broken([*WITHOUT, "classes"], ["eve\x1b[2K"]),
    "given a line": broken(["event", "given"], ["activity\nholds"]),
    "given is text": broken(["event", "given"], "activity"),
}


@pytest.mark.parametrize("fields", WRONG.values(), ids=WRONG.keys())
def test_an_altered_promise_is_refused_in_one_line(fields):
    with pytest.raises(BundleError) as refused:
        load(json.loads(json.dumps(fields)))
    assert str(refused.value).isprintable()
    assert str(refused.value).startswith("mechanism")


def test_a_count_below_the_fewest_is_listed_as_without_a_promise_and_never_as_promised():
    """What a maker may still do: call a combination rare. Whoever reads the promise is told."""
    tables = MADE.to_json()["secrets"]["person"]["tables"]
    tables[1] |= {"classes": ["ann", "bob"], "counts": COUNTS[1][:2].tolist()}
    rest = {"given": ["walk", "still"], "classes": ["eve", "eve"], "windows": [11, 19]}
    found = load(edited(MADE.to_json(), PERSON, {"tables": tables, "without_promise": rest}))
    assert ["still", "eve", 19] in found.certificate()["secrets"][0]["without_promise"]
    assert found.certificate()["integers_sha256"] != MADE.certificate()["integers_sha256"]
