"""What the audit needs to know about each mechanism; a new mechanism is attacked once it has a view here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import InputError
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.scripts import ScriptResponse
from deeprotect.privacy.mechanisms.laplace import GridLaplace
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.signals.schema import Floats

_RANDOM = 256
_MOST_OUTPUTS = 2048


@dataclass(frozen=True)
class View:
    """A mechanism in the audit's terms.

    `random_codes`: noisy codes to decode into candidates. `positions`: codes in units of their noise, so that
    the L1 distance of two is the ε between them. `overhang`: how far clipping moved a code, in the same units.
    `chances` (code, output): probabilities, if codes are few.
    """

    random_codes: Callable[[np.random.Generator], Floats]
    positions: Callable[[Floats], Floats]
    overhang: Callable[[Floats], Floats] | None = None
    chances: Floats | None = None

    def taken(self, codes: Floats) -> NDArray[np.int64]:
        """Rows of `chances` for codes (n, 1), read as the mechanism reads them."""
        most = 0 if self.chances is None else len(self.chances) - 1
        return np.clip(np.rint(np.nan_to_num(codes[:, 0], nan=0.0)), 0, most).astype(np.int64)

    def allowed(self, codes: Floats) -> float:
        """The ε between two codes over all draws, from the mechanism's own numbers."""
        if self.chances is None:
            return float(np.abs(np.subtract(*self.positions(codes))).sum())
        first, second = self.chances[self.taken(codes)]
        drawn = (first > 0) | (second > 0)
        with np.errstate(divide="ignore"):
            return float(np.abs(np.log(first[drawn]) - np.log(second[drawn])).max())


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


def _channel(mechanism: DiscreteChannel) -> View:
    outputs = mechanism.public_outputs
    every = np.arange(outputs)[:: max(1, outputs // _MOST_OUTPUTS), None].astype(np.float64)
    return View(lambda _: every, lambda codes: codes, chances=mechanism.probabilities)


def _script(mechanism: ScriptResponse) -> View:
    """Of a window that is an episode of its own: its label throughout is script 0, 1, 2, …"""
    labels = mechanism.scripts.labels
    chances = mechanism.kept * np.eye(labels) + (1.0 - mechanism.kept) / labels
    every = np.arange(mechanism.public_outputs)[:: max(1, mechanism.public_outputs // _MOST_OUTPUTS), None]
    return View(lambda _: every.astype(np.float64), lambda codes: codes, chances=chances)


_VIEWS: dict[type, Callable[[Any], View]] = {
    GridLaplace: _grid_laplace,
    DiscreteChannel: _channel,
    ScriptResponse: _script,
}
