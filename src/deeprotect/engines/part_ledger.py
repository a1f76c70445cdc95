"""A ledger for parts of a distributed table: draws are keyed by a recording's name and content, on any worker.

So a repeated attempt requests the same draws as the first one, and gets them. docs/claims.md#retries-of-engines
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from sqlalchemy import select

from deeprotect.engines.ledger_place import LedgerPlace
from deeprotect.engines.survey import CHANGED
from deeprotect.errors import LedgerError, TableError
from deeprotect.release.ledger import Price
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import streams
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.signals import RecordingName


def entered(place: LedgerPlace, price: Price) -> None:
    """On the driver, create the ledger if necessary and enter the stream before any worker opens it."""
    StoredLedger(Database.existing_or_new(place.address), place.account, price)


class PartLedger(StoredLedger):
    """A worker's view of the shared ledger: recordings are keyed by their names and `digests`."""

    def __init__(self, place: LedgerPlace, price: Price, *, digests: Mapping[str, str]) -> None:
        """Open the driver's ledger; never create one, which would lack the draws made so far."""
        database = Database.existing(place.address)
        with database.reading() as connection:
            if connection.execute(select(streams.c.id).where(streams.c.name == place.account.stream)).first() is None:
                raise LedgerError(f"{database.where}: what a worker finds there is not the ledger that the driver uses")
        super().__init__(database, place.account, price)
        self._digests = digests

    def of_table(self, table: Any, columns: Sequence[str]) -> StoredLedger:
        """The ledger for any share of the table; only the columns are the same on every worker."""
        del table
        return self.of_session("\n".join(("parts", *columns)))

    def of_person(self, person: str) -> "PartLedger":
        """A person's account, for the same recordings; a person charged alone does not wait for others."""
        own, other = super().of_person(person), copy(self)
        other._account, other._entry, other._entered, other.tally = own._account, own._entry, False, own.tally
        return other

    def key(self, recording: str | RecordingName) -> tuple[int, bytes]:
        name = recording.name if isinstance(recording, RecordingName) else recording
        if name is None or name not in self._digests:
            raise TableError(CHANGED)
        return super().key(f"{self._digests[name]} {name}")
