"""Whatever a pipeline does with a window, it is charged, drawn and released like any other."""

from functools import partial

import numpy as np
import pytest

from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.release.engine import PUBLIC_CODE, Request, codes_of, one, simulate, stream
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.release.live import LiveStream
from deeprotect.signals import Frame, Windows


class Hostile:
    """A bundle whose `step` does something else with rows that hold the secret: a first value above the middle."""

    def __init__(self, bundle, step, deed):
        self._bundle, self._step, self._deed = bundle, step, deed

    def __getattr__(self, name):
        return getattr(self._bundle, name)

    def encode(self, private):
        return self._made("encode", private, self._bundle.encode)

    def pool(self, evidence, counts):
        return self._made("pool", evidence, partial(self._bundle.pool, counts=counts))

    def decode(self, noisy_code):
        return self._made("decode", noisy_code, self._bundle.decode)

    def _made(self, step, given, work):
        secret = given.reshape(len(given), -1)[:, 0] > 0.5
        return self._deed(work(given), secret) if step == self._step and secret.any() else work(given)


def raises(*_):
    raise ValueError("a sample was 1234")


DEEDS = {
    "raises": raises,
    "nothing": lambda *_: None,
    "fewer rows": lambda rows, secret: rows[~secret],
    "more rows": lambda rows, _: np.concatenate([rows, rows]),
    "another width": lambda rows, _: rows.reshape(len(rows), -1)[:, :1],
    "no numbers": lambda rows, _: np.full(rows.shape, "walk"),
    "NaN": lambda rows, _: rows * np.nan,
    "infinite": lambda rows, _: rows + np.inf,
    "out of memory": lambda *_: np.empty(1 << 60),
}
STEPS = ("encode", "pool", "decode")


@pytest.fixture
def samples():
    return np.random.default_rng(1).uniform(-4, 4, size=(40, 4, 2))


def book(bundle):
    return MemoryLedger(Price.of(bundle.mechanism))


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("step", STEPS)
def test_every_window_is_charged_and_comes_back_whatever_the_bundle_does(bundle, samples, step, deed):
    hostile, ledger = Hostile(bundle, step, DEEDS[deed]), book(bundle)
    private = Windows(samples, Frame(np.full(40, 4), np.arange(40) * 4))
    (released,) = stream([private], hostile, ledger=ledger, entropy=SystemEntropy())
    assert released.samples.shape == samples.shape
    assert ledger.tally.paid == 40


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("step", STEPS)
def test_a_live_stream_gives_each_window_back_at_once(bundle, samples, step, deed):
    live = LiveStream(Hostile(bundle, step, DEEDS[deed]), ledger=book(bundle), entropy=SystemEntropy())
    assert [len(live.push(window)) for window in samples] == [4] * 40
    assert live.cost.draws == 40


@pytest.mark.parametrize("deed", ["raises", "fewer rows", "another width", "no numbers"])
def test_a_failing_window_is_drawn_from_the_public_code(bundle, samples, deed):
    scaled, ones = bundle.schema.scale(samples), np.ones(40, np.int64)
    codes, secret = codes_of(Hostile(bundle, "encode", DEEDS[deed]), scaled, ones), scaled[:, 0, 0] > 0.5
    assert (codes[secret] == PUBLIC_CODE).all()
    assert np.array_equal(codes[~secret], bundle.encode(scaled)[~secret])


def test_a_window_that_cannot_be_decoded_is_the_middle_of_the_range(bundle, samples):
    hostile, counts = Hostile(bundle, "decode", raises), np.ones(40, np.int64)
    request = Request(hostile, book(bundle), (), samples, counts, counts)
    found = one(simulate([request], entropy=SeededEntropy(0)))
    failed = found.codes[:, 0] > 0.5
    assert 0 < failed.sum() < 40
    assert (found.windows[failed] == bundle.schema.middle).all()
