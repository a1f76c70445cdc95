"""The paper's comparison of minimisers: few features of each kind, one linear app, one useful inference."""

from collections.abc import Sequence

from deeprotect.attack.attackers import Targets
from deeprotect.attack.intervals import wilson
from deeprotect.attack.models import train
from deeprotect.evaluation.evaluator import targets
from deeprotect.evaluation.experiment import Experiment
from deeprotect.evaluation.results import FeatureRow
from deeprotect.training.minimisers.informativeness import informativeness

NAMES = ("default", "paper", "pca", "bcs", "dct", "dft", "haar")
RAW = "raw"
"""All values of the window, as the reference."""


def compare(experiment: Experiment, *, names: Sequence[str] = NAMES) -> list[FeatureRow]:
    """Ridge accuracy on the policy's number of features for its first useful inference; last, on all raw values."""
    bench, inference = experiment.bench, experiment.policy.inferences.useful[0]
    learn, test = targets(bench.train, inference), targets(bench.test, inference)
    rows = []
    for name in names:
        features = experiment.minimiser(name).transform
        rows.append(_row(name, learn.released(features(learn.windows)), test.released(features(test.windows))))
    return [*rows, _row(RAW, learn, test)]


def _row(name: str, learn: Targets, test: Targets) -> FeatureRow:
    """Informativeness is measured on the test side: a feature must not profit from having been fitted."""
    app = train("ridge", learn.windows, learn.labels, seed=0)
    right = int((app.predict(test.windows) == test.labels.astype(str)).sum())
    shares = informativeness(test.windows, test.labels)
    return FeatureRow(
        minimiser=name,
        features=test.windows.shape[1],
        accuracy=right / len(test.labels),
        accuracy_ci=wilson(right, len(test.labels)),
        informativeness_mean=float(shares.mean()),
        informativeness_max=float(shares.max()),
    )
