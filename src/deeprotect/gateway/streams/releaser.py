"""Orders of many sessions made into releases; runs in one thread of its own, which alone touches flows and ledgers."""

from collections.abc import Sequence
from dataclasses import dataclass

from deeprotect.bundle import Bundle
from deeprotect.errors import DeeprotectError
from deeprotect.gateway.operation.logs import event_seldom, failure
from deeprotect.gateway.registration.device_registry import App, Device
from deeprotect.gateway.streams.batch import UNREACHABLE, Job, Outcome, release_jobs
from deeprotect.gateway.streams.live_session import LiveSession
from deeprotect.gateway.streams.track import TrackWindow
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.episodes import Episodes, live_observing
from deeprotect.release.ledger import Account
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.release.pricing import price_of

_Key = tuple[str, str, str, str]
"""Stream, person, app and bundle: what an account and its price are known by."""
FAILED = "nothing was released: the gateway failed"


@dataclass(frozen=True, eq=False)
class ReleaseOrder:
    """Windows of one session that one app is to get, as far as its budget goes."""

    device: Device
    session: LiveSession
    app: App
    bundle: Bundle
    windows: Sequence[TrackWindow]
    over: bool = False


@dataclass(frozen=True, eq=False)
class Delivery:
    """What came of an order; `refusal` is for the person whose data it is."""

    order: ReleaseOrder
    outcome: Outcome | None
    refusal: str | None


class Releaser:
    """Keeps one ledger for each app and price; a flow keeps the bundle that its session began with."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entropy = SystemEntropy()
        self._ledgers: dict[_Key, StoredLedger] = {}

    def run(self, orders: Sequence[ReleaseOrder]) -> list[Delivery]:
        """In order. When anything unforeseen happens, all flows begin anew, and each order is tried by itself."""
        try:
            return self._together(orders)
        except Exception as error:
            failure("a batch failed; its orders are tried one by one", error)
        for order in orders:
            order.session.flows.clear()
        return [self._alone(order) for order in orders]

    def _alone(self, order: ReleaseOrder) -> Delivery:
        """What was drawn for it before is kept in the ledger, and found there again."""
        try:
            return self._together([order])[0]
        except Exception as error:
            failure("an order failed", error)
            order.session.flows.pop(order.app.terms, None)
            return Delivery(order, None, FAILED)

    def _together(self, orders: Sequence[ReleaseOrder]) -> list[Delivery]:
        closed = self._open_ledgers(orders)
        refusals: dict[int, str] = {}
        jobs: dict[int, Job] = {}
        for place, order in enumerate(orders):
            error = closed.get(_key(order))
            if error is None:
                jobs[place] = Job(order.session, order.app, self._flow(order), order.windows, order.over)
            else:
                event_seldom("no account", stream=order.device.stream, app=order.app.name, reason=str(error))
                refusals[place] = UNREACHABLE
        outcomes = release_jobs(list(jobs.values()), entropy=self._entropy)
        by_place = dict(zip(jobs, outcomes, strict=True))
        return [self._delivery(order, by_place.get(place), refusals.get(place)) for place, order in enumerate(orders)]

    @staticmethod
    def _delivery(order: ReleaseOrder, outcome: Outcome | None, refusal: str | None) -> Delivery:
        return Delivery(order, outcome, refusal if outcome is None else outcome.refusal)

    def _flow(self, order: ReleaseOrder) -> Episodes:
        flow = order.session.flows.get(order.app.terms)
        if flow is None:
            ledger = self._ledgers[_key(order)].of_session(order.session.name)
            fill_gaps = order.bundle.policy.stream.when_missing == "placeholder"
            observing = live_observing(order.bundle)
            flow = order.session.flows[order.app.terms] = Episodes(order.bundle, ledger, observing, fill_gaps=fill_gaps)
        return flow

    def _open_ledgers(self, orders: Sequence[ReleaseOrder]) -> dict[_Key, DeeprotectError]:
        """Of accounts that were not met before, all in one transaction; why not, where one cannot be used."""
        new = {_key(order): order for order in orders if _key(order) not in self._ledgers}
        asked = [(_account(order), price_of(order.bundle)) for order in new.values()]
        try:
            opened = dict(zip(new, StoredLedger.several(self._database, asked) if asked else (), strict=True))
        except DeeprotectError as error:
            return dict.fromkeys(new, error)
        self._ledgers |= {key: each for key, each in opened.items() if isinstance(each, StoredLedger)}
        return {key: each for key, each in opened.items() if isinstance(each, DeeprotectError)}


def _key(order: ReleaseOrder) -> _Key:
    return order.device.stream, order.device.person, order.app.name, order.bundle.digest


def _account(order: ReleaseOrder) -> Account:
    return Account(order.device.stream, order.device.person, order.app.name)
