"""The case studies on their real data, where the archives are present."""

import os
from pathlib import Path

import numpy as np
import pytest

from deeprotect.attack.models import train
from deeprotect.evaluation.evaluator import labelled_rows
from deeprotect.reproduction import authentication, transport
from deeprotect.reproduction.size import QUICK

BESIDE_PROJECT = Path(__file__).parents[3] / "shared" / "datasets"


@pytest.fixture
def archives(tmp_path, monkeypatch) -> Path:
    """The folder with NAME.tar.xz files, and a cache that does not outlive the test."""
    named = os.environ.get("DEEPROTECT_DATASETS")
    folder = Path(named) if named else BESIDE_PROJECT
    for name in ("hapt", "tmd", "taps"):
        if not (folder / f"{name}.tar.xz").is_file():
            pytest.skip(f"put {name}.tar.xz into the folder that DEEPROTECT_DATASETS names")
    monkeypatch.setattr("deeprotect.datasets.fetching.default_cache", lambda: tmp_path)
    return folder


def test_thirty_people_and_three_modes_in_windows_of_thirty_values(archives):
    who, _, owner = authentication.read(archives, QUICK, 0)
    assert who.windows.flat.shape[1] == 30
    assert len(set(who.windows.labels["person"])) == 30
    assert set(who.windows.labels["mode"]) == {"walk", "stairs", "still"}
    counts = np.unique(owner.windows.labels["owner"], return_counts=True)[1]
    assert counts[0] == counts[1]


def test_an_attacker_reads_digits_from_raw_presses_of_files_it_never_saw(archives):
    (experiment,) = transport.read(archives, QUICK, 0)
    right = tested = 0
    for fold in experiment.split.make_folds(experiment.windows, seed=0):
        learn, test = (labelled_rows(experiment.windows[rows], "digit") for rows in (fold.train, fold.test))
        guess = train("extra_trees", learn.rows, learn.labels, seed=0).predict(test.rows)
        right, tested = right + int((guess == test.labels).sum()), tested + len(guess)
    assert tested == 958
    assert right / tested > 0.16  # chance is 0.105; half of the presses to learn from give about 0.22
