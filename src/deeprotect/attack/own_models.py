"""The user's own models: scikit-learn estimators on windows in the policy's units, flattened.

A row is a window, index = time * channels + channel, as in `deeprotect.windows`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from inspect import isclass, isfunction
from typing import Any

import cloudpickle
import numpy as np
from sklearn.base import clone

from deeprotect.attack.models import TrainedModel
from deeprotect.attack.predictions import Texts
from deeprotect.errors import DeeprotectError, InputError, printable, quoted_all
from deeprotect.signals import Schema
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows, Labels
from deeprotect.training.trainer import single_thread

TRIED = 100
"""Number of windows on which scores must lead to the same guesses as `predict`."""
ANOTHER = "another"
"""Placeholder for predictions that were not a training label."""


class Carried:
    """Can be sent to other processes, including classes defined in a notebook or a script."""

    def __reduce__(self) -> Any:
        return _restored, (type(self), cloudpickle.dumps(vars(self)))


def _restored(kind: type, content: bytes) -> Any:
    made: Any = object.__new__(kind)
    vars(made).update(cloudpickle.loads(content))
    return made


@dataclass(frozen=True, eq=False)
class OwnModel(Carried):
    """The user's estimator; each fit uses a clone, except inside a `FrozenEstimator`."""

    what: str  # in messages: "app 'mine'"
    name: str
    estimator: Any
    schema: Schema
    inferences: tuple[str, ...]  # that it predicts

    def fit(self, windows: Floats, labels: Labels) -> "TrainedOwnModel":
        """Fit to flat scaled windows, like built-in models."""
        texts = labels.astype(str)
        with running(self.what), single_thread():
            estimator = _clone(self.estimator)
            estimator.fit(in_units(windows, self.schema), texts)
            classes = np.asarray(getattr(estimator, "classes_", np.unique(texts))).astype(str)
            reads = _reads(estimator, in_units(windows[:TRIED], self.schema), classes)
        if reads == "predict":
            classes = np.append(classes, ANOTHER)
        counts = np.maximum(1, [(texts == each).sum() for each in classes])
        told: Any = {"schema": self.schema, "reads": reads, "what": self.what}
        return TrainedOwnModel(self.name, classes, estimator, np.log(counts / counts.sum()), **told)


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainedOwnModel(Carried, TrainedModel):
    """A fitted own model; `reads` is the method that produces its scores."""

    schema: Schema
    reads: str
    what: str

    @property
    def probabilistic(self) -> bool:
        return self.reads == "predict_proba"

    def scores(self, windows: Floats) -> Floats:
        rows = in_units(windows, self.schema)
        with running(self.what), single_thread():
            found = np.asarray(getattr(self.estimator, self.reads)(rows))
        if self.reads == "predict":
            guess = found.astype(str)
            known = guess[:, None] == self.classes[None]
            known[:, -1] |= ~known.any(axis=1)
            return np.asarray(known, dtype=np.float64)
        if self.reads == "predict_proba":
            return self._log_posteriors(found)
        scores = found.astype(np.float64)
        return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores


@dataclass(frozen=True, eq=False)
class OwnMethod(Carried):
    """The user's own transformer, whose output is released; it has no known guarantee."""

    name: str
    transformer: Any
    schema: Schema

    def fit(self, train: LabelledWindows, useful: Sequence[str], *, seed: int) -> Callable[[Floats], Floats]:
        """Fit to the training windows that have all useful labels, and return a release of flat scaled windows."""
        what, known = f"method '{self.name}'", np.logical_and.reduce([train.labelled(name) for name in useful])
        labels = train.targets(useful)[known].astype(str)
        with running(what), single_thread():
            transformer = _clone(self.transformer)
            if "random_state" in getattr(transformer, "get_params", dict)():
                transformer.set_params(random_state=seed)
            transformer.fit(in_units(train.flat[known], self.schema), labels[:, 0] if len(useful) == 1 else labels)

        def release(windows: Floats) -> Floats:
            rows = in_units(windows, self.schema)
            with running(what), single_thread():
                found = np.asarray(transformer.transform(rows), dtype=np.float64)
            if found.shape != rows.shape or not np.isfinite(found).all():
                raise InputError(f"{what} must give back as many finite numbers as it takes, {rows.shape[1]} a window")
            return self.schema.scale(_shaped(found, self.schema)).reshape(rows.shape)

        return release


def in_units(windows: Floats, schema: Schema) -> Floats:
    """Flat scaled windows in the units that an app sees, still flat."""
    return schema.unscale(_shaped(windows, schema)).reshape(windows.shape)


def _shaped(rows: Floats, schema: Schema) -> Floats:
    return rows.reshape(len(rows), schema.window, len(schema.channels))


def own_models(
    given: Mapping[str, Any], kind: str, *, windows: LabelledWindows, schema: Schema, inferences: Sequence[str]
) -> dict[str, OwnModel]:
    """Own models by name; one that is already fitted is tested on inferences that share a class with it."""
    return {
        name: OwnModel(f"{kind} '{name}'", name, estimator, schema, _known(kind, name, estimator, windows, inferences))
        for name, estimator in given.items()
    }


def own_methods(given: Mapping[str, Any], schema: Schema) -> dict[str, OwnMethod]:
    return {name: OwnMethod(name, each, schema) for name, each in given.items()}


def _known(
    kind: str, name: str, estimator: Any, windows: LabelledWindows, inferences: Sequence[str]
) -> tuple[str, ...]:
    if type(estimator).__name__ != "FrozenEstimator" or not hasattr(estimator, "classes_"):
        return tuple(inferences)
    classes = {*np.asarray(estimator.classes_).astype(str).tolist()}
    known = tuple(each for each in inferences if classes & {*windows.classes(each)})
    if not known:
        raise InputError(f"{kind} '{name}' knows no class of {quoted_all(inferences)}; fit it on this policy's labels")
    return known


NEEDS = {"app": ("fit", "predict"), "attacker": ("fit", "predict"), "method": ("fit", "transform")}


def loaded(given: Mapping[str, Any] | Sequence[str] | str, kind: str) -> dict[str, Any]:
    """Estimators by name; a text such as `apps:forest` names the object `forest` in the module `apps`."""
    several = [given] if isinstance(given, str) else given
    pairs = several.items() if isinstance(several, Mapping) else [(each.partition(":")[2], each) for each in several]
    found: dict[str, Any] = {}
    needs = NEEDS[kind]
    for name, each in pairs:
        if name in found:
            raise InputError(f"--{kind} {printable(name)}: that name is there already; choose another")
        found[name] = _imported(each, kind) if isinstance(each, str) else each
        lacks = [method for method in needs if not hasattr(found[name], method)]
        if lacks or isclass(found[name]):
            raise InputError(
                f"--{kind} {printable(name)}: give an object with {' and '.join(needs)}, such as a scikit-learn "
                f"estimator, not {type(found[name]).__name__}"
            )
    return found


def _imported(text: str, kind: str) -> Any:
    """Import the object; a class or a function is called without arguments."""
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise InputError(f"--{kind} {printable(text)}: write MODULE:OBJECT, for example --{kind} apps:forest")
    with running(f"--{kind} {printable(text)}"):
        try:
            found = getattr(import_module(module), name)
        except (ModuleNotFoundError, AttributeError):
            raise InputError(
                f"--{kind} {printable(text)}: there is no such object; modules are looked for in this folder and in "
                "PYTHONPATH"
            ) from None
        return found() if isclass(found) or isfunction(found) else found


def _clone(estimator: Any) -> Any:
    """An unfitted clone, or a copy if it is not a scikit-learn estimator."""
    return clone(estimator, safe=False)


def _reads(estimator: Any, rows: Floats, classes: Texts) -> str:
    """The method to use: probabilities if possible, then scores of classes (not pairs of them), then predictions."""
    if hasattr(estimator, "predict_proba"):
        return "predict_proba"
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(rows))
        scores = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
        if scores.shape[1] == len(classes):
            guesses = np.asarray(estimator.predict(rows)).astype(str)
            if (classes[scores.argmax(axis=1)] == guesses).all():
                return "decision_function"
    return "predict"


@contextmanager
def running(what: str) -> Iterator[None]:
    """Run the user's code; a failure names it, without the exception's message, which may quote a cell."""
    try:
        yield
    except DeeprotectError:
        raise
    except Exception as failure:
        raise InputError(
            f"{what} failed with {type(failure).__name__}; try it alone on X and y of deeprotect.windows(table, policy)"
        ) from failure
