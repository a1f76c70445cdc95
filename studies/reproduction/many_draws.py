"""`python -m studies many-draws`: what several draws in a row tell at most.

Two people stand in a line-up, both doing the same; the attacker knows all codes of both recordings, and sees what is
released of one. docs/results.md#what-many-draws-tell
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deeprotect.policy import Policy
from deeprotect.privacy.channel.design import design, make
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.calibration_recordings import agreed, calibrating
from deeprotect.training.codebook.codebook import CodeBook, LearntCodes, learn_apart
from deeprotect.training.labelled_windows import Indices
from deeprotect.training.trainer import single_thread
from studies.reproduction.lineup import lineup_accuracy, upper_limit
from studies.reproduction.study import Study

EPSILONS = (0.5, 1.0, 2.0, 5.0)
DRAWS = (1, 2, 4, 8, 16, 32)
HOLDS = {"watch-exercise": (None, "10 s"), "hapt-mode": (None, "20 s")}
RUNS = 400
CONFIDENCE = 0.95
Sequences = dict[tuple[int, str], Indices]


@dataclass(frozen=True)
class ManyDraws:
    """How often one of two people is named from so many draws: mean over pairs, and its upper limit with 95 %."""

    table: str
    every: str
    epsilon: float
    draws: int
    pairs: int
    mean: float
    at_most: float


def measure(study: Study, directory: Path | None, *, epochs: int | None = None, seed: int = 0) -> Iterator[ManyDraws]:
    """Of the recordings that the coder did not learn from, pair by pair of people; each person is in one pair."""
    data = study.load(directory)
    policy = study.policy(data).vary(training={"max_epochs": epochs} if epochs else {})
    windows = study.windows(data, policy)
    with single_thread():
        learnt = learn_apart(windows, policy, calibrating(windows, policy.inferences.useful, seed=seed))
    for every in HOLDS[study.name]:
        held = policy.vary(privacy={"every": every}) if every else policy
        book = learnt.book(held.hold)
        sequences = _sequences(learnt, book, held, secret=str(study.sensitive))
        for epsilon in EPSILONS:
            channel = make(design(book.cost({}), book.prior, ldp_epsilon=epsilon))
            for draws in DRAWS:
                found = _pairs(sequences, channel.probabilities, draws=draws, seed=seed)
                if len(found):
                    limit = upper_limit(found, confidence=CONFIDENCE)
                    shown = every or f"{policy.seconds_per_draw:g} s"
                    yield ManyDraws(study.dataset, shown, epsilon, draws, len(found), float(found.mean()), limit)


def _sequences(learnt: LearntCodes, book: CodeBook, policy: Policy, *, secret: str) -> Sequences:
    """Codes of the draws of each useful class and person, in time, of the first recording that has most of them."""
    windows = learnt.windows
    first = np.unique(windows.episodes(policy.hold), return_index=True)[1]
    useful, coded, recording = agreed(learnt.joint.codes, first), book.coded[first], windows.recording[first]
    people = windows.labels[secret][first].astype(str)
    found: Sequences = {}
    for each in np.unique(recording):
        for u in np.unique(useful[(recording == each) & (useful >= 0)]):
            here = (recording == each) & (useful == u)
            key = int(u), str(people[here][0])
            if here.sum() > len(found.get(key, ())):
                found[key] = coded[here]
    return found


def _pairs(sequences: Sequences, probabilities: Floats, *, draws: int, seed: int) -> Floats:
    """Mean accuracy of each pair of people over what both did for long enough."""
    people = np.random.default_rng(seed).permutation(sorted({person for _, person in sequences})).tolist()
    useful = sorted({u for u, _ in sequences})
    means = []
    for pair in zip(people[::2], people[1::2], strict=False):
        lineups = [[sequences.get((u, person), np.empty(0, dtype=np.int64)) for person in pair] for u in useful]
        lineups = [[codes[:draws] for codes in each] for each in lineups if min(map(len, each)) >= draws]
        values = [lineup_accuracy(np.array(each), probabilities, runs=RUNS, seed=seed) for each in lineups]
        means += [float(np.mean(values))] if values else []
    return np.array(means)
