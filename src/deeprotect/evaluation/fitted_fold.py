"""What is learnt on one fold, made once for all settings that share it: minimisers, protectors, releases."""

from dataclasses import dataclass, field, replace

import numpy as np

from deeprotect.errors import InputError
from deeprotect.evaluation.evaluator import Draw, Evaluator, FoldRelease, ReleasedRows
from deeprotect.evaluation.methods import FEATURES
from deeprotect.evaluation.peers import PEERS
from deeprotect.evaluation.settings import Setting
from deeprotect.evaluation.stopwatch import Stopwatch
from deeprotect.policy import Policy
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.signals import Hold
from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.codebook import LearntCodes
from deeprotect.training.codebook.personal_head import personal
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.fitting.trained import TrainedProtector
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.labels import Targets
from deeprotect.training.minimisers.minimiser import Minimiser
from deeprotect.training.segments import segment_numbers


@dataclass(frozen=True)
class FittedFold:
    """Learns on the evaluator's training windows; the evaluator measures on its test windows.

    `longest` is the longest hold of all settings that will be asked for.
    """

    evaluator: Evaluator
    policy: Policy
    longest: Hold = field(default_factory=Hold)
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    _models: dict[int | None, FittedModels] = field(default_factory=dict)
    _protectors: dict[Setting, TrainedProtector] = field(default_factory=dict)

    @property
    def train(self) -> LabelledWindows:
        return self.evaluator.train

    @property
    def test(self) -> LabelledWindows:
        return self.evaluator.test

    def release(self, setting: Setting) -> FoldRelease:
        """From its first draw, and seeded, so that results repeat; a real release refuses this entropy."""
        with self.stopwatch(f"learning {setting.method.mechanism}"):
            if setting.method.mechanism == FEATURES:
                return self._features()
            if setting.method.mechanism in PEERS:
                return self._peer(setting)
            release = seeded(self.protector(setting), self.evaluator.setup.seed)
            return replace(release, enrolled=self._enrolled_draws(setting)) if setting.enrolled else release

    def enrolled(self, setting: Setting) -> dict[int, TrainedProtector]:
        """Protectors of tested people, by their group, whose coder has a head of their own."""
        windows, protector = self.evaluator.enrolled, self.protector(setting)
        if windows is None:
            raise InputError("nobody is enrolled; split by strangers, and keep some of their windows for it")
        useful = self.policy.inferences.useful
        learnt = Targets.read(self.train.targets(useful), len(self.train))
        found = {}
        for group in np.unique(windows.groups).tolist():
            own = windows[windows.groups == group]
            encoder = personal(protector.encoder, own.flat, learnt.numbers(own.targets(useful)))
            found[group] = replace(protector, encoder=encoder)
        return found

    def _enrolled_draws(self, setting: Setting) -> dict[int, Draw]:
        seed = self.evaluator.setup.seed + 1
        return {group: seeded(each, seed + group).draw for group, each in self.enrolled(setting).items()}

    def protector(self, setting: Setting) -> TrainedProtector:
        """Fitted once; minimisers once for all protectors that use them."""
        if setting not in self._protectors:
            self._protectors[setting] = learn(self._models_with(setting.features), setting.policy(self.policy))
        return self._protectors[setting]

    def codes(self, setting: Setting) -> LearntCodes:
        """Coder and synthetic windows behind a setting's code book."""
        return self._models_with(setting.features).codes(setting.policy(self.policy))

    def minimiser(self, name: str) -> Minimiser:
        """The same minimisers by name, for those who want features and no noise."""
        policy = self.policy.vary(privacy={"mechanism": "auto"}, training={"minimiser": name})
        return self._models_with(None).minimiser(policy)

    def _models_with(self, features: int | None) -> FittedModels:
        """Shared by settings of as many features; None is the policy's own number."""
        return self._models.setdefault(features, FittedModels(self.train, self.longest))

    def _features(self) -> FoldRelease:
        minimiser = self.minimiser("default")
        return FoldRelease(
            lambda private, _: ReleasedRows(np.clip(minimiser.inverse_transform(minimiser.transform(private)), 0, 1))
        )

    def _peer(self, setting: Setting) -> FoldRelease:
        peer = PEERS[setting.method.mechanism].fit(self.train, self.policy, setting.epsilon)
        return FoldRelease(lambda private, _: ReleasedRows(peer(private)))


def seeded(protector: TrainedProtector, seed: int) -> FoldRelease:
    """A release whose noise repeats, for evaluation."""
    entropy, mechanism = SeededEntropy(seed), protector.mechanism

    def draw(private: Floats, counts: Counts) -> ReleasedRows:
        released = protector.release(private, counts, entropy=entropy)
        # The code book is public: whoever sees a released window knows the code behind it, and where a script changes.
        code = mechanism.output_of(released.codes)
        if mechanism.scripts is None or code is None:
            return ReleasedRows(released.windows, code)
        return ReleasedRows(released.windows, code, segment_numbers(np.repeat(np.arange(len(counts)), counts), code))

    return FoldRelease(draw, protector.hold)
