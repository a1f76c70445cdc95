"""One account's steps at a ledger, each in a transaction of its own, as a process that dies in between leaves them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deeprotect.errors import BudgetError
from deeprotect.signals import Run


@dataclass(frozen=True, eq=False)
class Asked:
    """Draws of one account, and how many windows each shows."""

    ledger: Any
    runs: Sequence[Run]
    shown: np.ndarray
    only_kept: bool = False


def opened(ledger, runs, draws, counts=None):
    """A transaction for so many draws, of one window each where nothing else is said."""
    return ledger.open([Asked(ledger, runs, np.ones(len(draws), dtype=np.int64) if counts is None else counts)])


def charge(ledger, runs, *, count):
    """Whether each draw may look at the data; a refusal is raised."""
    with opened(ledger, runs, range(count)) as books:
        (paid,) = books.charge()
    if isinstance(paid, BudgetError):
        raise paid
    return paid


def record(ledger, runs, drawn, counts=None):
    """What leaves of what was drawn for draws that are charged."""
    with opened(ledger, runs, drawn, counts) as books:
        (kept,) = books.record([drawn])
    return kept
