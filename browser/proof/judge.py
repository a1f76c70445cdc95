"""What the replayed app read, and what a person recogniser learns from what a page saw: with and without the extension.

python browser/proof/judge.py out/proof/watch out/proof/hapt
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from deeprotect.attack.predictions import clustered

SETTLE_MS = 9100  # of each piece are left out: what plays then was heard in it, two windows of 4 s and one of the app's
CHANNELS = 6
GAP_MS = 5100  # between what is learnt from and what is tried: no draw of 4 s, seen through windows of 1 s, is in both


def main(folders: list[Path]) -> None:
    print(
        "| recordings | page | windows | events/s | activity, by the app | person, retrained on what the page saw | chance |"
    )
    print("|---|---|---|---|---|---|---|")
    for folder in folders:
        replayed = json.loads((folder / "seen.json").read_text())
        for page, seen in replayed["seen"].items():
            print(row(folder.name, page, seen))
        print(f"{folder.name}: {replayed['fed']:.1%} of the recordings' samples were fed in time", file=sys.stderr)


def row(name: str, page: str, seen: list[dict]) -> str:
    kept = [each for each in seen if each["after"] >= SETTLE_MS]
    pieces = np.unique([each["start"] for each in kept], return_inverse=True)[1]
    right = np.array([each["read"] == each["activity"] for each in kept])
    person, tried, chance = retrained(kept)
    rate = f"{np.median([each['events'] for each in kept]):.0f}"
    cells = (name, page, str(len(kept)), rate, share(right, pieces), share(person, pieces[tried]), f"{chance:.3f}")
    return f"| {' | '.join(cells)} |"


def retrained(kept: list[dict]) -> tuple[np.ndarray, np.ndarray, float]:
    """Learnt from the beginning of each piece and tried on its end, and the other way round."""
    features = summarise(np.array([each["window"] for each in kept]))
    person = np.array([each["person"] for each in kept])
    past_middle = np.array([each["after"] - (SETTLE_MS + each["length"]) / 2 for each in kept])
    ends = [np.flatnonzero(past_middle < -GAP_MS / 2), np.flatnonzero(past_middle >= GAP_MS / 2)]
    right = []
    for learnt, tried in (ends, ends[::-1]):
        model = ExtraTreesClassifier(500, random_state=0, n_jobs=1).fit(features[learnt], person[learnt])
        right.append(model.predict(features[tried]) == person[tried])
    order = np.concatenate(ends[::-1])
    _, counts = np.unique(person[order], return_counts=True)
    return np.concatenate(right), order, counts.max() / counts.sum()


def summarise(windows: np.ndarray) -> np.ndarray:
    series = windows.reshape(len(windows), -1, CHANNELS)
    spectrum = np.abs(np.fft.rfft(series, axis=1)).reshape(len(windows), -1) / np.sqrt(series.shape[1])
    return np.hstack([*(of(series, axis=1) for of in (np.mean, np.std, np.min, np.max)), spectrum, windows])


def share(right: np.ndarray, pieces: np.ndarray) -> str:
    """With its 95 % interval; windows of one piece are alike."""
    low, high = clustered(right, pieces)
    return f"{right.mean():.3f} ({low:.3f}–{high:.3f})"


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
