"""The demo: train, protect, attack and show on the wrist data that arrives with a package."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deeprotect.datasets.dataset import Dataset
from deeprotect.datasets.loading import load
from deeprotect.evaluation import minimiser_comparison as minimisers
from deeprotect.evaluation import noise_comparison as noise
from deeprotect.evaluation.evaluator import Bench, Setup
from deeprotect.evaluation.excerpt import Excerpt
from deeprotect.evaluation.experiment import Experiment, Progress
from deeprotect.evaluation.methods import FEATURES, OPTIONS, Option
from deeprotect.evaluation.promises import aim
from deeprotect.evaluation.report import files, story
from deeprotect.evaluation.results import Results, Row
from deeprotect.policy import Policy
from deeprotect.training.dataset import read_windows

READY, MEASURED, COMPARED = 0.05, 0.9, 0.97  # shares of the whole time, for the progress bar


@dataclass(frozen=True)
class Plan:
    """What the demo measures; the defaults take about a minute on two cores."""

    dataset: str = "watch"
    rate_hz: float = 10.0
    window: int = 10
    useful: str = "exercise"
    sensitive: str = "person"
    epsilons: tuple[float, ...] = (1.0, 2.0, 5.0)
    shown_epsilon: float = 5.0
    features: int = 3  # noise grows with every feature; three tell seven exercises apart
    options: tuple[Option, ...] = (*OPTIONS, Option(FEATURES, "none"))
    noise_options: tuple[Option, ...] = noise.OPTIONS
    minimisers: tuple[str, ...] = minimisers.NAMES
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


def demo(out: Path, *, progress: Progress = lambda _: None, plan: Plan | None = None) -> dict[str, Any]:
    """Writes report.html, results.json and the figures into `out`; returns what results.json holds."""
    files.make_folder(out)
    plan = plan or Plan()
    data = load(plan.dataset, rate_hz=plan.rate_hz)
    policy = plan.policy(data)
    experiment = Experiment.on(read_windows(data.table, policy), policy, plan.setup)
    progress(READY)
    rows = _rows(experiment, plan, progress)
    results = Results(
        rows=rows,
        noise=noise.noise_rows(experiment, plan.noise_options, plan.shown_epsilon),
        minimisers=minimisers.compare(experiment, names=plan.minimisers),
        run=_run(data, experiment.bench),
    )
    progress(COMPARED)
    page = story.tell(
        results, title=_title(data), lead=aim(policy), excerpt=_excerpt(experiment, plan), epsilon=plan.shown_epsilon
    )
    files.write(out, results, page)
    progress(1.0)
    return results.to_json()


def _rows(experiment: Experiment, plan: Plan, progress: Progress) -> list[Row]:
    rows: list[Row] = []
    total = len(plan.options) * len(plan.epsilons)
    for row in experiment.rows(plan.options, plan.epsilons):
        rows.append(row)
        progress(READY + (MEASURED - READY) * len(rows) / total)
    return rows


def _excerpt(experiment: Experiment, plan: Plan) -> Excerpt:
    excerpt = Excerpt.choose(experiment.bench.test, experiment.policy.schema(), epsilon=plan.shown_epsilon)
    released = {
        option.line: experiment.release(option, plan.shown_epsilon)(excerpt.windows).windows for option in plan.options
    }
    return replace(excerpt, released=released)


def _title(data: Dataset) -> str:
    return f"{data.entry.title}: what a protected stream still tells"


def _run(data: Dataset, bench: Bench) -> dict[str, Any]:
    return {
        "command": "deeprotect demo",
        "data": f"{data.name}: {data.entry.contains} ({data.entry.publisher}, {data.entry.licence})",
        "citation": data.entry.citation,
        "fingerprint": bench.train.fingerprint,
        "windows": f"{len(bench.train)} to train on, {len(bench.test)} to test on; the last part of each recording",
        "seed": bench.setup.seed,
        "versions": files.versions(),
    }
