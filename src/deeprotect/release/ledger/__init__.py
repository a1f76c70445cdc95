"""The ledger of spending by person and promise; with a database it outlives the process."""

from deeprotect.release.ledger.ledger import Account, DrawCounts, Ledger, MemoryLedger
from deeprotect.release.ledger.limits import Price

__all__ = ["Account", "DrawCounts", "Ledger", "MemoryLedger", "Price"]
