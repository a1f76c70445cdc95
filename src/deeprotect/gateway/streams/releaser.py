"""Windows of many sessions through the engine at once, in a thread that alone uses ledgers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from deeprotect.bundle import Bundle
from deeprotect.errors import BudgetError, DeeprotectError, LedgerError, LedgerUnavailableError, NotDrawnError
from deeprotect.gateway.operation.log import event_seldom, failure
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.streams.session import Session
from deeprotect.gateway.wire.message import ReleasedWindow
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.by_time import ClockWindow
from deeprotect.release.episodes import Episodes, Leaving
from deeprotect.release.ledger import Account, Price
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.ledger import Clock, utc_now
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.release.live import release_due

_Key = tuple[str, str, str, str]
"""Stream, person, app and bundle, which identify an account and its price."""
FAILED = "nothing was released: the gateway failed"
UNREACHABLE = "nothing is released now: the ledger is unavailable; the operator's log says why"
UNREAD, UNPAID, NO_ACCOUNT, BROKEN = "nobody reads", "ledger failing", "no account", "gateway failed"
"""Reasons for withholding windows, besides a gap and a spent budget."""


@dataclass(eq=False)
class Order:
    """Windows of one session for one app, and their outcome; `refusal` is for the person whose data it is.

    When the session is over, its episodes end with them.
    """

    session: Session
    app: App
    bundle: Bundle
    windows: Sequence[ClockWindow]
    over: bool = False
    is_read: bool = True  # there is a reader
    is_paid: bool = False  # a draw was made for it
    released: list[ReleasedWindow] = field(default_factory=list)
    refusal: str | None = None
    why: str = ""  # reason for the refusal
    withheld: Counter[str] = field(default_factory=Counter)  # withheld windows, by reason

    @property
    def key(self) -> _Key:
        return self.session.stream, self.session.device.person, self.app.name, self.bundle.digest

    @property
    def episodes(self) -> Episodes:
        return self.session.episodes[self.app.key]

    def refuse(self, why: str, refusal: str) -> None:
        self.why, self.refusal = why, refusal

    def fail(self) -> None:
        """Withhold all its windows, after an unforeseen error."""
        self.released, self.withheld = [], Counter({BROKEN: len(self.windows)})
        self.refuse(BROKEN, FAILED)

    def leave(self, leaving: Leaving) -> None:
        """Add a released window."""
        session, window, channels = self.session, leaving.ticket, self.episodes.bundle.schema.names
        readings = tuple(window.with_values(leaving.window, channels))
        named = (session.stream, session.released_as, session.next_number(self.app.name), channels)
        self.released.append(ReleasedWindow(*named, window.times_ns, leaving.window, readings, leaving.placeholder))


class Releaser:
    """Keeps one ledger for each app and price; a session's episodes keep the bundle they started with."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database, self._clock = database, clock
        self._entropy = SystemEntropy()
        self._ledgers: dict[_Key, StoredLedger] = {}

    def run(self, orders: Sequence[Order]) -> None:
        """Run orders in sequence. After an unforeseen error, all episodes restart, and each order is tried
        separately."""
        try:
            self._together(orders)
        except Exception as error:
            failure("a batch failed; its orders are tried one by one", error)
            for order in orders:
                order.session.episodes.clear()
            for order in orders:
                self._alone(order)

    def _alone(self, order: Order) -> None:
        """Run an order alone; earlier draws are in the ledger and are found there."""
        order.released, order.refusal, order.why, order.withheld = [], None, "", Counter()
        try:
            self._together([order])
        except Exception as error:
            failure("an order failed", error)
            order.session.episodes.pop(order.app.key, None)
            order.fail()

    def _together(self, orders: Sequence[Order]) -> None:
        """Run orders in one transaction; an app's failure does not affect others, and nothing raw is released."""
        closed = self._open_ledgers(orders)
        for order in orders:
            if order.key in closed:
                self._refuse(order, closed[order.key])
            elif order.app.key not in order.session.episodes:
                self._begin(order)
        release_orders([order for order in orders if order.key not in closed], entropy=self._entropy)

    def _refuse(self, order: Order, reason: DeeprotectError) -> None:
        why = UNPAID if isinstance(reason, LedgerUnavailableError) else NO_ACCOUNT
        event_seldom(why, stream=order.session.stream, app=order.app.name, reason=str(reason))
        order.refuse(why, UNREACHABLE)
        order.withheld[why] += len(order.windows)

    def _begin(self, order: Order) -> None:
        bundle, ledger = order.bundle, self._ledgers[order.key].of_session(order.session.name)
        order.session.episodes[order.app.key] = Episodes.by_time(bundle, ledger)

    def _open_ledgers(self, orders: Sequence[Order]) -> dict[_Key, DeeprotectError]:
        """Open new accounts in one transaction; return reasons for those that cannot be used."""
        new = {order.key: order for order in orders if order.key not in self._ledgers}
        asked = [(Account(*key[:3]), Price.of_bundle(order.bundle)) for key, order in new.items()]
        try:
            opened = dict(
                zip(new, StoredLedger.several(self._database, asked, clock=self._clock) if asked else (), strict=True)
            )
        except DeeprotectError as error:  # a problem of the ledger, not of an account
            return dict.fromkeys(new, LedgerUnavailableError(str(error)))
        self._ledgers |= {key: each for key, each in opened.items() if isinstance(each, StoredLedger)}
        return {key: each for key, each in opened.items() if isinstance(each, DeeprotectError)}


def release_orders(orders: Sequence[Order], *, entropy: SystemEntropy) -> None:
    """Release each order's episodes through the engine, in one transaction."""
    for order in orders:
        order.episodes.take_by_time(order.windows, over=order.over)
    _draw(orders, entropy=entropy)
    for order in orders:
        for leaving in order.episodes.leave_by_time(entropy, over=order.over):
            order.leave(leaving)
        order.withheld.update(order.episodes.withheld)
        order.episodes.withheld.clear()


def _draw(orders: Sequence[Order], *, entropy: SystemEntropy) -> None:
    """Make all due draws that have a receiver; orders record why others are not made."""
    first: dict[int, Order] = {}  # two orders may share episodes
    for order in orders:
        first.setdefault(id(order.episodes), order)
    for order in first.values():
        order.episodes.postpone(UNPAID if order.is_read else UNREAD)
    read = [order for order in first.values() if order.is_read]
    try:
        drawn = release_due([order.episodes for order in read], entropy=entropy)
    except (LedgerError, LedgerUnavailableError) as failed:
        event_seldom(UNPAID, reason=str(failed))
        for order in read:
            if order.episodes.due():
                order.refuse(UNPAID, UNREACHABLE)
        return
    for episodes, episode, answer in drawn:
        order = first[id(episodes)]
        order.is_paid |= not isinstance(answer, BudgetError)
        if isinstance(answer, BudgetError) and not isinstance(answer, NotDrawnError):
            order.refuse(episode.why, f"{episode.why}: {answer}")
