"""The paper's comparison on a study's windows: seven features of each kind, and the noise each mechanism needs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deeprotect.datasets.loading import load
from deeprotect.evaluation import minimiser_comparison as minimisers
from deeprotect.evaluation import noise_comparison as noise
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Experiment
from deeprotect.evaluation.report.reading import findings
from deeprotect.evaluation.results import FeatureRow, NoiseRow, Results
from deeprotect.reproduction.studies import Study, chosen

EPSILON = 5.0
DEFAULT = "hapt-person"  # three-axis accelerometer, 10 Hz, ten samples: the paper's 30 values


@dataclass(frozen=True)
class Comparison:
    """Ridge accuracy and informativeness of few features; expected noise at the same ε."""

    study: Study
    features: list[FeatureRow]
    noise: list[NoiseRow]

    @property
    def findings(self) -> str:
        return findings(self.noise)

    def to_json(self) -> dict[str, Any]:
        return {"study": self.study.name} | Results(rows=[], noise=self.noise, minimisers=self.features).to_json()


def compare(name: str = DEFAULT, *, directory: Path | None = None, seed: int = 0) -> Comparison:
    """Every minimiser on the windows of one study; its first useful inference is what the features should tell."""
    (study,) = chosen([name])
    data = load(study.dataset, directory=None if study.dataset == "watch" else directory, rate_hz=study.rate_hz)
    policy = study.policy(data)
    setup = Setup(app="ridge", attackers=("ridge",), pools=(), seed=seed)
    experiment = Experiment.on(study.windows(data, policy), policy, setup)
    features = minimisers.compare(experiment)
    return Comparison(study, features, noise.noise_rows(experiment, noise.OPTIONS, EPSILON))
