"""Attackers: static ones know only raw windows; adaptive ones, which decide, are retrained on released windows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from deeprotect.attack.models import TrainedModel
from deeprotect.attack.predictions import Predictions, Texts
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import Indices, Labels, place_in, segment_numbers


@dataclass(frozen=True)
class LabelledRows:
    """An attacker's input (row, value): windows, features or codes, each with its label and its recording.

    `draws` numbers the draws behind rows if several rows share one; otherwise each row is its own draw. `person`
    numbers each row's person, or group, if known. `numeric`: labels are levels of a number.
    """

    rows: Floats
    labels: Labels
    recording: Indices
    draws: Indices | None = None
    person: Indices | None = None
    numeric: bool = False

    def with_rows(self, rows: Floats, draws: Indices | None = None) -> "LabelledRows":
        """The same labels with other rows, such as released windows or features."""
        return replace(self, rows=rows, draws=draws)

    @cached_property
    def segment(self) -> Indices:
        """The number of each row's run of equal labels in one recording."""
        return segment_numbers(self.recording, self.labels.astype(str))

    def predictions(self, guess: Texts) -> Predictions:
        """Predictions; errors are dependent within a run of neighbours or, if rows share draws, within a recording."""
        return Predictions.of(self.labels, guess, self.segment if self.draws is None else self.recording, self.person)


Pooled = dict[int, Predictions]
"""Predictions for T draws at a time, by T."""


def attack(attacker: TrainedModel, test: LabelledRows, *, pools: Sequence[int] = ()) -> tuple[Predictions, Pooled]:
    """Attack single windows, and pools of several draws of one recording."""
    scores = attacker.scores(test.rows)
    pooled = {size: pool(attacker, scores, test, size=size).either_way() for size in pools}
    return test.predictions(attacker.choose(scores)).either_way(), pooled


def reread(attacker: TrainedModel, seen: LabelledRows, test: LabelledRows) -> Predictions:
    """Attack with a static attacker that learnt, on labelled released windows, what its guesses mean there.

    A release may permute its guesses (Ann is always called Bob); that hides nothing from an attacker who calibrates. A
    guess that never occurred on the seen windows is kept.
    """
    meaning = _most_common(attacker.predict(seen.rows).tolist(), seen.labels.tolist())
    guesses = attacker.predict(test.rows)
    plain = test.predictions(guesses).either_way()
    turned = test.predictions(np.array([meaning.get(guess, guess) for guess in guesses.tolist()], dtype=str))
    return max(plain, turned, key=lambda each: each.accuracy)


def pool(attacker: TrainedModel, scores: Floats, test: LabelledRows, *, size: int) -> Predictions:
    """One guess for `size` neighbouring draws of one recording by adding up scores; a shorter rest also counts as
    one."""
    scores, rows = _of_draws(scores, test)
    segment = test.segment[rows]
    groups = np.cumsum(place_in(segment) % size == 0).astype(np.int64) - 1  # never across a change of label
    first, members = np.unique(groups, return_index=True, return_counts=True)[1:]
    totals = np.zeros((len(first), scores.shape[1]))
    np.add.at(totals, groups, scores)
    if attacker.probabilistic:  # each posterior holds the prior; a pool must count it once
        totals -= (members - 1)[:, None] * attacker.log_prior
    return Predictions.of(test.labels[rows][first], attacker.choose(totals), segment[first])


def read_draws(model: TrainedModel, test: LabelledRows) -> Texts:
    """A guess for each row from all rows of its draw."""
    scores, rows = _of_draws(model.scores(test.rows), test)
    return np.repeat(model.choose(scores), np.diff([*rows, len(test.labels)]))


def _of_draws(scores: Floats, test: LabelledRows) -> tuple[Floats, Indices]:
    """Mean scores and first row of each draw; a draw in which the label changes counts once for each label."""
    if test.draws is None:
        return scores, np.arange(len(scores))
    number = segment_numbers(test.segment, test.draws)
    first, counts = np.unique(number, return_index=True, return_counts=True)[1:]
    return np.add.reduceat(scores, first) / counts[:, None], first


def best(predictions: Mapping[str, Predictions]) -> str:
    """The attacker that was right most often; choosing it on the tested windows favours the attackers."""
    return max(predictions, key=lambda name: predictions[name].accuracy)


def guess_from_useful(useful: Labels, sensitive: Labels, *, test_useful: Labels) -> Texts:
    """Guess the sensitive label from the true useful labels (window, inference) alone.

    The rule is learnt on training labels. Protection that preserves the useful inferences cannot hide this much.
    """
    rule = _most_common(map(tuple, useful.tolist()), sensitive.tolist())
    (anything, _), *_ = Counter(sensitive.tolist()).most_common(1)
    return np.array([rule.get(tuple(key), anything) for key in test_useful.tolist()], dtype=str)


def _most_common(keys: Iterable[Any], labels: Iterable[object]) -> dict[Any, object]:
    """The most frequent label of each key; the first one met on a tie."""
    seen: dict[Any, Counter[object]] = {}
    for key, label in zip(keys, labels, strict=True):
        seen.setdefault(key, Counter())[label] += 1
    return {key: beside.most_common(1)[0][0] for key, beside in seen.items()}
