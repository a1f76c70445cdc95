"""Exports as a phone, a spreadsheet or another language leaves them: the advice that is given is advice that works."""

import re
import shlex
import subprocess

import pyarrow.csv as pa_csv
import pytest

from deeprotect import Policy
from deeprotect.bundle import Bundle
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.statement import statement

ROWS = 200


def written(folder, name, head, row, *, above=""):
    lines = [head, *(row(number) for number in range(ROWS))]
    (folder / name).write_text(above + "\n".join(lines) + "\n", encoding="utf-8")


def maps(text):
    """The command to type, as in a message."""
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
    assert "numbers whose thousands separators were removed: 40" in done.stderr
    values = pa_csv.read_csv(folder / "clean.csv")["acc_x"].to_pylist()
    assert values[:2] == [1234.0 if name == "plain.csv" else 1234.5, 0.5]


def test_a_single_slip_does_not_turn_decimals_into_thousands(folder, deeprotect):
    written(folder, "slip.csv", "time;acc_x;acc_y", lambda n: f"{n / 10:.1f};{'9,5' if n == 7 else '9.812'};1.5")
    said = "problem: columns with decimal points and decimal commas (acc_x): 1; `deeprotect prepare` writes points"
    assert said in deeprotect("check", "slip.csv").stdout
    assert deeprotect("protect", "protector", "slip.csv", "out.csv").returncode == 2
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
    assert "left out, as --map time= asked: Timestamp" in done.stderr
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


def counts(number):
    """A converter's numbers, of which one in five is beyond a thousand."""
    return "-3,276" if number % 5 == 0 else "-48"


@pytest.mark.parametrize(("mark", "cell"), [(",", '"{}"'), (";", "{}")])
def test_thousands_beside_whole_numbers_are_never_read_as_decimals(folder, deeprotect, mark, cell):
    row = lambda n: mark.join([str(n * 20), cell.format(counts(n)), str(n % 4), "walk"])  # noqa: E731
    written(folder, "raw.csv", mark.join(["time", "acc_x", "acc_y", "activity"]), row)
    said = deeprotect("check", "raw.csv").stdout
    assert "problem: numbers with thousands separators (acc_x): 40, first at row 1" in said
    assert "note: numbers such as 1,234 among whole numbers, read as thousands (acc_x): 1" in said
    assert deeprotect("prepare", "raw.csv", "--out", "clean.csv").returncode == 0
    assert set(pa_csv.read_csv(folder / "clean.csv")["acc_x"].to_pylist()) == {-3276.0, -48.0}
    refused = deeprotect("protect", "protector", "raw.csv", "out.csv")
    assert (refused.returncode, "`deeprotect check`" in refused.stderr) == (2, True)


def test_a_decimal_comma_elsewhere_tells_what_a_comma_is(folder, deeprotect):
    written(folder, "raw.csv", "time;acc_x;acc_y", lambda n: f"{n / 10:.1f};{counts(n)};0.5".replace(".", ","))
    assert "thousands" not in deeprotect("check", "raw.csv").stdout
    assert deeprotect("prepare", "raw.csv", "--out", "clean.csv").returncode == 0
    assert set(pa_csv.read_csv(folder / "clean.csv")["acc_x"].to_pylist()) == {-3.276, -48.0}


def test_the_whole_table_says_what_a_comma_is_and_no_row_is_read_otherwise(folder, deeprotect):
    """More rows than a block of text holds: the first of them show no whole number beside the marked ones."""
    lines = [f"{n * 20};1,234;{n % 4}" for n in range(400_000)] + [
        f"{n * 20};48;{n % 4}" for n in range(400_000, 400_100)
    ]
    (folder / "long.csv").write_text("\n".join(["time;acc_x;acc_y", *lines]) + "\n")
    assert deeprotect("prepare", "long.csv", "--out", "clean.csv").returncode == 0
    assert set(pa_csv.read_csv(folder / "clean.csv")["acc_x"].to_pylist()) == {1234.0, 48.0}


def test_thousands_separators_in_the_time_are_removed_too(folder, deeprotect):
    written(folder, "raw.csv", "Time (ms);acc_x;acc_y", lambda n: f"{n * 100:,};{n % 3 / 2};0.5")
    assert "thousands separators (Time (ms)): 190" in deeprotect("check", "raw.csv").stdout
    assert deeprotect("prepare", "raw.csv", "--out", "clean.csv").returncode == 0
    assert pa_csv.read_csv(folder / "clean.csv")["time"].to_pylist() == [n * 100 for n in range(ROWS)]


def test_init_loses_no_channel_that_check_reads(folder, deeprotect):
    written(folder, "raw.csv", "time,acc_x,gyro_x,activity", lambda n: f'{n / 10},{n % 3},"{counts(n)}",walk')
    assert "channels: acc_x, gyro_x" in deeprotect("check", "raw.csv").stdout
    init = ("--useful", "activity", "--out", "new.toml")
    done = deeprotect("init", "raw.csv", *init)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "not all cells of gyro_x are plain numbers" in done.stderr
    assert "`deeprotect prepare`" in done.stderr
    deeprotect("prepare", "raw.csv", "--out", "clean.csv")
    assert "2 channels" in deeprotect("init", "clean.csv", *init).stderr


@pytest.mark.parametrize("first", [45_321.5, 0.25])
def test_days_of_a_spreadsheet_become_seconds(folder, deeprotect, first):
    written(folder, "sheet.csv", "time,acc_x,acc_y", lambda n: f"{first + n / 864_000:.9f},{n % 3},{n % 4}")
    said = deeprotect("check", "sheet.csv").stdout
    assert "problem: time is counted in days, as spreadsheets do; `deeprotect prepare` writes it in seconds" in said
    done = deeprotect("prepare", "sheet.csv", "--out", "clean.csv")
    assert (done.returncode, "converted from days to seconds: time" in done.stderr) == (0, True)
    assert "about 10 Hz" in deeprotect("check", "clean.csv").stdout
    assert deeprotect("check", "clean.csv").returncode == 0
    begins = pa_csv.read_csv(folder / "clean.csv")["time"][0].as_py()
    assert begins == (1_706_616_000 if first > 1 else 21_600)
    assert deeprotect("protect", "protector", "clean.csv", "out.csv").returncode == 0


def test_a_time_at_no_rate_is_refused_in_the_words_of_check(folder, deeprotect):
    written(folder, "odd.csv", "time,acc_x,acc_y", lambda n: f"{n * 7e12:.0f},{n % 3},{n % 4}")
    said = deeprotect("check", "odd.csv").stdout
    done = deeprotect("prepare", "odd.csv", "--out", "clean.csv")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.strip().partition("odd.csv: ")[2] in said


def test_a_policy_of_the_raw_file_fits_the_prepared_one(folder, deeprotect):
    row = lambda n: f"{n / 10},{n % 3 / 2},{n % 4},{'walk' if n % 2 else 'rest'}"  # noqa: E731
    written(folder, "phone.csv", "time,x,y,activity", row)
    axes = ("--map", "acc_x=x", "--map", "acc_y=y")
    assert deeprotect("init", "phone.csv", "--useful", "activity", "--out", "new.toml", *axes).returncode == 0
    assert Policy.load(folder / "new.toml").stream.columns == {"acc_x": "x", "acc_y": "y"}
    assert deeprotect("prepare", "phone.csv", "--out", "clean.csv", *axes).returncode == 0
    for table in ("phone.csv", "clean.csv"):
        done = deeprotect("check", table, "new.toml")
        assert done.returncode == 0, done.stdout
        said = deeprotect("train", "new.toml", "--data", table, "--out", "bundle", "--force").stderr
        assert "is missing" not in said, said


def test_german_words_are_known_and_a_clock_that_starts_over_is_answered_with_the_map(folder, deeprotect):
    row = lambda n: f"{n % 50 / 10},{n // 50},p{n // 100},{n % 3},{n % 4}"  # noqa: E731
    written(folder, "deutsch.csv", "Zeit,Aufnahme,Teilnehmer,acc_x,acc_y", row)
    said = deeprotect("check", "deutsch.csv")
    assert "recordings: 4 in 'Aufnahme'; people in 'Teilnehmer'" in said.stdout
    assert said.returncode == 0
    written(folder, "other.csv", "Zeit,äänitys,acc_x,acc_y", lambda n: f"{n % 50 / 10},{n // 50},{n % 3},{n % 4}")
    said = deeprotect("check", "other.csv").stdout
    assert (
        "problem: places where time starts over: 3, first at row 51; if a column names the recordings, add --map"
        in said
    )
    assert "sorts them" not in said
    assert deeprotect("check", "other.csv", "--map", "recording=äänitys").returncode == 0


def test_other_columns_with_decimal_commas_are_mentioned(folder, deeprotect):
    written(folder, "deutsch.csv", "Zeit;acc_x;Neigung", lambda n: f"{n / 10};{n % 3},5;{n % 7},25".replace(".", ","))
    assert (
        "note: other columns of numbers with a decimal comma (Neigung): 1" in deeprotect("check", "deutsch.csv").stdout
    )
    done = deeprotect("prepare", "deutsch.csv", "--out", "clean.csv")
    assert "decimal commas written as points, in a column that is not a channel: Neigung" in done.stderr
    assert pa_csv.read_csv(folder / "clean.csv")["Neigung"].to_pylist()[:3] == [0.25, 1.25, 2.25]


@pytest.mark.parametrize("names", [{"training": {"people": "henkilö"}}, {"inferences": {"sensitive": ["henkilö"]}}])
def test_people_are_not_pooled_in_silence(folder, deeprotect, policy, bundle, names):
    """The policy names the column of people; the table has it, but the command does not mention it."""
    row = lambda n: f"{n % 20 / 10},{n // 20},{n % 3 / 2},{n % 4},henkilö {n // 20}"  # noqa: E731
    written(folder, "group.csv", "time,recording,acc_x,acc_y,henkilö", row)
    made = {
        "feature_extractor": {"name": "none"},
        "results": [],
        "created": "2026-01-01T00:00:00+00:00",
        "made_with": {},
    }
    parts = {"encoder": bundle.encoder, "decoder": bundle.decoder, "training": bundle.manifest.training}
    Bundle.make(policy.vary(**names), bundle.mechanism, **parts, **made).save(folder / "trained")
    ledger = ("--ledger", "spent.db", "--stream", "walks")
    asked = deeprotect("protect", "trained", "group.csv", "out.csv", *ledger)
    assert (asked.returncode, asked.stderr.count("\n")) == (2, 1)
    assert "'henkilö' looks like the person column; confirm with --map person='henkilö'" in asked.stderr
    assert "--person NAME" in asked.stderr
    done = deeprotect("protect", "trained", "group.csv", "out.csv", *ledger, "--map", "person=henkilö")
    assert done.returncode == 0, done.stderr
    assert len(statement(Database.existing(str(folder / "spent.db"))).people) == 10


def test_init_says_how_people_are_named_at_a_release(folder, deeprotect):
    row = lambda n: f"{n / 10},{n % 3 / 2},{n % 4},p{n // 100},{'walk' if n % 2 else 'rest'}"  # noqa: E731
    written(folder, "group.csv", "time,acc_x,acc_y,Teilnehmer,activity", row)
    done = deeprotect("init", "group.csv", "--useful", "activity", "--out", "new.toml")
    assert "training distinguishes people by column 'Teilnehmer'; add --map person='Teilnehmer'" in done.stderr


def test_the_sheet_that_is_read_is_named_and_so_are_the_others(folder, deeprotect):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Data"
    for row in (["time", "acc_x", "acc_y"], *([n / 10, n % 3 / 2, n % 4] for n in range(ROWS))):
        book.active.append(row)
    book.create_sheet("Notes").append(["by", "hand"])
    book.save(folder / "book.xlsx")
    said = deeprotect("check", "book.xlsx").stdout
    assert said.startswith("book.xlsx, sheet 'Data': 200 rows")
    assert "note: only the first sheet, 'Data', is read; there are also: Notes" in said
    assert "there are also: Notes" in deeprotect("prepare", "book.xlsx", "--out", "clean.csv").stderr
    book.move_sheet("Notes", -1)
    book["Notes"].append(["and", "more"])
    book.save(folder / "book.xlsx")
    refused = deeprotect("check", "book.xlsx").stderr
    assert "book.xlsx, sheet 'Notes' (not read: Data): none of its first lines holds a number" in refused


@pytest.mark.parametrize("verb", [("prepare", "comma.csv", "--out"), ("protect", "protector", "comma.csv")])
def test_a_file_has_one_decimal_mark(folder, deeprotect, verb):
    written(folder, "comma.csv", "time;acc_x;acc_y", lambda n: f"{n / 10};{n % 3},5;0,5".replace(".", ","))
    done = deeprotect(*verb, "out.csv")
    assert done.returncode == 0, done.stderr
    assert pa_csv.read_csv(folder / "out.csv")["time"].to_pylist()[:3] == [0.0, 0.1, 0.2]


def test_a_table_without_a_known_channel_is_a_problem(folder, deeprotect):
    written(folder, "phone.csv", "time,Kiihtyvyys X,Kiihtyvyys Y", lambda n: f"{n / 10},{n % 3},{n % 4}")
    done = deeprotect("check", "phone.csv")
    assert done.returncode == 1
    assert "problem: no column is named like a sensor; say what they are" in done.stdout
    assert deeprotect("check", "phone.csv", *maps(done.stdout)).returncode == 0
