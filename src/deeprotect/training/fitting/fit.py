"""From a policy and a table to a bundle: read, learn, measure, export; and enrolment of a new person."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from deeprotect.bundle import Bundle
from deeprotect.bundle.kept import Kept
from deeprotect.bundle.layers.rounding import Argmax
from deeprotect.bundle.manifest import ENROLLED, TrainingRecord
from deeprotect.errors import BundleError, TableError, quoted_all
from deeprotect.policy import Policy
from deeprotect.training.codebook.codebook import check_costs
from deeprotect.training.codebook.personal_head import personal
from deeprotect.training.fitting.builders import build, select
from deeprotect.training.fitting.fitted_models import HELD_OUT, FittedModels
from deeprotect.training.fitting.kept_aside import count, for_new_people, kept_aside
from deeprotect.training.fitting.trained import TrainedProtector, measure
from deeprotect.training.labelled_windows import MISSING, Indices, LabelledWindows, read_windows
from deeprotect.training.splits import measurable
from deeprotect.training.trainer import single_thread

Progress = Callable[[float], None]
READ, CODED, LEARNT = 0.02, 0.86, 0.95
"""Progress shares: once the table is read, for the code book, and once training ends."""


def fit(
    policy: Policy,
    table: Any,
    *,
    mapped: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    progress: Progress = lambda _: None,
) -> Bundle:
    """Learn a protector; the last part of each recording is only for measuring, and whole ones only for counting
    misreadings.

    Attackers do best on recordings whose beginning they have seen; the coder errs most on entirely unseen recordings.
    """
    every = read_windows(table, policy, mapped=mapped, columns=columns, tails=True)
    _check_classes(every[every.worth_keeping], policy)
    kept = kept_aside(every, policy)
    windows = every[every.worth_keeping & ~kept]
    train, test = measurable(windows, held_out=HELD_OUT, seed=policy.training.seed, hold=policy.kept_together)
    progress(READ)
    models = FittedModels(windows[train], policy.kept_together, progress=lambda share: progress(READ + CODED * share))
    protection = learn(models, policy)
    progress(LEARNT)
    unseen = every[kept & every.worth_keeping] if kept.any() and for_new_people(policy) else None
    results = measure(protection, windows[train], windows[test], policy, unseen=unseen)
    counted = count(protection, every[kept], windows[train], policy)
    bundle = export(protection, policy, windows=every[every.worth_keeping], results=[results], kept=counted)
    progress(1.0)
    return bundle


def learn(models: FittedModels, policy: Policy) -> TrainedProtector:
    """Build the policy's protector from models that the next policy on these windows can reuse."""
    check_costs(models.windows, policy)
    with single_thread():
        if policy.privacy.slots is not None or policy.erased:
            return build("channel", models, policy)  # the only mechanism for scripts and for erased directions
        if policy.privacy.mechanism == "auto":
            return select(models, policy)
        return build(policy.privacy.mechanism, models, policy)


def export(
    protection: TrainedProtector,
    policy: Policy,
    *,
    windows: LabelledWindows,
    results: list[dict[str, Any]],
    kept: Kept | None = None,
) -> Bundle:
    """Make a bundle of the protector, the training record and the measurements."""
    return Bundle.make(
        policy,
        protection.mechanism,
        encoder=protection.encoder,
        decoder=protection.decoder,
        feature_extractor=protection.made_of,
        training=_training(windows, policy),
        results=results,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        made_with={name: version(name) for name in ("torch", "scikit-learn", "numpy")},
        kept=kept,
    )


def _training(windows: LabelledWindows, policy: Policy) -> TrainingRecord:
    classes = {name: windows.classes(name) for name in policy.inferences.useful}
    classes |= {name: windows.numbers(name) for name in policy.inferences.sensitive}
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


def enrol(
    bundle: Bundle, table: Any, *, mapped: Mapping[str, str] | None = None, columns: Sequence[str] | None = None
) -> Bundle:
    """Adapt a bundle to a new person with seconds of their labelled data; drop measurements, which are of others.

    The proof of LDP does not depend on the encoder, so the mechanism, and with it the certificate, stays the same.
    docs/claims.md#enrolment
    """
    useful, manifest = bundle.policy.inferences.useful, bundle.manifest
    classes = {name: manifest.training.classes.get(name, []) for name in useful}
    _check_promise(bundle)
    _check_head(bundle, classes)
    asked = bundle.policy.vary(inferences={"sensitive": []}, training={"people": None})
    windows = read_windows(table, asked, mapped=mapped, columns=columns)
    codes = np.stack([_numbered(windows, *each) for each in classes.items()], axis=1)
    return Bundle.make(
        bundle.policy,
        bundle.mechanism,
        encoder=personal(bundle.encoder, windows.flat, codes),
        decoder=bundle.decoder,
        feature_extractor={
            **manifest.feature_extractor.unmeasured,
            ENROLLED: int((codes != MISSING).any(axis=1).sum()),
        },
        training=manifest.training,
        results=[],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        made_with={name: made for name, made in manifest.made_with.items() if name != "deeprotect"},
    )


def _check_promise(bundle: Bundle) -> None:
    """Refuse guarantees whose proof depends on the encoder."""
    if bundle.mechanism.event.guarantee != "ldp":
        raise BundleError(
            f"the bundle's promise is {bundle.mechanism.event.guarantee}; enrol keeps ε-LDP only: train with "
            'guarantee = "ldp"'
        )


def _check_head(bundle: Bundle, classes: Mapping[str, Sequence[str]]) -> None:
    """The head must distinguish the useful classes, and nothing else."""
    last = bundle.encoder.layers[-1] if bundle.encoder.layers else None
    if not isinstance(last, Argmax) or last.classes != tuple(map(len, classes.values())):
        raise BundleError(
            f"the bundle's coder does not tell {quoted_all([*classes])} apart class by class, so it has no head to "
            'learn; enrol with a bundle of mechanism "channel"'
        )


def _numbered(windows: LabelledWindows, name: str, classes: Sequence[str]) -> Indices:
    """Number each window's class; a class that training never saw has no score to adapt."""
    strange = sorted({*windows.classes(name)} - {*classes})
    if strange:
        raise TableError(f"'{strange[0]}' of '{name}' is not a class of the bundle; it knows: {', '.join(classes)}")
    return windows.codes(name, classes)
