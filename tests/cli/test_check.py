"""The verb `check`, as a user types it."""

import json

import pytest

from deeprotect.policy import Policy


def test_a_good_table_is_said_to_be_good(deeprotect):
    done = deeprotect("check", "walk.csv", "policy.toml")
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, last = done.stdout.splitlines()
    assert first == (
        "walk.csv: 200 rows; time in 'time', about 10 Hz; recordings: 2 in 'recording'; channels: acc_x, acc_y"
    )
    assert last == "nothing wrong was found"


def test_all_problems_are_listed_at_once_each_with_a_fix(folder, deeprotect):
    lines = (folder / "walk.csv").read_text().splitlines()
    lines[10] = lines[10].replace('"r0"', "")
    lines[20] = lines[20].split(",", 1)[0] + ',"Sekrit",' + lines[20].split(",", 2)[2]
    del lines[30:45]
    (folder / "walk.csv").write_text("\n".join(lines) + "\n")
    done = deeprotect("check", "walk.csv")
    problems = [line for line in done.stdout.splitlines() if line.startswith("problem: ")]
    assert (done.returncode, len(problems)) == (1, 4)  # a row without a recording also interrupts one
    assert all("; " in problem for problem in problems)
    assert done.stdout.splitlines()[-1] == "4 problems"
    assert "Sekrit" not in done.stdout


def test_a_script_gets_json(deeprotect):
    done = deeprotect("check", "walk.parquet", "--json")
    told = json.loads(done.stdout)
    assert (told["schema"], told["rows"], told["problems"], told["rate_hz"]) == (1, 200, [], 10)


def test_standard_input_and_several_files_are_checked_too(folder, deeprotect):
    done = deeprotect("check", "-", text=(folder / "walk.csv").read_text())
    assert (done.returncode, done.stdout.splitlines()[0][:25]) == (0, "standard input: 200 rows;")
    (folder / "data").mkdir()
    for name in "ab":
        (folder / "data" / f"{name}.csv").write_bytes((folder / "walk.csv").read_bytes())
    done = deeprotect("check", "data")
    assert done.returncode == 0, done.stdout
    assert "400 rows" in done.stdout
    assert "recordings: 4 in 'recording'" in done.stdout


def test_a_table_without_names_is_checked_under_given_ones(folder, deeprotect):
    text = (folder / "walk.csv").read_text().split("\n", 1)[1]
    (folder / "bare.csv").write_text(text)
    done = deeprotect("check", "bare.csv", "--columns", "time,acc_x,note,acc_y,recording,activity")
    assert done.returncode == 0, done.stdout + done.stderr


def test_columns_can_be_mapped(folder, deeprotect):
    text = (folder / "walk.csv").read_text()
    (folder / "odd.csv").write_text(text.replace('"time"', '"when"').replace('"recording"', '"piece"'))
    done = deeprotect("check", "odd.csv", "--map", "time=when", "--map", "recording=piece")
    assert done.returncode == 0, done.stdout
    assert "time in 'when', about 10 Hz; recordings: 2 in 'piece'" in done.stdout


def test_a_channel_is_mapped_before_there_is_a_policy(folder, deeprotect):
    rows = "\n".join(f"{number / 10},{number % 4},{number % 3}" for number in range(80))
    (folder / "phone.csv").write_text(f"t,x,y\n{rows}\n")
    names = ("--map", "acc_x=x", "--map", "acc_y=y")
    assert "channels: acc_x, acc_y" in deeprotect("check", "phone.csv", *names).stdout
    done = deeprotect("prepare", "phone.csv", "--out", "clean.csv", "--unit", "acc=m/s2:g", *names)
    assert done.returncode == 0, done.stderr
    assert (folder / "clean.csv").read_text().splitlines()[0] == "recording,time,acc_x,acc_y"
    labelled = "\n".join(f"{line},walk" for line in rows.splitlines())
    (folder / "phone.csv").write_text(f"t,x,y,activity\n{labelled}\n")
    done = deeprotect("init", "phone.csv", "--useful", "activity", "--out", "phone.toml", *names)
    assert done.returncode == 0, done.stderr
    assert "acc_x is read from column 'x'" in done.stderr
    policy = Policy.load(folder / "phone.toml")
    assert policy.stream.columns == {"acc_x": "x", "acc_y": "y", "time": "t"}


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("acc_x=none", "column 'none' is missing"),
        ("acc_x=acc_y", "it has a column 'acc_x' already"),
        ("speed=acc_x", "cannot be mapped"),
    ],
)
def test_a_channel_that_cannot_be_mapped_is_refused_in_one_line(folder, deeprotect, said, says):
    done = deeprotect("check", "walk.csv", "--map", said)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert says in done.stderr
