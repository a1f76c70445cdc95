"""Wrong input of every kind: one line that says what to change, exit code 2, and no file made or lost."""

import json

import pytest
from tests.conftest import POLICY


def policy(old, new):
    return lambda folder: (folder / "policy.toml").write_text(POLICY.replace(old, new))


def table(text):
    return lambda folder: (folder / "walk.csv").write_text(text)


def rows(*lines, head="acc_x,acc_y"):
    return table("\n".join([head, *lines]) + "\n")


def as_is(folder):
    pass


def cut_tensors(folder):
    encoder = folder / "protector" / "tensors.safetensors"
    encoder.write_bytes(encoder.read_bytes()[:-7])


def edit_manifest(folder):
    path = folder / "protector" / "manifest.json"
    path.write_text(path.read_text().replace("2026-01-01", "2026-01-02"))


def newer_manifest(folder):
    path = folder / "protector" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 99}))


def no_parquet(folder):
    (folder / "walk.parquet").write_bytes(b"PAR1 but not really")


TRAIN = ("train", "policy.toml", "--data", "walk.csv", "--out", "new")
PROTECT = ("protect", "protector", "walk.csv", "out.csv")
EVALUATE = ("evaluate", "policy.toml", "--data", "walk.csv", "--out", "new")
INIT = ("init", "walk.csv", "--useful", "activity", "--out", "new.toml")
WRONG = {
    # the command line
    "unknown verb": (as_is, ("protekt",), "No such command 'protekt'"),
    "missing argument": (as_is, ("protect", "protector"), "Missing argument"),
    "unknown option": (as_is, (*PROTECT, "--fast"), "No such option"),
    # policies
    "no policy": (as_is, ("train", "none.toml", *TRAIN[2:]), "no such policy"),
    "policy not TOML": (policy("[stream]", "[stream"), TRAIN, "not valid TOML"),
    "unknown key": (policy("rate_hz", "rate_herz"), TRAIN, "rate_hz"),
    "negative epsilon": (policy("epsilon = 5.0", "epsilon = -1"), TRAIN, "privacy.epsilon"),
    "zero epsilon": (policy("epsilon = 5.0", "epsilon = 0"), TRAIN, "privacy.epsilon"),
    "range reversed": (policy("[-4.0, 4.0]", "[4.0, -4.0]"), TRAIN, "reversed"),
    "unknown mechanism": (policy('"baseline"', '"magic"'), TRAIN, "mechanism"),
    "newer policy": (policy("version = 1", "version = 2"), TRAIN, "version"),
    "no such label": (policy('"activity"', '"mood"'), TRAIN, "no column 'mood'"),
    "one class only": (rows(*["0,0,walk"] * 40, head="acc_x,acc_y,activity"), TRAIN, "at least two classes"),
    # tables
    "no table": (as_is, ("protect", "protector", "none.csv", "out.csv"), "no such file"),
    "unknown kind of table": (as_is, ("protect", "protector", "policy.toml", "out.csv"), "unknown kind of table"),
    "unknown kind of output": (as_is, ("protect", "protector", "walk.csv", "out.xls"), "unknown kind of table"),
    "no folder for the output": (as_is, ("protect", "protector", "walk.csv", "none/out.csv"), "does not exist"),
    "empty file": (table(""), PROTECT, "it is empty"),
    "missing column": (rows("0", head="acc_x"), PROTECT, "column 'acc_y' is missing from walk.csv; it has: acc_x"),
    "column twice": (rows("0,0,0", head="acc_x,acc_y,acc_y"), PROTECT, "two columns named 'acc_y'"),
    "text among numbers": (rows("0,0", "0,fast"), PROTECT, "column 'acc_y'"),
    "not a number": (rows("0,0", "0,nan"), PROTECT, "row 2, column 'acc_y'"),
    "empty cell": (rows("0,0", "0,"), PROTECT, "row 2, column 'acc_y'"),
    "infinite": (rows("0,0", "inf,0"), PROTECT, "row 2, column 'acc_x' is infinite"),
    "another unit": (rows(*["9.8,0,a"] * 9, head="acc_x,acc_y,activity"), TRAIN, "outside its public range"),
    "ragged line": (rows("0,0", "0"), PROTECT, "1 values under 2 column names"),
    "gap in time": (rows("0,0,0", "0,0,0.1", "0,0,0.2", "0,0,9.3", head="acc_x,acc_y,time"), PROTECT, "row 4"),
    "time goes back": (rows("0,0,0.3", "0,0,0.4", "0,0,0.2", "0,0,0.3", head="acc_x,acc_y,time"), PROTECT, "row 3"),
    "another rate": (rows("0,0,0", "0,0,5", "0,0,10", head="acc_x,acc_y,time"), PROTECT, "correct rate_hz"),
    "broken parquet": (no_parquet, ("protect", "protector", "walk.parquet", "out.csv"), "walk.parquet"),
    # bundles
    "no bundle": (as_is, ("protect", "none", "walk.csv", "out.csv"), "no such bundle"),
    "not a bundle": (as_is, ("describe", "."), "not a DEEProtect bundle"),
    "truncated bundle": (cut_tensors, PROTECT, "tensors.safetensors was altered or truncated"),
    "edited manifest": (edit_manifest, ("describe", "protector"), "altered"),
    "newer bundle": (newer_manifest, PROTECT, "newer"),
    "nothing to verify": (as_is, ("verify", "none"), "no such bundle"),
    # evaluations
    "unknown mechanism to evaluate": (as_is, (*EVALUATE, "--mechanism", "magic"), "use one of: baseline"),
    "evaluate at no epsilon": (as_is, (*EVALUATE, "--epsilon", "0"), "epsilon must be positive"),
    "evaluate on no fold": (as_is, (*EVALUATE, "--folds", "0"), "folds and repeats count from 1"),
    "evaluate by no process": (as_is, (*EVALUATE, "--jobs", "-1"), "jobs = -1 must be 1 or more"),
    "unknown split": (as_is, (*EVALUATE, "--split", "moon"), "use one of: time, pieces, recording, group, strangers"),
    "split by a group without a column": (as_is, (*EVALUATE, "--split", "group"), "--group"),
    "split by an unknown column": (as_is, (*EVALUATE, "--group", "team"), "no column 'team'"),
    "evaluate a pipe": (as_is, ("evaluate", "policy.toml", "--data", "-", "--out", "new"), "give a file"),
    "evaluate no table": (as_is, ("evaluate", "policy.toml", "--data", "none.csv", "--out", "new"), "none.csv"),
    "report over a file": (as_is, (*EVALUATE[:-1], "walk.csv"), "give another --out"),
    "nothing to audit": (as_is, ("audit", "none"), "no such bundle"),
    "no public key": (as_is, (*PROTECT, "--key", "none.pem"), "none.pem"),
    # data
    "unknown data set": (as_is, ("datasets", "fetch", "wach"), "watch"),
    "data set not in the folder": (as_is, ("datasets", "fetch", "hapt", "--from", "."), "hapt"),
    "unknown inference": (as_is, ("inferences", "moood"), "moood"),
    "unknown sensor": (as_is, ("inferences", "--sensor", "nose"), "nose"),
    "init without that label": (as_is, (*INIT[:3], "mood", *INIT[4:]), "'mood' is not a column"),
    "init without a rate": (rows("0,0,a", head="acc_x,acc_y,activity"), INIT, "--rate-hz"),
    "init without sensors": (rows("0,0,a", head="u,v,activity"), (*INIT, "--rate-hz", "10"), "not known sensor names"),
}


def test_there_are_at_least_twenty():
    assert len(WRONG) >= 20


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_wrong_input_is_one_line_and_exit_code_2(folder, deeprotect, case):
    prepare, command, message = WRONG[case]
    prepare(folder)
    before = snapshot(folder)
    done = deeprotect(*command)
    assert done.stderr.count("\n") == 1, done.stderr
    assert message in done.stderr
    assert done.returncode == 2
    assert done.stdout == ""
    assert snapshot(folder) == before


def snapshot(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
