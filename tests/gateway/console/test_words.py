from datetime import UTC, datetime, timedelta

import pytest

from deeprotect.gateway.console.rendering import ago, lasting

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (15600, "4 h 20 min"),
        (90000, "1 d 1 h"),
        (1e9, "more than a year"),
    ],
)
def test_a_time_has_two_units_and_is_never_longer_than_it_is(seconds, said):
    assert lasting(timedelta(seconds=seconds)) == said


def test_when_something_was_heard():
    assert ago(NOW, NOW) == "now"
    assert ago(NOW - timedelta(minutes=2), NOW) == "2 min ago"
