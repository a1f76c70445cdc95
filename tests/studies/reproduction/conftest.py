"""The made-up stream that evaluation is tested on, windows of several people, and real archives where they are."""

import os
from pathlib import Path

import numpy as np
import pytest
from tests.evaluation.conftest import policy, table, windows

from deeprotect.evaluation.methods import Method
from deeprotect.training.labelled_windows import LabelledWindows
from studies.reproduction.size import Size

__all__ = ["policy", "table", "windows"]

SMALL = Size(
    folds=2,
    epsilons=(5.0,),
    epochs=2,
    windows=300,
    owners=1,
    transport=90,
    features=(1, 7),
    steps=20,
    voices=2,
    attackers=("ridge",),
    app="ridge",
)
CHEAP = (Method("baseline", "ldp"), Method("laplace", "ldp"), Method("channel", "rldp"), Method("channel", "ldp"))
BESIDE_PROJECT = Path(__file__).parents[3] / "shared" / "datasets"


def made_up(people: int = 6, per_person: int = 40) -> LabelledWindows:
    """Windows in two recordings for each person, who does one thing in each."""
    count = people * per_person
    person = np.repeat(np.arange(people), per_person)
    half = np.arange(count) % per_person * 2 // per_person
    labels = {
        "person": np.array([f"p{number}" for number in person], dtype=object),
        "mode": np.array(["walk" if each else "still" for each in half], dtype=object),
    }
    samples = np.random.default_rng(0).random((count, 2, 3))
    return LabelledWindows(samples, labels, 2 * person + half, count, "", person, np.arange(count))


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
