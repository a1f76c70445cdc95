"""The bar: a share, and a time that runs down."""

import io

import pytest
from rich.console import Console

from deeprotect.cli.printing import Countdown, bar


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_is_left_is_told_from_what_is_done_and_runs_down_between_reports():
    clock = Clock()
    countdown = Countdown(clock)
    assert str(countdown) == "0:00 so far"
    clock.now += 30
    countdown.tell(0.25)
    assert str(countdown) == "0:30 so far, about 1:30 left"
    clock.now += 20
    assert str(countdown) == "0:50 so far, about 1:10 left"
    clock.now += 1000
    assert str(countdown) == "17:30 so far, about 0:00 left"


def test_nothing_is_foretold_from_nearly_nothing():
    clock = Clock()
    countdown = Countdown(clock)
    clock.now += 10
    countdown.tell(0.001)
    assert str(countdown) == "0:10 so far"


def test_a_terminal_sees_title_share_and_time():
    shown = io.StringIO()
    with bar("training", Console(file=shown, force_terminal=True, width=100)) as progress:
        progress(0.5)
    assert "training" in shown.getvalue()
    assert "50%" in shown.getvalue()
    assert "left" in shown.getvalue()


def test_a_pipe_sees_nothing():
    shown = io.StringIO()
    with bar("training", Console(file=shown, force_terminal=False)) as progress:
        progress(0.5)
    assert shown.getvalue() == ""


@pytest.mark.parametrize("flag", [[], ["--quick"]])
def test_train_says_where_it_was_quick(folder, deeprotect, flag):
    done = deeprotect("train", "policy.toml", "--data", "walk.csv", "--out", "new", *flag)
    assert done.returncode == 0, done.stderr
    assert ("Quick training" in done.stderr) == bool(flag)
    assert ("Quick training, at most 6 epochs" in deeprotect("describe", "new").stdout) == bool(flag)
