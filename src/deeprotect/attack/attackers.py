"""Attackers: static ones know raw windows only, adaptive ones are retrained on released windows and are what counts."""

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
    """What an attacker reads (row, value): windows, features or codes, each with its label and its recording.

    `draws` number the draws behind rows, where several rows come from one; otherwise each row is its own. `person` is
    the number of each row's person, or group, where they are told apart. `numeric`: labels are levels of a number.
    """

    rows: Floats
    labels: Labels
    recording: Indices
    draws: Indices | None = None
    person: Indices | None = None
    numeric: bool = False

    def with_rows(self, rows: Floats, draws: Indices | None = None) -> "LabelledRows":
        """The same labels, seen through a release or as features."""
        return replace(self, rows=rows, draws=draws)

    @cached_property
    def segment(self) -> Indices:
        """Number of the run of equal labels in one recording that each row lies in."""
        return segment_numbers(self.recording, self.labels.astype(str))

    def predictions(self, guess: Texts) -> Predictions:
        """Errors go together in a run of neighbours; where several rows come from one draw, in the whole recording."""
        return Predictions.of(self.labels, guess, self.segment if self.draws is None else self.recording, self.person)


Pooled = dict[int, Predictions]
"""Predictions for T draws at a time, by T."""


def attack(attacker: TrainedModel, test: LabelledRows, *, pools: Sequence[int] = ()) -> tuple[Predictions, Pooled]:
    """Window by window, and pooled over several draws of one recording."""
    scores = attacker.scores(test.rows)
    pooled = {size: pool(attacker, scores, test, size=size).either_way() for size in pools}
    return test.predictions(attacker.choose(scores)).either_way(), pooled


def reread(attacker: TrainedModel, seen: LabelledRows, test: LabelledRows) -> Predictions:
    """A static attacker that learnt, on released windows with known labels, what its own guesses mean there.

    A release may turn its guesses round (who is called Ann is always Bob); that hides nothing from someone who looks.
    Where a guess was never made on the seen windows, it stands.
    """
    meaning = _most_common(attacker.predict(seen.rows).tolist(), seen.labels.tolist())
    guesses = attacker.predict(test.rows)
    plain = test.predictions(guesses).either_way()
    turned = test.predictions(np.array([meaning.get(guess, guess) for guess in guesses.tolist()], dtype=str))
    return max(plain, turned, key=lambda each: each.accuracy)


def pool(attacker: TrainedModel, scores: Floats, test: LabelledRows, *, size: int) -> Predictions:
    """One guess for `size` neighbouring draws of one recording by adding up scores; the rest of it counts as one."""
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
    """A guess for each row from all rows of its draw together."""
    scores, rows = _of_draws(model.scores(test.rows), test)
    return np.repeat(model.choose(scores), np.diff([*rows, len(test.labels)]))


def _of_draws(scores: Floats, test: LabelledRows) -> tuple[Floats, Indices]:
    """Mean scores of each draw, and its first row; a draw whose label changes counts once for each."""
    if test.draws is None:
        return scores, np.arange(len(scores))
    number = segment_numbers(test.segment, test.draws)
    first, counts = np.unique(number, return_index=True, return_counts=True)[1:]
    return np.add.reduceat(scores, first) / counts[:, None], first


def best(predictions: Mapping[str, Predictions]) -> str:
    """The attacker that was right most often; it is chosen on the tested windows, which flatters the attackers."""
    return max(predictions, key=lambda name: predictions[name].accuracy)


def guess_from_useful(useful: Labels, sensitive: Labels, *, test_useful: Labels) -> Texts:
    """Guesses of the sensitive label from the true useful labels (window, inference) alone.

    The rule is learnt on training labels. No protection that keeps the useful inferences can hide this much.
    """
    rule = _most_common(map(tuple, useful.tolist()), sensitive.tolist())
    (anything, _), *_ = Counter(sensitive.tolist()).most_common(1)
    return np.array([rule.get(tuple(key), anything) for key in test_useful.tolist()], dtype=str)


def _most_common(keys: Iterable[Any], labels: Iterable[object]) -> dict[Any, object]:
    """For each key the label that stands beside it most often; the one met first where several do."""
    seen: dict[Any, Counter[object]] = {}
    for key, label in zip(keys, labels, strict=True):
        seen.setdefault(key, Counter())[label] += 1
    return {key: beside.most_common(1)[0][0] for key, beside in seen.items()}
