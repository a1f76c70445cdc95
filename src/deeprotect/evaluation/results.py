"""What an experiment found, in the shape of `results.json`; and a fold's predictions, from which it is summed up."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from deeprotect.attack.attackers import best
from deeprotect.attack.predictions import Interval, Predictions, of_people
from deeprotect.evaluation.methods import line_name
from deeprotect.privacy.accuracy_bound import best_accuracy
from deeprotect.signals.schema import Floats

SCHEMA = 2
DIGITS = 4


@dataclass(frozen=True)
class Confusion:
    """How often each class (row) was taken for each (column)."""

    classes: Sequence[str]
    counts: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Useful:
    """Accuracies of one useful inference: the unchanged app before and after, the app retrained on released windows.

    `held`: the unchanged app when it reads all windows of a draw together; None where each window is a draw.
    `by_person`: the unchanged app on each person (or group) alone, and `people_ci` the interval of their mean.
    """

    clean: float
    app: float
    app_ci: Interval
    retrained: float | None
    limit: float | None
    chance: float
    confusion: Confusion | None = None  # of the unchanged app on released windows
    held: float | None = None
    by_person: Sequence[float] = ()
    people_ci: Interval | None = None

    @property
    def raw(self) -> float:
        """As `Sensitive.raw`: on raw windows."""
        return self.clean

    @property
    def released(self) -> tuple[float, Interval]:
        """By who counts, the unchanged app, with its interval."""
        return self.app, self.app_ci


@dataclass(frozen=True)
class Sensitive:
    """Accuracies of attackers on one sensitive inference; `limit` is None where ε bounds nothing.

    `attackers` are the retrained ones, each with its accuracy; `adaptive` is the best of them.
    """

    raw: float
    static: float
    adaptive: float
    adaptive_ci: Interval
    best_attacker: str
    pooled: Mapping[int, float]
    chance: float
    from_useful: float
    limit: float | None
    attackers: Mapping[str, float] = field(default_factory=dict)
    pooled_raw: Mapping[int, float] = field(default_factory=dict)  # the same pools of raw windows
    pooled_blind: Mapping[int, float] = field(default_factory=dict)  # by who is told those draws' useful labels only
    confusion: Confusion | None = None  # of the best retrained attacker

    @property
    def released(self) -> tuple[float, Interval]:
        """By who counts, the best retrained attacker, with its interval."""
        return self.adaptive, self.adaptive_ci

    @property
    def floor(self) -> float:
        """What no protection that keeps the useful labels can push an attacker below."""
        return max(self.chance, self.from_useful)


@dataclass(frozen=True)
class Row:
    """One mechanism at one ε per window (None where it promises nothing); `promise` says what that ε is worth.

    `signal` is the mean absolute error of each channel in its unit, over the tested windows.
    """

    mechanism: str
    guarantee: str
    epsilon: float | None
    minimiser: str
    useful: Mapping[str, Useful]
    sensitive: Mapping[str, Sensitive]
    promise: str
    signal: Mapping[str, float] = field(default_factory=dict)
    given: Sequence[str] = ()  # the inferences that a named promise takes for known
    ldp_ceiling: float | None = None
    seconds_per_draw: float | None = None
    slots: str | None = None  # of a script, where the draw is one
    enrolled: bool = False  # by coders that have learnt a head for each tested person
    own: bool = False  # what the policy itself asks for, made as training makes it
    asked: str | None = None  # the guarantee that was asked for, where another one was released
    window: int | None = None  # samples, and seconds, where windows of several lengths are compared
    window_seconds: float | None = None

    @property
    def epsilon_per_hour(self) -> float | None:
        """Of any two streams, where ε or the ceiling beside it bounds that: draws add up."""
        epsilon = self.epsilon if self.guarantee == "ldp" else self.ldp_ceiling
        return None if epsilon is None or self.seconds_per_draw is None else epsilon * 3600 / self.seconds_per_draw

    @property
    def inferences(self) -> list[tuple[str, Useful | Sensitive]]:
        """Useful ones first."""
        return [*self.useful.items(), *self.sensitive.items()]

    @property
    def line(self) -> str:
        """What it is compared as: the policy's own row by what was released, others by what was asked for."""
        return line_name(self.mechanism, self.guarantee if self.own else self.asked or self.guarantee)

    @property
    def note(self) -> str:
        """Said beside a row that is not what it was asked to be."""
        if self.asked is None:
            return ""
        why = ": too few recordings to calibrate it" if self.mechanism == "channel" else ", which promises as much"
        return f"{self.guarantee} was released although {self.asked} was asked for{why}"


@dataclass(frozen=True)
class FormCheck:
    """One property of form that a released table must share with the raw one, so that apps run unchanged."""

    name: str
    holds: bool
    found: str


@dataclass(frozen=True)
class Results:
    """Rows, and what is needed to get them again (`run`: command, versions, seed, data fingerprint).

    `left_out` says which mechanisms have no row, and why.
    """

    rows: Sequence[Row]
    form: Sequence[FormCheck] = ()
    holds: Sequence[Row] = ()  # the policy's own promise, each with draws that are held longer
    strangers: Mapping[str, Row] = field(default_factory=dict)  # the same on people met before, and on others
    left_out: Sequence[str] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)  # where the time went: it never repeats

    @property
    def broken(self) -> list[str]:
        """What does not hold: form that is not kept, or a reading of the policy's own release that its ε rules out."""
        lines = [f"{check.name}: {check.found}" for check in self.form if not check.holds]
        for row in (row for row in self.rows if row.own):
            for name, each in row.inferences:
                low = each.released[1][0]
                if each.limit is not None and low > each.limit:
                    lines.append(f"{name} is read in {low:.1%} of windows or more; ε allows {each.limit:.1%}")
        return lines

    def to_json(self) -> dict[str, Any]:
        content = {
            "schema": SCHEMA,
            "results": [asdict(row) | {"note": row.note} for row in self.rows],
            "holds": [asdict(row) | {"epsilon_per_hour": row.epsilon_per_hour} for row in self.holds],
            "strangers": {name: asdict(row) for name, row in self.strangers.items()},
            "form": [asdict(check) for check in self.form],
            "broken": self.broken,
            "left_out": list(self.left_out),
            "run": dict(self.run),
        }
        plain: dict[str, Any] = _plain(content)
        return plain


def _plain(value: Any) -> Any:
    """Only what JSON has: text keys, lists, and floats of as many digits as the measurement carries."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return round(value, DIGITS) if isinstance(value, float) else value


ByAttacker = Mapping[str, Predictions]
Pools = Mapping[int, ByAttacker]


@dataclass(frozen=True)
class Apps:
    """Predictions of one useful inference: raw windows, released ones, released ones by a retrained app.

    `held`: by the unchanged app from all windows of a draw together, where several come from one.
    """

    clean: Predictions
    app: Predictions
    retrained: Predictions | None
    held: Predictions | None = None

    def sum_up(self, limit: bool, epsilon: float | None) -> Useful:  # noqa: FBT001
        return Useful(
            clean=self.clean.accuracy,
            app=self.app.accuracy,
            app_ci=self.app.interval,
            retrained=None if self.retrained is None else self.retrained.accuracy,
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
