"""What apps and attackers predicted on one release, and how it is summed up over folds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deeprotect.attack.attackers import best
from deeprotect.attack.intervals import of_people
from deeprotect.attack.predictions import Predictions
from deeprotect.evaluation.results import Confusion, Sensitive, Useful
from deeprotect.privacy.accuracy_bound import best_accuracy
from deeprotect.signals.schema import Floats

ByAttacker = Mapping[str, Predictions]
Pools = Mapping[int, ByAttacker]


@dataclass(frozen=True)
class Apps:
    """Predictions of one useful inference: raw windows, released ones, released ones by a retrained app.

    `held`: by the unchanged app from all windows of a draw together, where several come from one.
    """

    clean: Predictions
    app: Predictions
    retrained: Predictions
    held: Predictions | None = None

    def sum_up(self, limit: bool, epsilon: float | None) -> Useful:  # noqa: FBT001
        return Useful(
            clean=self.clean.accuracy,
            app=self.app.accuracy,
            app_ci=self.app.interval,
            retrained=self.retrained.accuracy,
            held=None if self.held is None else self.held.accuracy,
            limit=_limit(self.app, epsilon) if limit else None,
            chance=self.app.chance,
            confusion=Confusion(self.app.classes, self.app.confusion),
            by_person=tuple(self.app.by_person.tolist()),
            people_ci=of_people(self.app.by_person),
        )


@dataclass(frozen=True)
class Attacks:
    """Predictions of one sensitive inference by each attacker.

    `from_useful`: from the true useful labels alone, and `pooled_blind` the same for several draws together.
    """

    raw: ByAttacker
    static: ByAttacker
    adaptive: ByAttacker
    pooled: Pools
    pooled_raw: Pools
    from_useful: Predictions
    pooled_blind: Mapping[int, Predictions]

    def sum_up(self, limit: bool, epsilon: float | None) -> Sensitive:  # noqa: FBT001
        strongest = best(self.adaptive)
        winner = self.adaptive[strongest]
        return Sensitive(
            raw=_highest(self.raw),
            static=_highest(self.static),
            adaptive=winner.accuracy,
            adaptive_ci=winner.interval,
            best_attacker=strongest,
            pooled={size: _highest(predictions) for size, predictions in self.pooled.items()},
            pooled_blind={size: max(each.accuracy, each.chance) for size, each in self.pooled_blind.items()},
            chance=winner.chance,
            from_useful=self.from_useful.accuracy,
            limit=_limit(winner, epsilon) if limit else None,
            attackers={name: predictions.accuracy for name, predictions in self.adaptive.items()},
            pooled_raw={size: _highest(predictions) for size, predictions in self.pooled_raw.items()},
            confusion=Confusion(winner.classes, winner.confusion),
        )


@dataclass(frozen=True)
class FoldPredictions:
    """One release on one fold, or on several joined; `error` is the mean absolute error of each channel, scaled."""

    useful: Mapping[str, Apps]
    sensitive: Mapping[str, Attacks]
    error: Floats
    windows: int

    @classmethod
    def join(cls, parts: Sequence["FoldPredictions"]) -> "FoldPredictions":
        windows = np.array([part.windows for part in parts])
        return cls(
            useful=_join([part.useful for part in parts]),
            sensitive=_join([part.sensitive for part in parts]),
            error=np.average([part.error for part in parts], axis=0, weights=windows),
            windows=int(windows.sum()),
        )

    def sum_up(
        self, guarantee: str, epsilon: float | None, *, given: Sequence[str] = ()
    ) -> tuple[dict[str, Useful], dict[str, Sensitive]]:
        """A named promise bounds its sensitive inferences just as ldp bounds every inference; others bound none.

        Given the useful labels it bounds what is told beyond them, which sets no limit on how often a guess is right.
        """
        useful = {name: apps.sum_up(guarantee == "ldp", epsilon) for name, apps in self.useful.items()}
        bounded = guarantee == "ldp" or (guarantee == "named" and not given)
        return useful, {name: attacks.sum_up(bounded, epsilon) for name, attacks in self.sensitive.items()}


def _join(parts: Sequence[Any]) -> Any:
    """The same structure, with the predictions of all parts joined."""
    first = parts[0]
    if first is None:
        return None
    if isinstance(first, Predictions):
        return Predictions.join(parts)
    if isinstance(first, Mapping):
        return {key: _join([part[key] for part in parts]) for key in first}
    return type(first)(**{name: _join([getattr(part, name) for part in parts]) for name in vars(first)})


def _highest(predictions: ByAttacker) -> float:
    return max(each.accuracy for each in predictions.values())


def _limit(predictions: Predictions, epsilon: float | None) -> float | None:
    """Acc* for the tested windows' own shares of classes."""
    return None if epsilon is None else best_accuracy(epsilon, predictions.counts)
