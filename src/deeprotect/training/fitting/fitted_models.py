"""What is learnt without regard to ε, each model once for all policies on the same windows."""

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
"""The paper's autoencoder has no epochs; where a policy limits them, so many steps stand for one."""
HELD_OUT = 0.2


def _ignore(_: float) -> None:
    """A function with a name: models travel to other processes."""


@dataclass(frozen=True)
class FittedModels:
    """Models of one set of windows; policies that share them differ in privacy and feature extractor alone.

    `longest` is the longest hold among the policies that share them. `progress` is told of the longest work, the
    coders behind a code book.
    """

    windows: LabelledWindows
    longest: Hold = field(default_factory=Hold)
    progress: Progress = field(default=_ignore, repr=False)
    _feature_extractors: dict[str, FeatureExtractor] = field(default_factory=dict, repr=False)
    _codes: dict[tuple[str, ...], LearntCodes] = field(default_factory=dict, repr=False)
    _validation: list["Validation"] = field(default_factory=list, repr=False)

    def feature_extractor(self, policy: Policy) -> FeatureExtractor:
        """The policy's, learnt from the useful inferences only."""
        name = policy.training.feature_extractor
        if name not in self._feature_extractors:
            useful = self.windows.targets(policy.inferences.useful)
            self._feature_extractors[name] = untrained(policy).fit(self.windows.flat, useful)
        return self._feature_extractors[name]

    def codes(self, policy: Policy) -> LearntCodes:
        """Coder and synthetic windows, from which code books are made; another where directions are erased."""
        if policy.erased not in self._codes:
            learnt = learn_codes(self.windows, policy, hold=self.longest, progress=self.progress)
            self._codes[policy.erased] = learnt
        return self._codes[policy.erased]

    def validation(self, policy: Policy) -> "Validation":
        """Models of most of the windows, and the rest to measure them on."""
        if not self._validation:
            fit, rest = measurable(self.windows, held_out=HELD_OUT, seed=policy.training.seed, hold=self.longest)
            models = FittedModels(self.windows[fit], self.longest)
            self._validation.append(Validation(models, self.windows[rest], rest, fit_apps(models.windows, policy)))
        return self._validation[0]


@dataclass(frozen=True)
class Validation:
    """For a choice between mechanisms: no window is on both sides; `apps` know raw windows of the models' side."""

    models: FittedModels
    held_out: LabelledWindows
    rows: Mask
    apps: Apps


def untrained(policy: Policy) -> FeatureExtractor:
    """The policy's feature extractor, before it has seen any window."""
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
    """Steps of gradient descent on all windows at once, for each layer of the paper's autoencoder."""
    return STEPS if epochs is None else min(STEPS, STEPS_PER_EPOCH * epochs)
