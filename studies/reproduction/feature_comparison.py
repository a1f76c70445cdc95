"""The paper's comparison on a study's windows: seven features of each kind, and the noise each mechanism needs."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.results import Results
from deeprotect.evaluation.runner import prepared
from studies.features.extractor_comparison import FeatureRow, compare_feature_extractors
from studies.features.noise_comparison import NoiseRow, compare_noise, findings
from studies.reproduction.known_tables import select_studies
from studies.reproduction.sparsity import SparsityRow, compare_sparsity
from studies.reproduction.study import Study

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
        parts: dict[str, list[Any]] = {
            "noise": self.noise,
            "feature_extractors": self.features,
            "sparsity": self.sparsity,
        }
        rows = {name: [asdict(row) for row in part] for name, part in parts.items()}
        return {"study": self.study.name, **Results(rows=[], run=rows).to_json()["run"]}


def compare(name: str, *, directory: Path | None = None, seed: int = 0) -> Comparison:
    """Every feature extractor on the windows of one study, whose first useful inference the features should carry."""
    (study,) = select_studies([name])
    data = study.load(directory)
    policy = study.policy(data)
    setup = Setup(app="ridge", attackers=("ridge",), pools=(), seed=seed)
    with prepared(study.windows(data, policy), policy, split=SplitSpec(), setup=setup) as runner:
        return Comparison(
            study, compare_feature_extractors(runner), compare_noise(runner, EPSILON), compare_sparsity(runner)
        )
