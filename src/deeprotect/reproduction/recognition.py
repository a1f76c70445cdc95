"""Whose bundle is it? What an enrolled bundle tells whoever has it, the public one, and people's labelled windows."""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from deeprotect.bundle.network import Network
from deeprotect.evaluation.fitted_fold import FittedFold
from deeprotect.evaluation.runner import EvaluationCell, Question, Runner
from deeprotect.evaluation.settings import Setting
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.coder import SCORE_BITS
from deeprotect.training.labelled_windows import Indices, LabelledWindows
from deeprotect.training.labels import MISSING, Targets


@dataclass(frozen=True)
class Recognised:
    """How many of `bundles` were given to the right person, and how many a guess would be."""

    right: int
    bundles: int
    guessed: float

    def __add__(self, other: "Recognised") -> "Recognised":
        return Recognised(self.right + other.right, self.bundles + other.bundles, self.guessed + other.guessed)


def recognise(runner: Runner, setting: Setting) -> Recognised:
    """On all folds: the people who are tested there are the candidates."""
    found = runner.measure(Question([setting], _recognised)).values.values()
    return sum(found, Recognised(0, 0, 0.0))


def _recognised(fold: FittedFold, cell: EvaluationCell) -> Recognised:
    """Each bundle is given to whose windows, tested by nobody before, it reads better than the public one by most."""
    useful = fold.policy.inferences.useful
    learnt = Targets.read(fold.train.targets(useful), len(fold.train))
    public, own = fold.protector(cell.setting).encoder, fold.enrolled(cell.setting)
    codes = learnt.numbers(fold.test.targets(useful))[:, 0]
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
