"""Coders, and scores of windows that they did not learn from: over folds, or on calibration recordings."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from deeprotect.bundle.network import Network
from deeprotect.policy import Policy
from deeprotect.signals import Hold
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.coder_training import SCHEDULE, CoderData, fit_coder
from deeprotect.training.codebook.rotation import Rotation
from deeprotect.training.export import COARSE, to_network
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.labels import Targets
from deeprotect.training.splits import ONE_WINDOW, Mask, folds
from deeprotect.training.trainer import Progress, Schedule

FOLDS = 4


def cross_fit(
    windows: LabelledWindows,
    targets: Targets,
    policy: Policy,
    *,
    hold: Hold = ONE_WINDOW,
    progress: Progress = lambda _: None,
) -> tuple[Network, Floats]:
    """The coder learnt from all labelled windows, and each window's scores by one that learnt from other folds; both
    in the whole numbers of a release.

    All windows of an episode are scored by one coder, which learnt from none of them.
    """
    data, seed = CoderData.of(windows, targets), policy.training.seed
    parts = folds(windows, count=FOLDS, seed=seed, hold=hold)
    fit = _fitting(data, policy)
    coder = fit(data.labelled, seed=seed, progress=_part(progress, 0))
    scores = np.empty((len(windows), sum(targets.counts)))
    for place, (train, test) in enumerate(parts, start=1):
        other = fit(train & data.labelled, seed=seed + place, progress=_part(progress, place))
        scores[test] = other(windows.flat[test])
    return coder, scores


def fit_apart(
    windows: LabelledWindows,
    targets: Targets,
    policy: Policy,
    *,
    calibrating: Mask,
    progress: Progress = lambda _: None,
) -> tuple[Network, Floats]:
    """A coder that learnt from other recordings than the calibrating ones, and its scores of the windows of those."""
    data = CoderData.of(windows, targets)
    coder = _fitting(data, policy)(data.labelled & ~calibrating, seed=policy.training.seed, progress=progress)
    return coder, coder(windows.flat[calibrating])


def _fitting(data: CoderData, policy: Policy) -> Callable[..., Network]:
    channels, rotation = len(policy.stream.channels), Rotation.of(policy)
    return partial(_fitted, data, channels=channels, rotation=rotation, schedule=_schedule(policy))


def _fitted(data: CoderData, chosen: Mask, **options: Any) -> Network:
    """A coder of the chosen windows, as it would be shipped."""
    return to_network(fit_coder(data, chosen, **options), data.windows.numpy()[chosen], COARSE)


def _schedule(policy: Policy) -> Schedule:
    return replace(SCHEDULE, max_epochs=min(policy.training.max_epochs or SCHEDULE.max_epochs, SCHEDULE.max_epochs))


def _part(progress: Progress, place: int) -> Progress:
    """Progress of one of the fits, as a share of all."""
    return lambda share: progress((place + share) / (1 + FOLDS))
