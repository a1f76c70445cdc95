"""Layers that were chosen so that a wrong bound would show, as whole bundles: every hash right."""

import json
from typing import Any

import numpy as np
from safetensors.numpy import save

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.tensors import TENSORS
from deeprotect.bundle.manifest import FileDigest
from deeprotect.bundle.network import OutputTable

VALUES, COPIES = 8, 32


def quantise(low, high):
    ramp = {"shift": "t zero", "factor": "t one", "shift_scale": 0, "factor_scale": -8}
    return {"op": "quantise", **ramp, "low": low, "high": high}


def branches(low, high):
    return {"op": "concatenation", "branches": [[{"op": "round", "low": low, "high": high}], []]}


def decision(classes, codes):
    return {"op": "argmax", "classes": [classes], "codes": codes, "reject": None}


OVERFLOW = (
    quantise(0, 300),
    branches(46_340, 46_341),  # 46,341² is beyond int32, 301² is not
    {"op": "unflatten", "channels": 1},
    {"op": "statistics"},
    {"op": "table", "values": "t values", "low": 0},
    decision(4, "t codes"),
)
PLACES = (
    quantise(0, 300),
    {"op": "concatenation", "branches": [[]] * COPIES},
    {"op": "round", "low": (1 << 24) - 3, "high": (1 << 24) - 1},
    {"op": "affine", "weights": "t weights", "bias": "t bias", "bias_shift": 0, "shift": "t shift"},
    {"op": "round", "low": 0, "high": 1 << 12},
    decision(4, "t codes"),
)


def tensors():
    random = np.random.default_rng(0)
    weights = random.integers(-60, 61, size=(VALUES * COPIES, 4)).astype(np.int16)
    weights[-1] -= weights.sum(axis=0, dtype=np.int16)  # so that all that is left of a sum is what its rounding leaves
    return {
        "t zero": np.zeros((1, VALUES), np.int8),
        "t one": np.ones((1, VALUES), np.int8),
        "t values": np.arange(16, dtype=np.int16),
        "t codes": np.arange(4, dtype=np.int8),
        "t weights": weights,
        "t bias": np.zeros(4, np.int8),
        "t shift": np.zeros(4, np.int8),
    }


def hostile(bundle: Bundle, layers: tuple[dict[str, Any], ...]) -> Bundle:
    """A bundle of codes with these layers for its encoder."""
    assert isinstance(bundle.decoder, OutputTable)
    used = {name: array for name, array in tensors().items() if f'"{name}"' in json.dumps(layers)}
    files = {TENSORS: save({**used, "outputs": bundle.decoder.steps.astype(np.uint16)})}
    changes = {
        "encoder": list(layers),
        "decoder": {"outputs": "outputs"},
        "files": {name: FileDigest.of(content) for name, content in files.items()},
    }
    return Bundle(bundle.manifest.model_copy(update=changes), files)
