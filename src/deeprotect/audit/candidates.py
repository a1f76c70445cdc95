"""Private windows worth trying: corners, random ones, the decoder's, those of a table, and ones climbed to."""

from itertools import product

import numpy as np

from deeprotect.audit.views import View, view
from deeprotect.release.engine import Pipeline
from deeprotect.signals.schema import Floats

_RANDOM = 256  # random windows, and as many random corners
_MOST_GIVEN = 4096
_GOALS = 16  # directions of the code in which windows are pushed apart
_ROUNDS = 40
_MOVES = 48
_OVERHANG = 1e-3  # breaks ties only: far smaller than any distance that matters


def candidates(bundle: Pipeline, *, given: Floats | None = None, seed: int = 0) -> Floats:
    """Scaled windows (window, value)."""
    schema, rng = bundle.schema, np.random.default_rng(seed)
    channels = list(product((0.0, 1.0), repeat=len(schema.channels)))[:64]
    flat = [np.tile(levels, schema.window) for levels in [*channels, (0.5,) * len(schema.channels)]]
    corners = rng.integers(0, 2, size=(_RANDOM, schema.dim)).astype(np.float64)
    decoded = schema.scale(bundle.decode(view(bundle.mechanism).random_codes(rng))).reshape(-1, schema.dim)
    parts = [np.stack(flat), corners, rng.random((_RANDOM, schema.dim)), decoded]
    if given is not None:
        parts.append(rng.permutation(given)[:_MOST_GIVEN])
    return np.concatenate(parts)


def encode(bundle: Pipeline, windows: Floats) -> Floats:
    """Codes of scaled windows (window, value), all at once, each an episode of its own where draws are held."""
    evidence = bundle.encode(windows.reshape(len(windows), bundle.schema.window, len(bundle.schema.channels)))
    return bundle.pool(evidence, np.ones(len(windows), dtype=np.int64))


def encode_alone(bundle: Pipeline, windows: Floats) -> Floats:
    """The same one by one, so that no other window can have a say in a code."""
    return np.concatenate([encode(bundle, windows[[number]]) for number in range(len(windows))])


def pushed(bundle: Pipeline, windows: Floats, rng: np.random.Generator) -> Floats:
    """For each goal and its opposite a window climbed to without gradients: finite differences, then random moves."""
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
    """Positions, and of equal ones those that clipping had to bring back farther: where it is missing, that shows."""
    inside = seen.positions(codes)
    return inside if seen.overhang is None else np.asarray(inside + _OVERHANG * np.tanh(seen.overhang(codes)))


def goals(positions: Floats, rng: np.random.Generator) -> Floats:
    """Sign vectors: all where there are few, otherwise the equal ones and some at random."""
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
