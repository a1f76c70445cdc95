"""A ledger for parts of a distributed table: a recording goes by its name and its content, on whichever worker it is.

So an attempt that is made again asks for the draws of the first and is given them. docs/claims.md#retries-of-engines
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deeprotect.errors import InputError, TableError
from deeprotect.release.ledger import Account, Price
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.stored import StoredLedger


@dataclass(frozen=True)
class LedgerPlace:
    """Where the ledger is and who is charged; it travels to workers, which open it there."""

    address: str
    account: Account

    @classmethod
    def of(cls, address: str | None, stream: str | None, *, person: str | None, app: str) -> "LedgerPlace | None":
        """None where there is no ledger; half of one is refused."""
        account = Account.at(address, stream, person=person, app=app or None)
        return None if address is None or account is None else cls(address, account)

    def open(self, price: Price) -> StoredLedger:
        """On the driver: one is made where there is none."""
        return StoredLedger(Database.existing_or_new(self.address), self.account, price)

    def there(self, price: Price, digests: Mapping[str, str]) -> "PartLedger":
        """On a worker: never a new one, which would know none of the draws that were made."""
        return PartLedger(Database.existing(self.address), self.account, price, digests=digests)


def refuse_file(address: str, where: str) -> None:
    """Each machine would have a file of its own under that name, and each its own draws."""
    if "://" not in address:
        raise InputError(f"a ledger in a file cannot be shared by the machines of {where}; give postgresql+psycopg://…")


class PartLedger(StoredLedger):
    """Recordings go by their names and `digests`; otherwise the ledger that it is made from."""

    def __init__(self, database: Database, account: Account, price: Price, *, digests: Mapping[str, str]) -> None:
        super().__init__(database, account, price)
        self._digests = digests

    def of_table(self, table: Any, columns: Sequence[str]) -> StoredLedger:
        """Whatever the share of the table: only its columns are the same on every worker."""
        del table
        return self.of_session("\n".join(("parts", *columns)))

    def key(self, recording: str) -> tuple[int, bytes]:
        if recording not in self._digests:
            raise TableError("the table changed while it was read; give one that stays as it is, such as files")
        return super().key(f"{self._digests[recording]} {recording}")
