"""What the replayed app read, and what a person recogniser learns from what a page saw: with and without the extension.

python browser/proof/judge.py out/proof/watch out/proof/hapt
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from deeprotect.attack.intervals import wilson
from deeprotect.bundle.layers.structure import Concatenation, Unflatten
from deeprotect.bundle.layers.summaries import Spectrum, Statistics
from deeprotect.bundle.network import Network

SETTLE_MS = 9100  # of each piece are left out: what plays then was heard in it, two windows of 4 s and one of the app's


def main(folders: list[Path]) -> None:
    print("| recordings | page | windows | events/s | activity, by the app | person, retrained on what the page saw | chance |")
    print("|---|---|---|---|---|---|---|")
    for folder in folders:
        replayed = json.loads((folder / "seen.json").read_text())
        for page, seen in replayed["seen"].items():
            print(row(folder.name, page, seen))
        print(f"{folder.name}: {replayed['fed']:.1%} of the recordings' samples were fed in time", file=sys.stderr)


def row(name: str, page: str, seen: list[dict]) -> str:
    kept = [each for each in seen if each["after"] >= SETTLE_MS]
    right = [each["read"] == each["activity"] for each in kept]
    person, chance = retrained(kept)
    rate = f"{np.median([each['events'] for each in kept]):.0f}"
    cells = (name, page, str(len(kept)), rate, share(right), share(person), f"{chance:.3f}")
    return f"| {' | '.join(cells)} |"


def retrained(kept: list[dict]) -> tuple[np.ndarray, float]:
    """Learnt from the first half of each piece, tried on the second."""
    features = summarise(np.array([each["window"] for each in kept]))
    person = np.array([each["person"] for each in kept])
    half = np.array([each["after"] < SETTLE_MS + (each["length"] - SETTLE_MS) / 2 for each in kept])
    model = ExtraTreesClassifier(500, random_state=0, n_jobs=1).fit(features[half], person[half])
    _, counts = np.unique(person[~half], return_counts=True)
    return model.predict(features[~half]) == person[~half], counts.max() / counts.sum()


def summarise(windows: np.ndarray) -> np.ndarray:
    channels = 6
    layers = (Unflatten(channels), Concatenation(((Statistics(),), (Spectrum(),))))
    return np.hstack([Network(layers, windows.shape[1])(windows), windows])


def share(right: object) -> str:
    found = np.asarray(right)
    low, high = wilson(int(found.sum()), len(found))
    return f"{found.mean():.3f} ({low:.3f}–{high:.3f})"


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
