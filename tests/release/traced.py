"""A pipeline that numbers its windows and writes down which of them each draw was made from."""

import numpy as np

from deeprotect.privacy.events import Event
from deeprotect.signals import Channel, Hold, Schema

WINDOW = 2
MOST = 10_000.0


class Traced:
    """Its own mechanism, too: nothing is random, and released samples are all zero."""

    name, dim, public_outputs, scripts = "traced", 1, None, None

    def __init__(self, hold: Hold, *, fail_at: str | None = None) -> None:
        self.schema = Schema((Channel("acc_x", "g", 0.0, MOST),), 10.0, WINDOW)
        self.hold, self.mechanism, self.fail_at = hold, self, fail_at
        self.event = Event("ldp", 1.0, per=hold.per)
        self.heard: list[list[int]] = []  # the windows of each draw
        self.drawn_from_nothing = 0

    def encode(self, private):
        self._fail("encode")
        return np.rint(private[:, :1, 0] * MOST)

    def pool(self, evidence, counts):
        self.heard += [each.ravel().astype(int).tolist() for each in np.split(evidence, np.cumsum(counts)[:-1])]
        return np.zeros((len(counts), 1))

    def privatise(self, code, *, entropy):
        self._fail("privatise")
        return np.zeros_like(code)

    def placeholders(self, count, *, entropy):
        self.drawn_from_nothing += count
        return np.zeros((count, 1))

    def repeat(self, noisy_code, counts, *, entropy):
        return np.repeat(noisy_code, counts, axis=0)

    def decode(self, noisy_code):
        self._fail("decode")
        return np.zeros((len(noisy_code), WINDOW, 1))

    def certificate(self):
        return {"ldp_epsilon": self.event.epsilon}

    def _fail(self, step: str) -> None:
        if self.fail_at == step:
            raise ValueError("a sample was 1234")


def numbered(windows: int, *, first: int = 0) -> np.ndarray:
    """Rows of windows that hold their own numbers."""
    return np.repeat(np.arange(first, first + windows, dtype=float), WINDOW)[:, None]
