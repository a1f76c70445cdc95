"""How long a draw is held, as a policy says it."""

import pytest

from deeprotect.errors import PolicyError
from deeprotect.policy import Policy
from deeprotect.policy.sections import duration, seconds
from deeprotect.signals import Hold


def held(policy: Policy, **privacy: object) -> Policy:
    return policy.vary(privacy=privacy)


@pytest.mark.parametrize(
    ("every", "windows", "shown"),
    [
        ("2 s", 5, "2 s"),
        ("400 ms", 1, "400 ms"),
        ("1 min", 150, "1 min"),
        ("0.5 min", 75, "30 s"),
        ("0.8s", 2, "800 ms"),
    ],
)
def test_a_duration_is_so_many_windows(policy, every, windows, shown):
    made = held(policy, every=every)
    assert made.hold == Hold(windows, windows)
    assert made.privacy.every == shown
    assert Policy.from_toml(made.to_toml()).hold == made.hold
    assert Policy.from_json(made.to_json()).hold == made.hold


def test_without_one_each_window_is_a_draw(policy):
    assert policy.hold == Hold(1, 1)
    assert policy.seconds_per_draw == 0.4


def test_some_of_the_windows_may_be_listened_to(policy):
    assert held(policy, every="4 s", listen=3).hold == Hold(10, 3)


def test_a_script_has_slots_of_so_many_windows(policy):
    made = held(policy, every="4 s", slots="0.8s", changes=2, mechanism="channel")
    assert (made.hold, made.slot_windows, made.privacy.slots) == (Hold(10, 10), 2, "800 ms")
    for again in (Policy.from_toml(made.to_toml()), Policy.from_json(made.to_json())):
        assert (again.slot_windows, again.privacy.changes) == (2, 2)


@pytest.mark.parametrize(
    ("privacy", "said"),
    [
        ({"every": "30"}, 'must be a number and a unit, such as "30 s"'),
        ({"every": "half an hour"}, "must be a number and a unit"),
        ({"every": "0 s"}, "must be a number and a unit"),
        ({"every": "-3 s"}, "must be a number and a unit"),
        ({"every": "1e9 s"}, "must be a number and a unit"),
        ({"every": "nan s"}, "must be a number and a unit"),
        ({"every": 30}, "every"),
        ({"every": ""}, "must be a number and a unit"),
        ({"every": "1 s"}, 'is no whole number of windows; use "800 ms" or "1200 ms"'),
        ({"every": "100 ms"}, 'is no whole number of windows; use "400 ms" or more'),
        ({"every": "400 d"}, "is too long; use at most"),
        ({"every": "577 min"}, 'is too long; use at most "576 min"'),
        ({"listen": 3}, "privacy.listen needs privacy.every"),
        ({"every": "4 s", "listen": 0}, "listen"),
        ({"every": "4 s", "listen": 11}, "is more than the 10 windows of an episode"),
        ({"every": "4 s", "listen": 1.5}, "listen"),
        ({"slots": "2 s"}, "privacy.slots needs privacy.every"),
        ({"changes": 1}, "privacy.changes needs a script; add every and slots"),
        ({"every": "4 s", "changes": 1}, "privacy.changes needs privacy.slots"),
        ({"every": "4 s", "slots": "half"}, "must be a number and a unit"),
        ({"every": "4 s", "slots": "0.5 s"}, 'privacy.slots = "500 ms" is no whole number of windows'),
        ({"every": "4 s", "slots": "1.2 s"}, 'privacy.every = "4 s" is no whole number of slots'),
        ({"every": "4 s", "slots": "4 s"}, "has 1 slots"),
        ({"every": "8 min", "slots": "400 ms"}, "has 1200 slots"),
        ({"every": "4 s", "slots": "2 s", "changes": 2}, "is too many for 2 slots"),
        ({"every": "4 s", "slots": "800 ms", "changes": 9}, "changes"),
        ({"every": "4 s", "slots": "800 ms", "changes": -1}, "changes"),
        ({"every": "4 s", "slots": "800 ms", "listen": 2}, "a script uses every window; remove it"),
        ({"every": "4 s", "slots": "800 ms", "mechanism": "laplace"}, "cannot release scripts"),
    ],
)
def test_what_makes_no_sense_gets_one_line(policy, privacy, said):
    with pytest.raises(PolicyError, match=said.replace('"', '"')) as error:
        held(policy, **privacy)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["30 s", "5 min", "1 h", "2 d", "1500 ms"])
def test_durations_come_back_as_they_were_written(text):
    assert duration(seconds(text)) == text
