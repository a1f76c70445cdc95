"""Results of an experiment, in the form of `results.json`, and the predictions of a fold that they summarise."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from deeprotect.attack.attackers import best
from deeprotect.attack.predictions import Interval, Predictions, clustered_mean, of_people
from deeprotect.evaluation.beyond import WHOLE, Beyond, Misread, excess
from deeprotect.evaluation.methods import is_ldp, line_name
from deeprotect.policy.sections import Number
from deeprotect.privacy.accuracy_bound import best_accuracy
from deeprotect.privacy.channel.beyond import at_most
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows, numbered
from deeprotect.training.levels import error_limit, median_error

SCHEMA = 3
DIGITS = 4
Line = dict[str, Any]
"""A line of a tidy table: facts about one row."""


@dataclass(frozen=True)
class Confusion:
    """How often each class (row) was predicted as each (column)."""

    classes: Sequence[str]
    counts: Sequence[Sequence[int]]

    def renamed(self, names: Mapping[str, str]) -> "Confusion":
        """Rename and reorder the classes."""
        called = [names[each] for each in self.classes]
        order = sorted(range(len(called)), key=called.__getitem__)
        return Confusion([called[each] for each in order], [[self.counts[a][b] for b in order] for a in order])


@dataclass(frozen=True)
class Recall:
    """How often the unchanged app recognises one class, and the number of its tested windows."""

    name: str
    windows: int
    clean: float
    app: float


@dataclass(frozen=True)
class OwnApp:
    """Accuracies of the user's own app: before and after release, and retrained on released windows."""

    clean: float
    app: float
    app_ci: Interval
    retrained: float | None


@dataclass(frozen=True)
class Useful:
    """Accuracies of one useful inference: the unchanged app before and after, the app retrained on released windows.

    `apps` are the user's own, in addition to the built-in one. `held` is the accuracy of the unchanged app on all
    windows of a draw together; None if each window is a draw. `by_person` is the unchanged app's accuracy on each
    person (or group), and `people_ci` the interval of their mean.

    For a number, mean absolute errors in its unit: of the unchanged app on released and on raw windows, of guessing the
    median, of the coder before any noise, and the lowest that ε allows. Its accuracies count exactly recognised levels.
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
    recall: Sequence[Recall] = ()
    apps: Mapping[str, OwnApp] = field(default_factory=dict)
    unit: str | None = None
    mae: float | None = None
    mae_ci: Interval | None = None
    mae_clean: float | None = None
    mae_median: float | None = None
    mae_coder: float | None = None
    mae_limit: float | None = None

    @property
    def saved(self) -> tuple[float, Interval] | None:
        """For a number, the share of the median's error that the unchanged app avoids, and its interval."""
        if self.mae is None or self.mae_ci is None or not self.mae_median:
            return None
        shares = [1 - each / self.mae_median for each in (self.mae, *reversed(self.mae_ci))]
        return shares[0], (shares[1], shares[2])

    def with_coder(self, off: Sequence[Floats]) -> "Useful":
        """Add the errors of the coder's own levels, over the tested windows of each fold."""
        return replace(self, mae_coder=float(np.concatenate(off).mean())) if self.unit is not None and off else self

    @property
    def balanced(self) -> tuple[float, float] | None:
        """Mean recall on raw and on released windows, which weighs all classes equally."""
        if not self.recall:
            return None
        return float(np.mean([each.clean for each in self.recall])), float(np.mean([each.app for each in self.recall]))

    @property
    def raw(self) -> float:
        """Accuracy on raw windows, like `Sensitive.raw`."""
        return self.clean

    @property
    def released(self) -> tuple[float, Interval]:
        """Accuracy of the unchanged app, the one that counts, with its interval."""
        return self.app, self.app_ci


@dataclass(frozen=True)
class Whole:
    """Accuracies of attackers who pool all tested windows of a recording (and label); the number of recordings."""

    recordings: int
    raw: float
    released: float
    released_ci: Interval
    from_useful: float
    chance: float
    at_most: float | None = None


@dataclass(frozen=True)
class Sensitive:
    """Accuracies of attackers on one sensitive inference; `limit` is None if ε bounds nothing.

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
    pooled_blind: Mapping[int, float] = field(default_factory=dict)  # from those draws' useful labels only
    confusion: Confusion | None = None  # of the best retrained attacker
    at_most: Mapping[int, float] = field(default_factory=dict)  # bound by number of draws, from misclassified draws
    whole: Whole | None = None

    def bounded(self, folds: Sequence[Misread]) -> "Sensitive":
        """Add the bound on all accuracies: guessing from useful labels, plus what misclassified draws can add."""
        blind = {1: self.floor} | {size: max(self.floor, each) for size, each in self.pooled_blind.items()}
        bounds = {size: at_most(each, excess(folds, size)) for size, each in blind.items()}
        if self.whole is None:
            return replace(self, at_most=bounds)
        guess = max(self.whole.from_useful, self.whole.chance)
        return replace(self, at_most=bounds, whole=replace(self.whole, at_most=at_most(guess, excess(folds, WHOLE))))

    @property
    def released(self) -> tuple[float, Interval]:
        """Accuracy of the best retrained attacker, the one that counts, with its interval."""
        return self.adaptive, self.adaptive_ci

    @property
    def floor(self) -> float:
        """The accuracy that protection which preserves the useful labels cannot prevent."""
        return max(self.chance, self.from_useful)


@dataclass(frozen=True)
class Row:
    """One mechanism at one ε per window (None without a promise); `promise` describes that ε.

    `signal` is the mean absolute error of each channel in its unit, over the tested windows.
    """

    mechanism: str
    guarantee: str
    epsilon: float | None
    feature_extractor: str
    useful: Mapping[str, Useful]
    sensitive: Mapping[str, Sensitive]
    promise: str
    signal: Mapping[str, float] = field(default_factory=dict)
    seconds_per_draw: float | None = None
    slots: str | None = None  # time of a script's slots, if the draw is one
    enrolled: bool = False  # coders have a head for each tested person
    own: bool = False  # the policy itself, built as in training
    window: int | None = None  # samples and seconds, if window lengths are compared
    window_seconds: float | None = None
    beyond: Beyond | None = None  # for a coder with codes

    @property
    def epsilon_per_hour(self) -> float | None:
        """ε of any two streams per hour, if ε bounds that: draws add up."""
        if not is_ldp(self.mechanism, self.guarantee) or self.epsilon is None or self.seconds_per_draw is None:
            return None
        return self.epsilon * 3600 / self.seconds_per_draw

    @property
    def inferences(self) -> list[tuple[str, Useful | Sensitive]]:
        """All inferences, useful ones first."""
        return [*self.useful.items(), *self.sensitive.items()]

    @property
    def line(self) -> str:
        """The name of the row's curve in a figure."""
        return line_name(self.mechanism, self.guarantee)

    @property
    def head(self) -> Line:
        """The columns that identify the row in a table."""
        names = ("line", "mechanism", "guarantee", "epsilon", "feature_extractor")
        return {name: getattr(self, name) for name in names}

    @property
    def lines(self) -> Iterator[Line]:
        """One line for each inference."""
        for name, useful in self.useful.items():
            low, high = useful.app_ci
            facts = _only(useful, "clean app") | {"app_low": low, "app_high": high}
            facts |= _only(useful, "retrained limit chance")
            if useful.unit is not None:
                facts |= _only(useful, "unit mae mae_clean mae_median mae_coder mae_limit")
            yield self.head | {"role": "useful", "inference": name} | facts
        for name, each in self.sensitive.items():
            low, high = each.adaptive_ci
            facts = _only(each, "raw static adaptive") | {"adaptive_low": low, "adaptive_high": high}
            facts |= _only(each, "best_attacker from_useful limit chance") | {"at_most": each.at_most.get(1)}
            if each.whole is not None:
                facts |= {"recording": each.whole.released, "recording_raw": each.whole.raw}
            yield self.head | {"role": "sensitive", "inference": name} | facts


def _only(facts: Useful | Sensitive, names: str) -> Line:
    return {name: getattr(facts, name) for name in names.split()}


@dataclass(frozen=True)
class FormCheck:
    """One property of form that a released table must share with the raw one, so that apps run unchanged."""

    name: str
    holds: bool
    found: str


@dataclass(frozen=True, repr=False)
class Results:
    """Rows, and the facts needed to reproduce them (`run`: command, versions, seed, data fingerprint).

    `left_out` lists mechanisms without a row, with reasons.
    """

    rows: Sequence[Row]
    form: Sequence[FormCheck] = ()
    holds: Sequence[Row] = ()  # the policy itself, with longer and longer holds
    strangers: Mapping[str, Row] = field(default_factory=dict)  # the policy itself on known and on new people
    left_out: Sequence[str] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(
        default_factory=dict, compare=False
    )  # time per stage, which never repeats exactly

    def frame(self) -> Any:
        """A pandas data frame, a line for each row and inference, as in tables/results.csv; needs pandas."""
        import pandas

        return pandas.DataFrame([line for row in self.rows for line in row.lines])

    def __repr__(self) -> str:
        first = self.rows[0] if self.rows else None
        read = "" if first is None else "; ".join(_read_of(name, each) for name, each in first.inferences)
        head = "" if first is None else f"; {first.line}{'' if first.epsilon is None else f' ε = {first.epsilon:g}'}: "
        return f"<{len(self.rows)} rows{head}{read}>"

    def numbered(self, inferences: Collection[str]) -> "Results":
        """Replace the classes of these inferences by numbers, the best recognised first, which hides their alphabetical
        order."""
        numbers = {name: self._numbers(name) for name in inferences}
        row = partial(_numbered, numbers=numbers)
        return replace(
            self,
            rows=[row(each) for each in self.rows],
            holds=[row(each) for each in self.holds],
            strangers={name: row(each) for name, each in self.strangers.items()},
        )

    def _numbers(self, inference: str) -> dict[str, str]:
        """Numbers by class, the same in all rows."""
        shares: dict[str, float] = {}
        for row in (*self.rows, *self.holds, *self.strangers.values()):
            found = dict(row.inferences).get(inference)
            for place, name in enumerate(() if found is None or found.confusion is None else found.confusion.classes):
                counts = found.confusion.counts[place]  # type: ignore[union-attr]
                shares.setdefault(name, counts[place] / max(1, sum(counts)))
        order = sorted(shares, key=lambda name: -shares[name])
        return dict(zip(order, numbered(order), strict=True))

    @property
    def broken(self) -> list[str]:
        """Failed checks: lost form, or an accuracy on the policy's own release that its ε rules out."""
        lines = [f"{check.name}: {check.found}" for check in self.form if not check.holds]
        for row in (row for row in self.rows if row.own):
            for name, each in row.inferences:
                low = each.released[1][0]
                if each.limit is not None and low > each.limit:
                    lines.append(f"{name} is read in {low:.1%} of windows or more; ε allows {each.limit:.1%}")
            for name, found in row.useful.items():
                if found.mae_ci is not None and found.mae_limit is not None and found.mae_ci[1] < found.mae_limit:
                    said = f"{found.mae_ci[1]:.3g} {found.unit} or less; ε allows no less than {found.mae_limit:.3g}"
                    lines.append(f"{name} is read with an error of {said}")
        return lines

    def to_json(self) -> dict[str, Any]:
        content = {
            "schema": SCHEMA,
            "results": [asdict(row) for row in self.rows],
            "holds": [asdict(row) | {"epsilon_per_hour": row.epsilon_per_hour} for row in self.holds],
            "strangers": {name: asdict(row) for name, row in self.strangers.items()},
            "form": [asdict(check) for check in self.form],
            "broken": self.broken,
            "left_out": list(self.left_out),
            "run": dict(self.run),
        }
        plain: dict[str, Any] = _plain(content)
        return plain


def _read_of(name: str, facts: Useful | Sensitive) -> str:
    return f"{name} {facts.released[0]:.3f} (raw {facts.raw:.3f}, chance {facts.chance:.3f})"


def may_be_people(results: Results, windows: LabelledWindows) -> list[str]:
    """Inferences whose classes may be people: all sensitive ones if people are unknown."""
    return [
        name
        for row in results.rows[:1]
        for name, _ in row.inferences
        if windows.may_be_people(name) or (windows.person is None and name in row.sensitive)
    ]


def _numbered(row: Row, *, numbers: Mapping[str, Mapping[str, str]]) -> Row:
    def shown(name: str, facts: Any) -> Any:
        if name not in numbers:
            return facts
        called = numbers[name]
        if isinstance(facts, Useful):
            recall = sorted(
                (replace(each, name=called[each.name]) for each in facts.recall), key=lambda each: each.name
            )
            facts = replace(facts, recall=tuple(recall))
        return facts if facts.confusion is None else replace(facts, confusion=facts.confusion.renamed(called))

    useful = {name: shown(name, facts) for name, facts in row.useful.items()}
    return replace(row, useful=useful, sensitive={name: shown(name, facts) for name, facts in row.sensitive.items()})


def _plain(value: Any) -> Any:
    """Convert to JSON's types: text keys, lists, and floats with the digits that the measurement supports."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return round(value, DIGITS) if isinstance(value, float) else value


ByAttacker = Mapping[str, Predictions]
Pools = Mapping[int, ByAttacker]
WithPools = Mapping[str, tuple[Predictions, Mapping[int, Predictions]]]
"""Predictions of each attacker on single windows, and by the size of a pool."""


@dataclass(frozen=True)
class Apps:
    """Predictions of one useful inference: on raw windows, on released ones, and on released ones by a retrained app.

    `held`: the unchanged app's predictions from all windows of a draw together, if several share one.
    """

    clean: Predictions
    app: Predictions
    retrained: Predictions | None
    held: Predictions | None = None
    own: Mapping[str, "Apps"] = field(default_factory=dict)

    def sum_up(self, epsilon: float | None, number: Number | None = None) -> Useful:
        found = self._of_classes(epsilon)
        return found if number is None else replace(found, recall=(), **self._errors(epsilon, number))

    def _errors(self, epsilon: float | None, number: Number) -> dict[str, Any]:
        off, truth = self.app.distances, np.array(self.app.classes)[self.app.truth]
        return {
            "unit": number.unit,
            "mae": float(off.mean()),
            "mae_ci": clustered_mean(off, self.app.segment),
            "mae_clean": float(self.clean.distances.mean()),
            "mae_median": median_error(truth),
            "mae_limit": None if epsilon is None else error_limit(epsilon, truth),
        }

    def _of_classes(self, epsilon: float | None) -> Useful:
        return Useful(
            clean=self.clean.accuracy,
            app=self.app.accuracy,
            app_ci=self.app.interval,
            retrained=None if self.retrained is None else self.retrained.accuracy,
            held=None if self.held is None else self.held.accuracy,
            limit=_limit(self.app, epsilon),
            chance=self.app.chance,
            confusion=Confusion(self.app.classes, self.app.confusion),
            by_person=tuple(self.app.by_person.tolist()),
            people_ci=of_people(self.app.by_person),
            recall=_recalls(self.clean, self.app),
            apps={name: each.summed_up for name, each in self.own.items()},
        )

    @property
    def summed_up(self) -> OwnApp:
        """Summarise as one of the user's own apps."""
        retrained = None if self.retrained is None else self.retrained.accuracy
        return OwnApp(self.clean.accuracy, self.app.accuracy, self.app.interval, retrained)


def _recalls(clean: Predictions, app: Predictions) -> tuple[Recall, ...]:
    """Recall of each tested class; both predictions are of the same windows."""
    shares = [dict(zip(each.classes, each.recall, strict=True)) for each in (clean, app)]
    tested = [(name, int(count)) for name, count in zip(app.classes, app.counts, strict=True) if count]
    return tuple(Recall(name, count, shares[0].get(name, 0.0), shares[1][name]) for name, count in tested)


@dataclass(frozen=True)
class WholeRecordings:
    """Predictions from all tested windows of a recording together, by each attacker on released and on raw windows."""

    released: ByAttacker
    raw: ByAttacker
    from_useful: Predictions

    @classmethod
    def of(cls, released: WithPools, raw: WithPools, from_useful: Predictions) -> "WholeRecordings":
        first, second = ({name: pooled[WHOLE] for name, (_, pooled) in each.items()} for each in (released, raw))
        return cls(first, second, from_useful)

    def sum_up(self) -> Whole:
        winner = self.released[best(self.released)]
        return Whole(
            recordings=len(winner),
            raw=_highest(self.raw),
            released=winner.accuracy,
            released_ci=winner.interval,
            from_useful=self.from_useful.accuracy,
            chance=winner.chance,
        )


@dataclass(frozen=True)
class Attacks:
    """Predictions of one sensitive inference by each attacker.

    `from_useful`: from the true useful labels alone; `pooled_blind` is the same for several draws together.
    """

    raw: ByAttacker
    static: ByAttacker
    adaptive: ByAttacker
    pooled: Pools
    pooled_raw: Pools
    from_useful: Predictions
    pooled_blind: Mapping[int, Predictions]
    whole: WholeRecordings | None = None

    def sum_up(self, epsilon: float | None) -> Sensitive:
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
            limit=_limit(winner, epsilon),
            attackers={name: predictions.accuracy for name, predictions in self.adaptive.items()},
            pooled_raw={size: _highest(predictions) for size, predictions in self.pooled_raw.items()},
            confusion=Confusion(winner.classes, winner.confusion),
            whole=None if self.whole is None else self.whole.sum_up(),
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
        self, epsilon: float | None, numeric: Mapping[str, Number] | None = None
    ) -> tuple[dict[str, Useful], dict[str, Sensitive]]:
        """Summarise; `epsilon` is that of LDP, which bounds every inference, or None without a bound."""
        useful = {name: apps.sum_up(epsilon, (numeric or {}).get(name)) for name, apps in self.useful.items()}
        return useful, {name: attacks.sum_up(epsilon) for name, attacks in self.sensitive.items()}


def _join(parts: Sequence[Any]) -> Any:
    """Join the predictions of all parts, keeping the structure."""
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
    """Acc* for the class frequencies of the tested windows."""
    return None if epsilon is None else best_accuracy(epsilon, predictions.counts)
