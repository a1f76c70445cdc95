"""Days stitched from real windows: one person's, of the stated stays, and of nothing that anybody learnt from."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.studies.reproduction.conftest import made_up

from deeprotect.training.labelled_windows import segment_numbers
from studies.reproduction import diaries
from studies.reproduction.diaries import RECORDED, STITCHED, DiaryStudy
from studies.reproduction.known_tables import STUDIES
from studies.reproduction.study import Study

STAY = 20  # windows of 2 s


@pytest.fixture
def stitched(monkeypatch, policy):
    """Each window's samples are its own number."""
    raw = made_up()
    own = replace(raw, samples=np.arange(len(raw), dtype=float)[:, None, None] * np.ones((1, 4, 1)))
    monkeypatch.setattr(Study, "windows", lambda *_: own)
    monkeypatch.setattr(diaries, "DAY_HOURS", 1)
    window = SimpleNamespace(window_seconds=2)
    asked = SimpleNamespace(stream=window, training=policy.training)
    study = DiaryStudy("small", "watch", 4, "mode", "person", people="person", stay=f"{2 * STAY} s")
    return own, study.windows(None, asked), study


def test_no_window_of_a_day_was_learnt_from(stitched):
    _, windows, study = stitched
    (fold,) = study.split.make_folds(windows, seed=0)
    learnt, tested = (set(windows.samples[rows, 0, 0].tolist()) for rows in (fold.train, fold.test))
    assert learnt
    assert tested
    assert not learnt & tested
    assert len(fold.train) + len(fold.test) == len(windows)


def test_a_day_is_one_recording_of_one_person_with_the_labels_of_its_windows(stitched):
    raw, windows, _ = stitched
    days = windows[windows.groups == STITCHED]
    assert len(days) == len(np.unique(days.recording)) * 1800
    for day in np.unique(days.recording):
        own = days[days.recording == day]
        assert len(set(own.labels["person"].tolist())) == 1
        assert own.position.tolist() == list(range(1800))
    number = days.samples[:, 0, 0].astype(int)
    assert (days.labels["mode"] == raw.labels["mode"][number]).all()
    assert not set(windows.recording[windows.groups == RECORDED].tolist()) & set(days.recording.tolist())


def test_stays_are_as_long_on_average_as_stated(stitched):
    _, windows, _ = stitched
    days = windows[windows.groups == STITCHED]
    stays = np.bincount(segment_numbers(days.recording, days.labels["mode"].astype(str)))
    assert stays.mean() == pytest.approx(STAY, rel=0.15)
    assert stays.std() == pytest.approx(STAY, rel=0.3)  # exponential: as wide as long


def test_studies_of_scripts_compare_them_with_draws_that_are_held():
    for name in ("watch-diary-20", "watch-diary-10", "hapt-mode-script"):
        (study,) = (study for study in STUDIES if study.name == name)
        assert {setting.slots is None for setting in study.draws} == {True, False}
