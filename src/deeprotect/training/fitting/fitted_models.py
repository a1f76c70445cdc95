"""Models that do not depend on ε, each trained once for all policies on the same windows."""

from dataclasses import dataclass, field

from deeprotect.policy import Policy
from deeprotect.signals import Hold
from deeprotect.training.codebook.codebook import LearntCodes, learn_codes
from deeprotect.training.feature_extractors.autoencoder import Autoencoder
from deeprotect.training.feature_extractors.feature_extractor import PCA, FeatureExtractor
from deeprotect.training.feature_extractors.paper_autoencoder import PaperAutoencoder
from deeprotect.training.fitting.trained import Apps, fit_apps
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.splits import Mask, measurable
from deeprotect.training.trainer import Progress

STEPS, STEPS_PER_EPOCH = 3000, 50
"""Steps per epoch of the paper's autoencoder, which has no epochs, if a policy limits epochs."""
HELD_OUT = 0.2


def _ignore(_: float) -> None:
    """A named function, because models are sent to other processes."""


@dataclass(frozen=True)
class FittedModels:
    """Models of one set of windows, for policies that differ only in privacy and feature extractor.

    `longest` is the longest hold among these policies. `progress` is called during the longest task, training the
    coders behind a code book.
    """

    windows: LabelledWindows
    longest: Hold = field(default_factory=Hold)
    progress: Progress = field(default=_ignore, repr=False)
    _feature_extractors: dict[str, FeatureExtractor] = field(default_factory=dict, repr=False)
    _codes: dict[tuple[str, ...], LearntCodes] = field(default_factory=dict, repr=False)
    _validation: list["Validation"] = field(default_factory=list, repr=False)

    def feature_extractor(self, policy: Policy) -> FeatureExtractor:
        """The policy's feature extractor, trained on the useful inferences only."""
        name = policy.training.feature_extractor
        if name not in self._feature_extractors:
            useful = self.windows.targets(policy.inferences.useful)
            self._feature_extractors[name] = untrained(policy).fit(self.windows.flat, useful)
        return self._feature_extractors[name]

    def codes(self, policy: Policy) -> LearntCodes:
        """Coder and synthetic windows for code books; a separate set if directions are erased."""
        if policy.erased not in self._codes:
            learnt = learn_codes(self.windows, policy, hold=self.longest, progress=self.progress)
            self._codes[policy.erased] = learnt
        return self._codes[policy.erased]

    def validation(self, policy: Policy) -> "Validation":
        """Models of most of the windows, and the rest for measuring them."""
        if not self._validation:
            fit, rest = measurable(self.windows, held_out=HELD_OUT, seed=policy.training.seed, hold=self.longest)
            models = FittedModels(self.windows[fit], self.longest)
            self._validation.append(Validation(models, self.windows[rest], rest, fit_apps(models.windows, policy)))
        return self._validation[0]


@dataclass(frozen=True)
class Validation:
    """Data for choosing between mechanisms: no window is on both sides; `apps` know raw windows of the models' side."""

    models: FittedModels
    held_out: LabelledWindows
    rows: Mask
    apps: Apps


def untrained(policy: Policy) -> FeatureExtractor:
    """The policy's feature extractor, untrained."""
    training = policy.training
    model: FeatureExtractor = Autoencoder(training.features)
    if training.feature_extractor == "paper":
        model = PaperAutoencoder(training.features, max_iter=paper_steps(training.max_epochs))
    elif training.feature_extractor == "pca":
        model = PCA(training.features)
    wanted = {"random_state": training.seed, "loss": training.loss, "max_epochs": training.max_epochs}
    known = {key: value for key, value in wanted.items() if key in model.get_params() and value is not None}
    model.set_params(**known)
    return model


def paper_steps(epochs: int | None) -> int:
    """Number of full-batch gradient steps for each layer of the paper's autoencoder."""
    return STEPS if epochs is None else min(STEPS, STEPS_PER_EPOCH * epochs)
