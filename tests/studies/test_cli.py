"""The verbs of `python -m studies`, as they are typed in a clone."""

import json
import shlex
import tomllib
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest
from tests.cli.test_wrong_input import snapshot
from tests.cli.test_wrong_lines import assert_refused
from tests.conftest import walk

WRONG = tomllib.loads(Path(__file__).with_name("wrong_commands.toml").read_text())["wrong"]
REPORTS = {
    "cases": ("reproduce --out out", "tables"),
    "known tables": ("reproduce --study watch-exercise --out out", "studies.json"),
    "features": ("reproduce --features watch-exercise --out out", "features.json"),
    "bench": ("bench --part start --out out", "bench.json"),
}


@pytest.fixture
def without_data(tmp_path, monkeypatch):
    """A machine that has no data set in its cache."""
    monkeypatch.setattr("deeprotect.datasets.fetching.default_cache", lambda: tmp_path / "cache")


def test_data_that_are_not_here_end_in_one_line_that_says_how_to_get_them(studies, without_data):
    done = studies("reproduce", "3", "--quick", "--out", "again")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "deeprotect datasets fetch fsdd" in done.stderr


def test_every_missing_case_is_named(studies, without_data):
    done = studies("reproduce", "2", "3", "--quick", "--out", "again")
    assert done.returncode == 2
    assert "case study 2" in done.stderr
    assert "case study 3" in done.stderr


def test_wrong_input_is_refused_before_any_work(folder, studies):
    for wrong in (["4"], ["one"], ["1", "--folds", "0"], ["1", "--from", "nowhere"], ["1", "--jobs", "0"]):
        done = studies("reproduce", *wrong, "--out", "again")
        assert done.returncode == 2, wrong
        assert done.stderr.count("\n") == 1
    assert not (folder / "again" / "report.html").exists()


def test_an_app_that_is_no_model_is_refused_before_any_work(folder, studies):
    done = studies("reproduce", "--study", "watch-exercise", "--app", "oracle", "--out", "again")
    assert done.returncode == 2
    assert "inference model 'oracle' is unknown; use one of: ridge, kernel_ridge, svm, naive_bayes" in done.stderr
    assert not (folder / "again").exists()


def test_a_study_without_its_data_is_said_and_the_rest_goes_on(folder, studies, without_data):
    done = studies("reproduce", "--study", "hapt-mode", "--study", "fsdd-digit", "--out", "again")
    assert done.returncode == 0, done.stderr
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == ["hapt-mode", "fsdd-digit"]
    written = json.loads((folder / "again" / "studies.json").read_text())
    assert [each["study"] for each in written] == ["hapt-mode", "fsdd-digit"]
    assert all("datasets fetch" in each["missing"] for each in written)


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case["line"])
def test_a_wrong_line_is_refused_in_one_line(folder, studies, case):
    before = snapshot(folder)
    assert_refused(studies(*shlex.split(case["line"])), folder, before, case["says"])


@pytest.mark.parametrize("name", REPORTS)
def test_a_folder_with_an_earlier_report_is_refused_before_the_work(folder, studies, name):
    command, part = REPORTS[name]
    (folder / "out").mkdir()
    (folder / "out" / part).write_text("somebody's work")
    before = snapshot(folder)
    done = studies(*command.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"it holds {part} already" in done.stderr
    assert snapshot(folder) == before


def test_peers_are_written_as_they_are_shown(folder, studies):
    pa_csv.write_csv(walk(2000, recordings=8), folder / "long.csv")
    line = "peers policy.toml --data long.csv --out peers.json --quick --jobs 1 --mechanism downsampling"
    done = studies(*line.split())
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder / "peers.json").read_text())["results"]
    assert [row["mechanism"] for row in rows] == ["channel", "downsampling"]
    assert "downsampling" in done.stdout
