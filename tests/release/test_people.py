"""Several people in one table: each is charged on their own account, and for nobody else."""

from fractions import Fraction

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from tests.conftest import walk

from deeprotect import Protector
from deeprotect.errors import BudgetError, DeeprotectError, TableError
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.people import set_limits
from deeprotect.release.ledger.statement import statement

ROWS = {"ann": 40, "bob": 22, "zoe": 8}  # windows of four: 10, 6 and 2
WINDOWS = {"ann": 10, "bob": 6, "zoe": 2}


@pytest.fixture
def protector(bundle):
    return Protector(bundle)


def table(column="person", *, recordings=True):
    """Numbers of recordings start anew with each person."""
    names = [name for name, rows in ROWS.items() for _ in range(rows)]
    plain = walk(sum(ROWS.values()), recordings=1).drop_columns(["recording"])
    if recordings:
        plain = plain.append_column("recording", pa.array(["1"] * len(names)))
    time = [number / 10 for rows in ROWS.values() for number in range(rows)]
    return plain.set_column(0, "time", pa.array(time)).append_column(column, pa.array(names))


def spent(ledger):
    return {
        person.name: (person.draws, person.spent("in_all").epsilon)
        for person in statement(Database.existing(ledger)).people
    }


@pytest.mark.parametrize("recordings", [True, False])
def test_each_person_is_charged_for_their_own_windows(protector, tmp_path, recordings):
    ledger = str(tmp_path / "spent.db")
    release = protector.protect(table(recordings=recordings), ledger=ledger, stream="walks")
    assert spent(ledger) == {name: (count, Fraction(5) * count) for name, count in WINDOWS.items()}
    assert (release.people, release.draws.charged) == (tuple(ROWS), 18)
    assert "person" in release.dropped
    assert release.table.num_rows == sum(ROWS.values())


def test_a_persons_total_is_over_all_their_streams(protector, tmp_path):
    ledger = str(tmp_path / "spent.db")
    protector.protect(walk(8, recordings=1), ledger=ledger, stream="phone", person="bob")
    protector.protect(table(), ledger=ledger, stream="walks")
    assert spent(ledger)["bob"][0] == WINDOWS["bob"] + 2


def test_the_same_file_again_costs_nobody_anything(protector, tmp_path):
    pa_csv.write_csv(table(), tmp_path / "walks.csv")
    ledger, files = str(tmp_path / "spent.db"), [tmp_path / "walks.csv"]
    first = protector.protect(files, ledger=ledger, stream="walks")
    before = spent(ledger)
    again = protector.protect(files, ledger=ledger, stream="walks")
    assert (again.draws.charged, again.draws.repeated, spent(ledger)) == (0, 18, before)
    assert again.table == first.table


def test_a_column_that_is_only_called_so_is_asked_about_and_mapped(protector, tmp_path):
    named = {"ledger": str(tmp_path / "spent.db"), "stream": "walks"}
    said = r"'Subject ID' looks like the person column; confirm with map=\{\"person\": \"Subject ID\"\}"
    with pytest.raises(TableError, match=said):
        protector.protect(table("Subject ID"), **named)
    assert protector.protect(table("Subject ID"), **named, map={"person": "Subject ID"}).people == tuple(ROWS)


def test_all_is_one_persons_where_that_is_said_or_nobody_is_asked(protector, tmp_path):
    ledger, together = str(tmp_path / "spent.db"), table(recordings=False).drop_columns(["time"])
    protector.protect(together, ledger=ledger, stream="walks", person="eve")
    protector.protect(together, ledger=ledger, stream="others", map={"person": ""})
    assert {name: draws for name, (draws, _) in spent(ledger).items()} == {"eve": 18, "others": 18}
    assert protector.protect(together).people == ()


def test_a_person_without_budget_stops_the_release_and_nobody_is_refunded(protector, tmp_path):
    ledger = str(tmp_path / "spent.db")
    protector.protect(walk(8, recordings=1), ledger=ledger, stream="phone", person="bob")
    set_limits(Database.existing(ledger), "bob", {"in_all": Fraction(15)})
    with pytest.raises(BudgetError):
        protector.protect(table(), tmp_path / "out.csv", ledger=ledger, stream="walks")
    assert spent(ledger)["bob"][0] == 2
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("name", [None, "", "two\nlines"])
def test_rows_that_can_be_charged_to_nobody_are_refused(protector, tmp_path, name):
    names = [name if each == "bob" else each for each in table()["person"].to_pylist()]
    odd = table().drop_columns(["person"]).append_column("person", pa.array(names))
    with pytest.raises(DeeprotectError, match=r"person"):
        protector.protect(odd, ledger=str(tmp_path / "spent.db"), stream="walks")


def test_no_window_holds_two_people(protector, tmp_path):
    """Without a recording, eleven rows of one and then nine of another are three windows each, not five."""
    rows = pa.table({"acc_x": [0.1] * 20, "acc_y": [0.2] * 20, "person": ["ann"] * 11 + ["bob"] * 9})
    ledger = str(tmp_path / "spent.db")
    protector.protect(rows, ledger=ledger, stream="walks")
    assert {name: draws for name, (draws, _) in spent(ledger).items()} == {"ann": 3, "bob": 3}
