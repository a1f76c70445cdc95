"""From a policy and a table to a bundle: read, learn, measure, export."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from deeprotect.bundle import Bundle
from deeprotect.bundle.manifest import TrainingRecord
from deeprotect.errors import TableError
from deeprotect.policy import Policy
from deeprotect.training.fitting.builders import build
from deeprotect.training.fitting.fitted_models import HELD_OUT, FittedModels
from deeprotect.training.fitting.measure import measure
from deeprotect.training.fitting.select import select
from deeprotect.training.fitting.trained import TrainedProtector
from deeprotect.training.labelled_windows import LabelledWindows, read_windows
from deeprotect.training.misclassification import check_costs
from deeprotect.training.splits import measurable
from deeprotect.training.threads import single_thread

Progress = Callable[[float], None]
READ, CODED, LEARNT = 0.02, 0.86, 0.95
"""Shares of the time: until the table is read, for the code book, and until all is learnt."""


def fit(
    policy: Policy,
    table: Any,
    *,
    mapped: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    progress: Progress = lambda _: None,
) -> Bundle:
    """Learn a protector; the last part of each recording only measures it."""
    windows = read_windows(table, policy, mapped=mapped, columns=columns)
    _check_classes(windows, policy)
    train, test = measurable(windows, held_out=HELD_OUT, seed=policy.training.seed, hold=policy.kept_together)
    progress(READ)
    models = FittedModels(windows[train], policy.kept_together, progress=lambda share: progress(READ + CODED * share))
    protection = learn(models, policy)
    progress(LEARNT)
    results = measure(protection, windows[train], windows[test], policy)
    bundle = export(protection, policy, windows=windows, results=[results])
    progress(1.0)
    return bundle


def learn(models: FittedModels, policy: Policy) -> TrainedProtector:
    """The policy's protector, from models that the next policy on these windows can use again."""
    check_costs(models.windows, policy)
    with single_thread():
        if policy.privacy.slots is not None:
            return build("channel", models, policy)  # nothing else releases scripts
        if policy.privacy.mechanism == "auto":
            return select(models, policy)
        return build(policy.privacy.mechanism, models, policy)


def export(
    protection: TrainedProtector, policy: Policy, *, windows: LabelledWindows, results: list[dict[str, Any]]
) -> Bundle:
    """The protection as a bundle, with what was learnt from and what was measured."""
    return Bundle.make(
        policy,
        protection.mechanism,
        encoder=protection.encoder,
        decoder=protection.decoder,
        minimiser=protection.made_of,
        training=_training(windows, policy),
        results=results,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        made_with={name: version(name) for name in ("torch", "scikit-learn", "numpy")},
    )


def _training(windows: LabelledWindows, policy: Policy) -> TrainingRecord:
    names = (*policy.inferences.useful, *policy.inferences.sensitive)
    classes = {name: windows.classes(name) for name in names}
    return TrainingRecord(
        fingerprint=windows.fingerprint,
        rows=windows.rows,
        windows=len(windows),
        recordings=len(set(windows.recording.tolist())),
        classes=classes,
    )


def _check_classes(windows: LabelledWindows, policy: Policy) -> None:
    for name in (*policy.inferences.useful, *policy.inferences.sensitive):
        classes = {label for label in windows.labels[name] if label is not None}
        if len(classes) < 2:
            known = f"only '{next(iter(classes))}'" if classes else "no label"
            raise TableError(
                f"column '{name}' has {known} over {len(windows)} windows; an inference needs at least two classes"
            )
