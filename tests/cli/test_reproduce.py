"""The verb `reproduce`, as a user types it."""

import json

import pytest


@pytest.fixture
def without_data(tmp_path, monkeypatch):
    """A machine that has no data set in its cache."""
    monkeypatch.setattr("deeprotect.datasets.fetching.default_cache", lambda: tmp_path / "cache")


def test_data_that_are_not_here_end_in_one_line_that_says_how_to_get_them(deeprotect, without_data):
    done = deeprotect("reproduce", "3", "--quick", "--out", "again")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "deeprotect datasets fetch fsdd" in done.stderr


def test_every_missing_case_is_named(deeprotect, without_data):
    done = deeprotect("reproduce", "2", "3", "--quick", "--out", "again")
    assert done.returncode == 2
    assert "case study 2" in done.stderr
    assert "case study 3" in done.stderr


def test_wrong_input_is_refused_before_any_work(folder, deeprotect):
    for wrong in (["4"], ["one"], ["1", "--folds", "0"], ["1", "--from", "nowhere"], ["1", "--jobs", "0"]):
        done = deeprotect("reproduce", *wrong, "--out", "again")
        assert done.returncode == 2, wrong
        assert done.stderr.count("\n") == 1
    assert not (folder / "again" / "report.html").exists()


def test_an_app_that_is_no_model_is_refused_before_any_work(folder, deeprotect):
    done = deeprotect("reproduce", "--study", "watch-exercise", "--app", "oracle", "--out", "again")
    assert done.returncode == 2
    assert "inference model 'oracle' is unknown; use one of: ridge, kernel_ridge, svm, naive_bayes" in done.stderr
    assert not (folder / "again").exists()


def test_a_study_without_its_data_is_said_and_the_rest_goes_on(folder, deeprotect, without_data):
    done = deeprotect("reproduce", "--study", "hapt-mode", "--study", "fsdd-digit", "--out", "again")
    assert done.returncode == 0, done.stderr
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == ["hapt-mode", "fsdd-digit"]
    written = json.loads((folder / "again" / "studies.json").read_text())
    assert [each["study"] for each in written] == ["hapt-mode", "fsdd-digit"]
    assert all("datasets fetch" in each["missing"] for each in written)
