"""The demo: train, protect, attack and report on wrist data that comes with a package."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deeprotect.datasets.dataset import Dataset
from deeprotect.datasets.fetching import load
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.excerpt import Excerpt, one_recording
from deeprotect.evaluation.experiment import Plan, RunResult, by_line, release_question, rows_question, sum_up
from deeprotect.evaluation.methods import ERASED, FEATURES, MAIN_METHODS, Method, Setting, grid
from deeprotect.evaluation.report import layout
from deeprotect.evaluation.report import report_files as files
from deeprotect.evaluation.report.page import aim
from deeprotect.evaluation.results import Results, Row
from deeprotect.evaluation.runner import Progress
from deeprotect.policy import Policy
from deeprotect.tables.outputs import Output
from deeprotect.training.labelled_windows import LabelledWindows, read_windows

READY, MEASURED = 0.05, 0.95  # shares of the time, for the progress bar

HELD = Method("channel", "ldp")
DATA, RATE_HZ, WINDOW = "watch", 10.0, 10


@dataclass(frozen=True)
class DemoPlan:
    """The demo's measurements; the defaults take about a minute on two cores."""

    epsilons: tuple[float, ...] = (1.0, 2.0, 5.0)
    shown_epsilon: float = 5.0
    holds: tuple[str, ...] = ("5 s", "10 s")
    features: int = 3  # noise grows with every feature; three distinguish seven exercises
    methods: tuple[Method, ...] = (
        *MAIN_METHODS,
        Method(ERASED, "none"),
        Method(FEATURES, "none"),
    )
    max_epochs: int | None = 40  # for every network; more are slower and a little more accurate
    # Extremely randomised trees: on these windows a stronger attacker than a forest, in half the time.
    setup: Setup = field(default_factory=lambda: Setup(attackers=("ridge", "extra_trees")))

    def policy(self, data: Dataset) -> Policy:
        channels = {each.name: {"unit": each.unit, "range": [each.low, each.high]} for each in data.channels}
        tables = {
            "version": 1,
            "stream": {"rate_hz": data.rate_hz, "window": WINDOW, "channels": channels},
            "inferences": {"useful": ["exercise"], "sensitive": ["person"]},
            "privacy": {"epsilon": self.shown_epsilon, "mechanism": "channel"},
            "training": {"people": "person", "orientation": "kept", "features": self.features},
        }
        return Policy.from_tables(tables).vary(training={"max_epochs": self.max_epochs})

    def rows(self, jobs: int) -> Plan:
        held = [Setting(HELD, self.shown_epsilon, every=every) for every in self.holds]
        return Plan([*grid(self.methods, self.epsilons), *held], self.setup, jobs=jobs)


def demo(
    out: Path, *, jobs: int = 1, progress: Progress = lambda _: None, plan: DemoPlan | None = None
) -> dict[str, Any]:
    """Run the demo, write report.html, results.json and the figures into `out`, and return the content of results.json.

    `jobs` is the number of processes; results do not depend on it.
    """
    Output.at(out).check_folder()
    plan = plan or DemoPlan()
    data = load(DATA, rate_hz=RATE_HZ)
    policy = plan.policy(data)
    results, excerpt = _measure(data, policy, plan, jobs=jobs, progress=progress)
    title = f"{data.entry.title}: what a protected stream still reveals"
    page = layout.lay_out(results, policy, title=title, lead=aim(policy), excerpt=excerpt, epsilon=plan.shown_epsilon)
    files.write(out, results, page)
    progress(1.0)
    return results.to_json()


def _measure(
    data: Dataset, policy: Policy, plan: DemoPlan, *, jobs: int, progress: Progress
) -> tuple[Results, Excerpt]:
    """Rows and windows for a figure, all on one fold, measured at once so that models are trained once."""
    windows, rows = read_windows(data.table, policy), plan.rows(jobs)
    with rows.prepared(windows, policy) as runner:
        progress(READY)
        excerpt = one_recording(runner.test(0), policy.schema(), plan.shown_epsilon)
        measured, released = runner.measure_all(
            [rows_question(rows), release_question(grid(plan.methods, [plan.shown_epsilon]), excerpt.windows)],
            progress=lambda share: progress(READY + (MEASURED - READY) * share),
        )
        found = sum_up(runner, measured)
    origin = f"one recording of the public data set {data.name}"
    excerpt = replace(excerpt, released=by_line(released), shows="public", origin=origin)
    shown = [row for row in found.rows if not _is_held(row, policy)]
    holds = [row for row in found.rows if _is_held(row, policy)]
    first = [row for row in shown if holds and (row.line, row.epsilon) == (HELD.line, plan.shown_epsilon)]
    run = _run(data, windows, found, seed=plan.setup.seed)
    return Results(shown, holds=[*first, *holds], left_out=found.left_out, run=run), excerpt


def _is_held(row: Row, policy: Policy) -> bool:
    return row.seconds_per_draw is not None and row.seconds_per_draw > policy.seconds_per_draw


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
