"""Releases have the kind of their input: frames, lazy frames, arrays."""

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from tests.mutations import protectors

from deeprotect import Protector
from deeprotect.errors import TableError


@pytest.fixture
def protector(bundle) -> Protector:
    return Protector(bundle)


def array(windows=5, kind=np.float64):
    return np.random.default_rng(0).uniform(-3, 3, size=(windows, 4, 2)).astype(kind)


@pytest.mark.parametrize(
    "kind",
    [lambda table: table, pa.Table.to_pandas, polars.from_arrow, lambda table: table.combine_chunks().to_batches()[0]],
    ids=["pyarrow", "pandas", "polars", "batch"],
)
def test_a_frame_comes_back_as_its_own_kind(protector, table, kind):
    released = protector.protect(kind(table)).table
    assert type(released) is type(kind(table))
    assert list(
        released.columns if isinstance(released, pandas.DataFrame | polars.DataFrame) else released.schema.names
    )


def test_a_lazy_frame_comes_back_lazy_and_is_drawn_and_paid_for_once(protector, table):
    lazy = polars.from_arrow(table).lazy().filter(polars.col("recording") == "r0")
    released = protector.protect(lazy)
    assert isinstance(released.table, polars.LazyFrame)
    assert released.table.collect().equals(released.table.collect())
    assert released.cost.draws == 3
    assert released.dropped == ("note", "activity")


def test_a_protector_learns_from_a_lazy_frame():
    rows = polars.DataFrame({"acc_x": np.linspace(0, 1, 80), "activity": ["a"] * 40 + ["b"] * 40})
    channels = {"acc_x": {"unit": "g", "range": [-4.0, 4.0]}}
    policy = {
        "stream": {"rate_hz": 10, "window": 4, "channels": channels},
        "inferences": {"useful": ["activity"]},
        "privacy": {"epsilon": 5.0, "mechanism": "baseline"},
    }
    assert Protector.train(policy, rows.lazy()).bundle.manifest.training.rows == 80


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int16", "uint8", "int64", ">f8"])
def test_windows_keep_their_shape_and_type_and_nothing_else(protector, kind):
    windows = array(kind=kind) if kind != "uint8" else np.ones((5, 4, 2), dtype=kind)
    released = protector.protect(windows)
    assert released.table.shape == windows.shape
    assert released.table.dtype == windows.dtype
    assert released.rows == 20
    assert released.cost.draws == 5
    if windows.dtype.kind == "f":
        assert (released.table == windows).mean() < 0.2
        assert np.abs(released.table.astype(float)).max() <= 4


def test_windows_are_not_changed_in_place(protector):
    windows = array()
    before = windows.copy()
    protector.protect(windows)
    assert (windows == before).all()


def test_held_windows_are_counted_from_the_first_and_many_go_in_batches():
    held, count = Protector(protectors.held()), 3 * 4096 + 1
    released = held.protect(np.random.default_rng(0).uniform(-4, 4, size=(count, protectors.CODES, 1)))
    episodes = np.arange(count) // protectors.HELD
    assert released.cost.draws == episodes[-1] + 1
    assert (released.table[1:] == released.table[:-1])[episodes[1:] == episodes[:-1]].all()


def test_no_windows_are_no_release(protector):
    released = protector.protect(np.empty((0, 4, 2)))
    assert released.table.shape == (0, 4, 2)
    assert released.cost.draws == 0


@pytest.mark.parametrize(
    ("windows", "says"),
    [
        (np.zeros((5, 8)), "windows are"),
        (np.zeros((5, 2, 4)), "windows are"),
        (np.zeros((5, 4, 2), dtype=complex), "real numbers"),
        (np.full((5, 4, 2), "1234"), "real numbers"),
        (np.full((5, 4, 2), 1234, dtype=object), "real numbers"),
        (np.where(np.arange(40).reshape(5, 4, 2) == 17, np.nan, 1234.0), "window 2 has a missing"),
    ],
)
def test_wrong_arrays_are_refused_without_a_sample(protector, windows, says):
    with pytest.raises(TableError, match=says) as caught:
        protector.protect(windows)
    assert "1234" not in str(caught.value)


def test_windows_in_another_unit_are_warned_of(protector):
    with pytest.warns(UserWarning, match="acc_x"):
        protector.protect(array() * 100 + 1000)


@pytest.mark.parametrize("kind", [pandas.Series, polars.Series])
def test_a_series_is_no_table_and_one_line_says_how_to_make_one(protector, kind):
    with pytest.raises(TableError, match=r"a Series is one column.*series\.to_frame\(\)"):
        protector.protect(kind([0.1, 0.2]))


def test_a_dry_run_gives_no_rows_and_draws_nothing(protector, table, monkeypatch):
    cost = protector.protect(table).cost
    monkeypatch.setattr("deeprotect.release.engine.simulate", None)
    dry = protector.protect(table, dry_run=True)
    assert (dry.table, dry.cost) == (None, cost)
    assert protector.protect(array(), dry_run=True).cost.draws == 5


def test_a_dry_run_counts_episodes_and_people(protector, table, tmp_path):
    people = table.append_column("person", pa.array(["ann"] * 12 + ["bob"] * 11))
    given = {"ledger": tmp_path / "ledger.db", "stream": "walk", "map": {"person": "person"}}
    dry = protector.protect(people, dry_run=True, **given)
    assert dry.people == ("ann", "bob")
    assert not (tmp_path / "ledger.db").exists()
    assert protector.protect(people, **given).cost == dry.cost
