"""What has been spent, by whom and on which promise; it outlives the process where a database is given."""

from deeprotect.release.ledger.account import Account
from deeprotect.release.ledger.ledger import Ledger, Tally
from deeprotect.release.ledger.memory import MemoryLedger
from deeprotect.release.ledger.price import Price

__all__ = ["Account", "Ledger", "MemoryLedger", "Price", "Tally"]
