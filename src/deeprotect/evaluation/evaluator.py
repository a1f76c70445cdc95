"""The evaluator of one fold: trains apps and attackers on raw windows, then measures them on a release."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import joblib
import numpy as np

from deeprotect.attack.attackers import LabelledRows, attack, guess_from_useful, read_draws, reread
from deeprotect.attack.models import TrainedModel
from deeprotect.attack.models import train as fit_model
from deeprotect.attack.own_models import OwnMethod, OwnModel
from deeprotect.attack.predictions import Predictions
from deeprotect.errors import Argument, Placeholder, TableError
from deeprotect.evaluation.beyond import WHOLE, Misread
from deeprotect.evaluation.results import Apps, Attacks, FoldPredictions, WholeRecordings
from deeprotect.policy import Policy
from deeprotect.signals import Hold
from deeprotect.signals.schema import Floats
from deeprotect.signals.windowing import Counts, run_lengths
from deeprotect.training.fitting.blind import KnownLabels, blind
from deeprotect.training.labelled_windows import Indices, LabelledWindows
from deeprotect.training.splits import Mask

SAME = "the app's own"
CODE_TABLE = "code_table"
"""The attacker who knows a code book, and so the code behind each released window."""


class ReleasedRows(NamedTuple):
    """Released windows, flat and scaled (window, value), with the public code behind each, if there is one.

    `draws` numbers the draws behind windows if several may share one; for a script, its parts.
    """

    windows: Floats
    code: Indices | None = None
    draws: Indices | None = None

    def only(self, chosen: Mask) -> "ReleasedRows":
        """The rows of the chosen windows."""
        code, draws = (None if each is None else each[chosen] for each in (self.code, self.draws))
        return ReleasedRows(self.windows[chosen], code, draws)


Draw = Callable[[Floats, Counts], ReleasedRows]
Count = Callable[[LabelledWindows], Misread | None]
Side = tuple[LabelledWindows, ReleasedRows]
Enrolment = tuple[Mask, Mask]
OwnModels = Mapping[str, OwnModel]
NONE_OWN: OwnModels = {}


def _uncounted(_: LabelledWindows) -> None:
    """A named function, because releases are sent to other processes."""


@dataclass(frozen=True)
class FoldRelease:
    """A release of private windows: `draw` takes flat windows and the number of windows in each episode.

    `mechanism` names the one that training chose; `count` counts the draws that its coder misclassifies.
    """

    draw: Draw
    hold: Hold = field(default_factory=Hold)
    mechanism: str | None = None
    count: Count = _uncounted

    def __call__(self, side: LabelledWindows) -> ReleasedRows:
        """Release each recording in its own episodes."""
        episodes = side.episodes(self.hold)
        released = self.drawn(side, episodes)
        known = self.hold.windows == 1 or released.draws is not None
        return released if known else released._replace(draws=episodes)

    def drawn(self, side: LabelledWindows, episodes: Indices) -> ReleasedRows:
        return self.draw(side.flat, run_lengths(episodes))

    def neighbours(self, windows: Floats) -> ReleasedRows:
        """Release consecutive windows from the start of a recording."""
        return self.draw(windows, run_lengths(np.arange(len(windows)) // self.hold.windows))


@dataclass(frozen=True)
class Setup:
    """Apps and attackers: the app's model, the attackers' models, how many windows an attacker pools.

    `retrained` is the model of an app that learns from released windows: the app's own, another, or none. `own_apps`
    are the user's, each also retrained; `own_attackers` are attackers like the others.
    """

    app: str = "extra_trees"
    attackers: tuple[str, ...] = (
        "ridge",
        "kernel_ridge",
        "svm",
        "naive_bayes",
        "extra_trees",
        "gradient_boosting",
        "cnn",
    )
    retrained: str | None = SAME
    pools: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    seed: int = 0
    own_apps: OwnModels = field(default_factory=dict, hash=False)
    own_attackers: OwnModels = field(default_factory=dict, hash=False)
    own_methods: Mapping[str, OwnMethod] = field(default_factory=dict, hash=False)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of pools; if there are any, attackers also pool all tested windows of a recording."""
        return (*self.pools, WHOLE) if self.pools else ()

    def attackers_of(self, inference: str) -> list[str]:
        """The attackers on this inference; a prefitted one may not know its classes."""
        own = [name for name, each in self.own_attackers.items() if inference in each.inferences]
        return [*self.attackers, *own]

    def apps_of(self, inference: str) -> list[str]:
        return [name for name, each in self.own_apps.items() if inference in each.inferences]


class Stopwatch:
    """Adds up the seconds of named stages; a nested stage is subtracted from the outer one."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._inner = [0.0]

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        self._inner.append(0.0)
        try:
            yield
        finally:
            passed = time.perf_counter() - start
            self.seconds[stage] += passed - self._inner.pop()  # type: ignore[assignment]
            self._inner[-1] += passed


@dataclass(frozen=True)
class Evaluator:
    """All that does not depend on the release, prepared once: `apps` and `attackers` know only raw windows.

    `clean`, `raw` and `from_useful` are predictions on raw test windows, and from the true useful labels alone. `own`
    holds the same for the user's own apps.

    `enrolment` names the test windows that attackers learn from and those that they are tested on; without it, they
    learn from training windows and are tested on all. `enrolled` holds windows of tested people from which their own
    coders learn.
    """

    train: LabelledWindows
    test: LabelledWindows
    setup: Setup
    apps: Mapping[str, TrainedModel]
    clean: Mapping[str, Predictions]
    attackers: Mapping[str, Mapping[str, TrainedModel]]
    raw: Mapping[str, Mapping[str, tuple[Predictions, Mapping[int, Predictions]]]]
    from_useful: Mapping[str, Predictions]
    own: Mapping[str, Mapping[str, tuple[TrainedModel, Predictions]]] = field(default_factory=dict)
    enrolment: Enrolment | None = None
    enrolled: LabelledWindows | None = None
    _guessed: dict[tuple[str, str], Mapping[int, Predictions]] = field(default_factory=dict, repr=False)

    @classmethod
    def prepare(
        cls,
        train: LabelledWindows,
        test: LabelledWindows,
        policy: Policy,
        *,
        setup: Setup,
        enrolment: Enrolment | None = None,
        enrolled: LabelledWindows | None = None,
    ) -> "Evaluator":
        """Train apps and attackers on raw windows."""
        useful, sensitive = policy.inferences.useful, policy.inferences.sensitive
        known, attacked = (train, test) if enrolment is None else (test[mask] for mask in enrolment)
        for name in useful:
            _check_labelled(name, train, test)
        for name in sensitive:
            _check_labelled(name, known, attacked)
        fit = partial(_fitted, setup=setup, channels=len(policy.stream.channels))
        apps = {name: fit(setup.app, labelled_rows(train, name)) for name in useful}
        clean = {name: _read(apps[name], labelled_rows(test, name)) for name in useful}
        own = {
            name: {
                app: _own_app(fit(app, labelled_rows(train, name), own=setup.own_apps), labelled_rows(test, name))
                for app in setup.apps_of(name)
            }
            for name in useful
        }
        attackers = {
            name: {
                model: fit(model, labelled_rows(known, name), own=setup.own_attackers)
                for model in setup.attackers_of(name)
            }
            for name in sensitive
        }
        raw = {
            name: {
                model: attack(each, labelled_rows(attacked, name), pools=setup.sizes) for model, each in models.items()
            }
            for name, models in attackers.items()
        }
        from_useful = {name: _from_useful(name, known, attacked, useful=useful) for name in sensitive}
        return cls(train, test, setup, apps, clean, attackers, raw, from_useful, own, enrolment, enrolled)

    def rows(self, name: str) -> tuple[LabelledRows, LabelledRows]:
        """Raw training and test windows that have a label of this inference."""
        return labelled_rows(self.train, name), labelled_rows(self.test, name)

    def predictions(self, release: FoldRelease) -> FoldPredictions:
        """Release both sides of the fold and measure apps and attackers."""
        return self.read(release(self.train), release(self.test), stopwatch=Stopwatch())

    def read(self, seen: ReleasedRows, tested: ReleasedRows, *, stopwatch: Stopwatch) -> FoldPredictions:
        """Measure apps and attackers on released windows, given those to learn from and those to test on."""
        with stopwatch("apps"):
            useful = {name: self._apps(name, seen, tested) for name in self.apps}
        with stopwatch("attackers"):
            sensitive = {name: self._attacks(name, seen, tested) for name in self.attackers}
        channels = self.test.samples.shape[2]
        error = np.abs(tested.windows - self.test.flat).reshape(-1, channels).mean(axis=0)
        return FoldPredictions(useful, sensitive, error, len(self.test))

    def _apps(self, name: str, seen: ReleasedRows, tested: ReleasedRows) -> Apps:
        learn, test = _both(name, (self.train, seen), (self.test, tested))
        app, model = self.apps[name], self.setup.app if self.setup.retrained == SAME else self.setup.retrained
        retrained = None if model is None else _read(self._fit(model, learn), test)
        held = None if tested.draws is None else test.predictions(read_draws(app, test))
        own = {
            own: Apps(clean, _read(each, test), _read(self._fit(own, learn, self.setup.own_apps), test))
            for own, (each, clean) in self.own.get(name, {}).items()
        }
        return Apps(self.clean[name], _read(app, test), retrained, held, own)

    def _attacks(self, name: str, seen: ReleasedRows, tested: ReleasedRows) -> Attacks:
        enrolled, attacked = self._attacked(seen, tested)
        learn, test = _both(name, enrolled, attacked)
        setup, raw = self.setup, self.raw[name]
        attackers = setup.attackers_of(name)
        attacks = {
            model: attack(self._fit(model, learn, setup.own_attackers), test, pools=setup.sizes) for model in attackers
        }
        if seen.code is not None and tested.code is not None:
            known = _both(name, *((side, _codes(released)) for side, released in (enrolled, attacked)))
            attacks[CODE_TABLE] = attack(self._fit(CODE_TABLE, known[0]), known[1], pools=setup.sizes)
        blind = self._blind(name, enrolled, attacked)
        whole = WholeRecordings.of(attacks, raw, blind[WHOLE]) if WHOLE in blind else None
        return Attacks(
            raw={model: window for model, (window, _) in raw.items()},
            static={model: reread(each, learn, test) for model, each in self.attackers[name].items()},
            adaptive={model: window for model, (window, _) in attacks.items()},
            pooled={size: {model: pooled[size] for model, (_, pooled) in attacks.items()} for size in setup.pools},
            pooled_raw={size: {model: pooled[size] for model, (_, pooled) in raw.items()} for size in setup.pools},
            from_useful=self.from_useful[name],
            pooled_blind={size: each for size, each in blind.items() if size != WHOLE},
            whole=whole,
        )

    def _blind(self, name: str, enrolled: Side, attacked: Side) -> Mapping[int, Predictions]:
        """Accuracy of guessers who know only the true useful labels of several draws."""
        sides = [
            (side, np.arange(len(side)) if seen.draws is None else seen.draws) for side, seen in (enrolled, attacked)
        ]
        told = KnownLabels.of([side for side, _ in sides], [draws for _, draws in sides], [*self.apps], name)
        cut = name, str(joblib.hash(told))
        if cut not in self._guessed:
            guesses = {size: blind(*told, size=size, seed=self.setup.seed) for size in self.setup.sizes}
            self._guessed[cut] = {size: Predictions.of(*each).either_way() for size, each in guesses.items()}
        return self._guessed[cut]

    def _attacked(self, seen: ReleasedRows, tested: ReleasedRows) -> tuple[Side, Side]:
        """The attackers' training and test windows."""
        if self.enrolment is None:
            return (self.train, seen), (self.test, tested)
        early, late = ((self.test[mask], tested.only(mask)) for mask in self.enrolment)
        return early, late

    def _fit(self, model: str, rows: LabelledRows, own: OwnModels = NONE_OWN) -> TrainedModel:
        return _fitted(model, rows, setup=self.setup, channels=self.train.samples.shape[2], own=own)


def _fitted(model: str, rows: LabelledRows, *, setup: Setup, channels: int, own: OwnModels = NONE_OWN) -> TrainedModel:
    """Fit a model by name: one of the user's own, or a built-in one."""
    if model in own:
        return own[model].fit(rows.rows, rows.labels)
    fitted = fit_model(model, rows.rows, rows.labels, seed=setup.seed, channels=channels)
    return replace(fitted, values=fitted.classes.astype(np.float64)) if rows.numeric else fitted


def labelled_rows(side: LabelledWindows, name: str) -> LabelledRows:
    """The raw windows that have a label of this inference."""
    labelled = side[side.labelled(name)]
    facts: Any = {"person": labelled.group, "numeric": name in side.numeric}
    return LabelledRows(labelled.flat, labelled.labels[name], labelled.recording, **facts)


def _both(name: str, learn: Side, test: Side) -> tuple[LabelledRows, LabelledRows]:
    """Released training and test windows with labels of an inference."""
    seen = [(labelled_rows(side, name), released.only(side.labelled(name))) for side, released in (learn, test)]
    first, second = (rows.with_rows(released.windows, released.draws) for rows, released in seen)
    return first, second


def _codes(released: ReleasedRows) -> ReleasedRows:
    """The code behind each window, in place of the released window."""
    assert released.code is not None
    return released._replace(windows=released.code[:, None].astype(float))


def _own_app(app: TrainedModel, test: LabelledRows) -> tuple[TrainedModel, Predictions]:
    return app, _read(app, test)


def _read(app: TrainedModel, test: LabelledRows) -> Predictions:
    return test.predictions(app.predict(test.rows))


def _from_useful(name: str, train: LabelledWindows, test: LabelledWindows, *, useful: tuple[str, ...]) -> Predictions:
    train, test = (side[side.labelled(name)] for side in (train, test))
    guess = guess_from_useful(train.targets(useful), train.labels[name], test_useful=test.targets(useful))
    return labelled_rows(test, name).predictions(guess)


def _check_labelled(name: str, train: LabelledWindows, test: LabelledWindows) -> None:
    for side, what in ((train, "to train on"), (test, "to test on")):
        if not side.labelled(name).any():
            raise TableError(f"no window {what} has a label '{name}'; give longer recordings or more of them")
    known = [{label for label in side.labels[name] if label is not None} for side in (train, test)]
    if not known[0] & known[1]:
        raise TableError(
            f"no class of '{name}' is on both sides of the split; split in another way, or measure new people, whose "
            "earlier windows attackers have seen, with ",
            Argument("strangers", Placeholder("COLUMN")),
        )
