"""Synthetic windows for each output code: apps classify them as intended, and none is a participant's window.

Surrogate apps, several kinds of unmodified models, predict how apps classify a synthetic window.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deeprotect.errors import TableError
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.matching import FeatureMatching
from deeprotect.training.codebook.mixing import MIXED, Material, Mixtures, pairwise
from deeprotect.training.labelled_windows import Indices, LabelledWindows, Labels, rank_in_group
from deeprotect.training.trainer import Progress
from deeprotect.training.window_features import VIEWS, WindowFeatures

FIRST_SEED = 10_000
"""First seed of surrogates; evaluation counts from zero, so that no app judges windows that it selected."""
MOST_WINDOWS = 6000
"""Windows that a surrogate learns from; more cost time and hardly change its choices."""
MOST_REPORTED = 20_000
BOOSTED_VALUES = 64
"""Values of a window that boosting uses; its time is classes × rounds × values."""
BOOSTED_TREES = 300


@dataclass(frozen=True)
class SurrogateEnsemble:
    """Models of different kinds trained on the same labels; the first `forests` of them are forests."""

    models: tuple[Any, ...]
    classes: int
    forests: int

    def probabilities(self, windows: Floats) -> Floats:
        """Probabilities (reader, window, class); certain of class 0 if it is the only one."""
        if not self.models:
            return np.eye(1, self.classes)[None].repeat(len(windows), axis=1)
        return np.stack([_probabilities(model, windows, self.classes) for model in self.models])

    def margins(self, windows: Floats, wanted: int) -> Floats:
        """Each reader's preference for the wanted class over its best rival, (reader, window)."""
        probabilities = self.probabilities(windows)
        rivals = np.delete(probabilities, wanted, axis=2).max(axis=2, initial=0.0)
        return np.asarray(probabilities[:, :, wanted] - rivals)

    def rates(self, windows: Floats) -> Floats:
        """How often windows (code, variant, value) are classified as each class, (code, class)."""
        flat = windows.reshape(-1, windows.shape[-1])
        read = self.probabilities(flat).argmax(axis=2).reshape(-1, *windows.shape[:2])
        return np.asarray((read[..., None] == np.arange(self.classes)).mean(axis=(0, 2)))


@dataclass(frozen=True)
class SurrogateTask:
    """One useful inference: each window's class, -1 if unknown, and the class that each code stands for."""

    name: str
    classes: tuple[str, ...]
    targets: Indices
    meaning: Indices

    @classmethod
    def of(cls, name: str, labels: Labels, codes: Indices) -> Self:
        known = np.array([label is not None for label in labels], dtype=bool)
        classes, numbers = np.unique(labels[known].astype(str), return_inverse=True)
        targets = np.full(len(labels), -1, dtype=np.int64)
        targets[known] = numbers
        both = known & (codes >= 0)
        counts = np.zeros((int(codes.max()) + 1, max(len(classes), 1)))
        np.add.at(counts, (codes[both], targets[both]), 1)
        # A code shared by several classes counts as the most frequent of them.
        return cls(name, tuple(classes), targets, counts.argmax(axis=1))

    def several_kinds(
        self, windows: Floats, allowed: NDArray[np.bool_], *, channels: int, seed: int
    ) -> SurrogateEnsemble:
        """Train forests on samples, on features and on views of them, boosting, ridge and a small network.

        They learn from the allowed flat windows.
        """
        seed += FIRST_SEED
        rows = self._rows(allowed, MOST_WINDOWS, seed)
        forests = [
            RandomForestClassifier(60, random_state=seed),
            *(_on_features(channels, seed, view) for view in (None, *VIEWS)),
        ]
        others = [
            _boosting(windows.shape[1], len(self.classes), seed),
            make_pipeline(StandardScaler(), RidgeClassifier()),
            make_pipeline(StandardScaler(), _network(len(rows), seed)),
        ]
        return self._fitted([*forests, *others], windows[rows], self.targets[rows], forests=len(forests))

    def forest(self, windows: Floats, *, channels: int, seed: int) -> SurrogateEnsemble:
        """Train one forest on features of all flat windows: the app whose accuracy is reported."""
        seed += FIRST_SEED
        rows = self._rows(np.ones(len(windows), dtype=bool), MOST_REPORTED, seed)
        return self._fitted([_on_features(channels, seed)], windows[rows], self.targets[rows], forests=1)

    def margin(self, windows: Floats, ensemble: SurrogateEnsemble) -> Floats:
        """Preference of forests for each flat window's own class over the best other; -1 if it is unknown."""
        means = ensemble.probabilities(windows)[: max(ensemble.forests, 1)].mean(axis=0)
        rows = np.arange(len(windows))
        own = means[rows, self.targets]
        means[rows, self.targets] = 0.0
        return np.where(self.targets >= 0, own - means.max(axis=1), -1.0)

    def _rows(self, allowed: NDArray[np.bool_], most: int, seed: int) -> Indices:
        rows = np.flatnonzero(allowed & (self.targets >= 0))
        return rows if len(rows) <= most else np.random.default_rng(seed).permutation(rows)[:most]

    def _fitted(self, models: Sequence[Any], windows: Floats, targets: Indices, *, forests: int) -> SurrogateEnsemble:
        if len(np.unique(targets)) < 2:
            return SurrogateEnsemble((), max(len(self.classes), 1), 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the network is stopped by count, on purpose
            return SurrogateEnsemble(tuple(model.fit(windows, targets) for model in models), len(self.classes), forests)


def _on_features(channels: int, seed: int, view: str | None = None) -> Any:
    return make_pipeline(WindowFeatures(channels, view), ExtraTreesClassifier(60, random_state=seed))


def _boosting(values: int, classes: int, seed: int) -> Any:
    """Gradient boosting on some of a window's values."""
    some = np.sort(np.random.default_rng(seed).permutation(values)[:BOOSTED_VALUES])
    rounds = int(np.clip(BOOSTED_TREES // max(classes, 1), 10, 30))
    model = HistGradientBoostingClassifier(
        max_iter=rounds, learning_rate=0.25, max_leaf_nodes=15, max_bins=63, early_stopping=False, random_state=seed
    )
    return make_pipeline(make_column_transformer(("passthrough", some)), model)


def _network(rows: int, seed: int) -> MLPClassifier:
    epochs = int(np.clip(60_000 // max(rows, 1), 20, 60))
    return MLPClassifier((64,), batch_size=min(64, rows), max_iter=epochs, n_iter_no_change=epochs, random_state=seed)


def _probabilities(model: Any, windows: Floats, classes: int) -> Floats:
    if hasattr(model, "predict_proba"):
        known = model.predict_proba(windows)
    else:
        scores = np.asarray(model.decision_function(windows), dtype=np.float64)
        known = softmax(np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores, axis=1)
    full = np.zeros((len(windows), classes))
    full[:, model.classes_] = known
    return full


FEWEST = 4
"""Windows that a code needs: two on each side of the cross-fit, so that an output is always a mixture."""
VARIANTS = 24
MATCHED, DRAWN = 10, 25
"""Mixtures drawn in each round on each side, for each output: whose features are matched, which takes longer, and plain
ones."""
ENOUGH, SURE = 3, 0.5
"""Number of candidate mixtures per output, and their score, that make another round unnecessary."""
ROUNDS, PLAIN, WIDER = 12, 4, 8
"""Most rounds, the round after which features are not matched, and the one after which textures grow.

Short windows leave little room for matching away from their parts; more texture leaves more mixtures of densely lying
windows."""
FEWEST_SURE = 6
"""Number of an output's mixtures that apps classify as intended, above which no others are needed."""
TEXTURES = (0.75, 1.0, 1.25, 1.5)
"""Textures of mixtures; at about 1.25 mixtures are as rough as the measured windows."""
MARGIN = 1.02
"""Least distance of outputs from their parts, in typical gaps: snapping to a resolution does not undercut it."""
PIECES = 40
"""Contiguous pieces of each code, which alternate between the sides of the cross-fit."""


@dataclass(frozen=True)
class Outputs:
    """Synthetic windows per output code, and measurements of them.

    samples: (code, variant, value) in [0, 1], value = time * channels + channel.

    read[inference]: (code, class), how often a forest of fresh seed classifies a code's windows as each class.

    classes[inference]: the names of those columns.

    clearance: (code,), the smallest distance from an output to a window it was mixed from, as a multiple of the typical
    distance between windows of different people; more than 1, or 0.5 if a code has two people.

    people: (code,), the fewest people that an output was mixed from; windows if all are of one person.

    share: (code,), the largest share of one person in an output.
    """

    samples: Floats
    read: dict[str, Floats]
    classes: dict[str, tuple[str, ...]]
    clearance: Floats
    people: Indices
    share: Floats


def synthesise(
    windows: LabelledWindows,
    codes: Indices,
    *,
    useful: Sequence[str],
    people: Indices,
    variants: int = VARIANTS,
    seed: int = 0,
    progress: Progress = lambda _: None,
) -> Outputs:
    """Make the outputs of every code 0 … max(codes).

    codes: each window's output code, -1 for a window that goes into no output.

    people: the number of the person behind each window, or of the recording if people are unknown. Outputs are mixed
    across people; a code with one person (identity is the useful inference) mixes near windows of that person. An
    output keeps the typical distance between a window and the nearest one of another person from the windows in it.
    """
    tasks = [SurrogateTask.of(name, windows.labels[name], codes) for name in useful]
    sides, random = _sides(codes), np.random.default_rng(seed)
    channels = windows.samples.shape[2]
    surrogates = [
        [task.several_kinds(windows.flat, sides == side, channels=channels, seed=seed + side) for side in (0, 1)]
        for task in tasks
    ]
    clear = np.min([_margin(windows.flat, sides, each) for each in zip(tasks, surrogates, strict=True)], axis=0)
    matching = FeatureMatching.of(windows.samples, [task.targets for task in tasks])
    chosen: list[Mixtures] = []
    for code in range(int(codes.max()) + 1):
        material = Material.of(windows.samples, _members(codes, code, tasks), people, matching)
        judges = [(ensembles, int(task.meaning[code])) for ensembles, task in zip(surrogates, tasks, strict=True)]
        members = material.members
        rows = [_representative(material, clear[members], sides[members] == side) for side in (0, 1)]
        mixtures, scores = _search(
            material,
            rows,
            partial(_score, judges),
            wanted=[number for _, number in judges],
            count=variants,
            random=random,
        )
        if not len(mixtures):
            raise TableError(
                f"the windows of {_named(tasks, code)} are too similar to mix; merge it with another class"
            )
        chosen.append(mixtures[_choose(mixtures.windows, scores, count=variants, apart=material.gaps[1])])
        progress((code + 1) / (int(codes.max()) + 1))
    samples = np.stack([each.windows for each in chosen])
    apps = {task.name: task.forest(windows.flat, channels=channels, seed=seed + 2) for task in tasks}
    read = {name: app.rates(samples) for name, app in apps.items()}
    return Outputs(
        samples,
        read,
        {task.name: task.classes for task in tasks},
        clearance=np.array([each.clearance.min() for each in chosen]),
        people=np.array([each.people.min() for each in chosen]),
        share=np.array([each.share.max() for each in chosen]),
    )


def _members(codes: Indices, code: int, tasks: Sequence[SurrogateTask]) -> Indices:
    """Windows of a code whose labels are the code's."""
    fits = np.logical_and.reduce([task.targets == task.meaning[code] for task in tasks])
    members = np.flatnonzero((codes == code) & fits)
    if len(members) < FEWEST:
        raise TableError(
            f"only {len(members)} training windows are {_named(tasks, code)}; "
            f"label at least {FEWEST}, or merge the class with another"
        )
    return members


def _named(tasks: Sequence[SurrogateTask], code: int) -> str:
    return ", ".join(f"{task.name} = {task.classes[task.meaning[code]]}" for task in tasks if task.classes)


def _margin(flat: Floats, sides: Indices, judged: tuple[SurrogateTask, Sequence[SurrogateEnsemble]]) -> Floats:
    """How clearly forests trained on the other side recognise each window's class."""
    task, (first, second) = judged
    return np.where(sides == 0, task.margin(flat, second), task.margin(flat, first))


def _representative(material: Material, clear: Floats, allowed: NDArray[np.bool_]) -> Indices:
    """Members of one side that are classified correctly, or the clearest if these are few; of both sides if one has too
    few.

    If those come from too few people, also the clearest of everybody.
    """
    enough = material.people(np.flatnonzero(allowed)) >= material.fewest_people
    rows = np.flatnonzero(allowed | (not enough))
    order = rows[np.argsort(-clear[rows], kind="stable")]
    chosen = order[: max(2 * MIXED, int((clear[rows] > 0).sum()))]
    if material.people(chosen) < material.fewest_people:
        chosen = np.union1d(chosen, order[rank_in_group(material.groups[order]) < MIXED])
    return chosen


def _search(
    material: Material,
    rows: Sequence[Indices],
    score: Callable[[Floats], Floats],
    *,
    wanted: Sequence[int],
    count: int,
    random: np.random.Generator,
) -> tuple[Mixtures, Floats]:
    """Find releasable mixtures and their scores, each of windows of one side.

    So half of the surrogates learnt from none of the windows in it.
    """
    found: list[Mixtures] = []
    scores = np.empty(0)
    for attempt in range(ROUNDS):
        meant, each = (wanted, MATCHED) if attempt < PLAIN else (None, DRAWN)
        textures = random.choice(TEXTURES, each * count) + 0.25 * max(0, attempt + 1 - WIDER)
        sides = [(random.choice(side, len(textures)), side) for side in rows]
        drawn = Mixtures.join(
            [material.mixtures(*side, textures=textures, random=random, wanted=meant) for side in sides]
        )
        found.append(drawn[material.releasable(drawn, margin=MARGIN)])
        scores = np.concatenate([scores, score(found[-1].windows)])
        if (scores > SURE).sum() >= ENOUGH * count or (attempt + 1 >= WIDER and len(scores) >= ENOUGH * count):
            break
    return Mixtures.join(found), scores


def _score(judges: Sequence[tuple[Sequence[SurrogateEnsemble], int]], mixtures: Floats) -> Floats:
    """How surely apps recognise the intended class; the worst inference counts.

    The least sure forest decides, because most apps are forests and their confidence is honest; then the mean of all
    kinds.
    """
    if not len(mixtures):
        return np.empty(0)
    scores = []
    for ensembles, wanted in judges:
        margins = [ensemble.margins(mixtures, wanted) for ensemble in ensembles]
        forests = np.concatenate(
            [each[: max(ensemble.forests, 1)] for each, ensemble in zip(margins, ensembles, strict=True)]
        )
        scores.append(forests.min(axis=0) + np.concatenate(margins).mean(axis=0) / 2)
    return np.asarray(np.min(scores, axis=0))


def _choose(mixtures: Floats, scores: Floats, *, count: int, apart: float) -> Indices:
    """The best scored mixtures that also differ from each other; if these are too few, the best of the others as well.

    Excludes mixtures that apps classify otherwise as long as some are classified as intended: those are used twice
    instead.
    """
    order = np.argsort(-scores, kind="stable")
    sure = order[scores[order] > 0]
    order = sure if len(sure) >= FEWEST_SURE else order
    free = np.ones(len(mixtures), dtype=bool)
    taken: list[int] = []
    for index in order:
        if free[index] and len(taken) < count:
            taken.append(int(index))
            free &= pairwise(mixtures[index : index + 1], mixtures)[0] >= apart
    rest = [index for index in order if index not in set(taken)]
    return np.resize(np.array([*taken, *rest]), count)


def _sides(codes: Indices) -> Indices:
    """Side 0 or 1 of each window: contiguous pieces of each code alternate, so that most neighbours stay together."""
    sides = np.zeros(len(codes), dtype=np.int64)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        pieces = min(PIECES, max(2, len(rows) // 2 * 2))
        sides[rows] = np.arange(len(rows)) * pieces // len(rows) % 2
    return sides
