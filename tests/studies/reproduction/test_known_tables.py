"""The studies' definitions and their reporting; the figures themselves stand in docs/results.md."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.datasets.dataset import Dataset
from deeprotect.datasets.fetching import load
from deeprotect.datasets.registry import entry
from deeprotect.errors import DatasetError, PolicyError
from deeprotect.signals import Channel
from deeprotect.training.labelled_windows import LabelledWindows
from studies.printing import study_lines
from studies.reproduction.known_tables import STUDIES, run_study, select_studies
from studies.reproduction.study import Study


def test_a_study_is_chosen_by_name_and_an_unknown_one_is_named() -> None:
    assert [study.name for study in select_studies(["tmd-mode", "watch-person"])] == ["watch-person", "tmd-mode"]
    assert len(select_studies([])) == len(STUDIES)
    with pytest.raises(PolicyError, match="no study 'mood'; known: watch-exercise"):
        select_studies(["mood"])


def test_data_that_is_not_here_is_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    found = [run_study(study, directory=tmp_path) for study in select_studies(["hapt-mode", "fsdd-digit"])]
    assert all(result.missing for result in found)
    assert "hapt-mode: " in next(iter(study_lines(found[0])))
    assert "missing" in found[0].to_json()


def test_a_studys_windows_carry_all_its_labels() -> None:
    (study,) = select_studies(["watch-exercise"])
    try:
        data = load(study.dataset, rate_hz=study.rate_hz)
    except DatasetError as error:
        pytest.skip(str(error))
    policy = study.policy(data)
    windows = study.windows(data, policy)
    assert windows.samples.shape[1:] == (10, 6)
    assert windows.labelled("exercise").all()
    assert windows.labelled("person").all()
    assert len(np.unique(windows.people)) == 10


def test_classes_that_a_study_does_not_hide_lose_their_label_and_keep_their_windows(
    windows: LabelledWindows,
) -> None:
    study = Study("small", "watch", 5, "activity", "person", people="person", hidden=("ann", "bob"))
    hidden = study._hiding(windows)
    assert len(hidden) == len(windows)
    eve = windows.labels["person"] == "eve"
    assert hidden.labelled("person").tolist() == (~eve).tolist()
    assert (hidden.labels["activity"] == windows.labels["activity"]).all()


def test_recordings_of_the_tested_trials_are_tested_and_a_magnitude_is_a_channel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = ["p01-walking-7"] * 3 + ["p02-walking-11"] * 2 + ["p01-sitting-13"] * 2
    axes = {f"{sensor}_{axis}": np.arange(7.0) for sensor in ("user_acc", "gyro") for axis in "xyz"}
    table = pa.table({"recording": names, **axes, "trial": [name.rpartition("-")[2] for name in names]})
    channels = tuple(Channel(name, "g", -2.0, 2.0) for name in axes)
    made = Dataset("motionsense", table, channels, ("trial",), 50.0, entry("motionsense"))
    monkeypatch.setattr("studies.reproduction.study.load", lambda *_, **__: made)
    (study,) = select_studies(["motionsense-4-magnitudes-gender"])
    data = study.load(tmp_path)
    assert study.split_of(data).tested == (1, 2)
    assert np.allclose(data.table["gyro"], np.sqrt(3) * np.arange(7))
    assert [*study.policy(data).stream.channels] == ["user_acc", "gyro"]
