"""Which private inputs to compare: searched for, because random windows hardly differ in what a protector keeps."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from deeprotect.audit.bound import lower_bound
from deeprotect.audit.candidates import encode_alone, goals, pushed, reach
from deeprotect.audit.views import view
from deeprotect.errors import InputError
from deeprotect.release.engine import Pipeline
from deeprotect.signals.schema import Floats

_DIRECTIONS = 48  # linear programmes for relaxed neighbours


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
    """Any two windows: of the candidates and what can be climbed to from them, the pair told apart best."""
    seen, rng = view(bundle.mechanism), np.random.default_rng(seed)
    if seen.chances is not None:
        return _farthest_of_few(bundle, seen.chances, windows, runs=runs)
    windows = np.concatenate([windows, pushed(bundle, windows, rng)])
    codes = encode_alone(bundle, windows)
    places = reach(seen, codes)
    extreme = np.unique([pick for goal in goals(places, rng) for pick in _ends(places @ goal)])
    apart = np.abs(places[extreme][:, None] - places[extreme][None]).sum(axis=2)
    a, b = (extreme[end] for end in np.unravel_index(apart.argmax(), apart.shape))
    allowed = np.abs(np.subtract(*seen.positions(codes[[a, b]]))).sum()
    return Pair(windows[[a]], windows[[b]], found="farthest codes", allowed=float(allowed))


def neighbours(bundle: Pipeline, *, seed: int = 0) -> Pair:
    """Windows that differ along the sensitive directions only, both in the box, with codes far apart."""
    rng, seen = np.random.default_rng(seed), view(bundle.mechanism)
    if seen.directions is None:
        raise InputError(f"mechanism '{bundle.mechanism.name}' has no sensitive directions; compare any two windows")
    differences = np.stack(list(_vertices(seen.directions, rng)))
    low, slack = np.maximum(0.0, -differences), 1.0 - np.abs(differences)
    starts = [low + share * slack for share in (0.0, 0.5, 1.0, rng.random(slack.shape))]
    first = np.clip(np.concatenate(starts), 0.0, 1.0)
    second = np.clip(first + np.tile(differences, (len(starts), 1)), 0.0, 1.0)
    apart = np.abs(np.subtract(*(seen.positions(encode_alone(bundle, side)) for side in (first, second)))).sum(axis=1)
    best = int(apart.argmax())
    return Pair(first[[best]], second[[best]], found="farthest relaxed neighbours", allowed=float(apart[best]))


def _farthest_of_few(bundle: Pipeline, chances: Floats, windows: Floats, *, runs: int) -> Pair:
    """Of the codes that windows reach, the two that some output tells apart best, after so many runs."""
    codes = np.nan_to_num(encode_alone(bundle, windows)[:, 0], nan=0.0)  # as the channel itself takes them
    codes = np.clip(np.rint(codes), 0, len(chances) - 1).astype(np.int64)
    reached, where = np.unique(codes, return_index=True)
    chances = chances[reached]
    most, least = chances.argmax(axis=0), chances.argmin(axis=0)
    column = np.arange(chances.shape[1])
    bounds = lower_bound(np.floor(chances[most, column] * runs), np.ceil(chances[least, column] * runs), runs)
    best = int(bounds.argmax())
    a, b = most[best], least[best]
    with np.errstate(divide="ignore"):
        allowed = float(np.log(chances[a, best] / chances[b, best]))
    found = f"codes {reached[a]} and {reached[b]} of the {len(reached)} reached"
    return Pair(windows[where[[a]]], windows[where[[b]]], found, allowed)


def _ends(values: Floats) -> tuple[int, int]:
    return int(values.argmin()), int(values.argmax())


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
