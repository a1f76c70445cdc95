"""Exports as a phone, a spreadsheet or another language leaves them: the advice that is given is advice that works."""

import re
import shlex
import subprocess

import pyarrow.csv as pa_csv
import pytest

ROWS = 200


def written(folder, name, head, row, *, above=""):
    lines = [head, *(row(number) for number in range(ROWS))]
    (folder / name).write_text(above + "\n".join(lines) + "\n", encoding="utf-8")


def maps(text):
    """What is to be typed, as it stands in a message."""
    found = re.findall(r"--map \w+=(?:'[^']*')?", text)
    return [word for each in found for word in shlex.split(each)]


def time_and(number, large, small):
    """A row in five has the large number."""
    return f"{number / 10:.1f}", large if number % 5 == 0 else small, "0.25"


@pytest.mark.parametrize(
    ("name", "mark", "cells"),
    [
        ("german.csv", ";", ("1.234,5", "0,5")),
        ("english.csv", ",", ('"1,234.5"', "0.5")),
        ("plain.csv", ";", ("1,234", "0.5")),
        ("blanks.csv", ";", ("1 234,5", "0,5")),
    ],
)
def test_thousands_separators_are_found_and_removed(folder, deeprotect, name, mark, cells):
    written(folder, name, mark.join(["time", "acc_x", "acc_y"]), lambda n: mark.join(time_and(n, *cells)))
    assert (
        "numbers with thousands separators (acc_x): 40, first at row 1; `deeprotect prepare`"
        in deeprotect("check", name).stdout
    )
    done = deeprotect("prepare", name, "--out", "clean.csv")
    assert "numbers with thousands separators, which are written without them: 40" in done.stderr
    values = pa_csv.read_csv(folder / "clean.csv")["acc_x"].to_pylist()
    assert values[:2] == [1234.0 if name == "plain.csv" else 1234.5, 0.5]


def test_a_single_slip_does_not_turn_decimals_into_thousands(folder, deeprotect):
    written(folder, "slip.csv", "time;acc_x;acc_y", lambda n: f"{n / 10:.1f};{'9,5' if n == 7 else '9.812'};1.5")
    deeprotect("prepare", "slip.csv", "--out", "clean.csv")
    assert set(pa_csv.read_csv(folder / "clean.csv")["acc_x"].to_pylist()) == {9.812, 9.5}


@pytest.mark.parametrize("above", ["Exported by a phone\n\n", "Device, Pixel 7\nRate, 10 Hz\n"])
@pytest.mark.parametrize("verb", [("check", "notes.csv"), ("prepare", "notes.csv", "--out", "clean.csv")])
def test_lines_above_the_names_are_refused_with_the_line_to_type(folder, deeprotect, above, verb):
    written(folder, "notes.csv", "time,acc_x,acc_y", lambda n: f"{n / 10},{n % 3},0.5", above=above)
    done = deeprotect(*verb)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    said = done.stderr.partition("above them: ")[2].strip()
    assert said == "tail -n +3 notes.csv > table.csv"
    subprocess.run(said, shell=True, check=True, cwd=folder)
    assert deeprotect("prepare", "table.csv", "--out", "clean.csv").returncode == 0


@pytest.mark.parametrize(
    "stamp", [lambda n: f"2026-01-31T12:00:{n // 10:02}", lambda n: f"{n // 600:02}:{n / 10 % 60:04.1f}"]
)
def test_a_time_that_a_spreadsheet_has_cut_is_said_and_can_be_done_without(folder, deeprotect, stamp):
    written(folder, "cut.csv", "Timestamp,acc_x,acc_y", lambda n: f"{stamp(n)},{n % 3},{n % 4}")
    assert "spreadsheet" in deeprotect("check", "cut.csv").stdout
    done = deeprotect("prepare", "cut.csv", "--out", "clean.csv")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "`deeprotect prepare --map time=`" in done.stderr
    done = deeprotect("prepare", "cut.csv", "--out", "clean.csv", "--map", "time=")
    assert "left out, for --map time= says that it is no time: Timestamp" in done.stderr
    assert deeprotect("check", "clean.csv").returncode == 0
    assert "give it with --rate-hz" in deeprotect("init", "clean.csv", "--useful", "acc_y", "--out", "new.toml").stderr
    assert deeprotect("protect", "protector", "clean.csv", "out.csv").returncode == 0


def test_columns_in_another_language_are_answered_with_the_map_to_type(folder, deeprotect):
    head = "Zeit,Kiihtyvyys X,Kiihtyvyys Y,Kiihtyvyys Z,laji"
    written(folder, "phone.csv", head, lambda n: f"{n / 10},{n % 3},0.5,1.5,{'walk' if n % 2 else 'rest'}")
    said = deeprotect("check", "phone.csv").stdout
    assert "--map acc_x='Kiihtyvyys X' --map acc_y='Kiihtyvyys Y' --map acc_z='Kiihtyvyys Z'" in said
    init = ("init", "phone.csv", "--useful", "laji", "--out", "new.toml")
    refused, lost = deeprotect(*init), deeprotect("prepare", "phone.csv", "--out", "clean.csv")
    assert (refused.returncode, lost.returncode) == (2, 2)
    assert maps(said) == maps(refused.stderr) == maps(lost.stderr)
    assert deeprotect(*init, *maps(said)).returncode == 0
    assert deeprotect("prepare", "phone.csv", "--out", "clean.csv", *maps(said)).returncode == 0
    assert pa_csv.read_csv(folder / "clean.csv").column_names[2:5] == ["acc_x", "acc_y", "acc_z"]


def test_an_unknown_unit_is_answered_with_the_map_to_type(folder, deeprotect):
    written(folder, "phone.csv", "time,Accel X (ft/s²),mood", lambda n: f"{n / 10},{n % 3},{'up' if n % 2 else 'down'}")
    init = ("init", "phone.csv", "--useful", "mood", "--out", "new.toml")
    refused = deeprotect(*init)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert maps(refused.stderr) == ["--map", "acc_x=Accel X (ft/s²)"]
    done = deeprotect(*init, *maps(refused.stderr))
    assert (done.returncode, "acc_x: taken as g" in done.stderr) == (0, True)


@pytest.mark.parametrize(
    "verb",
    [
        ("check", "phone.csv"),
        ("prepare", "phone.csv", "--out", "clean.csv"),
        ("init", "phone.csv", "--useful", "mood", "--out", "new.toml"),
    ],
)
def test_a_question_comes_with_an_answer_that_is_accepted(folder, deeprotect, verb):
    head = "timestamp,datetime,acc_x,mood"
    written(folder, "phone.csv", head, lambda n: f"{n / 10},{n / 10},{n % 3},{'up' if n % 2 else 'down'}")
    asked = deeprotect(*verb)
    said = maps(asked.stdout + asked.stderr)[:2]
    assert said == ["--map", "time=timestamp"]
    assert deeprotect(*verb, *said).returncode == 0
