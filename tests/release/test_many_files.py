"""Many files: the same structure, finished ones kept whatever broke the run, and one run at a time."""

import json
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from tests.conftest import walk

from deeprotect import Protector
from deeprotect.errors import InputError, TableError
from deeprotect.release.folders import UNFINISHED
from deeprotect.tables.atomic import LEFT_BEHIND

PLACES = ["a.parquet", "b/c.parquet", "b/d.parquet"]
RELEASED = ["1.parquet", "2/1.parquet", "2/2.parquet"]
PROTECT = (sys.executable, "-c", "from deeprotect.cli import main; main()", "protect")


@pytest.fixture
def protector(bundle):
    return Protector(bundle)


@pytest.fixture
def data(tmp_path):
    return made(tmp_path / "data", rows=30)


def made(folder, *, rows):
    for number, place in enumerate(PLACES):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        pa_parquet.write_table(walk(rows + number), folder / place)
    return folder


def written(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def states(folder):
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.rglob("*.parquet")}


def test_every_file_is_released_in_its_place(protector, data, tmp_path):
    summary = protector.protect([data], tmp_path / "out")
    assert written(tmp_path / "out") == RELEASED
    for name, place in zip(RELEASED, PLACES, strict=True):
        released, private = pa_parquet.read_table(tmp_path / "out" / name), pa_parquet.read_table(data / place)
        assert released.column_names == ["time", "acc_x", "acc_y", "recording"]
        assert released["time"] == private["time"]
        assert released["acc_x"] != private["acc_x"]
    assert (summary.files, summary.kept, summary.rows) == (3, 0, 93)
    assert summary.dropped == ("note", "activity")


def test_a_file_that_cannot_be_used_breaks_the_run_off_and_the_next_goes_on(protector, data, tmp_path):
    whole = (data / PLACES[1]).read_bytes()
    (data / PLACES[1]).write_bytes(whole[:-50])
    with pytest.raises(TableError, match=r"c\.parquet"):
        protector.protect([data], tmp_path / "out")
    assert written(tmp_path / "out") == [UNFINISHED, RELEASED[0]]
    first = states(tmp_path / "out")
    (data / PLACES[1]).write_bytes(whole)
    summary = protector.protect([data], tmp_path / "out")
    assert (summary.files, summary.kept) == (2, 1)
    assert written(tmp_path / "out") == RELEASED
    assert first.items() <= states(tmp_path / "out").items()


def test_names_of_files_and_folders_leave_only_where_that_is_asked_for(protector, tmp_path):
    (tmp_path / "data" / "ann").mkdir(parents=True)
    pa_parquet.write_table(walk(30), tmp_path / "data" / "ann" / "walking at home.parquet")
    protector.protect(tmp_path / "data", tmp_path / "out")
    assert written(tmp_path / "out") == ["1/1.parquet"]
    protector.protect(tmp_path / "data", tmp_path / "named", keep_names=True)
    assert written(tmp_path / "named") == ["ann/walking at home.parquet"]


def test_numbers_of_a_broken_run_are_never_taken_by_other_files(protector, data, tmp_path):
    (data / PLACES[1]).write_bytes(b"no table")
    with pytest.raises(TableError):
        protector.protect([data], tmp_path / "out")
    pa_parquet.write_table(walk(30), data / PLACES[1])
    pa_parquet.write_table(walk(30), data / "Zoe.parquet")  # sorts before all others
    with pytest.raises(InputError, match="other files"):
        protector.protect([data], tmp_path / "out")
    assert written(tmp_path / "out") == [UNFINISHED, RELEASED[0]]


def test_only_what_this_run_released_is_counted_as_spent(protector, data, tmp_path):
    everything = protector.protect([data], tmp_path / "all").cost.draws
    first = protector.protect([data / PLACES[0]], tmp_path / "one").cost.draws
    broken_off(protector, data, tmp_path / "out")
    assert protector.protect([data], tmp_path / "out").cost.draws == everything - first


def broken_off(protector, data, out):
    """A run that finished the first of the files."""
    whole = (data / PLACES[1]).read_bytes()
    (data / PLACES[1]).write_bytes(b"no table")
    with pytest.raises(TableError) as failure:
        protector.protect([data], out)
    (data / PLACES[1]).write_bytes(whole)
    return str(failure.value)


def names(folder):
    tables = [pa_parquet.read_table(folder / place) for place in RELEASED]
    return [sorted(set(each["recording"].to_pylist()), key=int) for each in tables]


def test_names_of_recordings_are_unique_among_all_files_of_one_release(protector, data, tmp_path):
    protector.protect([data], tmp_path / "out")
    assert names(tmp_path / "out") == [["1", "2"], ["3", "4"], ["5", "6"]]


def test_a_run_that_goes_on_numbers_recordings_from_where_it_stopped(protector, data, tmp_path):
    broken_off(protector, data, tmp_path / "out")
    protector.protect([data], tmp_path / "out")
    assert names(tmp_path / "out") == [["1", "2"], ["3", "4"], ["5", "6"]]


@pytest.mark.parametrize("cut_off", ['{"file": "2/1.par', '{"file": "2/1.parquet", "recordings": 2}\n'])
def test_a_run_killed_before_a_file_has_its_name_takes_its_numbers_again(protector, data, tmp_path, cut_off):
    broken_off(protector, data, tmp_path / "out")
    with (tmp_path / "out" / UNFINISHED).open("a") as mark:
        mark.write(cut_off)
    protector.protect([data], tmp_path / "out")
    assert names(tmp_path / "out") == [["1", "2"], ["3", "4"], ["5", "6"]]


def test_a_release_whose_numbers_were_not_noted_is_not_gone_on_with(protector, data, tmp_path):
    broken_off(protector, data, tmp_path / "out")
    mark = tmp_path / "out" / UNFINISHED
    mark.write_text(mark.read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match="did not note its numbers"):
        protector.protect([data], tmp_path / "out")


def test_a_run_that_breaks_off_says_what_it_released_and_charged(protector, data, tmp_path):
    said = broken_off(protector, data, tmp_path / "out")
    assert "c.parquet" in said
    assert "; 1 of 3 files, 30 rows, released before that (ldp: ε = 5 per window, ε = 40 for the whole stream" in said


def test_a_file_that_fails_half_way_says_what_the_ledger_has_charged(protector, tmp_path):
    rows = walk(300_000).set_column(0, "time", pa.array([n / 10 for n in range(299_999)] + [0.0]))
    pa_parquet.write_table(rows.drop_columns(["recording"]), tmp_path / "backwards.parquet")
    with pytest.raises(TableError, match=r"\(\d+ draws charged before that\)"):
        protector.protect(
            tmp_path / "backwards.parquet", tmp_path / "out.parquet", ledger=tmp_path / "ledger.db", stream="walk"
        )


def test_a_finished_folder_is_not_released_again(protector, data, tmp_path):
    protector.protect([data], tmp_path / "out")
    before = states(tmp_path / "out")
    with pytest.raises(InputError, match="exists already"):
        protector.protect([data], tmp_path / "out")
    assert states(tmp_path / "out") == before


def test_nothing_of_somebody_elses_is_touched(protector, data, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "years of work.txt").touch()
    with pytest.raises(InputError, match="exists already"):
        protector.protect([data], tmp_path / "out")
    assert written(tmp_path / "out") == ["years of work.txt"]
    (tmp_path / "years of work").touch()
    with pytest.raises(InputError, match="is not a directory"):
        protector.protect([data], tmp_path / "years of work")


def test_another_bundle_does_not_go_on_with_a_release(protector, data, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / UNFINISHED).write_text(json.dumps({"bundle": "0" * 64}))
    with pytest.raises(InputError, match="another bundle"):
        protector.protect([data], tmp_path / "out")


def test_two_runs_do_not_write_into_one_folder(protector, data, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / UNFINISHED).open("a+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another run"):
            protector.protect([data], tmp_path / "out")


@pytest.mark.parametrize("folder", [".", "b", "new", "../data/b/new"])
def test_an_output_folder_is_never_among_the_inputs(protector, data, folder):
    with pytest.raises(InputError, match="inputs lie in it"):
        protector.protect([data], data / folder)


def test_a_file_may_be_released_into_a_folder_beside_it(protector, data):
    protector.protect([data / PLACES[0]], data / "out")
    assert written(data / "out") == [RELEASED[0]]


def killed_at_the_second_file(command, out):
    """kill -9 when one file is finished and the next is being written."""
    work = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not ((out / RELEASED[0]).exists() and any(part.stat().st_size for part in left_behind(out))):
        assert work.poll() is None, "it finished before it could be killed"
        time.sleep(0.001)
    work.send_signal(signal.SIGKILL)
    work.wait()


def left_behind(out):
    return [path for path in out.rglob(".*") if LEFT_BEHIND.fullmatch(path.name)]


@pytest.mark.long
def test_a_killed_run_goes_on_and_keeps_what_was_finished(bundle, tmp_path):
    bundle.save(tmp_path / "protector")
    data, out = made(tmp_path / "data", rows=300_000), tmp_path / "out"
    command = [*PROTECT, str(tmp_path / "protector"), str(data), str(out)]
    killed_at_the_second_file(command, out)
    assert set(written(out)) >= {UNFINISHED, RELEASED[0]}
    assert left_behind(out)
    before = states(out)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "of 2 files, 1 files were finished before" in done.stderr
    assert written(out) == RELEASED
    assert before.items() <= states(out).items()
    assert [pa_parquet.read_table(out / place).num_rows for place in RELEASED] == [300_000, 300_001, 300_002]
