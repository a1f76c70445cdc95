"""The embedded wrist data."""

from pathlib import Path

import numpy as np
import pytest

from deeprotect.datasets import load, watch
from deeprotect.errors import DatasetError


def test_each_person_did_each_exercise_on_each_side() -> None:
    table = load("watch").table
    triples = set(zip(*(table[label].to_pylist() for label in watch.LABELS), strict=True))
    assert len(triples) == 10 * 7 * 2


def test_an_altered_file_is_never_unpickled(tmp_path: Path) -> None:
    content = bytearray((watch.folder() / "watch_dataset.npy").read_bytes())
    content[-1] ^= 1
    (tmp_path / "watch_dataset.npy").write_bytes(content)
    with pytest.raises(DatasetError, match="pip install seglearn"):
        list(watch.read(tmp_path, rate_hz=50.0))


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "find_spec", lambda name: None)
    with pytest.raises(DatasetError, match=r"pip install seglearn==1\.2\.5"):
        load("watch")


def test_ten_hertz_is_the_mean_of_five_samples_each() -> None:
    full, slow = load("watch"), load("watch", rate_hz=10)
    np.testing.assert_allclose(slow.samples()[0], full.samples()[:5].mean(axis=0))
    assert (slow.rate_hz, slow.schema.window) == (10.0, 10)
    assert slow.table["time"][1].as_py() == pytest.approx(0.1)


def test_more_than_the_recorded_rate_is_refused() -> None:
    with pytest.raises(DatasetError, match="above the recorded 50 Hz"):
        load("watch", rate_hz=100)
