"""Misreadings: what it costs the user when an app reads one class where another is true."""

from collections.abc import Mapping, Sequence

import numpy as np

from deeprotect.errors import TableError
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows

Rows = Mapping[str, Mapping[str, float]]
"""True class, class read."""
Costs = Mapping[str, Rows]
"""By useful inference, as the policy gives them."""


def price(true: str, read: str, rows: Rows) -> float:
    """0 for the right reading, 1 where the policy does not say."""
    return 0.0 if read == true else rows.get(true, {}).get(read, 1.0)


def matrix(classes: Sequence[str], rows: Rows) -> Floats:
    """Every price, (true class, class read)."""
    return np.array([[price(true, read, rows) for read in classes] for true in classes])


def check_costs(windows: LabelledWindows, policy: Policy) -> None:
    """A misspelt class would cost 1 without a word, so it is refused."""
    for name, rows in policy.training.cost_matrix.items():
        known = sorted({label for label in windows.labels[name] if label is not None})
        strangers = [each for true, row in rows.items() for each in (true, *row) if each not in known]
        if strangers:
            raise TableError(
                f"training.cost_matrix.{name} names '{strangers[0]}', a class that no training window shows; "
                f"write one of: {', '.join(known)}"
            )
