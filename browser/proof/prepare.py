"""For the replay in a real browser: a protector, an activity recogniser for a web app, and recordings to replay.

python browser/proof/prepare.py watch out/proof/watch
"""

import base64
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.neural_network import MLPClassifier

from deeprotect.bundle.layers.rounding import Clip
from deeprotect.bundle.layers.tensors import TensorWriter
from deeprotect.datasets.loading import load
from deeprotect.exporting.targets import export_browser
from deeprotect.exporting.protector_file import places_of
from deeprotect.policy import Policy
from deeprotect.api import Protector
from deeprotect.training.export import FINE, LayerBuilder

USEFUL = {"watch": "exercise", "hapt": "mode"}
SECONDS = {"watch": 20, "hapt": 16}  # of each person and activity, from what nothing was learnt from
RATE, WINDOW = 50, 50  # of the app; the protector's windows are longer, so that few of the app's lie across two draws
PROTECTED = 200
GRID, TOP = 8, 1 << 18  # of the app's samples and features: steps of 2^-8, up to ±2^10


def main(name: str, out: Path) -> None:
    data = load(name)
    useful = USEFUL[name]
    table = data.table
    learnt, replayed = halves(table, useful)
    policy = Policy.from_tables(
        {
            "version": 1,
            "stream": {
                "rate_hz": RATE,
                "window": PROTECTED,
                "channels": {c.name: {"unit": c.unit, "range": [c.low, c.high]} for c in data.channels},
            },
            "inferences": {"useful": [useful], "sensitive": ["person"]},
            "privacy": {"epsilon": 5.0, "guarantee": "ldp"},
        }
    )
    out.mkdir(parents=True, exist_ok=True)
    protector = Protector.fit(policy, learnt)
    protector.save(out / "bundle")
    export_browser(protector.bundle, out / "exported")
    factors = np.array([place.factor for place in places_of(protector.bundle.schema.channels)])
    names = [c.name for c in data.channels]
    app = recogniser(learnt, useful, names, factors)
    segments = pieces(replayed, useful, names, factors, seconds=SECONDS[name])
    (out / "replay.json").write_text(json.dumps({"app": app, "segments": segments}))
    print(f"{name}: {len(segments)} pieces, {sum(len(s['samples']) for s in segments) / RATE / 60:.1f} minutes")


def halves(table: pa.Table, useful: str) -> tuple[pa.Table, pa.Table]:
    """The first and second half in time of each person's each activity."""
    keys = [f"{p}/{a}" for p, a in zip(table["person"].to_pylist(), table[useful].to_pylist(), strict=True)]
    _, codes = np.unique(keys, return_inverse=True)
    rank = np.zeros(len(codes), dtype=np.int64)
    for code in np.unique(codes):
        here = np.flatnonzero(codes == code)
        rank[here] = np.arange(len(here)) * 2 // len(here)
    labelled = np.array([each is not None for each in table[useful].to_pylist()])
    return _rows(table, labelled & (rank == 0)), _rows(table, labelled & (rank == 1))


def _rows(table: pa.Table, kept: np.ndarray) -> pa.Table:
    """Some rows, each run of them a recording of its own."""
    rows = np.flatnonzero(kept)
    number = np.concatenate([[0], np.cumsum(np.diff(rows) > 1)])
    runs = pa.array(
        [f"{run}-{name}" for run, name in zip(number, table["recording"].take(rows).to_pylist(), strict=True)]
    )
    some = table.take(rows)
    return some.set_column(some.schema.get_field_index("recording"), "recording", runs).drop_columns(["time"])


def windows_of(table: pa.Table, useful: str, names: list[str], factors: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Windows of one activity and recording in the browser's units, coarsened as the browser does."""
    samples = browser_units(table, names, factors)
    label, recording = table[useful].to_pylist(), table["recording"].to_pylist()
    found, labels = [], []
    for start in range(0, len(samples) - WINDOW, WINDOW // 2):
        end = start + WINDOW - 1
        if label[start] is not None and (label[start], recording[start]) == (label[end], recording[end]):
            found.append(samples[start : start + WINDOW])
            labels.append(label[start])
    return np.stack(found), labels


def browser_units(table: pa.Table, names: list[str], factors: np.ndarray) -> np.ndarray:
    samples = np.stack([table[name].to_numpy() for name in names], axis=1) * factors
    return np.round(samples, 1)


def recogniser(table: pa.Table, useful: str, names: list[str], factors: np.ndarray) -> dict:
    """Statistics and spectrum, one hidden layer: what a web app might ship. It learns from raw motion."""
    windows, labels = windows_of(table, useful, names, factors)
    builder = summaries(windows.reshape(len(windows), -1), len(names))
    features = builder.rows
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-3
    rows = (features - mean) / spread
    model = MLPClassifier((64,), max_iter=300, early_stopping=True, random_state=0).fit(rows, labels)
    builder.quantise(mean[None], 1 / spread[None], clip=Clip(-TOP, TOP), exponent=GRID, rows=rows)
    builder.affine(model.coefs_[0], model.intercepts_[0])
    builder.relu()
    builder.affine(two_sided(model.coefs_[1]), two_sided(model.intercepts_[1]))
    network, tensors = builder.network(), TensorWriter()
    listed = network.to_json(tensors)
    print("recogniser on what it learnt from:", np.mean(model.classes_[network(windows).argmax(axis=1)] == labels))
    stored = base64.b64encode(tensors.to_bytes()).decode()
    return {
        "layers": listed,
        "tensors": stored,
        "classes": list(model.classes_),
        "channels": len(names),
        "window": WINDOW,
    }


def summaries(rows: np.ndarray, channels: int) -> LayerBuilder:
    """Statistics and spectrum of windows in the browser's units."""
    builder, ones = LayerBuilder(rows, FINE), np.ones((1, rows.shape[1]))
    builder.quantise(0 * ones, ones, clip=Clip(-TOP, TOP), exponent=GRID, rows=rows)
    builder.unflatten(channels)
    statistics, spectrum = builder.branch(), builder.branch()
    statistics.statistics()
    statistics.to_grid(GRID)
    spectrum.spectrum(GRID)
    builder.concatenate([statistics, spectrum])
    return builder


def two_sided(last: np.ndarray) -> np.ndarray:
    """Scores of two classes, where scikit-learn keeps one for both."""
    return np.concatenate([-last, last], axis=-1) / 2 if last.shape[-1] == 1 else last


def pieces(table: pa.Table, useful: str, names: list[str], factors: np.ndarray, *, seconds: int) -> list[dict]:
    """One stretch of each person's each activity, in an order that mixes both."""
    samples = browser_units(table, names, factors)
    person, activity = np.array(table["person"].to_pylist()), np.array(table[useful].to_pylist(), dtype=object)
    found = []
    for who in np.unique(person):
        for what in sorted({each for each in activity if each is not None}):
            rows = np.flatnonzero((person == who) & (activity == what))[: seconds * RATE]
            if len(rows) >= seconds * RATE // 2:
                found.append({"person": str(who), "activity": str(what), "samples": samples[rows].tolist()})
    return [found[each] for each in np.random.default_rng(0).permutation(len(found))]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
