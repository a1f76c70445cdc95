"""Bundles and ledgers that an earlier version wrote: they are read, and mean what they meant, or are refused.

`bundle-N.zip` and `ledger-N.sql` (a dump) were written when N was the newest format. Beside a bundle that is read lie
`bundle-N.csv`, what `deeprotect protect bundle-N.zip table.csv bundle-N.csv --ledger … --stream walk --person ann --app
fitness` wrote, and `bundle-N.sql`, the ledger of it. A new format adds files here; none is ever changed.
"""

import sqlite3
from pathlib import Path

import pytest

import deeprotect
from deeprotect import Protector
from deeprotect.bundle.manifest import VERSION as BUNDLE_FORMAT
from deeprotect.errors import BundleError
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import VERSION as LEDGER_FORMAT
from deeprotect.release.ledger.statement import statement

STORED = Path(__file__).parent
LEDGERS = sorted([*STORED.glob("ledger-*.sql"), *STORED.glob("bundle-*.sql")])
NEWEST = STORED / f"bundle-{BUNDLE_FORMAT}.zip"


def restored(dump: Path, folder: Path) -> Path:
    with sqlite3.connect(folder / "spent.db") as database:
        database.executescript(dump.read_text())
    database.close()
    return folder / "spent.db"


def test_a_bundle_of_the_newest_format_proves_its_promise():
    assert deeprotect.verify(NEWEST).holds
    released = Protector.load(NEWEST).protect(STORED / "table.csv")
    assert released.table.num_rows == 70


@pytest.mark.parametrize("path", sorted({*STORED.glob("bundle-*.zip")} - {NEWEST}), ids=lambda path: path.stem)
def test_a_bundle_of_an_earlier_format_is_refused_with_the_reason(path):
    for use in (Protector.load, deeprotect.verify):
        with pytest.raises(BundleError, match="of an earlier format, whose promises are not checked any more"):
            use(path)


@pytest.mark.parametrize("dump", LEDGERS, ids=lambda path: path.stem)
def test_a_ledger_of_every_format_says_who_has_spent_what(dump, tmp_path):
    (person,) = statement(Database.existing(str(restored(dump, tmp_path)))).people
    assert (person.name, person.draws, person.spent("in_all").epsilon) == ("ann", 7, 35)


def test_a_table_that_was_released_before_gives_the_same_bytes_for_nothing(tmp_path):
    ledger, out = restored(NEWEST.with_suffix(".sql"), tmp_path), tmp_path / "released.csv"
    protector = Protector.load(NEWEST)
    released = protector.protect(STORED / "table.csv", out, ledger=ledger, stream="walk", person="ann", app="fitness")
    assert released.draws.charged == 0
    assert out.read_bytes() == NEWEST.with_suffix(".csv").read_bytes()


def test_the_newest_formats_are_stored():
    assert NEWEST.exists()
    assert STORED / f"ledger-{LEDGER_FORMAT}.sql" in LEDGERS
