"""Shares of several recordings for tests, drawn around a mean."""

import numpy as np


def correlated(rng, mean, *, recordings, windows, correlation):
    """Shares (recording, code) of windows whose codes go together inside a recording: a Dirichlet mean for each."""
    mean = np.asarray(mean, dtype=float)
    if correlation == 0:
        return rng.multinomial(windows, mean, size=recordings) / windows
    spread = mean * (1 - correlation) / correlation
    return (
        np.array([rng.multinomial(windows, _normal(rng.dirichlet(spread + 1e-9))) for _ in range(recordings)]) / windows
    )


def _normal(p):
    return p / p.sum()
