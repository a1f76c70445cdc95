"""The command's messages are lines of their own, whatever names they contain."""

import logging

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from tests.conftest import walk

NAMES = (
    "x\x1b[2J\x1b[Hverdict: holds",
    "x\rverdict: holds",
    "x\u2028verdict: holds",
    "\u202esdloh :tcidrev",
    "x\x9b2J",
)


def assert_plain(text):
    assert all(line.isprintable() for line in text.rstrip("\n").split("\n")), text


@pytest.mark.parametrize("name", NAMES)
def test_a_name_on_the_command_line_cannot_steer_the_terminal(deeprotect, name):
    for command in (["describe", name], ["protect", "protector", f"{name}.csv", "out.csv"], [name]):
        done = deeprotect(*command)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert_plain(done.stderr)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("verb", ["protect", "init", "train"])
def test_a_column_whose_name_does_not_print_is_refused_in_one_line(folder, deeprotect, name, verb):
    table = walk(200)
    pa_parquet.write_table(table.append_column(name, pa.array(["x"] * 200)), folder / "strange.parquet")
    commands = {
        "protect": ["protect", "protector", "strange.parquet", "out.csv"],
        "init": ["init", "strange.parquet", "--useful", "activity", "--out", "new.toml"],
        "train": ["train", "policy.toml", "--data", "strange.parquet", "--out", "new"],
    }
    done = deeprotect(*commands[verb])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "do not print" in done.stderr
    assert_plain(done.stderr)


def test_lines_are_bounded(deeprotect, folder):
    pa_parquet.write_table(pa.table({f"column-{index}" * 40: [1.0] for index in range(400)}), folder / "wide.parquet")
    done = deeprotect("protect", "protector", "wide.parquet", "out.csv")
    assert done.returncode == 2
    assert "column 'acc_x' is missing" in done.stderr
    assert len(done.stderr) < 1000


def test_samples_far_outside_are_clipped_with_one_line_that_holds_no_figure(folder, deeprotect):
    """A refusal would make the existence of an output an exact fact about raw samples."""
    rows = ["time,acc_x,acc_y", *(f"{row / 10},9.81,0.5" for row in range(20))]
    (folder / "walk.csv").write_text("\n".join(rows) + "\n")
    done = deeprotect("protect", "protector", "walk.csv", "out.csv")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert "acc_x" in line
    assert not any(each.isdigit() for each in line)
    assert len((folder / "out.csv").read_text().splitlines()) == 21


def test_training_still_refuses_what_is_in_another_unit(folder, deeprotect):
    rows = ["acc_x,acc_y,activity", *(f"9.81,0.5,{'walk' if row < 20 else 'still'}" for row in range(40))]
    (folder / "walk.csv").write_text("\n".join(rows) + "\n")
    for verb in ("train", "evaluate"):
        done = deeprotect(verb, "policy.toml", "--data", "walk.csv", "--out", "new")
        assert done.returncode == 2
        assert "column 'acc_x' lies largely outside its public range [-4, 4] g" in done.stderr
        assert "%" not in done.stderr


def test_what_other_packages_log_is_no_second_line(deeprotect):
    deeprotect("inferences")
    assert not logging.getLogger("matplotlib.font_manager").isEnabledFor(logging.WARNING)


@pytest.mark.parametrize(
    ("module", "verb", "extra"),
    [
        ("matplotlib", ("evaluate", "policy.toml", "--data", "walk.csv", "--out", "new"), "evaluate"),
        ("sklearn", ("train", "policy.toml", "--data", "walk.csv", "--out", "new"), "train"),
    ],
)
def test_what_is_not_installed_is_named_with_the_extra_that_brings_it(deeprotect, monkeypatch, module, verb, extra):
    def missing(*_, **__):
        raise ModuleNotFoundError(name=module)

    monkeypatch.setattr("deeprotect.policy.Policy.of", missing)
    monkeypatch.setattr("deeprotect.policy.Policy.load", missing)
    done = deeprotect(*verb)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"{module} is not installed; run: pip install 'deeprotect[{extra}]'" in done.stderr
