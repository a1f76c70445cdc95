"""What an experiment found, in the shape of `results.json`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from deeprotect.evaluation.intervals import Interval

SCHEMA = 1
DIGITS = 4


@dataclass(frozen=True)
class Useful:
    """Accuracies of one useful inference: the unchanged app before and after, the app retrained on released windows."""

    clean: float
    app: float
    app_ci: Interval
    retrained: float
    limit: float | None
    chance: float


@dataclass(frozen=True)
class Sensitive:
    """Accuracies of attackers on one sensitive inference; `limit` is None where ε bounds nothing."""

    raw: float
    static: float
    adaptive: float
    adaptive_ci: Interval
    best_attacker: str
    pooled: Mapping[int, float]
    chance: float
    from_useful: float
    limit: float | None


@dataclass(frozen=True)
class Row:
    """One mechanism at one ε per window; `promise` says in a sentence what that ε is worth."""

    mechanism: str
    guarantee: str
    epsilon: float
    minimiser: str
    useful: Mapping[str, Useful]
    sensitive: Mapping[str, Sensitive]
    promise: str


@dataclass(frozen=True)
class Reference:
    """A release without any promise, to hold the rows against."""

    name: str
    useful: Mapping[str, Useful]
    sensitive: Mapping[str, Sensitive]


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
class Results:
    """Rows, and what is needed to get them again (`run`: command, versions, seed, data fingerprint)."""

    rows: Sequence[Row]
    references: Sequence[Reference] = ()
    noise: Sequence[NoiseRow] = ()
    minimisers: Sequence[FeatureRow] = ()
    run: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        content = {
            "schema": SCHEMA,
            "results": [asdict(row) for row in self.rows],
            "references": [asdict(row) for row in self.references],
            "noise": [asdict(row) for row in self.noise],
            "minimisers": [asdict(row) for row in self.minimisers],
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
