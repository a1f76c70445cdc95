"""The address of a job's ledger. The ledger is opened, and its libraries imported, only if there is one."""

from dataclasses import dataclass

from deeprotect.errors import InputError
from deeprotect.release.ledger import Account


@dataclass(frozen=True)
class LedgerPlace:
    """The ledger's address and the accounts; sent to workers, which open the ledger there."""

    address: str
    account: Account

    @classmethod
    def of(cls, address: str | None, stream: str | None, *, person: str | None, app: str) -> "LedgerPlace | None":
        """None without a ledger; raises if address and stream are not given together."""
        account = Account.at(address, stream, person=person, app=app or None)
        return None if address is None or account is None else cls(address, account)


def refuse_file(address: str, where: str) -> None:
    """Refuse a ledger file: each machine would have its own file under that name, with its own draws."""
    if "://" not in address:
        raise InputError(f"a ledger in a file cannot be shared by the machines of {where}; give postgresql+psycopg://…")
