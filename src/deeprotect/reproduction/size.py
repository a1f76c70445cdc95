"""How much is measured: every cap on a reproduction, in one place and in words."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from deeprotect.training.fitting.fitted_models import paper_steps


@dataclass(frozen=True)
class Size:
    """`windows` (of speech, `utterances`) are the most to learn from in a fold, `transport` those drawn from trips.

    `epochs` are of every network, `features` the numbers of features that the paper's comparison tries; its own
    autoencoder takes `steps` there for each layer.
    """

    folds: int = 10
    epsilons: tuple[float, ...] = (1.0, 2.0, 5.0, 10.0)
    epochs: int = 18
    windows: int = 1200
    owners: int = 1
    utterances: int = 500
    transport: int = 1200
    features: tuple[int, ...] = (1, 2, 3, 5, 7, 10, 15)
    steps: int = 400
    voices: int = 3
    attackers: tuple[str, ...] = ("ridge", "extra_trees")
    app: str = "extra_trees"

    def with_folds(self, folds: int | None) -> "Size":
        return self if folds is None else replace(self, folds=folds)

    @property
    def words(self) -> Iterator[str]:
        """For readers: what more patience would have changed."""
        folds = f"{self.folds}-fold cross-validation" if self.folds > 1 else "One split instead of cross-validation"
        yield f"{folds}; the paper repeated its ten 1000 times, here a window is tested once at most for each owner."
        yield (
            f"At most {self.windows} windows to learn from in a fold ({self.utterances} utterances), and a third of "
            f"that to test on. Owners: {self.owners}."
        )
        yield (
            f"Networks stop after {self.epochs} epochs, those of speech after half of that. The paper's autoencoder "
            f"takes {paper_steps(self.epochs)} steps a layer, {self.steps} where numbers of features are compared."
        )
        epsilons = ", ".join(f"{epsilon:g}" for epsilon in self.epsilons)
        yield f"ε per window of {epsilons}; figures of one ε show 5, or the nearest of these."
        models = " and ".join(name.replace("_", " ") for name in self.attackers)
        yield (
            f"Attackers are {models}, and for code books one who knows the code; the best counts. The app is "
            f"{self.app.replace('_', ' ')}. The paper used ridge for both; only its features are compared with ridge."
        )


FULL = Size()
QUICK = Size(
    folds=2,
    epsilons=(1.0, 5.0),
    epochs=10,
    windows=800,
    owners=1,
    utterances=400,
    transport=800,
    features=(1, 3, 7, 15),
    steps=300,
    voices=2,
)
