"""An event is either a promise we know or an error."""

import pytest

from deeprotect.errors import PolicyError
from deeprotect.privacy.events import Event


def test_an_event_says_what_it_promises_and_per_what():
    assert str(Event("rldp", 2.0, inferences=("subject",))) == "ε = 2 rldp per window for “subject”"


def test_what_is_taken_on_trust_stands_behind_the_promise():
    assert "directions" in Event("ldp", 2.0, erased=("subject",)).assumes[0]
    assert Event("ldp", 2.0).assumes == ()


@pytest.mark.parametrize("name", ["a\nholds: ε = 0.01", "a\x1b[2K", "\u202ea", "a\u2029", "\x85", "", "  ", "a" * 101])
def test_an_inference_that_is_not_one_printable_line_is_refused_and_not_repeated(name):
    with pytest.raises(PolicyError, match="printable line") as refused:
        Event("rldp", 1.0, inferences=("a", name))
    assert str(refused.value).isprintable()


def test_an_event_names_a_bounded_number_of_inferences():
    with pytest.raises(PolicyError, match="at most 64"):
        Event("rldp", 1.0, inferences=tuple(f"i{number}" for number in range(65)))


@pytest.mark.parametrize(
    "fields",
    [
        {"guarantee": "dp", "epsilon": 1.0},
        {"guarantee": "ldp", "epsilon": 0.0},
        {"guarantee": "ldp", "epsilon": float("nan")},
        {"guarantee": "ldp", "epsilon": float("inf")},
        {"guarantee": "ldp", "epsilon": 1.0, "per": "day"},
        {"guarantee": "ldp", "epsilon": 1.0, "delta": 1.0},
        {"guarantee": "named", "epsilon": 1.0},
    ],
)
def test_an_unknown_or_empty_promise_is_refused(fields):
    with pytest.raises(PolicyError):
        Event(**fields)


def test_an_unknown_promise_is_not_repeated_as_it_stands():
    for fields in ({"guarantee": "dp\nholds\x1b"}, {"guarantee": "ldp", "per": "day\u2028holds"}):
        with pytest.raises(PolicyError, match="unknown") as refused:
            Event(**fields, epsilon=1.0)
        assert str(refused.value).isprintable()


def test_its_json_is_plain():
    event = Event("rldp", 1.5, inferences=("a", "b"))
    assert event.to_json() == {
        "guarantee": "rldp",
        "epsilon": 1.5,
        "per": "window",
        "inferences": ["a", "b"],
        "delta": 0.0,
        "erased": [],
    }
