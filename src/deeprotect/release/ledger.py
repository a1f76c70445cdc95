"""What has been spent: events are stored, totals are computed."""

from collections import Counter

from deeprotect.errors import BudgetError
from deeprotect.privacy.accounting import Spending, spending
from deeprotect.privacy.events import Event


class Ledger:
    """Charges a stream before its noise is drawn; a charge is never refunded."""

    def __init__(self, *, budget: float | None = None) -> None:
        self._budget = budget
        self._counts: dict[str, Counter[Event]] = {}

    def charge(self, stream: str, event: Event, *, count: int) -> None:
        """Book `count` events, or refuse all of them when the stream's budget would not cover them."""
        counts = self._counts.setdefault(stream, Counter())
        if self._budget is not None:
            spent = sum(each.epsilon * times for each, times in counts.items())
            if spent + event.epsilon * count > self._budget:
                raise BudgetError(
                    f"stream '{stream}' has spent ε = {spent:g} of {self._budget:g}; this release would add "
                    f"{event.epsilon * count:g}. Release fewer windows, or raise the budget"
                )
        counts[event] += count

    def spending(self, stream: str) -> Spending:
        """Per window and per stream, never only the small one."""
        return spending(self._counts.get(stream, Counter()).items())
