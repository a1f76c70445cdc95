"""Matching enrolled bundles to people, from the bundle, the public one, and people's labelled windows."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import log_softmax

from deeprotect.bundle.network import Network
from deeprotect.errors import InputError
from deeprotect.evaluation.evaluator import Draw, FoldRelease, ReleasedRows
from deeprotect.evaluation.methods import Setting
from deeprotect.evaluation.runner import EvaluationCell, FittedFold, Question, Runner, seeded
from deeprotect.signals.schema import Floats
from deeprotect.signals.windowing import run_lengths
from deeprotect.training.codebook.coder import SCORE_BITS
from deeprotect.training.codebook.personal_head import personal
from deeprotect.training.fitting.trained import TrainedProtector
from deeprotect.training.labelled_windows import MISSING, Indices, LabelledWindows, Labels, Targets


@dataclass(frozen=True)
class Recognised:
    """How many of `bundles` were given to the right person, and how many a guess would be."""

    right: int
    bundles: int
    guessed: float

    def __add__(self, other: "Recognised") -> "Recognised":
        return Recognised(self.right + other.right, self.bundles + other.bundles, self.guessed + other.guessed)


@dataclass(frozen=True)
class EnrolledRelease(FoldRelease):
    """A release in which some people, by the number of their group, have a coder of their own."""

    own: Mapping[int, Draw] = field(default_factory=dict)

    def drawn(self, side: LabelledWindows, episodes: Indices) -> ReleasedRows:
        """Recordings are of one person, so episodes stay whole."""
        coder = np.where(np.isin(side.groups, list(self.own)), side.groups, -1)
        rows = [np.flatnonzero(coder == number) for number in np.unique(coder)]
        parts = [
            self.own.get(int(coder[some[0]]), self.draw)(side.flat[some], run_lengths(episodes[some])) for some in rows
        ]
        order = np.argsort(np.concatenate(rows))
        codes = [part.code for part in parts if part.code is not None]
        windows = np.concatenate([part.windows for part in parts])[order]
        return ReleasedRows(windows, np.concatenate(codes)[order] if codes else None)


def release(fold: FittedFold, setting: Setting) -> FoldRelease:
    """The fold's release, or, if the setting says so, one by each enrolled person's own coder."""
    plain, seed = fold.release(setting), fold.evaluator.setup.seed + 1
    if not setting.enrolled:
        return plain
    own = {
        group: seeded(each, seed + group, useful=fold.policy.inferences.useful).draw
        for group, each in enrolled(fold, setting).items()
    }
    return EnrolledRelease(plain.draw, plain.hold, plain.mechanism, own=own)


def enrolled(fold: FittedFold, setting: Setting) -> dict[int, TrainedProtector]:
    """Protectors of tested people, by their group, whose coder has a head of their own."""
    windows, protector = fold.evaluator.enrolled, fold.protector(setting)
    if windows is None:
        raise InputError("nobody is enrolled; split by strangers, and keep some of their windows for it")
    useful = fold.policy.inferences.useful
    learnt = Targets.read(fold.train.targets(useful), len(fold.train))
    found = {}
    for group in np.unique(windows.groups).tolist():
        own = windows[windows.groups == group]
        encoder = personal(protector.encoder, own.flat, _numbers(own.targets(useful), learnt))
        found[group] = replace(protector, encoder=encoder)
    return found


def _numbers(labels: Labels, learnt: Targets) -> Indices:
    """Labels (row, inference) as numbers of the learnt classes; MISSING where they are none of them."""
    found = np.full(labels.shape, MISSING, dtype=np.int64)
    for column, classes in enumerate(learnt.classes):
        for number, name in enumerate(classes):
            found[labels[:, column] == name, column] = number
    return found


def recognise(runner: Runner, setting: Setting) -> Recognised:
    """Recognition on all folds; the people tested in each are the candidates."""
    found = runner.measure(Question([setting], _recognised)).values.values()
    return sum(found, Recognised(0, 0, 0.0))


def _recognised(fold: FittedFold, cell: EvaluationCell) -> Recognised:
    """Match each bundle to the person whose unused windows it improves most over the public one."""
    useful = fold.policy.inferences.useful
    learnt = Targets.read(fold.train.targets(useful), len(fold.train))
    public, own = fold.protector(cell.setting).encoder, enrolled(fold, cell.setting)
    codes = _numbers(fold.test.targets(useful), learnt)[:, 0]
    people = sorted(own)
    gains = np.array(
        [[_gain(each.encoder, public, fold.test, codes, person=person) for person in people] for each in own.values()]
    )
    right = sum(people[int(row.argmax())] == person for row, person in zip(gains, own, strict=True))
    return Recognised(right, len(own), 1.0)


def _gain(encoder: Network, public: Network, windows: LabelledWindows, codes: Indices, *, person: int) -> float:
    """How much likelier the true classes of a person's windows are under their head, mean logarithm."""
    rows = np.flatnonzero((windows.groups == person) & (codes != MISSING))
    before, after = (_likelihood(each, windows.flat[rows], codes[rows]) for each in (public, encoder))
    return float((after - before).mean())


def _likelihood(encoder: Network, flat: Floats, codes: Indices) -> Floats:
    scores = np.ldexp(Network(encoder.layers[:-1], encoder.inputs)(flat), -SCORE_BITS)
    return np.asarray(log_softmax(scores, axis=1)[np.arange(len(codes)), codes])
