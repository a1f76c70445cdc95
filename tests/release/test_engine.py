from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.release.ledger.bookings import charge

from deeprotect.errors import BudgetError, DeeprotectError, EntropyError, LedgerError
from deeprotect.policy.sections import Budget
from deeprotect.privacy.box import Box
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.privacy.mechanisms.laplace import paper_mode2
from deeprotect.release.engine import Request, release, stream
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.release.ledger.limits import Limits
from deeprotect.signals import Frame, Windows


class Watched:
    """A bundle that writes down what each step was given."""

    def __init__(self, bundle, log, *, fail_at=None):
        self._bundle, self._log, self._fail_at = bundle, log, fail_at
        self.schema, self.hold = bundle.schema, bundle.hold
        self.mechanism = self

    @property
    def event(self):
        return self._bundle.mechanism.event

    @property
    def dim(self):
        return self._bundle.mechanism.dim

    def certificate(self):
        return self._bundle.mechanism.certificate()

    def pool(self, evidence, counts):
        return self._bundle.pool(evidence, counts)

    def repeat(self, noisy_code, counts, *, entropy):
        return self._bundle.mechanism.repeat(noisy_code, counts, entropy=entropy)

    def encode(self, private):
        return self._note("encode", private, self._bundle.encode)

    def privatise(self, code, *, entropy):
        return self._note("privatise", code, lambda code: self._bundle.mechanism.privatise(code, entropy=entropy))

    def decode(self, noisy_code):
        return self._note("decode", noisy_code, self._bundle.decode)

    def _note(self, step, given, work):
        self._log.append((step, given))
        if step == self._fail_at:
            raise DeeprotectError("planted")
        return work(given)


class WatchedLedger(MemoryLedger):
    """Its own books, too: it writes down what is charged and recorded."""

    def __init__(self, log, price):
        super().__init__(price)
        self._log = log

    @contextmanager
    def open(self, bookings):
        with super().open(bookings) as books:
            yield WatchedBooks(books, self._log)
        self._log.append(("on disk", None))


@dataclass
class WatchedBooks:
    books: object
    log: list

    def charge(self):
        self.log.append(("charge", None))
        return self.books.charge()

    def record(self, drawn):
        self.log.append(("record", None))
        return self.books.record(drawn)


@pytest.fixture
def windows():
    samples = np.random.default_rng(1).uniform(-4, 4, size=(3, 4, 2))
    return Windows(samples, Frame(np.array([4, 4, 2]), np.array([0, 4, 8])))


def price(bundle, **budget):
    return Price.of(bundle.mechanism, limits=Limits.of(Budget(**budget)))


def run(bundle, windows, *, log, ledger=None, entropy=None):
    ledger = ledger or MemoryLedger(price(bundle))
    return list(stream([windows], bundle, ledger=ledger, entropy=entropy or SystemEntropy()))


def test_budget_is_charged_before_noise_is_drawn_and_what_is_recorded_leaves(bundle, windows):
    log = []
    run(Watched(bundle, log), windows, log=log, ledger=WatchedLedger(log, price(bundle)))
    assert [step for step, _ in log] == ["encode", "charge", "privatise", "record", "on disk", "decode"]


def test_draws_are_never_charged_at_the_price_of_another_mechanism(bundle, windows):
    cheaper = replace(price(bundle), event=replace(bundle.mechanism.event, epsilon=0.1))
    with pytest.raises(LedgerError, match=r"this ledger charges ε = 0\.1"):
        run(bundle, windows, log=[], ledger=MemoryLedger(cheaper))


def test_a_relaxed_draw_is_never_charged_at_another_clip_box(bundle, windows):
    """The events look alike; what is counted is the LDP bound beside them."""
    direction = np.array([[0.6], [0.8]])
    tight, loose = (paper_mode2(Box((0.0,), (width,)), 2.0, directions=direction) for width in (0.5, 1.0))
    assert tight.event == loose.event
    other = SimpleNamespace(hold=bundle.hold, mechanism=loose)
    Request.of(windows, other, MemoryLedger(Price.of(loose))).check_price()
    with pytest.raises(LedgerError, match="counted"):
        release([Request.of(windows, other, MemoryLedger(Price.of(tight)))], entropy=SystemEntropy())


def test_the_decoder_never_receives_the_private_window(bundle, windows):
    log = []
    run(Watched(bundle, log), windows, log=log)
    given = dict(log)
    private = bundle.schema.scale(windows.samples).reshape(3, -1)
    assert np.allclose(given["privatise"], private, atol=1e-6)  # the identity encoder: the code is the window
    assert (np.abs(given["decode"] - private) < 1e-6).mean() < 0.05


def test_nothing_leaves_when_drawing_fails(bundle, windows):
    log = []
    with pytest.raises(DeeprotectError, match="planted"):
        run(Watched(bundle, log, fail_at="privatise"), windows, log=log)


def test_a_failed_release_stays_charged(bundle, windows):
    log, ledger = [], MemoryLedger(price(bundle))
    with pytest.raises(DeeprotectError):
        run(Watched(bundle, log, fail_at="privatise"), windows, log=log, ledger=ledger)
    assert ledger.spending.per_stream == 15


def test_nothing_is_drawn_when_the_budget_does_not_cover_it(bundle, windows):
    log = []
    with pytest.raises(BudgetError, match="3 draws would cost ε = 15; ε = 14 remains"):
        run(Watched(bundle, log), windows, log=log, ledger=MemoryLedger(price(bundle, in_all=14.0)))
    assert [step for step, _ in log] == ["encode"]


def test_seeded_entropy_is_refused(bundle, windows):
    with pytest.raises(EntropyError):
        run(bundle, windows, log=[], entropy=SeededEntropy(0))


def test_totals_are_computed_from_events(bundle):
    ledger = MemoryLedger(price(bundle))
    for count in (2, 3):
        charge(ledger, (), count=count)
    assert ledger.spending.draws == 5
    assert ledger.spending.per_stream == 25
