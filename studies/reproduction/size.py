"""How much is measured: every cap on a reproduction, in one place and in words."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from deeprotect.training.fitting.fitted_models import paper_steps


@dataclass(frozen=True)
class Size:
    """`windows` (of speech, `utterances`) are the most to learn from in a fold, `transport` those drawn from trips; all
    where they are None.

    `epochs` are of networks that tell people apart, half of them of the others; `features` are the numbers of features
    that the paper's comparison tries; its own autoencoder takes `steps` there for each layer.
    """

    folds: int = 3
    epsilons: tuple[float, ...] = (1.0, 2.0, 5.0, 10.0)
    epochs: int = 48
    windows: int | None = None
    owners: int = 1
    utterances: int | None = None
    transport: int | None = None
    features: tuple[int, ...] = (1, 2, 3, 5, 7, 10, 15)
    steps: int = 400
    voices: int = 3
    attackers: tuple[str, ...] = ("ridge", "extra_trees")
    app: str = "extra_trees"

    @property
    def half(self) -> "Size":
        """A size with half of the epochs, because few classes are learnt sooner."""
        return replace(self, epochs=max(1, self.epochs // 2))

    def with_folds(self, folds: int | None) -> "Size":
        return self if folds is None else replace(self, folds=folds)

    @property
    def words(self) -> Iterator[str]:
        """Explain to readers what longer training would have changed."""
        folds = f"{self.folds}-fold cross-validation" if self.folds > 1 else "One split instead of cross-validation"
        yield f"{folds}; the paper repeated its ten 1000 times, here a window is tested once at most for each owner."
        yield f"{self._learnt_from} Owners: {self.owners}."
        yield (
            f"Networks stop after {self.epochs} epochs for recognising people, {self.half.epochs} elsewhere. The "
            f"paper's autoencoder takes {paper_steps(self.epochs)} steps a layer at most, {self.steps} where numbers "
            "of features are compared."
        )
        epsilons = ", ".join(f"{epsilon:g}" for epsilon in self.epsilons)
        yield f"ε per window of {epsilons}; figures of one ε show 5, or the nearest of these."
        models = " and ".join(name.replace("_", " ") for name in self.attackers)
        yield (
            f"Attackers are {models}, and for code books one who knows the code; the best counts. The app is "
            f"{self.app.replace('_', ' ')}. The paper used ridge for both; only its features are compared with ridge."
        )

    @property
    def _learnt_from(self) -> str:
        if self.windows is None:
            return "Every fold learns from all windows that are not tested in it, nor next to one that is."
        return (
            f"At most {self.windows} windows to learn from in a fold ({self.utterances} utterances), and a third of "
            "that to test on."
        )


FULL = Size()
QUICK = Size(
    folds=2,
    epsilons=(1.0, 5.0),
    epochs=20,
    windows=800,
    owners=1,
    utterances=400,
    transport=800,
    features=(1, 3, 7, 15),
    steps=300,
    voices=2,
)
