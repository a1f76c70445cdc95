"""Where a job's ledger is. The ledger itself is opened, and its libraries loaded, only where there is one."""

from dataclasses import dataclass

from deeprotect.errors import InputError
from deeprotect.release.ledger import Account


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


def refuse_file(address: str, where: str) -> None:
    """Each machine would have a file of its own under that name, and each its own draws."""
    if "://" not in address:
        raise InputError(f"a ledger in a file cannot be shared by the machines of {where}; give postgresql+psycopg://…")
