"""The code book: windows become one of K public codes, and codes become synthetic windows."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.distance import cdist

from deeprotect.bundle.episode_encoder import EpisodeEncoder
from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.layers.layer import Layer
from deeprotect.bundle.network import Network
from deeprotect.errors import TableError
from deeprotect.policy import Policy
from deeprotect.privacy.channel.scripts import Scripts
from deeprotect.signals import Hold
from deeprotect.signals.episodes import run_lengths
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.cross_fitting import cross_fit, fit_apart
from deeprotect.training.codebook.joint_classes import Joint
from deeprotect.training.codebook.subclasses import Subclasses
from deeprotect.training.codebook.synthesis import Outputs, synthesise
from deeprotect.training.labelled_windows import Indices, LabelledWindows
from deeprotect.training.labels import Targets
from deeprotect.training.misclassification import Costs, matrix
from deeprotect.training.splits import ONE_WINDOW, Mask
from deeprotect.training.trainer import Progress

COMPARED = 20  # windows of a code that stand for all of them when distances to outputs are taken
FITTED = 0.5  # share of the work that is done once coders are fitted
PSEUDO_WINDOWS = 0.5
"""Of each class behind every code, so that a code never seen in cross-fitting is no certainty."""


@dataclass(frozen=True)
class CodeBook:
    """Everything about codes that does not depend on ε.

    `meaning[inference]` is P(class | code), (code, class) in the order of `outputs.classes`, and `prior` is P(code),
    both from windows coded by a model that did not learn from them; `coded` are those codes, one per such window, of
    its episode where draws are held, of its slot where they are scripts.
    `codes` go in and come out. `distortion` (code, output) is how far an output lies from the code's
    windows, in L1.
    """

    encoder: Network
    codes: tuple[str, ...]
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
    """What books are made from: `windows`, and `scores` of each by a coder that did not learn from it.

    Where it is `coder` itself, codes are counted as they will be released. With `subclasses` they are scores of people,
    one of whom is a class by themselves.
    """

    windows: LabelledWindows
    useful: tuple[str, ...]
    targets: Targets
    joint: Joint
    coder: Network
    scores: Floats
    outputs: Outputs
    subclasses: Subclasses | None = None

    _books: dict[tuple[Hold, Scripts | None], CodeBook] = field(default_factory=dict, repr=False)

    def book(self, hold: Hold, scripts: Scripts | None = None) -> CodeBook:
        """A code for each class."""
        if (hold, scripts) not in self._books:
            self._books[hold, scripts] = self._book(hold, self.joint.coding(self.targets.counts), scripts)
        return self._books[hold, scripts]

    def _book(self, hold: Hold, coding: Argmax, scripts: Scripts | None) -> CodeBook:
        coded, layers = self._coded(hold, coding, scripts)
        names = self.joint.names
        meaning = {
            name: _meaning(coded, self.targets.codes[:, place], codes=len(names), classes=self.targets.counts[place])
            for place, name in enumerate(self.useful)
        }
        labelled = coded[(self.targets.codes >= 0).any(axis=1)]
        prior = np.bincount(labelled, minlength=len(names)) / len(labelled)
        distortion = _distortion(self.windows.flat, coded, self.outputs.samples, codes=len(names))
        encoder = Network((*self.coder.layers, *layers), self.coder.inputs)
        return CodeBook(encoder, names, prior, meaning, coded, self.outputs, distortion)

    def _coded(self, hold: Hold, coding: Argmax, scripts: Scripts | None) -> tuple[Indices, tuple[Layer, ...]]:
        """The code of each window, of its episode or of its slot of a script; and the layers that decide on it."""
        counts = run_lengths(self.windows.episodes(hold))
        heard, heard_counts = hold.heard(counts)
        scores, layers = self.scores, tuple[Layer, ...]((coding,))
        if self.subclasses is not None:
            sums = np.add.reduceat(scores[heard], np.cumsum(heard_counts) - heard_counts)
            margins = np.repeat(self.subclasses.margins(sums) / heard_counts, counts)
            threshold = self.subclasses.threshold(margins, self.targets.codes[:, 0])
            raised, coding = self.subclasses.layers(self.joint.table, threshold)
            scores, layers = (
                scores + threshold * (np.arange(scores.shape[1]) == self.subclasses.owner),
                (raised, coding),
            )
        if hold.windows == 1:
            return coding.decide(scores.T, None), layers
        codes = EpisodeEncoder(self.coder, coding, scripts=scripts).pool(scores[heard], heard_counts)
        numbers = codes[:, 0].astype(np.int64)
        return np.repeat(numbers, counts) if scripts is None else scripts.shown(numbers, counts), layers


def learn_codes(
    windows: LabelledWindows, policy: Policy, *, hold: Hold = ONE_WINDOW, progress: Progress = lambda _: None
) -> LearntCodes:
    """Learn coder and outputs; cross-fit the coder over all windows for honest counts, up to episodes of `hold`."""
    targets, joint = read_targets(windows, policy)
    subclasses = Subclasses.of(windows.who, targets, policy)
    apart = targets if subclasses is None else subclasses.people
    coder, scores = cross_fit(windows, apart, policy, hold=hold, progress=lambda share: progress(FITTED * share))
    outputs = _outputs(
        windows, policy, joint, subclasses=subclasses, progress=lambda share: progress(FITTED + (1 - FITTED) * share)
    )
    return LearntCodes(windows, tuple(policy.inferences.useful), targets, joint, coder, scores, outputs, subclasses)


def learn_apart(
    windows: LabelledWindows, policy: Policy, calibrating: Mask, *, progress: Progress = lambda _: None
) -> LearntCodes:
    """Learn a coder from the other recordings, and count what it makes of those that calibrate it."""
    targets, joint = read_targets(windows, policy)
    coder, scores = fit_apart(
        windows, targets, policy, calibrating=calibrating, progress=lambda share: progress(FITTED * share)
    )
    outputs = _outputs(windows, policy, joint, progress=lambda share: progress(FITTED + (1 - FITTED) * share))
    useful, counted = tuple(policy.inferences.useful), joint[calibrating]
    return LearntCodes(windows[calibrating], useful, targets[calibrating], counted, coder, scores, outputs)


def owner_codes(people: LearntCodes, windows: LabelledWindows, policy: Policy) -> LearntCodes:
    """Codes of one owner, whose labels the windows carry, by the coder that has learnt from them to tell people apart.

    A coder that is asked for the owner alone would be the same one: it serves them all.
    """
    targets, joint = read_targets(windows, policy)
    subclasses = Subclasses.of(people.targets, targets, policy)
    if subclasses is None:
        raise TableError(f"'{policy.inferences.useful[0]}' is not one person against all others; learn a coder for it")
    outputs = _outputs(windows, policy, joint, subclasses=subclasses)
    useful = tuple(policy.inferences.useful)
    return LearntCodes(windows, useful, targets, joint, people.coder, people.scores, outputs, subclasses)


def read_targets(windows: LabelledWindows, policy: Policy) -> tuple[Targets, Joint]:
    """What the useful inferences say, and the codes that this makes."""
    _check_several(windows, policy.inferences.useful)
    targets = Targets.read(windows.targets(policy.inferences.useful), len(windows))
    return targets, Joint.of(targets)


def _outputs(
    windows: LabelledWindows,
    policy: Policy,
    joint: Joint,
    *,
    subclasses: Subclasses | None = None,
    progress: Progress = lambda _: None,
) -> Outputs:
    rows = np.arange(len(windows)) if subclasses is None else subclasses.balanced
    return synthesise(
        windows[rows],
        joint.codes[rows],
        useful=policy.inferences.useful,
        people=windows.people[rows],
        seed=policy.training.seed,
        progress=progress,
    )


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
