"""One small bundle of every mechanism, learnt once from a made-up table."""

import json
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.bundle import Bundle
from deeprotect.bundle.manifest import FileDigest, digest
from deeprotect.policy import Policy

POLICY = """
version = 1
[stream]
rate_hz = 10
window = 4
[stream.channels.acc_x]
unit = "g"
range = [-4.0, 4.0]
[stream.channels.acc_y]
unit = "g"
range = [-4.0, 4.0]
[inferences]
useful = ["activity"]
sensitive = ["person"]
[privacy]
epsilon = 5.0
guarantee = "{}"
mechanism = "{}"
[training]
features = 3
feature_extractor = "{}"
max_epochs = 2
"""
KINDS = {
    "baseline": ("ldp", "baseline", "default"),
    "paper mode 1": ("ldp", "paper", "paper"),
    "paper mode 2": ("rldp", "paper", "paper"),
    "laplace": ("ldp", "laplace", "default"),
    "laplace pca": ("ldp", "laplace", "pca"),
    "channel ldp": ("ldp", "channel", "default"),
    "channel rldp": ("rldp", "channel", "default"),
}


@pytest.fixture(scope="session")
def made():
    """`made(kind)` is the bundle of that kind."""
    return _made


@cache
def _made(kind: str) -> Bundle:
    from deeprotect.training.fitting.fit import export, learn

    policy = Policy.from_toml(POLICY.format(*KINDS[kind]))
    models = _models()
    return export(learn(models, policy), policy, windows=models.windows, results=[])


@cache
def _models():
    """Learnt once for all kinds."""
    from deeprotect.training.fitting.fitted_models import FittedModels
    from deeprotect.training.labelled_windows import read_windows

    policy = Policy.from_toml(POLICY.format(*KINDS["channel ldp"]))
    return FittedModels(read_windows(_table(640), policy))


def _table(rows: int) -> pa.Table:
    """Eighty recordings of two people who walk or stand: twenty of each."""
    random = np.random.default_rng(0)
    recording = np.arange(rows) * 80 // rows
    activity, person = recording % 2, recording // 2 % 2
    x = np.sin(np.arange(rows) / (1 + activity)) * (0.5 + person) + 0.1 * random.normal(size=rows)
    y = np.cos(np.arange(rows) / 2) * (0.2 + activity) + 0.5 * person + 0.1 * random.normal(size=rows)
    return pa.table(
        {
            "acc_x": x,
            "acc_y": y,
            "recording": [f"r{number}" for number in recording],
            "activity": [("walk", "still")[number] for number in activity],
            "person": [("ann", "bob")[number] for number in person],
        }
    )


@pytest.fixture
def forge(tmp_path):
    """A careful forger: changes a bundle's manifest or files and mends every hash; gives the path."""

    def run(bundle: Bundle, *, files=None, **changes) -> object:
        path = tmp_path / "forged"
        bundle.save(path)
        (path / "card.html").unlink()  # nothing reads it
        body = json.loads((path / "manifest.json").read_text())
        body.pop("digest")
        for name, content in (files or {}).items():
            body["files"].pop(name)
            if content is not None:
                (path / name).write_bytes(content)
                body["files"][name] = FileDigest.of(content).model_dump()
        for place, value in changes.items():
            *parents, last = place.split("__")
            inner = body
            for parent in parents:
                inner = inner[int(parent) if isinstance(inner, list) else parent]
            inner[last] = value
        (path / "manifest.json").write_text(json.dumps({**body, "digest": digest(body)}))
        return path

    return run
