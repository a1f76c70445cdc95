"""Nothing that exists is overwritten unasked, no input ever, and nothing is removed that we did not write."""

import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.test_wrong_input import snapshot

from deeprotect.tables.atomic import alone

QUICK = ("--quick", "--jobs", "1", "--mechanism", "baseline", "--epsilon", "5")
OUTPUTS = {
    "protect": ("protect protector walk.csv out.csv", "out.csv"),
    "prepare": ("prepare walk.csv --out out.csv", "out.csv"),
    "init": ("init walk.csv --useful activity --out out.toml", "out.toml"),
    "train": ("train policy.toml --data walk.csv --out out.zip", "out.zip"),
    "enrol": ("enrol protector walk.csv out.zip", "out.zip"),
    "audit": ("audit protector --runs 1000 --out out.png", "out.png"),
    "describe": ("describe protector --html out.html", "out.html"),
    "export": ("export protector --out out", "out"),
    "fetch": ("datasets fetch watch --out out.csv", "out.csv"),
}
REPORTS = {
    "demo": ("demo --out out", "report.html"),
    "evaluate": ("evaluate policy.toml --data walk.csv --out out", "results.json"),
    "evaluate over figures": ("evaluate policy.toml --data walk.csv --out out", "figures"),
}


@pytest.mark.parametrize("verb", OUTPUTS)
def test_a_file_that_exists_is_refused_before_the_work(folder, deeprotect, verb):
    command, out = OUTPUTS[verb]
    (folder / out).write_text("somebody's work")
    before = snapshot(folder)
    done = deeprotect(*command.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "exists" in done.stderr
    assert snapshot(folder) == before


@pytest.mark.parametrize("force", [False, True])
def test_an_export_replaces_an_earlier_one_only_by_force(folder, deeprotect, monkeypatch, force):
    """Whether it is one of ours is looked at where it is written."""
    written = []
    monkeypatch.setattr("deeprotect.exporting.targets.export_browser", lambda _, out: written.append(out) or 1 / 0)
    (folder / "out" / "extension").mkdir(parents=True)
    done = deeprotect("export", "protector", "--out", "out", *(["--force"] if force else []))
    assert written == ([Path("out")] if force else [])
    assert force or (done.returncode == 2 and "it exists already" in done.stderr)


@pytest.mark.parametrize("verb", REPORTS)
def test_a_folder_with_an_earlier_report_is_refused_before_the_work(folder, deeprotect, verb):
    command, part = REPORTS[verb]
    (folder / "out").mkdir()
    (folder / "out" / part).write_text("somebody's work")
    before = snapshot(folder)
    done = deeprotect(*command.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"it holds {part} already" in done.stderr
    assert "--force" in done.stderr
    assert snapshot(folder) == before


def test_force_overwrites_what_it_writes_and_nothing_else(folder, deeprotect):
    (folder / "out").mkdir()
    for name in ("report.html", "mine.txt"):
        (folder / "out" / name).write_text("somebody's work")
    done = deeprotect("evaluate", "policy.toml", "--data", "walk.csv", "--out", "out", *QUICK, "--force")
    assert done.returncode == 0, done.stderr
    assert (folder / "out" / "report.html").read_text().startswith("<!doctype html>")
    assert (folder / "out" / "mine.txt").read_text() == "somebody's work"


@pytest.mark.parametrize("out", ["out", "out.zip"])
def test_force_replaces_a_bundle_and_nothing_that_is_none(folder, deeprotect, bundle, out):
    train = ("train", "policy.toml", "--data", "walk.csv", "--out", out)
    bundle.save(folder / out)
    assert "exists already" in deeprotect(*train).stderr
    assert deeprotect(*train, "--force").returncode == 0
    if out == "out":
        (folder / out / "thesis.txt").write_text("somebody's work")
    else:
        with zipfile.ZipFile(folder / out, "a") as archive:
            archive.writestr("thesis.txt", "somebody's work")
    before = snapshot(folder)
    done = deeprotect(*train, "--force")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is not a bundle" in done.stderr
    assert snapshot(folder) == before


@pytest.mark.parametrize(
    "command",
    [
        "protect protector walk.csv walk.csv --force",
        "protect protector walk.csv walk.parquet walk.csv --force",
        "prepare walk.csv --out walk.csv --force",
        "init walk.csv --useful activity --out walk.csv --force",
        "train policy.toml --data walk.csv --out walk.csv --force",
        "train policy.toml --data walk.csv --out policy.toml --force",
    ],
)
def test_no_output_is_an_input_whatever_is_forced(folder, deeprotect, command):
    before = snapshot(folder)
    done = deeprotect(*command.split())
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "it is the input" in done.stderr
    assert snapshot(folder) == before


def test_an_evaluation_that_is_refused_leaves_no_folder(folder, deeprotect):
    (folder / "walk.csv").write_text("acc_x,acc_y,activity\n0,0,walk\n")
    done = deeprotect("evaluate", "policy.toml", "--data", "walk.csv", "--out", "deep/out", *QUICK)
    assert done.returncode == 2
    assert not (folder / "deep").exists()


def test_of_two_runs_to_one_output_the_second_is_refused(folder, deeprotect):
    assert deeprotect("protect", "protector", "walk.csv", "out.csv").returncode == 0
    before = snapshot(folder)
    done = deeprotect("protect", "protector", "walk.csv", "out.csv")
    assert (done.returncode, "exists already" in done.stderr) == (2, True)
    assert snapshot(folder) == before


@pytest.mark.parametrize("force", [False, True])
def test_a_run_beside_one_that_writes_the_same_output_is_refused_at_once(folder, deeprotect, force):
    with alone(folder / "out.csv"):
        done = deeprotect("protect", "protector", "walk.csv", "out.csv", *(["--force"] if force else []))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "another run is writing there" in done.stderr
    assert not (folder / "out.csv").exists()
    assert not list(folder.glob(".out.csv*"))


def test_a_run_that_waited_while_the_other_ended_does_not_replace_its_output(folder, deeprotect, monkeypatch):
    """The other run has written between the first check and the lock."""

    @contextmanager
    def late(path):
        path.write_text("the other's")
        with alone(path):
            yield

    monkeypatch.setattr("deeprotect.api.protector.alone", late)
    done = deeprotect("protect", "protector", "walk.csv", "out.csv")
    assert (done.returncode, "exists already" in done.stderr) == (2, True)
    assert (folder / "out.csv").read_text() == "the other's"


@pytest.mark.parametrize("fault", ["a channel is gone", "a cell is empty"])
def test_a_refused_run_leaves_no_ledger(folder, deeprotect, fault):
    text = (folder / "walk.csv").read_text()
    wrong = (
        text.replace("acc_y", "acc_z", 1) if fault == "a channel is gone" else text.replace("\n0.1,", "\n0.1,nan#", 1)
    )
    (folder / "wrong.csv").write_text(wrong)
    before = snapshot(folder)
    done = deeprotect("protect", "protector", "wrong.csv", "out.csv", "--ledger", "ledger.db", "--stream", "walk")
    assert done.returncode == 2
    assert snapshot(folder) == before


def test_a_release_of_no_rows_with_a_new_ledger_is_a_release(folder, deeprotect):
    head = (folder / "walk.csv").read_text().splitlines()[0]
    (folder / "empty.csv").write_text(head + "\n")
    done = deeprotect("protect", "protector", "empty.csv", "out.csv", "--ledger", "ledger.db", "--stream", "walk")
    assert done.returncode == 0, done.stderr
    assert (folder / "ledger.db").exists()
