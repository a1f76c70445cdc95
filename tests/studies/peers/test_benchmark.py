"""The field's benchmark: who is pooled with whom, and the table."""

import numpy as np
import pytest

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import InputError
from deeprotect.evaluation.results import OwnApp, Row, Sensitive, Useful, Whole
from studies.peers.benchmark import NETWORK, SENSITIVE, Network, by_person, compare_on, lines
from studies.peers.picture import draw


def test_windows_of_a_person_are_pooled_and_tested_recordings_stay_tested(windows):
    tested = np.unique(windows.recording)[-2:]
    sorted_windows, split = by_person(windows, SplitSpec("recording", tested=tuple(tested.tolist())))
    assert (np.diff(sorted_windows.recording) >= 0).all()
    assert len(np.unique(sorted_windows.recording)) == len(np.unique(windows.people))
    ((train, test),) = split.sides
    assert (train ^ test).all()
    assert test.sum() == np.isin(windows.recording, tested).sum()


def test_nothing_follows_a_window_that_did_not_follow_it_before(windows):
    order = np.argsort(windows.people, kind="stable")
    sorted_windows, _ = by_person(windows, SplitSpec("recording", tested=(0,)))
    followed = np.flatnonzero(sorted_windows.followed)
    assert (order[followed + 1] == order[followed] + 1).all()
    assert windows.followed[order[followed]].all()


def test_a_network_reads_what_it_has_learnt():
    random = np.random.default_rng(0)
    labels = np.array(["walk", "run"] * 40)
    windows = random.normal(size=(80, 24)) * 0.1 + (labels == "run")[:, None]
    network = Network(channels=2).fit(windows, labels)
    assert (network.predict(windows) == labels).mean() > 0.95


def test_a_split_without_recordings_to_test_on_is_refused(windows, policy):
    with pytest.raises(InputError, match="does not name the recordings to test on"):
        compare_on(windows, policy, SplitSpec(), ())


def row(mechanism: str, *, ours: bool, app: float, attacker: float) -> Row:
    interval = (0.0, 1.0)
    whole = Whole(24, raw=1.0, released=attacker, released_ci=interval, from_useful=0.04, chance=0.04)
    read = {"from_useful": 0.05, "limit": None, "at_most": {1: 0.2} if ours else {}, "whole": whole}
    hidden = Sensitive(0.9, 0.1, attacker, interval, "cnn", {}, 0.05, **read)
    network = OwnApp(0.97, app, interval, None)
    useful = Useful(0.93, app, interval, app, None, 0.3, apps={NETWORK: network})
    promise = ("ldp", 5.0) if ours else ("none", None)
    inferences = {"activity": useful}, dict.fromkeys(SENSITIVE, hidden)
    return Row(mechanism, *promise, "none", *inferences, "", seconds_per_draw=2.56 if ours else None)


ROWS = [row("channel", ours=True, app=0.96, attacker=0.06), row("leace", ours=False, app=0.9, attacker=0.98)]


def test_the_table_has_raw_windows_each_release_and_guessing():
    head, rule, raw, ours, peer, guessing = lines(ROWS, "activity")
    assert head.count("|") == rule.count("|") == raw.count("|") == ours.count("|") == peer.count("|")
    assert raw == "| raw | – | 0.930 | 0.970 | – | 0.900 | 1.000 | 0.900 | 1.000 | – |"
    assert ours.startswith("| ours, a draw every 2.56 s | ε = 5 (LDP) | 0.960 | 0.960 | 0.960 | 0.060 |")
    assert ours.endswith("| 0.060 | 0.200 |")
    assert peer.startswith("| leace | none | 0.900 |")
    assert guessing == "| guessing | – | 0.300 | 0.300 | – | 0.050 | 0.040 | 0.050 | 0.040 | – |"


def test_the_picture_names_every_release():
    drawn = draw(ROWS, "activity").svg_file()
    for name in ("raw", "ours, a draw every 2.56 s", "leace"):
        assert f">{name}<" in drawn
