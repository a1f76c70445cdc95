"""The faults that docs/gateway-faults.md tells of, shorter: each on a real gateway."""

import pytest

from deeprotect.errors import InputError
from studies.benchmark import faults, redeliveries


def test_a_fault_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(InputError, match="there is no fault 'flood'; there are: disk, server"):
        faults.table(["flood"], say=print)


def test_a_held_draw_shows_a_change_of_activity_after_one_hold_or_two():
    row = faults.activity_changes(6, hold=4)
    assert row.fault == "The activity changes, draws held for 4 s"
    median = float(row.waited.split()[1])
    assert 0 < median < 3 * 4


@pytest.mark.long
def test_apps_that_nobody_reads_cost_nothing(tmp_path):
    row = faults.unread_apps(tmp_path, 2.0)
    assert "× 200" in row.answers
    assert row.draws == "0, 0"


@pytest.mark.long
def test_what_is_charged_while_the_disk_is_full_is_what_apps_got(tmp_path):
    row = faults.full_disk(tmp_path, 3.0)
    assert "× 503" in row.answers
    charged, got = (int(part.replace(",", "")) for part in row.draws.split(", "))
    assert charged >= got > 0


@pytest.mark.long
@pytest.mark.parametrize("name", ["between", "retried", "cut-off"])
def test_what_is_sent_again_is_charged_once_and_shown_with_one_value(tmp_path, monkeypatch, name):
    monkeypatch.setattr(redeliveries, "SECONDS", 4)
    row = redeliveries.REDELIVERIES[name](tmp_path)
    draws, told = row.draws.split("; ")
    charged, got = (int(part.replace(",", "")) for part in draws.split(", "))
    assert charged >= got > 0
    assert told == "shown with two values: 0"
