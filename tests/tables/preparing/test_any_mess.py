"""Any messy table, in constant memory, with nothing left behind after a failure."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import walk
from tests.tables.preparing.test_prepare import RATE, put, samples_of, tidy

from deeprotect import Protector
from deeprotect.errors import InputError, TableError
from deeprotect.tables.checking.check import check
from deeprotect.tables.preparing import mending
from deeprotect.tables.preparing.prepare import PrepareRequest, prepare

MESS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 1000),
        "shuffled": st.booleans(),
        "interleaved": st.booleans(),
        "gaps": st.integers(0, 3),
        "missing": st.integers(0, 5),
        "doubled": st.integers(0, 5),
    }
)


def messy(mess):
    random, table = np.random.default_rng(mess["seed"]), tidy(200, recordings=2)
    samples, time = table["acc_x"].to_pylist(), table["time"].to_numpy().copy()
    for row in random.integers(0, 200, mess["missing"]):
        samples[row] = None
    for row in random.integers(0, 200, mess["gaps"]):
        time[row:] += 3 * (np.arange(200 - row) < 100 - row % 100)
    order = np.concatenate([np.arange(200), random.integers(0, 200, mess["doubled"])])
    if mess["interleaved"]:
        order = order[np.argsort(order % 100, kind="stable")]
    if mess["shuffled"]:
        order = random.permutation(order)
    return put(put(table, "acc_x", samples), "time", time).take(pa.array(order))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(MESS)
def test_whatever_the_mess_the_output_is_tidy_and_every_row_is_accounted_for(run, bundle, policy, mess):
    counts, out = run(messy(mess))
    gone = counts.with_missing_cells + counts.duplicates + counts.repeated_times
    assert counts.rows_out == out.num_rows == counts.rows_in - gone
    assert [each.kind for each in check(out).problems] in ([], ["uneven rate"])
    given_rows = {tuple(row) for row in samples_of(messy(mess))}
    assert {tuple(row) for row in samples_of(out)} <= given_rows
    faster = policy.vary(stream={"rate_hz": RATE})
    Protector(bundle.__class__.make(faster, bundle.mechanism, **made(bundle))).protect(out)  # and it can be released


def made(bundle):
    facts = bundle.manifest
    return {
        "encoder": bundle.encoder,
        "decoder": bundle.decoder,
        "feature_extractor": facts.feature_extractor,
        "training": facts.training,
        "results": [],
        "created": "2026-01-01T00:00:00+00:00",
        "made_with": {},
    }


def test_a_table_in_order_is_never_held_as_a_whole(run, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("gathered")

    monkeypatch.setattr("deeprotect.tables.preparing.prepare.whole_recordings", refuse)
    monkeypatch.setattr("deeprotect.tables.preparing.prepare.gathered_recordings", refuse)
    counts, _ = run(tidy(1000, recordings=1))
    assert counts.rows_out == 1000


def test_buckets_hold_a_part_of_the_recordings_each(run, monkeypatch):
    loaded = []
    load = mending._load
    monkeypatch.setattr(mending, "_load", lambda file: loaded.append(load(file)) or loaded[-1])
    table = tidy(3000, recordings=300)
    run(table.take(pa.array(np.argsort(np.arange(3000) % 10, kind="stable"))))
    assert sum(map(len, loaded)) == 3000
    assert max(map(len, loaded)) <= 3000 / mending.BUCKETS + 10


def test_csv_comes_out_as_csv(tmp_path):
    (tmp_path / "in.csv").write_bytes("Zeit;Accel X;Ort\n0,0;0,5;Köln\n0,1;0,25;Köln\n0,2;;Köln\n".encode("cp1252"))
    prepare(tmp_path / "in.csv", tmp_path / "out.csv", PrepareRequest(max_dropped=0.5))
    assert pa_csv.read_csv(tmp_path / "out.csv").to_pydict() == {
        "recording": [1, 1],
        "time": [0.0, 0.1],
        "Accel X": [0.5, 0.25],
        "Ort": ["Köln", "Köln"],
    }


def test_nothing_is_left_when_it_fails(tmp_path):
    pa_csv.write_csv(walk(20), tmp_path / "in.csv")
    (tmp_path / "in.csv").write_text((tmp_path / "in.csv").read_text() + '0.1,0.5,"odd\n0.2,0.5,x,0,r1,walk\n')
    with pytest.raises(TableError):
        prepare(tmp_path / "in.csv", tmp_path / "out.csv", PrepareRequest())
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_standard_input_is_refused_because_it_is_read_twice(tmp_path):
    with pytest.raises(InputError, match="read twice"):
        prepare("-", tmp_path / "out.csv", PrepareRequest())


MEASURE = """
import sys
from deeprotect.tables.preparing.prepare import PrepareRequest, prepare
prepare(sys.argv[1], sys.argv[2], PrepareRequest())
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux, to measure memory")
def test_memory_does_not_grow_with_a_table_in_order(tmp_path):
    peaks = []
    for rows in (300_000, 1_500_000):
        pa_csv.write_csv(tidy(rows, recordings=1), tmp_path / "in.csv")
        command = [sys.executable, "-c", MEASURE, tmp_path / "in.csv", tmp_path / "out.parquet"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) / 1024)
    assert peaks[1] - peaks[0] < 60  # MB; the larger file has 70 MB more
