"""Which private inputs to compare: searched for, because random windows hardly differ in what a protector keeps."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from deeprotect.audit.bound import lower_bound
from deeprotect.errors import InputError
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.laplace import GridLaplace
from deeprotect.privacy.mechanism import Mechanism
from deeprotect.privacy.subspace import Subspace
from deeprotect.release.pipe import Protects
from deeprotect.signals.schema import Floats

_RANDOM = 256  # random windows, and as many random corners, among the candidates
_GOALS = 16  # directions of the code in which windows are pushed apart
_ROUNDS = 40
_MOVES = 48
_DIRECTIONS = 48  # linear programmes for relaxed neighbours
_MOST_GIVEN = 4096


@dataclass(frozen=True)
class Pair:
    """Two private inputs; each is a pool of scaled windows (window, value) that runs draw from.

    `allowed` is the ε between them that the mechanism's own numbers allow, where that is known.
    """

    first: Floats
    second: Floats
    found: str
    allowed: float | None = None


def farthest(bundle: Protects, *, runs: int, given: Floats | None = None, seed: int = 0) -> Pair:
    """Any two windows: the pair whose codes can be told apart best; `given` windows are candidates, too."""
    rng = np.random.default_rng(seed)
    windows = np.concatenate([_candidates(bundle, rng), *([] if given is None else [given[:_MOST_GIVEN]])])
    mechanism = bundle.mechanism
    if isinstance(mechanism, DiscreteChannel):
        return _through_channel(bundle, mechanism, windows, runs=runs)
    windows = np.concatenate([windows, _pushed(bundle, windows, rng)])
    codes = _encode(bundle, windows)
    reach = _reach(mechanism, codes)
    extreme = np.unique([pick for goal in _goals(reach, rng) for pick in _ends(reach @ goal)])
    apart = np.abs(reach[extreme][:, None] - reach[extreme][None]).sum(axis=2)
    a, b = (extreme[end] for end in np.unravel_index(apart.argmax(), apart.shape))
    allowed = np.abs(np.subtract(*_positions(mechanism, codes[[a, b]]))).sum()
    return Pair(windows[[a]], windows[[b]], found="farthest codes", allowed=float(allowed))


def neighbours(bundle: Protects, *, seed: int = 0) -> Pair:
    """Windows that differ along the sensitive directions only, both in the box, with codes far apart."""
    rng, directions = np.random.default_rng(seed), _directions(bundle.mechanism)
    differences = np.stack(list(_vertices(directions, rng)))
    low, slack = np.maximum(0.0, -differences), 1.0 - np.abs(differences)
    starts = [low + share * slack for share in (0.0, 0.5, 1.0, rng.random(slack.shape))]
    first = np.clip(np.concatenate(starts), 0.0, 1.0)
    second = np.clip(first + np.tile(differences, (len(starts), 1)), 0.0, 1.0)
    codes = (_positions(bundle.mechanism, _encode(bundle, side)) for side in (first, second))
    apart = np.abs(np.subtract(*codes)).sum(axis=1)
    best = int(apart.argmax())
    return Pair(first[[best]], second[[best]], found="farthest relaxed neighbours", allowed=float(apart[best]))


def _through_channel(bundle: Protects, channel: DiscreteChannel, windows: Floats, *, runs: int) -> Pair:
    """Of the codes that windows reach, the two that some output tells apart best, after so many runs."""
    codes = np.clip(np.rint(_encode(bundle, windows)[:, 0]), 0, len(channel.weights) - 1).astype(np.int64)
    reached, where = np.unique(codes, return_index=True)
    chances = channel.probabilities[reached]
    most, least = chances.argmax(axis=0), chances.argmin(axis=0)
    column = np.arange(chances.shape[1])
    bounds = lower_bound(np.floor(chances[most, column] * runs), np.ceil(chances[least, column] * runs), runs)
    best = int(bounds.argmax())
    a, b = most[best], least[best]
    with np.errstate(divide="ignore"):
        allowed = float(np.log(chances[a, best] / chances[b, best]))
    found = f"codes {reached[a]} and {reached[b]} of the {len(reached)} reached"
    return Pair(windows[where[[a]]], windows[where[[b]]], found, allowed)


def _candidates(bundle: Protects, rng: np.random.Generator) -> Floats:
    """Corners, random windows, and what the decoder makes of random codes, fed back."""
    schema = bundle.schema
    channels = list(product((0.0, 1.0), repeat=len(schema.channels)))[:64]
    flat = [np.tile(levels, schema.window) for levels in [*channels, (0.5,) * len(schema.channels)]]
    corners = rng.integers(0, 2, size=(_RANDOM, schema.dim)).astype(np.float64)
    decoded = bundle.decode(_random_codes(bundle.mechanism, rng)).reshape(-1, schema.dim)
    parts = [np.stack(flat), corners, rng.random((_RANDOM, schema.dim)), np.clip(decoded, 0.0, 1.0)]
    return np.concatenate(parts)


def _random_codes(mechanism: Mechanism, rng: np.random.Generator) -> Floats:
    if isinstance(mechanism, DiscreteChannel):
        outputs = len(mechanism.weights[0]) * mechanism.variants
        return np.arange(outputs)[:: max(1, outputs // 2048), None].astype(np.float64)
    box = mechanism.box if isinstance(mechanism, GridLaplace) else None
    low, high = (np.zeros(mechanism.dim), np.ones(mechanism.dim)) if box is None else (box.low, box.high)
    return rng.uniform(low, high, size=(_RANDOM, mechanism.dim))


def _positions(mechanism: Mechanism, codes: Floats) -> Floats:
    """Codes in units of their noise: there the L1 distance of two is the ε between them."""
    if isinstance(mechanism, GridLaplace):
        return np.asarray(mechanism.box.to_grid(codes) / np.array([float(scale) for scale in mechanism.scales]))
    if isinstance(mechanism, Subspace):
        return np.asarray((codes @ mechanism.directions) / mechanism.noise_scales)
    return codes


def _reach(mechanism: Mechanism, codes: Floats) -> Floats:
    """Positions, and of equal ones those that clipping had to bring back farther: where it is missing, that shows."""
    inside = _positions(mechanism, codes)
    if not isinstance(mechanism, GridLaplace):
        return inside
    overhang = codes - np.clip(codes, mechanism.box.low, mechanism.box.high)
    return np.asarray(inside + 1e-3 * np.tanh(overhang / mechanism.noise_scales))


def _goals(positions: Floats, rng: np.random.Generator) -> Floats:
    """Sign vectors: all where there are few, otherwise the equal ones and some at random."""
    dim = positions.shape[1]
    if dim <= 5:
        return np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=dim - 1)])
    return np.concatenate([np.ones((1, dim)), rng.choice([-1.0, 1.0], size=(_GOALS - 1, dim))])


def _ends(values: Floats) -> tuple[int, int]:
    return int(values.argmin()), int(values.argmax())


def _pushed(bundle: Protects, windows: Floats, rng: np.random.Generator) -> Floats:
    """For each goal and its opposite a window climbed to without gradients: finite differences, then random moves."""
    goals = _goals(_reach(bundle.mechanism, _encode(bundle, windows[:1])), rng)
    goals = np.concatenate([goals, -goals])
    slopes = _slopes(bundle, goals)
    pool = np.concatenate([windows, (slopes > 0).astype(np.float64)])
    values = _reach(bundle.mechanism, _encode(bundle, pool)) @ goals.T
    best, height = pool[values.argmax(axis=0)], values.max(axis=0)
    for _ in range(_ROUNDS):
        moved = _moves(best, rng)
        codes = _reach(bundle.mechanism, _encode(bundle, moved.reshape(-1, best.shape[1])))
        heights = np.einsum("gmk,gk->gm", codes.reshape(len(goals), _MOVES, -1), goals)
        pick = heights.argmax(axis=1)
        better = heights[np.arange(len(goals)), pick] > height
        best = np.where(better[:, None], moved[np.arange(len(goals)), pick], best)
        height = np.maximum(height, heights.max(axis=1))
    return np.asarray(best)


def _slopes(bundle: Protects, goals: Floats) -> Floats:
    """Central differences of every goal at the middle of the box, (goal, value)."""
    dim = bundle.schema.dim
    steps = 0.25 * np.eye(dim)
    up, down = (_reach(bundle.mechanism, _encode(bundle, 0.5 + sign * steps)) for sign in (1.0, -1.0))
    return np.asarray(goals @ (up - down).T)


def _moves(windows: Floats, rng: np.random.Generator) -> Floats:
    """Each window with a random part set to an end of the range or to random values, (window, move, value)."""
    shape = (len(windows), _MOVES, windows.shape[1])
    share = rng.choice([1.5 / shape[2], 0.1, 0.3], size=(*shape[:2], 1))
    values = np.where(rng.random((*shape[:2], 1)) < 0.7, rng.integers(0, 2, size=shape), rng.random(shape))
    return np.where(rng.random(shape) < share, values, windows[:, None, :])


def _directions(mechanism: Mechanism) -> Floats:
    holder = mechanism if isinstance(mechanism, Subspace) else getattr(mechanism, "evidence", None)
    directions: NDArray[np.float64] | None = getattr(holder, "directions", None)
    if directions is None:
        raise InputError(f"mechanism '{mechanism.name}' states rldp without sensitive directions; train again")
    return directions


def _vertices(directions: Floats, rng: np.random.Generator) -> Iterator[Floats]:
    """Differences Cα in the box, far out: linear programmes, each followed uphill to a larger ‖α‖₁."""
    rank = directions.shape[1]
    if rank == 1:
        yield directions[:, 0] / np.abs(directions).max()
        return
    rows, ones = np.vstack([directions, -directions]), np.ones(2 * len(directions))
    for number in range(_DIRECTIONS):
        goal = rng.choice([-1.0, 1.0], size=rank) if number % 2 else rng.normal(size=rank)
        for _ in range(3):
            solved = linprog(-goal, A_ub=rows, b_ub=ones, bounds=(None, None), method="highs")
            if solved.x is None:
                break
            difference = directions @ solved.x
            yield difference / max(1.0, float(np.abs(difference).max()))
            goal = np.sign(solved.x)


def _encode(bundle: Protects, windows: Floats) -> Floats:
    return bundle.encode(windows.reshape(len(windows), bundle.schema.window, len(bundle.schema.channels)))
