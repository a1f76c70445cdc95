"""Private windows worth trying, and the pair of inputs to attack: those whose releases are told apart best."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from deeprotect.auditing.distinguisher import choose, fit, lower_bound, outputs_of, releases
from deeprotect.auditing.views import View, view
from deeprotect.errors import InputError, quoted, quoted_all
from deeprotect.release.engine import Pipeline
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows

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


_FEWEST_PILOTS = 500


@dataclass(frozen=True)
class ClassComparison:
    """The windows of each class of an inference, all of one useful class where one is given."""

    inference: str
    pools: dict[str, Floats]
    given: str = ""

    @classmethod
    def of(cls, windows: LabelledWindows, inference: str, classes: Sequence[str], *, given: str = "") -> Self:
        labels = windows.labels[inference]
        pools = {label: windows.flat[labels == label] for label in classes if (labels == label).any()}
        return cls(inference, pools, given)

    def pair(self, first: str, second: str) -> Pair:
        both = f", both {quoted(self.given)}" if self.given else ""
        found = f"{quoted(self.inference)} {quoted(first)} and {quoted(second)}{both}"
        return Pair(self.pools[first], self.pools[second], found=found)


def worst_classes(bundle: Pipeline, windows: LabelledWindows, inferences: Sequence[str], *, runs: int) -> Pair:
    """Two classes as pools of their windows; the pilot's releases choose, and are not counted afterwards.

    Given the useful class, both are windows of one, and only combinations that are promised something are compared.
    """
    compared = [each for name in inferences for each in _comparisons(bundle, windows, name)]
    pilots = max(_FEWEST_PILOTS, runs * len(inferences) // max(1, len(compared)))
    pairs = [scored for comparison in compared for scored in _pilot(bundle, comparison, runs=pilots)]
    if not pairs:
        raise InputError(
            f"the table has no two classes of {quoted_all(inferences, ', ')} to compare; give one with labels"
        )
    return max(pairs, key=lambda scored: scored[0])[1]


def _comparisons(bundle: Pipeline, windows: LabelledWindows, inference: str) -> Iterator[ClassComparison]:
    """Classes that are promised to be alike."""
    given = bundle.mechanism.event.given
    useful = _joint(windows, given) if given else None
    for each in view(bundle.mechanism).promises:
        if each.inference == inference:
            alike = windows if useful is None else windows[useful == each.given]
            yield ClassComparison.of(alike, inference, each.classes, given=each.given)


def _joint(windows: LabelledWindows, given: Sequence[str]) -> NDArray[np.object_]:
    """The useful class of each window, named as channels name their outputs; None where a label is missing."""
    rows = windows.targets(given).tolist()
    return np.array([None if None in row else " & ".join(map(str, row)) for row in rows], dtype=object)


def _pilot(bundle: Pipeline, comparison: ClassComparison, *, runs: int) -> Iterator[tuple[float, Pair]]:
    seen = {label: np.concatenate(list(releases(bundle, pool, runs))) for label, pool in comparison.pools.items()}
    half, outputs = runs // 2, outputs_of(bundle)
    for a, b in combinations(seen, 2):
        scores = fit(seen[a][:half], seen[b][:half], outputs=outputs, strong=False)
        rule = choose(scores, seen[a][half:], seen[b][half:])
        shown = rule.tally(rule.score(seen[a][half:]), rule.score(seen[b][half:])).epsilon
        yield shown, comparison.pair(a, b)
