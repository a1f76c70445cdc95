"""What has been spent, by whom and on which promise; it outlives the process where a database is given."""

from deeprotect.release.ledger.ledger import Account, DrawCounts, Ledger, MemoryLedger
from deeprotect.release.ledger.limits import Price

__all__ = ["Account", "DrawCounts", "Ledger", "MemoryLedger", "Price"]
