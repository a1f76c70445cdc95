"""Several workers release what one does: every window in its place, every charge and draw in one thread."""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from tests.mutations import protectors

from deeprotect import Protector
from deeprotect.errors import TableError
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.release import engine

CODES, WINDOWS = 4, 150_000


@pytest.fixture(scope="module")
def truthful() -> Protector:
    """A code book whose channel answers wrongly once in twenty million windows."""
    mechanism = make(design(1.0 - np.eye(CODES), np.ones(CODES), ldp_epsilon=32.0))
    return Protector(protectors.bundle(mechanism, CODES, **protectors.code_book(CODES)))


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    return np.random.default_rng(0).integers(CODES, size=WINDOWS)


@pytest.fixture(scope="module")
def path(tmp_path_factory, codes):
    """Windows of four samples, of which the largest stands where the code says; many batches."""
    samples = np.eye(CODES)[codes].ravel()
    path = tmp_path_factory.mktemp("workers") / "in.parquet"
    pa_parquet.write_table(pa.table({"time": np.arange(len(samples)) / 10, "acc_x": samples}), path)
    return path


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_every_window_is_released_in_its_place(truthful, codes, path, tmp_path, workers):
    summary = truthful.protect(path, tmp_path / "out.parquet", workers=workers)
    released = pa_parquet.read_table(tmp_path / "out.parquet")
    assert summary.rows == released.num_rows == CODES * WINDOWS
    assert released["time"] == pa_parquet.read_table(path)["time"]
    # One wrong answer in a hundred of these runs; four in none. Two windows of neighbouring batches would be thousands.
    assert np.count_nonzero(released["acc_x"].to_numpy().reshape(-1, CODES).argmax(axis=1) != codes) < 4


def test_all_is_charged_and_drawn_in_one_thread_before_the_next(truthful, path, tmp_path, monkeypatch):
    """So that a ledger needs no lock, and entropy has one reader."""
    calls = []
    for owner, name in ((engine, "release"), (DiscreteChannel, "privatise")):
        sound = getattr(owner, name)

        def noted(*given, _sound=sound, _name=name, **rest):
            calls.append((_name, threading.current_thread()))
            return _sound(*given, **rest)

        monkeypatch.setattr(owner, name, noted)
    truthful.protect(path, tmp_path / "out.parquet", workers=4)
    assert {thread for _, thread in calls} == {threading.current_thread()}
    assert [name for name, _ in calls] == ["release", "privatise"] * (len(calls) // 2)
    assert len(calls) > 2


def test_a_worker_that_fails_leaves_nothing_behind(truthful, path, tmp_path, monkeypatch):
    codes_of, left = engine.codes_of, iter(range(3))

    def failing(*given):
        if next(left, None) is None:
            raise TableError("a worker failed")
        return codes_of(*given)

    monkeypatch.setattr(engine, "codes_of", failing)
    with pytest.raises(TableError, match="a worker failed"):
        truthful.protect(path, tmp_path / "out.parquet", workers=3)
    assert list(tmp_path.iterdir()) == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(("encode", "write"))]


def test_a_full_disk_leaves_nothing_behind(truthful, path, tmp_path, monkeypatch):
    """The writer's thread fails, and the release with it."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pa_parquet.ParquetWriter, "write_table", full)
    with pytest.raises(OSError, match="No space"):
        truthful.protect(path, tmp_path / "out.parquet", workers=2)
    assert list(tmp_path.iterdir()) == []
