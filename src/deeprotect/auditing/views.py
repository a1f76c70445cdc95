"""All that the audit asks of a mechanism, in one place: a new mechanism is attacked once it has a view here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deeprotect.errors import InputError
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.promises import NamedPromise
from deeprotect.privacy.channel.scripts import ScriptResponse
from deeprotect.privacy.mechanisms.laplace import GridLaplace
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.privacy.mechanisms.subspace import Subspace
from deeprotect.signals.schema import Floats

_RANDOM = 256
_MOST_OUTPUTS = 2048


@dataclass(frozen=True)
class View:
    """A mechanism in the audit's terms.

    `random_codes`: noisy codes to decode into candidates. `positions`: codes in units of their noise, where the L1
    distance of two is the ε between them. `overhang`: how far clipping had to bring a code back, in the same units.
    `directions` (value, rank): what relaxed neighbours differ along; none where any two windows are neighbours.
    `chances` (code, output): where codes are few. `promises`: the named ones, with the classes that they hold for.
    """

    random_codes: Callable[[np.random.Generator], Floats]
    positions: Callable[[Floats], Floats]
    overhang: Callable[[Floats], Floats] | None = None
    directions: Floats | None = None
    chances: Floats | None = None
    promises: tuple[NamedPromise, ...] = ()


def view(mechanism: Mechanism) -> View:
    make = _VIEWS.get(type(mechanism))
    if make is None:
        raise InputError(f"the audit does not know the mechanism '{mechanism.name}'; add its view to auditing/views.py")
    return make(mechanism)


def _grid_laplace(mechanism: GridLaplace) -> View:
    box, scales = mechanism.box, np.array([float(scale) for scale in mechanism.scales])

    def positions(codes: Floats) -> Floats:
        return np.asarray(box.to_grid(codes) / scales)

    def overhang(codes: Floats) -> Floats:
        return np.asarray((codes - np.clip(codes, box.low, box.high)) / mechanism.noise_scales)

    return View(lambda rng: rng.uniform(box.low, box.high, size=(_RANDOM, box.dim)), positions, overhang=overhang)


def _subspace(mechanism: Subspace) -> View:
    def positions(codes: Floats) -> Floats:
        return np.asarray((codes @ mechanism.directions) / mechanism.noise_scales)

    return View(lambda rng: rng.random((_RANDOM, mechanism.dim)), positions, directions=mechanism.directions)


def _channel(mechanism: DiscreteChannel) -> View:
    outputs = mechanism.public_outputs
    every = np.arange(outputs)[:: max(1, outputs // _MOST_OUTPUTS), None].astype(np.float64)
    promises = mechanism.promises
    return View(lambda _: every, lambda codes: codes, chances=mechanism.probabilities, promises=promises)


def _script(mechanism: ScriptResponse) -> View:
    """Of a window that is an episode of its own: its label throughout is script 0, 1, 2, …"""
    labels = mechanism.scripts.labels
    chances = mechanism.kept * np.eye(labels) + (1.0 - mechanism.kept) / labels
    every = np.arange(mechanism.public_outputs)[:: max(1, mechanism.public_outputs // _MOST_OUTPUTS), None]
    return View(lambda _: every.astype(np.float64), lambda codes: codes, chances=chances)


_VIEWS: dict[type, Callable[[Any], View]] = {
    GridLaplace: _grid_laplace,
    Subspace: _subspace,
    DiscreteChannel: _channel,
    ScriptResponse: _script,
}
