"""Bundles and ledgers that an earlier version wrote: they are read, and mean what they meant.

`bundle-N.zip`, `ledger-N.sql` (a dump) and `released-N.csv` were written when N was the newest format, by
`deeprotect protect bundle-N.zip table.csv released-N.csv --ledger … --stream walk --person ann --app fitness`.
A new format adds files here; none is ever changed.
"""

import sqlite3
from pathlib import Path

import pytest

import deeprotect
from deeprotect import Protector
from deeprotect.bundle.manifest import VERSION as BUNDLE_FORMAT
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import VERSION as LEDGER_FORMAT
from deeprotect.release.ledger.statement import statement

STORED = Path(__file__).parent
BUNDLES = sorted(STORED.glob("bundle-*.zip"))
LEDGERS = sorted(STORED.glob("ledger-*.sql"))


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.stem)
def test_a_bundle_of_every_released_format_still_proves_its_promise(path):
    assert deeprotect.verify(path).holds
    released = Protector.load(path).protect(STORED / "table.csv")
    assert released.table.num_rows == 70


@pytest.mark.parametrize("dump", LEDGERS, ids=lambda path: path.stem)
def test_a_table_that_an_earlier_version_released_gives_the_same_bytes_for_nothing(dump, tmp_path):
    number = dump.stem.removeprefix("ledger-")
    ledger, out = tmp_path / "spent.db", tmp_path / "released.csv"
    with sqlite3.connect(ledger) as database:
        database.executescript(dump.read_text())
    database.close()
    protector = Protector.load(STORED / "bundle-3.zip")
    released = protector.protect(STORED / "table.csv", out, ledger=ledger, stream="walk", person="ann", app="fitness")
    assert released.draws.charged == 0
    assert out.read_bytes() == (STORED / f"released-{number}.csv").read_bytes()
    (person,) = statement(Database.existing(str(ledger))).people
    assert (person.name, person.draws) == ("ann", 7)


def test_the_newest_formats_are_stored():
    assert STORED / f"bundle-{BUNDLE_FORMAT}.zip" in BUNDLES
    assert STORED / f"ledger-{LEDGER_FORMAT}.sql" in LEDGERS
