"""The code book: maps windows to K public codes and codes to synthetic windows, and prices misclassifications."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist

from deeprotect.bundle.layers.layer import Layer
from deeprotect.bundle.layers.rounding import Argmax, Clip, Quantise
from deeprotect.bundle.network import EpisodeEncoder, Network
from deeprotect.errors import TableError
from deeprotect.policy import Policy
from deeprotect.policy.draft import FEWEST_COUNTED
from deeprotect.privacy.channel.scripts import Scripts
from deeprotect.signals import Hold
from deeprotect.signals.schema import Floats
from deeprotect.signals.windowing import run_lengths
from deeprotect.training.codebook.coder import LARGEST_SCORE, SCORE_BITS
from deeprotect.training.codebook.coder_training import cross_fit
from deeprotect.training.codebook.synthesis import Outputs, synthesise
from deeprotect.training.labelled_windows import MISSING, Indices, LabelledWindows, Targets
from deeprotect.training.splits import ONE_WINDOW
from deeprotect.training.trainer import Progress

Rows = Mapping[str, Mapping[str, float]]
"""Costs by true class, then predicted class."""
Costs = Mapping[str, Rows]
"""Costs by useful inference, as the policy gives them."""


def price(true: str, read: str, rows: Rows) -> float:
    """Cost of one reading: 0 if right, 1 if the policy sets none."""
    return 0.0 if read == true else rows.get(true, {}).get(read, 1.0)


def matrix(classes: Sequence[str], rows: Rows) -> Floats:
    """All costs, (true class, predicted class)."""
    return np.array([[price(true, read, rows) for read in classes] for true in classes])


def check_costs(windows: LabelledWindows, policy: Policy) -> None:
    """Refuse unknown classes: a misspelt one would silently cost 1."""
    for name, rows in policy.training.cost_matrix.items():
        known = sorted({label for label in windows.labels[name] if label is not None})
        strangers = [each for true, row in rows.items() for each in (true, *row) if each not in known]
        if strangers:
            raise TableError(
                f"training.cost_matrix.{name} names '{strangers[0]}', a class that no training window shows; "
                f"write one of: {', '.join(known)}"
            )


MOST_CODES = 64
JOINED = " & "
"""Separator of the classes in the name of a joint class."""
FEWEST_WINDOWS = FEWEST_COUNTED
MOST_NAMED = 5  # classes listed in a message
"""Windows below which a joint class gets no code of its own."""


@dataclass(frozen=True)
class Joint:
    """Joint classes frequent enough for a code: each window's, their names, and the replacements of the others."""

    codes: Indices
    names: tuple[str, ...]
    table: Indices

    @property
    def count(self) -> int:
        return len(self.names)

    def coding(self, counts: Sequence[int]) -> Argmax:
        """The decision from scores to codes."""
        return Argmax(tuple(counts), self.table.astype(np.int32))

    @classmethod
    def of(cls, targets: Targets) -> "Joint":
        known = (targets.codes >= 0).all(axis=1)
        every, numbers, windows = np.unique(targets.codes[known], axis=0, return_inverse=True, return_counts=True)
        kept = np.flatnonzero(windows >= FEWEST_WINDOWS)
        kept = np.sort(kept[np.argsort(-windows[kept], kind="stable")][:MOST_CODES])
        if len(kept) < 2:
            order = np.argsort(windows)[:MOST_NAMED]
            rare = ", ".join(f"'{_name(every[each], targets)}': {windows[each]}" for each in order)
            raise TableError(
                f"a class needs {FEWEST_WINDOWS} windows to learn from, and fewer than two have as many ({rare}); "
                "record more of the rare ones, or make windows shorter"
            )
        nearest = _nearest(every[kept], windows[kept], targets)
        codes = np.full(len(targets.codes), -1, dtype=np.int64)
        place = np.full(len(every), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        codes[known] = place[numbers.ravel()]
        return cls(codes, tuple(_name(row, targets) for row in every[kept]), nearest)


def _nearest(kept: Indices, windows: Indices, targets: Targets) -> Indices:
    """Map every joint class to the kept one that agrees with most of its parts, the more frequent on a tie.

    Levels of a number agree more the nearer they are; of equally near ones, the more frequent wins.
    """
    every = np.stack(np.unravel_index(np.arange(int(np.prod(targets.counts))), targets.counts), axis=1)
    agreement = np.tile(windows / (windows.sum() + 1) / MOST_CODES, (len(every), 1))
    for column in range(every.shape[1]):
        values = targets.values_of(column)
        if values is None:
            agreement += every[:, None, column] == kept[None, :, column]
        else:
            agreement -= np.abs(values[every[:, None, column]] - values[kept[None, :, column]]) / np.ptp(values)
    return np.asarray(agreement.argmax(axis=1), dtype=np.int64)


def _name(row: Indices, targets: Targets) -> str:
    return JOINED.join(str(classes[code]) for classes, code in zip(targets.classes, row, strict=True))


MOST_PEOPLE = 128
RUN = 10
THRESHOLD_BITS = 4
"""Thresholds are multiples of 2^4 score steps: no threshold coincides with one participant's window."""
FURTHEST = int(2 * LARGEST_SCORE) << SCORE_BITS
"""Bound on the difference of two scores."""


@dataclass(frozen=True)
class Subclasses:
    """Classes of people: to recognise a device's owner, a coder learns to tell all people apart, and a threshold
    decides.

    "Other" is a mixture of people. A coder trained on "owner or not" learns one bit from each window; trained on
    people, it learns from everybody how people differ.

    Holds each window's person, the class that each person belongs to, the owner, who is alone in a class, and the costs
    of taking one class for the other.
    """

    people: Targets
    classes: Indices
    owner: int
    costs: Floats

    @classmethod
    def of(cls, people: Targets, useful: Targets, policy: Policy) -> Self | None:
        """None unless people are known and one of two useful classes belongs to a single person."""
        if useful.counts != (2,) or len(people.counts) != 1 or not 3 <= people.counts[0] <= MOST_PEOPLE:
            return None
        seen = np.zeros((people.counts[0], 2), dtype=bool)
        known = (people.codes[:, 0] != MISSING) & (useful.codes[:, 0] != MISSING)
        seen[people.codes[known, 0], useful.codes[known, 0]] = True
        if (seen.sum(axis=1) != 1).any() or seen.sum(axis=0).min() != 1:
            return None
        (name,) = policy.inferences.useful
        costs = matrix([str(each) for each in useful.classes[0]], policy.costs.get(name, {}))
        return cls(people, seen.argmax(axis=1), int(seen[:, seen.sum(axis=0).argmin()].argmax()), costs)

    @property
    def balanced(self) -> Indices:
        """The owner's windows and about as many of others, in runs of neighbours spread over all of them, for training
        apps: they would hardly learn a class of one window in thirty."""
        own = np.flatnonzero(self.people.codes[:, 0] == self.owner)
        others = np.flatnonzero((self.people.codes[:, 0] != self.owner) & (self.people.codes[:, 0] != MISSING))
        runs = np.arange(len(others)) // RUN
        wanted = min(int(runs[-1]) + 1, -(-len(own) // RUN))
        chosen = np.linspace(0, runs[-1], wanted).astype(np.int64)
        return np.sort(np.concatenate([own, others[np.isin(runs, chosen)]]))

    def margins(self, scores: Floats) -> Floats:
        """How far the owner's score lies below the likeliest other's, from scores (row, person)."""
        return np.asarray(np.delete(scores, self.owner, axis=1).max(axis=1) - scores[:, self.owner])

    def threshold(self, margins: Floats, truth: Indices) -> int:
        """The number to add to the owner's score that minimises the cost of misclassifying windows of these classes."""
        margins, truth = margins[truth != MISSING], truth[truth != MISSING]
        own = self.classes[self.owner]
        # A threshold that rises past a margin turns that window into the owner's: one miss less, or one false alarm
        # more.
        change = np.where(truth == own, -self.costs[own, 1 - own], self.costs[1 - own, own])
        order = np.argsort(margins, kind="stable")
        ends = np.concatenate([[-FURTHEST], margins[order], [FURTHEST]])
        costs = np.cumsum(np.append(0.0, change[order]))
        best = int(np.where(np.diff(ends) > 0, costs, np.inf).argmin())  # none lies between equal margins
        step = 1 << THRESHOLD_BITS
        return step * int(np.rint((ends[best] + ends[best + 1]) / 2 / step))

    def layers(self, codes: Indices, threshold: int) -> tuple[Layer, Argmax]:
        """Layers that add the threshold to the owner's score, then give the code of the likeliest person's class."""
        shift = np.where(np.arange(len(self.classes)) == self.owner, -(threshold >> THRESHOLD_BITS), 0)[None]
        clip = Clip(-2 * FURTHEST, 2 * FURTHEST)
        moved = Quantise(shift.astype(np.int32), -THRESHOLD_BITS, np.ones_like(shift, dtype=np.int32), 0, clip)
        return moved, Argmax((len(self.classes),), codes[self.classes].astype(np.int32))


COMPARED = 20  # windows of a code sampled for distances to outputs
FITTED = 0.5  # share of the work done once coders are fitted
PSEUDO_WINDOWS = 0.5
"""Pseudo-count of each class behind every code, so that a code never seen in cross-fitting is not certain."""


@dataclass(frozen=True)
class CodeBook:
    """All that is learnt about codes independently of ε.

    `meaning[inference]` is P(class | code), (code, class) in the order of `outputs.classes`, and `prior` is P(code),
    both from windows coded by a model that did not learn from them. `coded` holds those codes, one per window, for its
    episode if draws are held, for its slot if they are scripts. `codes` is the number of codes. `distortion` (code,
    output) is the L1 distance of an output from the code's windows.
    """

    encoder: Network
    codes: tuple[str, ...]
    prior: Floats
    meaning: dict[str, Floats]
    coded: Indices
    outputs: Outputs
    distortion: Floats

    def cost(self, costs: Costs) -> Floats:
        """Cost of an app's misclassifications (code, output), mean over useful inferences; without costs, their
        rate."""
        saved = [
            meaning @ (1.0 - matrix(self.outputs.classes[name], costs.get(name, {}))) @ self.outputs.read[name].T
            for name, meaning in self.meaning.items()
        ]
        return np.asarray(1.0 - np.mean(saved, axis=0))


@dataclass(frozen=True)
class LearntCodes:
    """The basis of code books: `windows`, and `scores` of each by a coder that did not learn from it.

    With `subclasses` these are scores of people, one of whom has a class alone.
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
        """Build a book with a code for each class."""
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
        """The code of each window, of its episode or of its slot of a script; and the layers that decide it."""
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
            return coding.decide(scores.T), layers
        codes = EpisodeEncoder(self.coder, coding, scripts=scripts).pool(scores[heard], heard_counts)
        numbers = codes[:, 0].astype(np.int64)
        return np.repeat(numbers, counts) if scripts is None else scripts.shown(numbers, counts), layers


def learn_codes(
    windows: LabelledWindows, policy: Policy, *, hold: Hold = ONE_WINDOW, progress: Progress = lambda _: None
) -> LearntCodes:
    """Learn coder and outputs; cross-fit the coder over all windows for unbiased counts, up to episodes of `hold`."""
    targets, joint = read_targets(windows, policy)
    subclasses = Subclasses.of(windows.who, targets, policy)
    apart = targets if subclasses is None else subclasses.people
    coder, scores = cross_fit(windows, apart, policy, hold=hold, progress=lambda share: progress(FITTED * share))
    outputs = outputs_of(
        windows, policy, joint, subclasses=subclasses, progress=lambda share: progress(FITTED + (1 - FITTED) * share)
    )
    return LearntCodes(windows, tuple(policy.inferences.useful), targets, joint, coder, scores, outputs, subclasses)


def read_targets(windows: LabelledWindows, policy: Policy) -> tuple[Targets, Joint]:
    """Read the useful inferences' labels, and the codes that follow from them."""
    # Targets omit an inference with one class, which would shift the order of the useful ones.
    for name in policy.inferences.useful:
        if len(windows.classes(name)) < 2:
            raise TableError(f"the training windows show fewer than two classes of '{name}'; record more of it")
    targets = Targets.read(windows.targets(policy.inferences.useful), len(windows))
    for place, name in enumerate(policy.inferences.useful):
        if name not in policy.inferences.numeric:
            _refuse_numbers(name, targets, place)
    values = [windows.values(*each) for each in zip(policy.inferences.useful, targets.classes, strict=True)]
    targets = replace(targets, values=tuple(values))
    return targets, Joint.of(targets)


def _refuse_numbers(name: str, targets: Targets, place: int) -> None:
    """A column of many different numbers is a measurement, and its values are not for a message."""
    classes, codes = targets.classes[place], targets.codes[:, place]
    frequent = (np.bincount(codes[codes != MISSING]) >= FEWEST_WINDOWS).sum()
    if (len(classes) > MOST_CODES or frequent < 2) and all(_is_finite(each) for each in classes):
        raise TableError(
            f"column '{name}' shows {len(classes)} different numbers; if it is a number and not a class, give its "
            f"unit, range and levels under [inferences.numeric.{name}] in the policy"
        )


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def coded_classes(windows: LabelledWindows, policy: Policy) -> dict[str, list[str]]:
    """The classes of each useful inference that have a code; others are released as one of them."""
    targets, joint = read_targets(windows, policy)
    codes = targets.codes[joint.codes >= 0]
    return {
        name: targets.classes[place][np.unique(codes[:, place])].astype(str).tolist()
        for place, name in enumerate(policy.inferences.useful)
    }


def outputs_of(
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


def _distortion(flat: Floats, coded: Indices, outputs: Floats, *, codes: int) -> Floats:
    """Mean L1 distance from a sample of each code's windows to each output's windows."""
    released, variants, values = outputs.shape
    distances = np.zeros((codes, released))
    for code in np.unique(coded):
        members = np.flatnonzero(coded == code)
        some = members[np.linspace(0, len(members) - 1, min(COMPARED, len(members))).astype(np.int64)]
        apart = cdist(flat[some], outputs.reshape(-1, values), metric="cityblock")
        distances[code] = apart.reshape(len(some), released, variants).mean(axis=(0, 2))
    return distances


def _meaning(coded: Indices, truth: Indices, *, codes: int, classes: int) -> Floats:
    """P(class | code) of one inference, with observed class frequencies as the prior."""
    known = truth >= 0
    counts = np.zeros((codes, classes))
    np.add.at(counts, (coded[known], truth[known]), 1)
    counts += PSEUDO_WINDOWS * counts.sum(axis=0) / max(1.0, counts.sum())
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
