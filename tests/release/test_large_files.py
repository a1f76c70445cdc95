"""A file larger than memory should allow, and a power cut in the middle of it."""

import signal
import subprocess
import sys
import time

import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from tests.conftest import walk

ROWS = 2_000_000
LIMIT_MB = 600
PROTECT = (sys.executable, "-c", "from deeprotect.cli import main; main()", "protect")
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    table = walk(ROWS, recordings=100)
    pa_csv.write_csv(table, folder / "in.csv")
    pa_parquet.write_table(table, folder / "in.parquet")
    return folder


@pytest.mark.long
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_two_million_rows_need_less_than_600_mb(bundle, large, tmp_path, kind):
    bundle.save(tmp_path / "protector")
    command = (*PROTECT, tmp_path / "protector", large / f"in.{kind}", tmp_path / f"out.{kind}")
    done = subprocess.run([sys.executable, "-c", MEASURE, *command], check=True, capture_output=True, text=True)
    assert int(done.stdout) < LIMIT_MB
    reader = pa_csv.read_csv if kind == "csv" else pa_parquet.read_table
    assert reader(tmp_path / f"out.{kind}").num_rows == ROWS


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_kill_in_the_middle_leaves_nothing_under_the_final_name(bundle, large, tmp_path, kind):
    bundle.save(tmp_path / "protector")
    work = subprocess.Popen([*PROTECT, tmp_path / "protector", large / f"in.{kind}", tmp_path / f"out.{kind}"])
    while not any(part.stat().st_size for part in tmp_path.glob(".*.part")):
        assert work.poll() is None, "it finished before it could be killed"
        time.sleep(0.001)
    work.send_signal(signal.SIGKILL)
    work.wait()
    assert not (tmp_path / f"out.{kind}").exists()
