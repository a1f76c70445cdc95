"""Recordings held out from all of training, and how often the shipped coder misclassifies their draws.

docs/claims.md#what-leaves-beyond-the-useful-label
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self

import numpy as np

from deeprotect.bundle.kept import Kept, Length
from deeprotect.policy import Policy
from deeprotect.privacy.channel.beyond import Excess, apart, mean_excess, needed
from deeprotect.privacy.channel.scripts import Scripts
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.signals import Hold
from deeprotect.signals.schema import Floats
from deeprotect.signals.windowing import Counts, run_lengths
from deeprotect.training.codebook.codebook import JOINED
from deeprotect.training.fitting.blind import KnownLabels, blind
from deeprotect.training.labelled_windows import MISSING, Indices, LabelledWindows, Labels
from deeprotect.training.splits import Mask

KEPT = Fraction(1, 5)
FEWEST = 5
"""Number of recordings below which a fifth would be none."""
SPARED = Fraction(1, 3)
"""Keep as many as a bound needs, as long as that is at most this share."""
MINUTE = 60
WHOLE = 1 << 40
"""Number of draws in a pool that stands for a whole recording."""


def kept_aside(windows: LabelledWindows, policy: Policy) -> Mask:
    """Mask of the windows whose recordings (or people) are kept aside; none if there are fewer than five.

    Chosen by labels and the seed alone: about a fifth of those with each label, so that the rest show every label that
    these do.
    """
    units = units_of(windows, policy)
    shown = _shown(windows, policy.inferences.useful, units)
    names = list(shown)
    wanted, total = _wanted(len(names)), Counter(label for labels in shown.values() for label in labels)
    quota = {label: math.ceil(count * Fraction(wanted, len(names))) for label, count in total.items()}
    order = [names[place] for place in np.random.default_rng(policy.training.seed).permutation(len(names)).tolist()]
    taken: Counter[str] = Counter()
    kept: list[int] = []
    for strict in (True, False):  # then any, if correlated labels make some quotas impossible
        for name in order:
            room = all(
                taken[label] < total[label] - 1 and (taken[label] < quota[label] or not strict) for label in shown[name]
            )
            if len(kept) < wanted and room and name not in kept:
                kept.append(name)
                taken.update(shown[name])
    return np.isin(units, kept)


def _wanted(count: int) -> int:
    if count < FEWEST:
        return 0
    fifth = math.ceil(count * KEPT)
    return max(fifth, needed()) if needed() <= count * SPARED else fifth


def _shown(windows: LabelledWindows, useful: Sequence[str], units: Indices) -> dict[int, set[str]]:
    """Each unit's combinations of useful labels, and its labels of everything else."""
    columns = [windows.targets(useful).tolist(), *([[each] for each in labels] for labels in windows.labels.values())]
    found: dict[int, set[str]] = {}
    for number, rows in enumerate(columns):
        for unit, label in zip(units.tolist(), rows, strict=True):
            if None not in label:
                found.setdefault(unit, set()).add(f"{number} {label!r}")
            else:
                found.setdefault(unit, set())
    return found


class Coding(Protocol):
    """Maps windows to codes, as a release does."""

    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def hold(self) -> Hold: ...
    def encode(self, private: Floats) -> Floats: ...
    def pool(self, evidence: Floats, counts: Counts) -> Floats: ...


@dataclass(frozen=True, eq=False)
class SlotReadings:
    """For each slot of a release, in order: whether it is misclassified, its draw, and its recording.

    A slot is a draw, or a part of a script. `truth` is an ideal coder's code, MISSING without a label. `first` is the
    number of its first window.
    """

    misread: Mask
    draw: Indices
    recording: Indices
    truth: Indices
    first: Indices

    @classmethod
    def of(cls, coding: Coding, windows: LabelledWindows, useful: Sequence[str]) -> Self:
        """Code all windows of whole recordings with the integers that are shipped.

        The ideal coder takes the code that most labelled windows among those observed by a draw stand for; for scripts,
        the script that most of them stand for.
        """
        hold, scripts = coding.hold, coding.mechanism.scripts
        counts = run_lengths(windows.episodes(hold))
        heard, looked = hold.heard(counts)
        read = coding.pool(coding.encode(windows.flat[heard]), looked)[:, 0].astype(np.int64)
        names = getattr(coding.mechanism, "codes", ()) or getattr(coding.mechanism, "outputs", ())
        number, start = _numbers(windows, useful, names)[heard], np.cumsum(counts) - counts
        draw = np.repeat(np.arange(len(counts)), looked)
        if scripts is None:
            support = _support(draw, number, rows=len(counts), codes=len(names))
            truth = np.where(support.any(axis=1), support.argmax(axis=1), MISSING)
            return cls(truth != read, np.arange(len(counts)), windows.recording[start], truth, start)
        return cls._of_scripts(scripts, read, number, counts, start, windows.recording)

    @classmethod
    def _of_scripts(
        cls, scripts: Scripts, read: Indices, number: Indices, counts: Indices, start: Indices, recording: Indices
    ) -> Self:
        """Read scripts slot by slot; a short last episode has fewer slots, and the rest of its script is never
        released."""
        slots = -(-counts // scripts.windows)
        draw = np.repeat(np.arange(len(counts)), counts)
        slot = (np.arange(len(draw)) - start[draw]) // scripts.windows
        support = _support(
            draw * scripts.slots + slot, number, rows=len(counts) * scripts.slots, codes=scripts.labels
        ).reshape(len(counts), scripts.slots, scripts.labels)
        ideal = scripts.sequences(scripts.likeliest(support))
        seen = np.arange(scripts.slots)[None] < slots[:, None]
        labelled = support.any(axis=2)
        misread = (scripts.sequences(read) != ideal) | ~labelled
        first = start[:, None] + np.arange(scripts.slots)[None] * scripts.windows
        draws = np.broadcast_to(np.arange(len(counts))[:, None], seen.shape)
        truth = np.where(labelled, ideal, MISSING)
        return cls(misread[seen], draws[seen], recording[first[seen]], truth[seen], first[seen])

    def means(self, units: Indices, *, length: int | None, tau: Fraction) -> Iterator[Fraction]:
        """Each unit's mean over its stretches of `length` slots, or over its whole recordings.

        `units` has one entry per slot; stretches never cross recordings.
        """
        sums: dict[int, tuple[Fraction, int]] = {}
        for start, end in _runs(self.recording):
            slots = end - start if length is None else length
            here = mean_excess(self.misread[start:end], self.draw[start:end], length=slots, tau=tau)
            weight = -(-(end - start) // min(slots, end - start))
            total, weights = sums.get(int(units[start]), (Fraction(0), 0))
            sums[int(units[start])] = total + weight * here, weights + weight
        for total, weights in sums.values():
            yield total / weights

    def shares(self, chosen: Mask, units: Indices) -> Iterator[Fraction]:
        """The share of misclassified slots for each unit that has some of the chosen slots."""
        for unit in np.unique(units[chosen]):
            here = self.misread[chosen & (units == unit)]
            yield Fraction(int(here.sum()), len(here))


def _runs(recording: Indices) -> Iterator[tuple[int, int]]:
    borders = np.flatnonzero(np.diff(recording)) + 1
    yield from zip([0, *borders.tolist()], [*borders.tolist(), len(recording)], strict=True)


def _support(rows_of: Indices, number: Indices, *, rows: int, codes: int) -> Indices:
    """Number of windows in each row that stand for each code, (row, code)."""
    support, known = np.zeros((rows, codes), dtype=np.int64), number != MISSING
    np.add.at(support, (rows_of[known], number[known]), 1)
    return support


def _numbers(windows: LabelledWindows, useful: Sequence[str], names: Sequence[str]) -> Indices:
    """Each window's code by the name of its useful classes; MISSING if it has no label, or one without a code."""
    place = {name: number for number, name in enumerate(names)}
    labels = windows.targets(useful).tolist()
    found = [MISSING if None in row else place.get(JOINED.join(map(str, row)), MISSING) for row in labels]
    return np.array(found, dtype=np.int64)


def coder_levels(coding: Coding, windows: LabelledWindows, useful: Sequence[str], name: str) -> Labels | None:
    """The level that a coder predicts for each window before any noise; None if the mechanism has no named codes."""
    hold, scripts, counts = coding.hold, coding.mechanism.scripts, run_lengths(windows.episodes(coding.hold))
    names = getattr(coding.mechanism, "codes", ()) or getattr(coding.mechanism, "outputs", ())
    parts = [each.split(JOINED) for each in names]
    if not parts or any(len(each) != len(useful) for each in parts):
        return None
    heard, looked = hold.heard(counts)
    codes = coding.pool(coding.encode(windows.flat[heard]), looked)[:, 0].astype(np.int64)
    shown = np.repeat(codes, counts) if scripts is None else scripts.shown(codes, counts)
    return np.array([each[list(useful).index(name)] for each in parts], dtype=object)[shown]


def count(coding: Coding, kept: LabelledWindows, learnt: LabelledWindows, policy: Policy) -> Kept | None:
    """A bundle's statements about the recordings kept aside; None for noise on features, which has no codes.

    The blind guesser learns from the useful labels of the other recordings and is tested on these.
    """
    tau = apart(coding.mechanism)
    if tau is None or not len(kept):
        return None
    read, units = SlotReadings.of(coding, kept, policy.inferences.useful), units_of(kept, policy)
    slots, units, known = _lengths(policy), units[read.first], read.truth != MISSING
    means = {length: list(read.means(units, length=size or None, tau=tau)) for length, size in slots.items()}
    if known.any() and not known.all():
        means["labelled"] = [tau * share for share in read.shares(known, units)]
    return Kept(
        of="people" if for_new_people(policy) else "recordings",
        slots=slots | ({"labelled": 1} if "labelled" in means else {}),
        counts={length: list(Excess.of(each).counts) for length, each in means.items()},
        classes=[list(each.counts) for each in _of_classes(read, units, tau)],
        blind={name: _blind(kept, learnt, policy, secret=name, slots=slots) for name in policy.inferences.sensitive},
    )


def for_new_people(policy: Policy) -> bool:
    """Whether future users are new people: people are known, and are neither useful nor sensitive."""
    inferences = policy.inferences
    return policy.training.people not in (None, *inferences.useful, *inferences.sensitive)


def units_of(windows: LabelledWindows, policy: Policy) -> Indices:
    """The independent units: people, or recordings."""
    return windows.people if for_new_people(policy) else windows.recording


def _lengths(policy: Policy) -> dict[Length, int]:
    """Lengths in slots; 0 for whole recordings. Omits the minute if a slot lasts a minute or longer."""
    slot = policy.stream.window_seconds * (policy.slot_windows or policy.hold.windows)
    minute = math.ceil(MINUTE / slot)
    return {"draw": 1, **({"minute": minute} if minute > 1 else {}), "recording": 0}


def _of_classes(read: SlotReadings, units: Indices, tau: Fraction) -> Iterator[Excess]:
    """Rates for single draws of each useful class that enough units have."""
    for code in np.unique(read.truth[read.truth != MISSING]):
        shares = [tau * share for share in read.shares(read.truth == code, units)]
        if len(shares) >= needed():
            yield Excess.of(shares)


def _blind(
    kept: LabelledWindows, learnt: LabelledWindows, policy: Policy, *, secret: str, slots: Mapping[Length, int]
) -> dict[Length, float]:
    """Accuracy of guessing the secret from useful labels: of one draw, of a minute, of a recording."""
    sides, hold = (learnt, kept), Hold(policy.slot_windows or policy.hold.windows)
    draws = [side.episodes(hold) for side in sides]
    first, second = KnownLabels.of(sides, draws, policy.inferences.useful, secret)
    if not (len(first.number) and len(second.number)):
        return {}
    seed = policy.training.seed
    return {length: blind(first, second, size=size or WHOLE, seed=seed).accuracy for length, size in slots.items()}
