"""Tables on their way to be played."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from tests.gateway.phones import THREE_AXES

from deeprotect.errors import TableError
from deeprotect.gateway.feeds.replaying import recorded
from deeprotect.policy import Policy

BEGUN = 1_700_000_000_123_456_789


def table(rows=30, **columns):
    values = {name: np.arange(rows) / 10 + place for place, name in enumerate(("acc_x", "acc_y", "acc_z"))}
    return pa.table({"time": BEGUN + np.arange(rows, dtype=np.int64) * 10**8, **values, **columns})


def read(path, policy=None, **options):
    with recorded(str(path), policy, **options) as found:
        return found.schema.names, list(found.stretches())


@pytest.fixture
def path(tmp_path):
    parquet.write_table(table(recording=["a"] * 10 + ["b"] * 20, activity=[1] * 30), tmp_path / "walk.parquet")
    return tmp_path / "walk.parquet"


def test_each_recording_counts_its_seconds_from_its_own_beginning(path):
    _, stretches = read(path)
    assert [each.number for each in stretches] == [0, 1]
    assert [len(each.seconds) for each in stretches] == [10, 20]
    for each in stretches:
        np.testing.assert_allclose(each.seconds, np.arange(len(each.seconds)) / 10, atol=1e-9)
    assert [each.begun_ns for each in stretches] == [BEGUN, BEGUN + 10 * 10**8]


def test_labels_are_not_played(path):
    names, _ = read(path)
    assert names == ("acc_x", "acc_y", "acc_z")


def test_one_recording_can_be_chosen_by_its_name(path):
    _, stretches = read(path, only="b")
    assert [(each.number, len(each.seconds)) for each in stretches] == [(0, 20)]
    with pytest.raises(TableError, match="no recording 'c'"):
        read(path, only="c")


def test_csv_and_arrow_say_the_same_as_parquet(path, tmp_path):
    whole = parquet.read_table(path)
    csv.write_csv(whole, tmp_path / "walk.csv")
    with pa.ipc.new_file(tmp_path / "walk.arrow", whole.schema) as writer:
        writer.write_table(whole)
    _, expected = read(path)
    for name in ("walk.csv", "walk.arrow"):
        for policy in (None, Policy.from_toml(THREE_AXES)):
            _, found = read(tmp_path / name, policy)
            assert [each.begun_ns for each in found] == [each.begun_ns for each in expected]
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one.samples, other.samples)


def test_a_table_without_time_needs_a_rate(tmp_path):
    parquet.write_table(table().drop_columns("time"), tmp_path / "walk.parquet")
    with pytest.raises(TableError, match="--rate-hz"):
        read(tmp_path / "walk.parquet")
    _, stretches = read(tmp_path / "walk.parquet", rate_hz=10.0)
    np.testing.assert_allclose(stretches[0].seconds, np.arange(30) / 10)
    assert stretches[0].begun_ns is None


def test_seconds_of_a_stopwatch_are_no_date(tmp_path):
    parquet.write_table(table(time=np.arange(30) / 10), tmp_path / "walk.parquet")
    _, stretches = read(tmp_path / "walk.parquet")
    np.testing.assert_allclose(stretches[0].seconds, np.arange(30) / 10)
    assert stretches[0].begun_ns is None


def test_what_cannot_be_sent_is_refused_in_one_line(tmp_path):
    parquet.write_table(pa.table({"a": [1.0], "b": [2.0]}), tmp_path / "other.parquet")
    with pytest.raises(TableError, match="a policy with `policy`"):
        read(tmp_path / "other.parquet")
    for cells in (["0.1"] * 30, [None] * 30):
        parquet.write_table(table(acc_x=cells), tmp_path / "text.parquet")
        csv.write_csv(table(acc_x=["0.1"] * 29 + ["n/a"]), tmp_path / "text.csv")
        for name in ("text.parquet", "text.csv"):
            with pytest.raises(TableError, match="acc_x"):
                read(tmp_path / name)
    parquet.write_table(table(acc_x=[float("nan")] * 30), tmp_path / "nan.parquet")
    with pytest.raises(TableError, match="prepare"):
        read(tmp_path / "nan.parquet")
