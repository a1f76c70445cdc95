"""A ledger for parts of a distributed table: a recording goes by its name and its content, on whichever worker it is.

So an attempt that is made again asks for the draws of the first and is given them. docs/claims.md#retries-of-engines
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
    """On the driver: a ledger is made where there is none, and the stream stands in it before any worker looks."""
    StoredLedger(Database.existing_or_new(place.address), place.account, price)


class PartLedger(StoredLedger):
    """On a worker: recordings go by their names and `digests`; otherwise the ledger that it is made from."""

    def __init__(self, place: LedgerPlace, price: Price, *, digests: Mapping[str, str]) -> None:
        """Never a new one, nor another than the driver's: it would know none of the draws that were made."""
        database = Database.existing(place.address)
        with database.reading() as connection:
            if connection.execute(select(streams.c.id).where(streams.c.name == place.account.stream)).first() is None:
                raise LedgerError(f"{database.where}: what a worker finds there is not the ledger that the driver uses")
        super().__init__(database, place.account, price)
        self._digests = digests

    def of_table(self, table: Any, columns: Sequence[str]) -> StoredLedger:
        """Whatever the share of the table: only its columns are the same on every worker."""
        del table
        return self.of_session("\n".join(("parts", *columns)))

    def of_person(self, person: str) -> "PartLedger":
        """Their account, for the same recordings; who is charged alone waits for nobody else."""
        own, other = super().of_person(person), copy(self)
        other._account, other._entry, other._entered, other.tally = own._account, own._entry, False, own.tally
        return other

    def key(self, recording: str | RecordingName) -> tuple[int, bytes]:
        name = recording.name if isinstance(recording, RecordingName) else recording
        if name is None or name not in self._digests:
            raise TableError(CHANGED)
        return super().key(f"{self._digests[name]} {name}")
