"""Held draws and scripts of one policy, side by side."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.evaluation.made_results import results

from deeprotect.evaluation.experiment import WASTED, hold_settings, script_settings
from deeprotect.evaluation.methods import Method, Setting
from deeprotect.evaluation.report import figures
from deeprotect.policy.sections import seconds
from deeprotect.privacy.channel.ratios import WHOLE
from deeprotect.privacy.channel.scripts import Scripts, keep_for


@pytest.fixture
def long(windows):
    """One recording of many windows."""
    count = 2000
    rows = np.arange(count) % len(windows)
    return replace(windows[rows], recording=np.zeros(count, dtype=np.int64), position=np.arange(count))


@pytest.fixture
def ldp(policy):
    privacy = {"guarantee": "ldp", "mechanism": "channel"}
    return policy.vary(privacy=privacy)


def test_scripts_are_tried_while_a_recording_holds_two_of_them(long, ldp):
    found = script_settings(long, ldp)
    lengths = [seconds(setting.every) for setting in found]
    assert found
    assert max(lengths) <= 1000 * ldp.stream.window_seconds
    labels = len(set(long.labels[ldp.inferences.useful[0]].tolist()) - {None})
    for setting in found:
        scripts = Scripts(labels, int(Fraction(seconds(setting.every)) / seconds(setting.slots)), setting.changes, 1)
        assert 1 - keep_for(scripts.count, setting.epsilon) / WHOLE <= WASTED
        assert setting.policy(ldp).slot_windows is not None


def test_a_policys_own_script_is_compared_and_held_labels_are_none(long, ldp):
    window = ldp.stream.window_seconds
    own = ldp.vary(privacy={"every": f"{float(12 * window):g} s", "slots": f"{float(3 * window):g} s"})
    assert script_settings(long, own)[0].slots == own.privacy.slots
    assert all(setting.policy(own).privacy.slots is None for setting in hold_settings(long, own))


def test_methods_that_draw_no_scripts_hold_a_draw_as_long(ldp):
    window = ldp.stream.window_seconds
    own = ldp.vary(privacy={"every": f"{float(12 * window):g} s", "slots": f"{float(3 * window):g} s"})
    for mechanism in ("baseline", "laplace"):
        varied = Setting(Method(mechanism, "ldp"), 5.0).policy(own)
        assert (varied.hold.windows, varied.privacy.slots) == (12, None)


def test_the_picture_shows_each_length_once():
    row = next(row for row in results().rows if row.epsilon is not None)
    rows = [replace(row, seconds_per_draw=each, slots=slots) for each, slots in ((20.0, None), (600.0, "30 s"))]
    useful = next(iter(row.useful))
    drawing = figures.hourly(rows, useful, caption="hold and script")
    texts = [text.get_text() for text in drawing.figure.axes[0].texts]
    assert texts == ["20 s", "10 min"]
