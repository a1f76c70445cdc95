import numpy as np
import pytest

from deeprotect.errors import BudgetError, DeeprotectError, EntropyError
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.release.ledger import Ledger
from deeprotect.release.pipe import release
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


class WatchedLedger(Ledger):
    def __init__(self, log, **options):
        super().__init__(**options)
        self._log = log

    def charge(self, stream, event, *, count):
        self._log.append(("charge", count))
        super().charge(stream, event, count=count)


@pytest.fixture
def windows():
    samples = np.random.default_rng(1).uniform(-4, 4, size=(3, 4, 2))
    return Windows(samples, Frame(np.array([4, 4, 2]), np.array([0, 4, 8])))


def run(bundle, windows, *, log, ledger=None, entropy=None):
    return list(release([windows], bundle, ledger=ledger or Ledger(), stream="s", entropy=entropy or SystemEntropy()))


def test_budget_is_charged_before_noise_is_drawn(bundle, windows):
    log = []
    run(Watched(bundle, log), windows, log=log, ledger=WatchedLedger(log))
    assert [step for step, _ in log] == ["encode", "charge", "privatise", "decode"]


def test_the_decoder_never_receives_the_private_window(bundle, windows):
    log = []
    run(Watched(bundle, log), windows, log=log)
    given = dict(log)
    private = bundle.schema.scale(windows.samples).reshape(3, -1)
    assert np.allclose(given["privatise"], private, atol=1e-6)  # the identity encoder: the code is the window
    assert (np.abs(given["decode"] - private) < 1e-6).mean() < 0.05


@pytest.mark.parametrize("step", ["encode", "privatise", "decode"])
def test_nothing_leaves_when_a_step_fails(bundle, windows, step):
    log = []
    with pytest.raises(DeeprotectError, match="planted"):
        run(Watched(bundle, log, fail_at=step), windows, log=log)


def test_a_failed_release_stays_charged(bundle, windows):
    log, ledger = [], Ledger()
    with pytest.raises(DeeprotectError):
        run(Watched(bundle, log, fail_at="privatise"), windows, log=log, ledger=ledger)
    assert ledger.spending("s").per_stream == 15


def test_nothing_is_drawn_when_the_budget_does_not_cover_it(bundle, windows):
    log = []
    with pytest.raises(BudgetError, match="would make it 15"):
        run(Watched(bundle, log), windows, log=log, ledger=Ledger(budget=14))
    assert [step for step, _ in log] == ["encode"]


def test_seeded_entropy_is_refused(bundle, windows):
    with pytest.raises(EntropyError):
        run(bundle, windows, log=[], entropy=SeededEntropy(0))


def test_totals_are_computed_from_events(bundle):
    ledger = Ledger()
    for count in (2, 3):
        ledger.charge("s", bundle.mechanism.event, count=count)
    assert ledger.spending("s").draws == 5
    assert ledger.spending("s").per_stream == 25
    assert ledger.spending("another").draws == 0
