"""The code book: windows become one of K public codes, and codes become synthetic windows."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.distance import cdist

from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.layers.layer import Layer
from deeprotect.bundle.network import Network
from deeprotect.errors import TableError
from deeprotect.policy import Policy
from deeprotect.signals import Hold
from deeprotect.signals.episodes import run_lengths
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.cross_fitting import cross_fit
from deeprotect.training.codebook.joint_classes import Joint
from deeprotect.training.codebook.subclasses import Subclasses
from deeprotect.training.codebook.synthesis import Outputs, synthesise
from deeprotect.training.labelled_windows import Indices, LabelledWindows
from deeprotect.training.labels import Targets
from deeprotect.training.misclassification import Costs, matrix
from deeprotect.training.splits import ONE_WINDOW
from deeprotect.training.trainer import Progress

ABSTAIN = "abstain"
"""The name of the code of rejected windows."""
COMPARED = 20  # windows of a code that stand for all of them when distances to outputs are taken
FITTED = 0.5  # share of the work that is done once coders are fitted
PSEUDO_WINDOWS = 0.5
"""Of each class behind every code, so that a code never seen in cross-fitting is no certainty."""


@dataclass(frozen=True)
class CodeBook:
    """Everything about codes that does not depend on ε.

    `meaning[inference]` is P(class | code), (code, class) in the order of `outputs.classes`, and `prior` is P(code),
    both from windows coded by a model that did not learn from them; `coded` are those codes, one per training window,
    of its episode where draws are held.
    `codes` go in and `released` come out. `distortion` (code, output) is how far an output lies from the code's
    windows, in L1.
    """

    encoder: Network
    codes: tuple[str, ...]
    released: tuple[str, ...]
    prior: Floats
    meaning: dict[str, Floats]
    coded: Indices
    outputs: Outputs
    distortion: Floats

    def cost(self, costs: Costs) -> Floats:
        """(code, output): what an app's misreadings cost, mean over useful inferences; without costs, how many."""
        saved = [
            meaning @ (1.0 - matrix(self.outputs.classes[name], costs.get(name, {}))) @ self.outputs.read[name].T
            for name, meaning in self.meaning.items()
        ]
        return np.asarray(1.0 - np.mean(saved, axis=0))


@dataclass(frozen=True)
class LearntCodes:
    """What books are made from: `scores` are each window's by a coder that did not learn from it.

    With `subclasses` they are scores of people, one of whom is a class by themselves.
    """

    windows: LabelledWindows
    useful: tuple[str, ...]
    targets: Targets
    joint: Joint
    coder: Network
    scores: Floats
    outputs: Outputs
    subclasses: Subclasses | None = None

    _books: dict[tuple[Hold, bool], CodeBook] = field(default_factory=dict, repr=False)

    def book(self, hold: Hold) -> CodeBook:
        """A code for each class."""
        return self._made(hold, self.joint.coding(self.targets.counts, abstaining=False))

    def abstaining(self, hold: Hold) -> CodeBook:
        """One code more, for windows that nobody can name: what a secret's classes do to those is then one number to
        learn from few windows, and not one for each code."""
        return self._made(hold, self.joint.coding(self.targets.counts, abstaining=True))

    def _made(self, hold: Hold, coding: Argmax) -> CodeBook:
        key = hold, coding.reject is not None
        if key not in self._books:
            self._books[key] = self._book(hold, coding)
        return self._books[key]

    def _book(self, hold: Hold, coding: Argmax) -> CodeBook:
        coded, layers = self._coded(hold, coding)
        names = self.joint.names if coding.reject is None else (*self.joint.names, ABSTAIN)
        meaning = {
            name: _meaning(coded, self.targets.codes[:, place], codes=len(names), classes=self.targets.counts[place])
            for place, name in enumerate(self.useful)
        }
        labelled = coded[(self.targets.codes >= 0).any(axis=1)]
        prior = np.bincount(labelled, minlength=len(names)) / len(labelled)
        distortion = _distortion(self.windows.flat, coded, self.outputs.samples, codes=len(names))
        encoder = Network((*self.coder.layers, *layers), self.coder.inputs)
        return CodeBook(encoder, names, self.joint.names, prior, meaning, coded, self.outputs, distortion)

    def _coded(self, hold: Hold, coding: Argmax) -> tuple[Indices, tuple[Layer, ...]]:
        """The code of each window, or of its episode; and the layers that decide on it from scores."""
        counts = run_lengths(self.windows.episodes(hold))
        heard, heard_counts = hold.heard(counts)
        sums = np.add.reduceat(self.scores[heard], np.cumsum(heard_counts) - heard_counts)
        if self.subclasses is None:
            return np.repeat(coding.decide(sums.T, heard_counts), counts), (coding,)
        margins = np.repeat(self.subclasses.margins(sums) / heard_counts, counts)
        threshold = self.subclasses.threshold(margins, self.targets.codes[:, 0])
        raised, decision = self.subclasses.layers(self.joint.table, threshold)
        sums[:, self.subclasses.owner] += threshold * heard_counts
        return np.repeat(decision.decide(sums.T, heard_counts), counts), (raised, decision)


def learn_codes(
    windows: LabelledWindows, policy: Policy, *, hold: Hold = ONE_WINDOW, progress: Progress = lambda _: None
) -> LearntCodes:
    """Learn coder and outputs; cross-fit the coder over all windows for honest counts, up to episodes of `hold`."""
    useful = _useful(windows, policy)
    subclasses = Subclasses.of(windows.who, useful, policy)
    apart = useful if subclasses is None else subclasses.people
    coder, scores = cross_fit(windows, apart, policy, hold=hold, progress=lambda share: progress(FITTED * share))
    return _learnt(
        windows,
        policy,
        useful,
        coded=(coder, scores),
        subclasses=subclasses,
        progress=lambda share: progress(FITTED + (1 - FITTED) * share),
    )


def owner_codes(people: LearntCodes, windows: LabelledWindows, policy: Policy) -> LearntCodes:
    """Codes of one owner, whose labels the windows carry, by the coder that has learnt from them to tell people apart.

    A coder that is asked for the owner alone would be the same one: it serves them all.
    """
    useful = _useful(windows, policy)
    subclasses = Subclasses.of(people.targets, useful, policy)
    if subclasses is None:
        raise TableError(f"'{policy.inferences.useful[0]}' is not one person against all others; learn a coder for it")
    return _learnt(windows, policy, useful, coded=(people.coder, people.scores), subclasses=subclasses)


def _learnt(
    windows: LabelledWindows,
    policy: Policy,
    useful: Targets,
    *,
    coded: tuple[Network, Floats],
    subclasses: Subclasses | None,
    progress: Progress = lambda _: None,
) -> LearntCodes:
    joint, names = Joint.of(useful), policy.inferences.useful
    rows = np.arange(len(windows)) if subclasses is None else subclasses.balanced
    outputs = synthesise(
        windows[rows],
        joint.codes[rows],
        useful=names,
        people=windows.people[rows],
        seed=policy.training.seed,
        progress=progress,
    )
    return LearntCodes(windows, tuple(names), useful, joint, *coded, outputs, subclasses)


def _useful(windows: LabelledWindows, policy: Policy) -> Targets:
    _check_several(windows, policy.inferences.useful)
    return Targets.read(windows.targets(policy.inferences.useful), len(windows))


def _check_several(windows: LabelledWindows, useful: Sequence[str]) -> None:
    """Targets leave out an inference of one class, and would no longer stand in the order of the useful ones."""
    for name in useful:
        if len(set(windows.labels[name][windows.labelled(name)])) < 2:
            raise TableError(f"the training windows show fewer than two classes of '{name}'; record more of it")


def _distortion(flat: Floats, coded: Indices, outputs: Floats, *, codes: int) -> Floats:
    """Mean L1 distance from windows of each code, a few spread over all of them, to each output's windows."""
    released, variants, values = outputs.shape
    distances = np.zeros((codes, released))
    for code in np.unique(coded):
        members = np.flatnonzero(coded == code)
        some = members[np.linspace(0, len(members) - 1, min(COMPARED, len(members))).astype(np.int64)]
        apart = cdist(flat[some], outputs.reshape(-1, values), metric="cityblock")
        distances[code] = apart.reshape(len(some), released, variants).mean(axis=(0, 2))
    return distances


def _meaning(coded: Indices, truth: Indices, *, codes: int, classes: int) -> Floats:
    """P(class | code) of one inference; classes a priori as frequent as they are."""
    known = truth >= 0
    counts = np.zeros((codes, classes))
    np.add.at(counts, (coded[known], truth[known]), 1)
    counts += PSEUDO_WINDOWS * counts.sum(axis=0) / max(1.0, counts.sum())
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
