"""The paper's comparison on a study's windows: seven features of each kind, and the noise each mechanism needs."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.minimiser_comparison import compare_minimisers
from deeprotect.evaluation.noise_comparison import compare_noise
from deeprotect.evaluation.report.notes import findings
from deeprotect.evaluation.results import FeatureRow, NoiseRow, Results
from deeprotect.evaluation.runner import prepared
from deeprotect.evaluation.study import Study
from deeprotect.reproduction.sparsity import SparsityRow, compare_sparsity
from deeprotect.reproduction.studies import select_studies

EPSILON = 5.0


@dataclass(frozen=True)
class Comparison:
    """Ridge accuracy and informativeness of few features; expected noise at the same ε; what the KL term does."""

    study: Study
    features: list[FeatureRow]
    noise: list[NoiseRow]
    sparsity: list[SparsityRow]

    @property
    def findings(self) -> str:
        return findings(self.noise)

    def to_json(self) -> dict[str, Any]:
        results = Results(rows=[], noise=self.noise, minimisers=self.features, run={"sparsity": self._sparsity})
        return {"study": self.study.name} | results.to_json()

    @property
    def _sparsity(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self.sparsity]


def compare(name: str, *, directory: Path | None = None, seed: int = 0) -> Comparison:
    """Every minimiser on the windows of one study; its first useful inference is what the features should tell."""
    (study,) = select_studies([name])
    data = study.load(directory)
    policy = study.policy(data)
    setup = Setup(app="ridge", attackers=("ridge",), pools=(), seed=seed)
    with prepared(study.windows(data, policy), policy, split=SplitSpec(), setup=setup) as runner:
        return Comparison(study, compare_minimisers(runner), compare_noise(runner, EPSILON), compare_sparsity(runner))
