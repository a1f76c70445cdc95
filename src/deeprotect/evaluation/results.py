"""What an experiment found, in the shape of `results.json`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from deeprotect.attack.intervals import Interval
from deeprotect.evaluation.methods import line_name

SCHEMA = 1
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
    retrained: float
    limit: float | None
    chance: float
    confusion: Confusion | None = None  # of the unchanged app on released windows
    held: float | None = None
    by_person: Sequence[float] = ()
    people_ci: Interval | None = None


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

    @property
    def epsilon_per_hour(self) -> float | None:
        """Of any two streams, where ε or the ceiling beside it bounds that: draws add up."""
        epsilon = self.epsilon if self.guarantee == "ldp" else self.ldp_ceiling
        return None if epsilon is None or self.seconds_per_draw is None else epsilon * 3600 / self.seconds_per_draw

    @property
    def line(self) -> str:
        return line_name(self.mechanism, self.guarantee, self.minimiser)


@dataclass(frozen=True)
class NoiseRow:
    """How much a mechanism disturbs one window, in L1.

    `code_error` is E‖noise‖₁ of the code by formula, `code_spread` how far codes lie from their mean: only their
    ratio compares codes of different scale. `window_error` and `window_spread` are the same, measured in released
    windows of samples scaled to [0, 1]; `minimiser_error` is what is lost there without any noise.
    """

    mechanism: str
    guarantee: str
    epsilon: float
    minimiser: str
    dimensions: int
    code_error: float
    code_spread: float
    window_error: float
    window_spread: float
    minimiser_error: float


@dataclass(frozen=True)
class FeatureRow:
    """How well few features serve one useful inference: ridge accuracy, and I(f; y) / H(y) of the features."""

    minimiser: str
    features: int
    accuracy: float
    accuracy_ci: Interval
    informativeness_mean: float
    informativeness_max: float


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
    noise: Sequence[NoiseRow] = ()
    minimisers: Sequence[FeatureRow] = ()
    form: Sequence[FormCheck] = ()
    holds: Sequence[Row] = ()  # the policy's own promise, each with draws that are held longer
    strangers: Mapping[str, Row] = field(default_factory=dict)  # the same on people met before, and on others
    left_out: Sequence[str] = ()
    run: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        content = {
            "schema": SCHEMA,
            "results": [asdict(row) for row in self.rows],
            "noise": [asdict(row) for row in self.noise],
            "minimisers": [asdict(row) for row in self.minimisers],
            "holds": [asdict(row) | {"epsilon_per_hour": row.epsilon_per_hour} for row in self.holds],
            "strangers": {name: asdict(row) for name, row in self.strangers.items()},
            "form": [asdict(check) for check in self.form],
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
