"""Observers learn from the owner's table, and are measured on what they have not seen."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.gateway.conftest import channel_bundle

from deeprotect.errors import DeeprotectError
from deeprotect.gateway.console.features import SummaryModel, features
from deeprotect.gateway.console.observers import Observers, watch

PEOPLE = ("ann", "bob")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Whether one walks is in the movement, who it is in the level; the bundle knows of the movement's place only."""
    rng, rows = np.random.default_rng(0), []
    for number in range(40):
        person, activity = PEOPLE[number % 2], ("still", "walk")[number // 2 % 2]
        level, swing = (0.8 if person == "ann" else -0.8), (1.5 if activity == "walk" else 0.0)
        samples = level + swing * np.sin(np.arange(80) * 2.0)[:, None] + 0.1 * rng.normal(size=(80, 2))
        rows += [(f"r{number}", *sample, activity, person) for sample in samples.tolist()]
    columns = zip(*rows, strict=True)
    names = ("recording", "acc_x", "acc_y", "activity", "person")
    path = tmp_path_factory.mktemp("watch") / "labelled.parquet"
    pq.write_table(pa.table(dict(zip(names, map(list, columns), strict=True))), path)
    return path


@pytest.fixture(scope="module")
def watching(table):
    return watch(channel_bundle(), table)


def test_an_app_and_two_attackers_look_on(watching):
    """No inference is named as sensitive, so everything else is: the person, too."""
    app, attacker = watching.observers
    assert (app.inference, app.is_useful, app.on_released) == ("activity", True, None)
    assert (attacker.inference, attacker.is_useful) == ("person", False)
    assert attacker.on_released is not None


def test_from_raw_windows_they_read_everything(watching):
    assert all(observer.figures["raw"] > 0.95 for observer in watching.observers)


def test_from_released_windows_attackers_read_next_to_nothing(watching):
    """The bundle's four outputs are flat windows: neither the level nor the movement is in them."""
    _, attacker = watching.observers
    assert attacker.figures["released"] < 0.7
    assert attacker.figures["retrained"] < 0.7
    assert 0.4 < attacker.figures["chance"] < 0.6


def test_observers_are_learnt_once_for_each_bundle(table):
    observers = Observers(table)
    bundle = channel_bundle()
    observers.of(bundle)  # None as long as they learn, which may be short
    observers._found[bundle.digest].result(60)
    assert observers.of(bundle) is observers.of(bundle)
    observers.close()


def test_without_a_table_nobody_looks_on():
    assert Observers(None).of(channel_bundle()) is None


def test_a_table_that_does_not_fit_is_told_in_one_line(tmp_path):
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"x": [1.0]}), path)
    with pytest.raises(DeeprotectError, match="--watch: ") as told:
        watch(channel_bundle(), path)
    assert "\n" not in str(told.value)


def test_a_reader_takes_windows_of_one_sample_and_constant_ones():
    flat = np.zeros((30, 1, 2))
    flat[15:] = 1.0
    labels = np.array(["a"] * 15 + ["b"] * 15, dtype=object)
    assert SummaryModel.fit(flat, labels).accuracy(flat, labels) == 1.0
    assert np.isfinite(features(flat)).all()
