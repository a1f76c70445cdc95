"""Calibration recordings for tests: as many as one likes, all alike, or drawn around a mean."""

import numpy as np

from deeprotect.privacy.channel.calibration import RecordedShares


def recorded(counts, *, epsilon=1.0, recordings=200, inference="person", classes=None, given=("",)) -> RecordedShares:
    """Recordings that all show the shares of these counts, (class, code) or (useful class, class, code).

    `recordings` may be one number for each; a row of zeros has none.
    """
    counts = np.asarray(counts, dtype=float)
    counts = counts[None] if counts.ndim == 2 else counts
    names = tuple(classes or (f"p{number}" for number in range(counts.shape[1])))
    many = np.broadcast_to(recordings, counts.shape[:2])
    cells = [
        [np.tile(row / max(row.sum(), 1e-9), (int(n) if row.any() else 0, 1)) for row, n in zip(rows, ns, strict=True)]
        for rows, ns in zip(counts, many, strict=True)
    ]
    return RecordedShares(inference, names, cells, epsilon, tuple(given))


def promises(counts, *, confidence=0.95, inferences=1, **more):
    """The promises that such recordings give."""
    return recorded(counts, **more).calibrated(confidence=confidence, inferences=inferences)[0]


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
