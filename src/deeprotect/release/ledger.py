"""What has been spent: events are stored, totals are computed."""

from collections import Counter

from deeprotect.errors import BudgetError
from deeprotect.privacy.accounting import Spending, totals
from deeprotect.privacy.events import Event


class Ledger:
    """Charges a stream before its noise is drawn; a charge is never refunded."""

    def __init__(self, *, budget: float | None = None) -> None:
        self._budget = budget
        self._events: dict[str, Counter[Event]] = {}

    def charge(self, stream: str, event: Event, *, count: int) -> None:
        """Book `count` events, or refuse all of them when the stream's budget would not cover them."""
        events = self._events.setdefault(stream, Counter())
        after = totals((events + Counter({event: count})).items())
        if self._budget is not None and after.per_stream > self._budget:
            spent = totals(events.items()).per_stream
            raise BudgetError(
                f"stream '{stream}' has spent ε = {spent:g} of {self._budget:g}; this release would make it "
                f"{after.per_stream:g}. Release fewer windows, or raise the budget"
            )
        events[event] += count

    def spending(self, stream: str) -> Spending:
        """Per window and per stream, never only the small one."""
        return totals(self._events.get(stream, Counter()).items())
