"""The verb `init`: which columns became what, which were left out and why, and nothing overwritten."""

import pytest

from deeprotect import Policy

INIT = ("init", "walk.csv", "--useful", "activity", "--out", "new.toml")


@pytest.fixture
def renamed(folder):
    text = (folder / "walk.csv").read_text()
    for old, new in (("time", "Timestamp"), ("recording", "Trial"), ("note", "Subject ID")):
        text = text.replace(f'"{old}"', f'"{new}"')
    (folder / "walk.csv").write_text(text)
    return folder


def test_time_recording_and_person_are_found_and_written_down(renamed, deeprotect):
    done = deeprotect(*INIT)
    assert done.returncode == 0, done.stderr
    policy = Policy.load(renamed / "new.toml")
    assert policy.stream.columns == {"time": "Timestamp", "recording": "Trial"}
    assert policy.training.people == "Subject ID"
    assert policy.stream.rate_hz == 10
    assert "note: time is read from column 'Timestamp'" in done.stderr
    assert "note: recording is read from column 'Trial'" in done.stderr


def test_what_init_found_is_what_protect_is_told(renamed, deeprotect):
    said = deeprotect(*INIT).stderr
    assert "add --map time='Timestamp' when you release" in said
    assert "add --map recording='Trial' when you release" in said
    maps = ("--map", "time=Timestamp", "--map", "recording=Trial")
    done = deeprotect("protect", "protector", "walk.csv", "out.csv", *maps)
    assert done.returncode == 0, done.stderr
    private, released = ((renamed / name).read_text().splitlines() for name in ("walk.csv", "out.csv"))
    assert released[0] == "Timestamp,acc_x,acc_y,Trial"
    assert [line.split(",")[0] for line in released[1:]] == [line.split(",")[0] for line in private[1:]]


def test_a_column_that_is_left_out_is_named_with_the_reason(folder, deeprotect):
    text = (folder / "walk.csv").read_text().splitlines()
    lines = [f"{line},{more}" for line, more in zip(text, ["score,acc_z", *["36.5,Sekrit"] * 200], strict=True)]
    (folder / "walk.csv").write_text("\n".join(lines) + "\n")
    done = deeprotect(*INIT)
    assert "note: score: not a known sensor, and left out" in done.stderr
    assert "note: acc_z: named like a sensor but not a number, and left out" in done.stderr
    assert "note: note: text column, not used by this policy" in done.stderr
    assert "Sekrit" not in done.stderr


def test_problems_of_the_first_rows_are_said_with_the_next_step(folder, deeprotect):
    assert "problems" not in deeprotect(*INIT).stderr
    lines = (folder / "walk.csv").read_text().splitlines()
    del lines[20:40]
    (folder / "walk.csv").write_text("\n".join(lines) + "\n")
    done = deeprotect(*INIT, "--force")
    assert "its first rows show problems (gaps); see `deeprotect check walk.csv`" in done.stderr


def test_an_edited_policy_is_overwritten_only_by_force(folder, deeprotect):
    (folder / "new.toml").write_text("# mine\n")
    done = deeprotect(*INIT)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert (folder / "new.toml").read_text() == "# mine\n"
    assert deeprotect(*INIT, "--force").returncode == 0
    assert Policy.load(folder / "new.toml")


def test_a_headerless_table_gets_its_names_from_the_command_line(folder, deeprotect):
    text = (folder / "walk.csv").read_text().split("\n", 1)[1]
    (folder / "walk.csv").write_text(text)
    done = deeprotect(*INIT, "--columns", "time,acc_x,note,acc_y,recording,activity")
    assert done.returncode == 0, done.stderr
    assert list(Policy.load(folder / "new.toml").stream.channels) == ["acc_x", "acc_y"]


def test_standard_input_is_read_once(folder, deeprotect):
    text = (folder / "walk.csv").read_text()
    done = deeprotect("init", "-", "--useful", "activity", "--out", "new.toml", text=text)
    assert done.returncode == 0, done.stderr
