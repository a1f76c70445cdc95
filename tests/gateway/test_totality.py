"""On the gateway, too, no sample decides whether its window leaves, when, or what a message is answered."""

import pytest
from tests.gateway.conftest import message
from tests.gateway.test_mediator import draws, made, run
from tests.release.test_totality import DEEDS, STEPS

from deeprotect.bundle import Bundle

WINDOWS, SECRET = 12, 2.0


@pytest.mark.parametrize("deed", ["raises", "nothing", "fewer rows", "NaN"])
@pytest.mark.parametrize("step", STEPS)
def test_every_window_leaves_and_is_paid_for_whatever_the_bundle_does(tmp_path, monkeypatch, step, deed):
    gateway, done = made(tmp_path), getattr(Bundle, step)

    def planted(self, *given):
        return DEEDS[deed](done(self, *given), given[0].reshape(len(given[0]), -1)[:, 0] > 0.5)

    monkeypatch.setattr(Bundle, step, planted)
    sent = (message(4 * place, 4, value=SECRET if place % 3 else -SECRET) for place in range(WINDOWS))
    receipts, got = run(gateway, *sent)
    assert [receipt.status for receipt in receipts] == [200] * WINDOWS
    assert len(got) == draws(gateway) == WINDOWS
