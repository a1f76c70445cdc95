"""Candidate private windows, and the pair of inputs to attack: the pair whose releases differ most."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from deeprotect.auditing.distinguisher import in_units, lower_bound
from deeprotect.auditing.views import View, view
from deeprotect.release.engine import Pipeline, codes_of, windows_of
from deeprotect.signals.schema import Floats

_RANDOM = 256  # random windows, and as many random corners
_MOST_GIVEN = 4096
_GOALS = 16  # directions of the code along which windows are moved apart
_ROUNDS = 40
_MOVES = 48
_OVERHANG = 1e-3  # only breaks ties: far smaller than any relevant distance


def candidates(bundle: Pipeline, *, given: Floats | None = None, seed: int = 0) -> Floats:
    """Candidate scaled windows (window, value)."""
    schema, rng = bundle.schema, np.random.default_rng(seed)
    channels = list(product((0.0, 1.0), repeat=len(schema.channels)))[:64]
    flat = [np.tile(levels, schema.window) for levels in [*channels, (0.5,) * len(schema.channels)]]
    corners = rng.integers(0, 2, size=(_RANDOM, schema.dim)).astype(np.float64)
    decoded = schema.scale(windows_of(bundle, view(bundle.mechanism).random_codes(rng))).reshape(-1, schema.dim)
    parts = [np.stack(flat), corners, rng.random((_RANDOM, schema.dim)), decoded]
    if given is not None:
        parts.append(rng.permutation(given)[:_MOST_GIVEN])
    return np.concatenate(parts)


def encode(bundle: Pipeline, windows: Floats) -> Floats:
    """Codes of scaled windows (window, value), in one batch; each window is an episode of its own."""
    scaled = windows.reshape(len(windows), bundle.schema.window, len(bundle.schema.channels))
    return codes_of(bundle, scaled, np.ones(len(windows), dtype=np.int64))


def encode_alone(bundle: Pipeline, windows: Floats) -> Floats:
    """Codes of scaled windows, encoded one by one, so that no other window can affect them."""
    return np.concatenate([encode(bundle, windows[[number]]) for number in range(len(windows))])


def pushed(bundle: Pipeline, windows: Floats, rng: np.random.Generator) -> Floats:
    """For each goal and its opposite, a window found by hill climbing: finite differences, then random moves."""
    seen = view(bundle.mechanism)
    directions = goals(reach(seen, encode(bundle, windows[:1])), rng)
    directions = np.concatenate([directions, -directions])
    pool = np.concatenate([windows, (_slopes(bundle, seen, directions) > 0).astype(np.float64)])
    values = reach(seen, encode(bundle, pool)) @ directions.T
    best, height = pool[values.argmax(axis=0)], values.max(axis=0)
    for _ in range(_ROUNDS):
        moved = _moves(best, rng)
        codes = reach(seen, encode(bundle, moved.reshape(-1, best.shape[1])))
        heights = np.einsum("gmk,gk->gm", codes.reshape(len(directions), _MOVES, -1), directions)
        pick = heights.argmax(axis=1)
        better = heights[np.arange(len(directions)), pick] > height
        best = np.where(better[:, None], moved[np.arange(len(directions)), pick], best)
        height = np.maximum(height, heights.max(axis=1))
    return np.asarray(best)


def reach(seen: View, codes: Floats) -> Floats:
    """Positions; ties go to windows whose codes are clipped further, which reveals a missing clip."""
    inside = seen.positions(codes)
    return inside if seen.overhang is None else np.asarray(inside + _OVERHANG * np.tanh(seen.overhang(codes)))


def goals(positions: Floats, rng: np.random.Generator) -> Floats:
    """Sign vectors: all if there are few, otherwise those of one sign and some random ones."""
    dim = positions.shape[1]
    if dim <= 5:
        return np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=dim - 1)])
    return np.concatenate([np.ones((1, dim)), rng.choice([-1.0, 1.0], size=(_GOALS - 1, dim))])


def _slopes(bundle: Pipeline, seen: View, directions: Floats) -> Floats:
    """Central differences of every goal at the middle of the box, (goal, value)."""
    steps = 0.25 * np.eye(bundle.schema.dim)
    up, down = (reach(seen, encode(bundle, 0.5 + sign * steps)) for sign in (1.0, -1.0))
    return np.asarray(directions @ (up - down).T)


def _moves(windows: Floats, rng: np.random.Generator) -> Floats:
    """Each window with a random part set to an end of the range or to random values, (window, move, value)."""
    shape = (len(windows), _MOVES, windows.shape[1])
    share = rng.choice([1.5 / shape[2], 0.1, 0.3], size=(*shape[:2], 1))
    values = np.where(rng.random((*shape[:2], 1)) < 0.7, rng.integers(0, 2, size=shape), rng.random(shape))
    return np.where(rng.random(shape) < share, values, windows[:, None, :])


@dataclass(frozen=True)
class Pair:
    """Two private inputs; each is a pool of scaled windows (window, value) that runs draw from.

    `allowed` is the ε between them that the mechanism's own numbers allow, where that is known.
    """

    first: Floats
    second: Floats
    found: str
    allowed: float | None = None


def farthest(bundle: Pipeline, windows: Floats, *, runs: int, seed: int = 0) -> Pair:
    """The pair of windows that differs most, among the candidates and windows climbed to from them."""
    seen, rng = view(bundle.mechanism), np.random.default_rng(seed)
    if seen.chances is not None:
        return _farthest_of_few(bundle, seen.chances, windows, runs=runs)
    windows = np.concatenate([windows, pushed(bundle, windows, rng)])
    codes = encode_alone(bundle, windows)
    places = reach(seen, codes)
    extreme = np.unique([pick for goal in goals(places, rng) for pick in _ends(places @ goal)])
    apart = np.abs(places[extreme][:, None] - places[extreme][None]).sum(axis=2)
    a, b = (extreme[end] for end in np.unravel_index(apart.argmax(), apart.shape))
    return _pair(bundle, windows[[a]], windows[[b]], found="farthest codes")


def _pair(bundle: Pipeline, first: Floats, second: Floats, *, found: str) -> Pair:
    """A pair of windows, with the ε that their codes allow; codes are computed from units, as in a release."""
    samples = (in_units(bundle.schema, each).samples for each in (first, second))
    codes = np.concatenate([encode(bundle, bundle.schema.scale(each)) for each in samples])
    return Pair(first, second, found, view(bundle.mechanism).allowed(codes))


def _farthest_of_few(bundle: Pipeline, chances: Floats, windows: Floats, *, runs: int) -> Pair:
    """The two codes, among those that windows reach, that some output distinguishes best after `runs` runs."""
    reached, where = np.unique(view(bundle.mechanism).taken(encode_alone(bundle, windows)), return_index=True)
    chances = chances[reached]
    most, least = chances.argmax(axis=0), chances.argmin(axis=0)
    column = np.arange(chances.shape[1])
    bounds = lower_bound(np.floor(chances[most, column] * runs), np.ceil(chances[least, column] * runs), runs)
    best = int(bounds.argmax())
    a, b = most[best], least[best]
    found = f"codes {reached[a]} and {reached[b]} of the {len(reached)} reached"
    return _pair(bundle, windows[where[[a]]], windows[where[[b]]], found=found)


def _ends(values: Floats) -> tuple[int, int]:
    return int(values.argmin()), int(values.argmax())
