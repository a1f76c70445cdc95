"""An event is either a promise we know or an error."""

import pytest

from deeprotect.errors import PolicyError
from deeprotect.privacy.events import Event


def test_an_event_says_what_it_promises_and_per_what():
    assert str(Event("rldp", 2.0, inferences=("subject",))) == "ε = 2 rldp per window for subject"


@pytest.mark.parametrize(
    "fields",
    [
        {"guarantee": "dp", "epsilon": 1.0},
        {"guarantee": "ldp", "epsilon": 0.0},
        {"guarantee": "ldp", "epsilon": float("nan")},
        {"guarantee": "ldp", "epsilon": float("inf")},
        {"guarantee": "ldp", "epsilon": 1.0, "per": "day"},
        {"guarantee": "ldp", "epsilon": 1.0, "delta": 1.0},
        {"guarantee": "named", "epsilon": 1.0, "confidence": 0.0},
    ],
)
def test_an_unknown_or_empty_promise_is_refused(fields):
    with pytest.raises(PolicyError):
        Event(**fields)


def test_its_json_is_plain():
    event = Event("named", 1.5, inferences=("a", "b"), confidence=0.95)
    assert event.to_json() == {
        "guarantee": "named",
        "epsilon": 1.5,
        "per": "window",
        "inferences": ["a", "b"],
        "delta": 0.0,
        "confidence": 0.95,
    }
