"""Orders of many sessions made into releases; runs in one thread of its own, which alone touches flows and ledgers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deeprotect.bundle import Bundle
from deeprotect.errors import BundleError, DeeprotectError, LedgerUnavailableError
from deeprotect.gateway.batch import Job, Outcome, release_jobs
from deeprotect.gateway.flow import Flow
from deeprotect.gateway.registry import App, Device
from deeprotect.gateway.session import Session
from deeprotect.gateway.track import TrackWindow
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger import Account
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.release.pricing import price_of

PipelineOf = Callable[[App], Bundle]


@dataclass(frozen=True, eq=False)
class Order:
    """Windows of one session that one app is to get, as far as its budget goes."""

    device: Device
    session: Session
    app: App
    windows: Sequence[TrackWindow]
    over: bool = False


@dataclass(frozen=True, eq=False)
class Delivery:
    """What came of an order; `refusal` is for the person whose data it is."""

    order: Order
    outcome: Outcome | None
    refusal: str | None


class Releaser:
    """Keeps one ledger for each app and price; a flow keeps the bundle that its session began with."""

    def __init__(self, pipeline_of: PipelineOf, database: Database) -> None:
        self._pipeline_of, self._database = pipeline_of, database
        self._entropy = SystemEntropy()
        self._ledgers: dict[tuple[str, str, str], StoredLedger] = {}

    def run(self, orders: Sequence[Order]) -> list[Delivery]:
        """In order. When anything unforeseen happens, nobody gets anything, and all flows begin anew."""
        refusals: dict[int, str] = {}
        jobs: dict[int, Job] = {}
        for place, order in enumerate(orders):
            try:
                jobs[place] = Job(order.session, order.app, self._flow(order), order.windows, order.over)
            except (BundleError, LedgerUnavailableError, DeeprotectError) as error:
                refusals[place] = str(error)
        try:
            outcomes = release_jobs(list(jobs.values()), database=self._database, entropy=self._entropy)
        except BaseException:
            for order in orders:
                order.session.flows.clear()
            raise
        by_place = dict(zip(jobs, outcomes, strict=True))
        return [self._delivery(order, by_place.get(place), refusals.get(place)) for place, order in enumerate(orders)]

    @staticmethod
    def _delivery(order: Order, outcome: Outcome | None, refusal: str | None) -> Delivery:
        return Delivery(order, outcome, refusal if outcome is None else outcome.refusal)

    def _flow(self, order: Order) -> Flow:
        key = f"{order.app.name}\n{order.app.created.isoformat()}"
        flow = order.session.flows.get(key)
        if flow is None:
            bundle = self._pipeline_of(order.app)
            ledger = self._ledger(order.device, order.app, bundle).of_session(order.session.name)
            fill_gaps = bundle.policy.stream.when_missing == "placeholder"
            flow = order.session.flows[key] = Flow(bundle, ledger, fill_gaps=fill_gaps)
        return flow

    def _ledger(self, device: Device, app: App, bundle: Bundle) -> StoredLedger:
        key = (device.stream, app.name, bundle.digest)
        if key not in self._ledgers:
            account = Account(device.stream, device.person, app.name)
            self._ledgers[key] = StoredLedger(self._database, account, price_of(bundle))
        return self._ledgers[key]
