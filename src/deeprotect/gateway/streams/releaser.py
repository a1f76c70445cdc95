"""Windows of many sessions through the engine at once; runs in one thread of its own, which alone touches ledgers."""

from collections.abc import Sequence
from dataclasses import dataclass

from deeprotect.bundle import Bundle
from deeprotect.bundle.network import one_thread
from deeprotect.errors import BudgetError, DeeprotectError, LedgerError, LedgerUnavailableError
from deeprotect.gateway.operation.logs import event_seldom, failure
from deeprotect.gateway.registration.device_registry import App, Device
from deeprotect.gateway.streams.clock_window import ClockWindow
from deeprotect.gateway.streams.live_session import LiveSession
from deeprotect.gateway.wire.message import ReleasedWindow
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import release
from deeprotect.release.episodes import Episodes, Leaving, live_observing
from deeprotect.release.ledger import Account, Price
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.stored import StoredLedger

_Key = tuple[str, str, str, str]
"""Stream, person, app and bundle: what an account and its price are known by."""
FAILED = "nothing was released: the gateway failed"
UNREACHABLE = "nothing is released now: the ledger that pays for it cannot be used; the operator's log says why"


@dataclass(frozen=True, eq=False)
class ReleaseOrder:
    """Windows of one session that one app is to get; when it is over, its episodes end with them."""

    device: Device
    session: LiveSession
    app: App
    bundle: Bundle
    windows: Sequence[ClockWindow]
    over: bool = False

    @property
    def key(self) -> _Key:
        return self.device.stream, self.device.person, self.app.name, self.bundle.digest

    @property
    def account(self) -> Account:
        return Account(self.device.stream, self.device.person, self.app.name)


@dataclass(frozen=True, eq=False)
class Delivery:
    """What came of an order; `refusal` is for the person whose data it is."""

    order: ReleaseOrder
    released: tuple[ReleasedWindow, ...] = ()
    refusal: str | None = None


class Releaser:
    """Keeps one ledger for each app and price; a session's episodes keep the bundle that it began with."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entropy = SystemEntropy()
        self._ledgers: dict[_Key, StoredLedger] = {}

    def run(self, orders: Sequence[ReleaseOrder]) -> list[Delivery]:
        """In order. When anything unforeseen happens, all episodes begin anew, and each order is tried by itself."""
        try:
            return self._together(orders)
        except Exception as error:
            failure("a batch failed; its orders are tried one by one", error)
        for order in orders:
            order.session.episodes.clear()
        return [self._alone(order) for order in orders]

    def _alone(self, order: ReleaseOrder) -> Delivery:
        """What was drawn for it before is kept in the ledger, and found there again."""
        try:
            return self._together([order])[0]
        except Exception as error:
            failure("an order failed", error)
            order.session.episodes.pop(order.app.terms, None)
            return Delivery(order, refusal=FAILED)

    def _together(self, orders: Sequence[ReleaseOrder]) -> list[Delivery]:
        """Whatever goes wrong for one app leaves the others alone; nothing raw leaves."""
        closed = self._open_ledgers(orders)
        for order in orders:
            if order.key in closed:
                reason = str(closed[order.key])
                event_seldom("no account", stream=order.device.stream, app=order.app.name, reason=reason)
        known = [(order, self._episodes(order)) for order in orders if order.key not in closed]
        released = iter(release_orders(known, entropy=self._entropy))
        return [Delivery(order, refusal=UNREACHABLE) if order.key in closed else next(released) for order in orders]

    def _episodes(self, order: ReleaseOrder) -> Episodes:
        bundle, terms, begun = order.bundle, order.app.terms, order.session.episodes
        if terms not in begun:
            ledger = self._ledgers[order.key].of_session(order.session.name)
            fill_gaps = bundle.policy.stream.when_missing == "placeholder"
            begun[terms] = Episodes(bundle, ledger, live_observing(bundle), fill_gaps=fill_gaps)
        return begun[terms]

    def _open_ledgers(self, orders: Sequence[ReleaseOrder]) -> dict[_Key, DeeprotectError]:
        """Of accounts that were not met before, all in one transaction; why not, where one cannot be used."""
        new = {order.key: order for order in orders if order.key not in self._ledgers}
        asked = [(order.account, Price.of_bundle(order.bundle)) for order in new.values()]
        try:
            opened = dict(zip(new, StoredLedger.several(self._database, asked) if asked else (), strict=True))
        except DeeprotectError as error:
            return dict.fromkeys(new, error)
        self._ledgers |= {key: each for key, each in opened.items() if isinstance(each, StoredLedger)}
        return {key: each for key, each in opened.items() if isinstance(each, DeeprotectError)}


_Known = Sequence[tuple[ReleaseOrder, Episodes]]


def release_orders(orders: _Known, *, entropy: SystemEntropy) -> list[Delivery]:
    """Each order with its episodes through the engine, all in one transaction."""
    for order, episodes in orders:
        _take(order, episodes)
    with one_thread():
        refusals = _draw(orders, entropy=entropy)
    leaving = [list(episodes.leaving(entropy)) for _, episodes in orders]
    for _, episodes in orders:
        episodes.expire()
    return [
        Delivery(order, tuple(_window(order, each) for each in some if each.ticket.stamps), refusals.get(place))
        for place, ((order, _), some) in enumerate(zip(orders, leaving, strict=True))
    ]


def _take(order: ReleaseOrder, episodes: Episodes) -> None:
    for window in order.windows:
        if order.over and window.samples is None:  # its end was never sent: the draw is made from what came before
            episodes.end()
        episodes.take(window, window.samples, part=window.part, number=window.number)
    if order.over:
        episodes.end()


def _draw(orders: _Known, *, entropy: SystemEntropy) -> dict[int, str]:
    """Make all draws that are due; why not, by the place of the order."""
    first = {id(episodes): place for place, (_, episodes) in reversed(list(enumerate(orders)))}  # may have two orders
    asked = [(place, *due) for place in first.values() for due in orders[place][1].due()]
    try:
        answers = release([request for *_, request in asked], entropy=entropy)
    except (LedgerError, LedgerUnavailableError) as failed:  # nothing was drawn, or it is kept: it is asked again
        event_seldom("ledger unavailable", reason=str(failed))
        return {place: UNREACHABLE for place, *_ in asked}
    for (_, episode, _), answer in zip(asked, answers, strict=True):
        Episodes.settle(episode, answer)
    refused = zip(asked, answers, strict=True)
    return {place: f"budget spent: {answer}" for (place, *_), answer in refused if isinstance(answer, BudgetError)}


def _window(order: ReleaseOrder, leaving: Leaving) -> ReleasedWindow:
    session, window = order.session, leaving.ticket
    return ReleasedWindow(
        stream=session.stream,
        session=session.released_as,
        number=session.next_number(order.app.name),
        channels=order.session.episodes[order.app.terms].bundle.schema.names,
        times_ns=window.times_ns,
        values=leaving.window,
        readings=tuple(window.with_values(leaving.window)),
        placeholder=leaving.placeholder,
    )
