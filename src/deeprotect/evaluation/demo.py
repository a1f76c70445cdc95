"""The demo: train, protect, attack and show on the wrist data that arrives with a package."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deeprotect.datasets.dataset import Dataset
from deeprotect.datasets.loading import load
from deeprotect.evaluation import minimiser_comparison, noise_comparison
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Plan, RunResult, choose_excerpt, measure_rows, release_windows
from deeprotect.evaluation.methods import FEATURES, MAIN_METHODS, Method
from deeprotect.evaluation.report import files, layout
from deeprotect.evaluation.report.summary import aim
from deeprotect.evaluation.results import Results
from deeprotect.evaluation.runner import Progress
from deeprotect.evaluation.settings import grid
from deeprotect.policy import Policy
from deeprotect.training.dataset import LabelledWindows, read_windows

READY, MEASURED, COMPARED = 0.05, 0.9, 0.97  # shares of the whole time, for the progress bar


@dataclass(frozen=True)
class DemoPlan:
    """What the demo measures; the defaults take about a minute on two cores."""

    dataset: str = "watch"
    rate_hz: float = 10.0
    window: int = 10
    useful: str = "exercise"
    sensitive: str = "person"
    epsilons: tuple[float, ...] = (1.0, 2.0, 5.0)
    shown_epsilon: float = 5.0
    features: int = 3  # noise grows with every feature; three tell seven exercises apart
    methods: tuple[Method, ...] = (*MAIN_METHODS, Method(FEATURES, "none"))
    noise_methods: tuple[Method, ...] = noise_comparison.METHODS
    minimisers: tuple[str, ...] = minimiser_comparison.NAMES
    max_epochs: int | None = 40  # of every network; more read a little better and take longer
    # Extremely randomised trees: on these windows a stronger attacker than a forest, in half the time.
    setup: Setup = field(default_factory=lambda: Setup(attackers=("ridge", "extra_trees")))

    def policy(self, data: Dataset) -> Policy:
        training = {"seed": self.setup.seed, "features": self.features, "people": self.sensitive}
        channels = {each.name: {"unit": each.unit, "range": [each.low, each.high]} for each in data.channels}
        return Policy.from_tables(
            {
                "version": 1,
                "stream": {"rate_hz": self.rate_hz, "window": self.window, "channels": channels},
                "inferences": {"useful": [self.useful], "sensitive": [self.sensitive]},
                "privacy": {"epsilon": self.shown_epsilon},
                "training": training if self.max_epochs is None else training | {"max_epochs": self.max_epochs},
            }
        )


def demo(out: Path, *, progress: Progress = lambda _: None, plan: DemoPlan | None = None) -> dict[str, Any]:
    """Writes report.html, results.json and the figures into `out`; returns what results.json holds."""
    files.make_folders(out, files.FIGURES, files.TABLES)
    wanted = plan or DemoPlan()
    data = load(wanted.dataset, rate_hz=wanted.rate_hz)
    policy, epsilon = wanted.policy(data), wanted.shown_epsilon
    windows = read_windows(data.table, policy)
    rows = Plan(grid(wanted.methods, wanted.epsilons), wanted.setup)
    with rows.prepared(windows, policy) as runner:
        progress(READY)
        found = measure_rows(runner, rows, progress=lambda share: progress(READY + (MEASURED - READY) * share))
        results = Results(
            rows=found.rows,
            noise=noise_comparison.compare_noise(runner, epsilon, methods=wanted.noise_methods),
            minimisers=minimiser_comparison.compare_minimisers(runner, names=wanted.minimisers),
            left_out=found.left_out,
            run=_run(data, windows, found, seed=wanted.setup.seed),
        )
        progress(COMPARED)
        excerpt = choose_excerpt(runner, epsilon)
        released = release_windows(runner, grid(wanted.methods, [epsilon]), excerpt.windows)
    page = layout.lay_out(
        results, title=_title(data), lead=aim(policy), excerpt=replace(excerpt, released=released), epsilon=epsilon
    )
    files.write(out, results, page)
    progress(1.0)
    return results.to_json()


def _title(data: Dataset) -> str:
    return f"{data.entry.title}: what a protected stream still tells"


def _run(data: Dataset, windows: LabelledWindows, found: RunResult, *, seed: int) -> dict[str, Any]:
    return {
        "command": "deeprotect demo",
        "data": f"{data.name}: {data.entry.contains} ({data.entry.publisher}, {data.entry.licence})",
        "citation": data.entry.citation,
        "fingerprint": windows.fingerprint,
        "windows": f"{found.train} to train on, {found.test} to test on; the last part of each recording",
        "seed": seed,
        "versions": files.versions(),
    }
