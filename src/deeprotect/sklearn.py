"""A protector as a scikit-learn transformer: raw windows in, released ones out; needs the `train` extra."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from deeprotect.api import Protector
from deeprotect.errors import InputError, quoted_all
from deeprotect.policy import Policy
from deeprotect.release.ledger import Ledger
from deeprotect.training.fitting.fit import export, learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.labelled_windows import LabelledWindows, Labels

Floats = NDArray[np.float64]
MOST_NAMED = 5


class WindowProtector(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Rows are windows in units, flattened (index = time * channels + channel); y holds the labels.

    policy: a policy, its path or a dictionary; without one, a row is one channel with a public range of 0 to 1, and y
    is the useful label. The columns of y are the policy's useful inferences, so that an app behind it learns from the
    same y; those of `sensitive`, an argument of fit, are its sensitive ones.
    epsilon, mechanism, feature_extractor, max_epochs: replace the policy's, so that a search can vary them.
    ledger, stream, person, app: as for `Protector.protect`.

    Every transform makes fresh draws, each at cost ε; if the policy holds draws, rows must be consecutive in time.

    Examples:
        >>> import numpy as np
        >>> from deeprotect.sklearn import WindowProtector
        >>> windows = np.random.default_rng(0).random((80, 6))
        >>> labels = np.where(windows.mean(axis=1) > 0.5, "walk", "rest")
        >>> step = WindowProtector(mechanism="laplace", feature_extractor="pca", random_state=0).fit(windows, labels)
        >>> step.transform(windows).shape
        (80, 6)
        >>> step.protector_
        <Protector for “label”; sensitive: everything else; laplace, ε = 5 ldp per window>
    """

    def __init__(
        self,
        policy: Policy | str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        epsilon: float | None = None,
        mechanism: str | None = None,
        feature_extractor: str | None = None,
        max_epochs: int | None = None,
        random_state: Any = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        stream: str | None = None,
        person: str | None = None,
        app: str | None = None,
    ) -> None:
        self.policy = policy
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.feature_extractor = feature_extractor
        self.max_epochs = max_epochs
        self.random_state = random_state
        self.ledger = ledger
        self.stream = stream
        self.person = person
        self.app = app

    def fit(self, X: Any, y: Any, sensitive: Any = None) -> Self:
        """Learn from windows (row, value); y and `sensitive` are (row,) or (row, inference), None if missing.

        In a pipeline: `fit(X, y, windowprotector__sensitive=people)`, or by metadata routing after
        `set_fit_request(sensitive=True)`, which cross-validation and searches split like y.
        """
        _check_numbers(X)
        rows: Floats = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if y is None:
            raise ValueError("WindowProtector requires y to be passed, but the target y is None")
        check_consistent_length(rows, y, sensitive)
        with _scikit_learn_errors():
            policy = self._policy(rows.shape[1])
            inferences = policy.inferences
            labels = _labels(y, inferences.useful, "y") | _labels(sensitive, inferences.sensitive, "sensitive")
            windows = _windows(rows, labels, policy)
            models = FittedModels(windows, policy.kept_together)
            bundle = export(learn(models, policy), policy, windows=windows, results=[])
        self.protector_ = Protector(bundle)
        return self

    def transform(self, X: Any) -> Floats:
        """Release windows (row, value) with fresh draws, independent of earlier releases."""
        check_is_fitted(self)
        _check_numbers(X)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        schema = self.protector_.bundle.schema
        book: Any = {"ledger": self.ledger, "stream": self.stream, "person": self.person, "app": self.app}
        with _scikit_learn_errors():
            release = self.protector_.protect(rows.reshape(len(rows), schema.window, -1), **book)
        return np.asarray(release.table.reshape(rows.shape))

    def _policy(self, values: int) -> Policy:
        keys = ("epsilon", "mechanism", "feature_extractor", "max_epochs")
        changed = {key: value for key in keys if (value := getattr(self, key)) is not None}
        if self.random_state is not None or self.policy is None:
            changed["seed"] = int(check_random_state(self.random_state).randint(2**31 - 1))
        policy = Policy.of(_one_channel(values) if self.policy is None else self.policy, **changed)
        if policy.stream.dim != values:
            raise ValueError(f"X has {values} features, but the policy's windows have {policy.stream.dim} values")
        return policy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # noise comes from the operating system, whatever the seed
        tags.target_tags.required = True
        return tags


def _check_numbers(X: Any) -> None:
    """Refuse text columns first: scikit-learn's message would contain a cell."""
    text = [str(name) for name, kind in getattr(X, "dtypes", {}).items() if kind.kind not in "iufb"]
    if text:
        raise ValueError(
            f"X has columns that are not numbers: {quoted_all(text[:MOST_NAMED])}; give windows, one a row, with "
            "index = time * channels + channel; Protector.protect takes tables of rows"
        )


@contextmanager
def _scikit_learn_errors() -> Iterator[None]:
    """Raise scikit-learn's usual types for wrong input."""
    try:
        yield
    except InputError as error:
        raise ValueError(str(error)) from None


def _one_channel(values: int) -> dict[str, Any]:
    return {
        "stream": {"rate_hz": 1.0, "window": values, "channels": {"value": {"unit": "1", "range": [0.0, 1.0]}}},
        "inferences": {"useful": ["label"]},
        "privacy": {"epsilon": 5.0},
    }


def _labels(given: Any, names: Sequence[str], what: str) -> dict[str, Labels]:
    columns = np.asarray([] if given is None else given, dtype=object)
    columns = columns.reshape(len(columns), -1 if columns.size else 0)
    if columns.shape[1] != len(names):
        way = "; use fit(X, y, sensitive=labels)" if what == "sensitive" and not columns.size else ""
        named = f"the policy names {len(names)}: {', '.join(names)}"
        raise ValueError(f"{what} has {columns.shape[1]} columns; {named}{way}")
    if not names:
        return {}
    missing = columns != columns
    texts = np.array([[None if each is None else str(each) for each in row] for row in columns], dtype=object)
    texts[missing.astype(bool)] = None
    return {name: texts[:, place] for place, name in enumerate(names)}


def _windows(rows: Floats, labels: dict[str, Labels], policy: Policy) -> LabelledWindows:
    """Rows, in order, as windows of one recording."""
    schema, places = policy.schema(), np.arange(len(rows))
    samples = schema.scale(rows.reshape(len(rows), schema.window, -1))
    return LabelledWindows(
        samples,
        labels,
        np.zeros(len(rows), dtype=np.int64),
        rows=rows.size // len(schema.channels),
        fingerprint=hashlib.sha256(samples.tobytes()).hexdigest(),
        place=places,
        position=places,
    )
