"""Protectors that ship: trained on MotionSense, and measured on people whom they never met."""

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import tomli_w

from deeprotect.api import Protector
from deeprotect.attack.split_spec import SplitSpec
from deeprotect.bundle import Bundle, ready
from deeprotect.datasets.dataset import STANDARD_GRAVITY, Dataset
from deeprotect.datasets.fetching import load
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Plan, measure_rows
from deeprotect.evaluation.methods import Setting
from deeprotect.evaluation.results import Row
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import read_windows

DATASET = "motionsense"
ATTACKERS = ("extra_trees",)
# As Android and the Web have acceleration, which is what exports of phones and pages bring: in m/s², and gravity points
# up in a phone that rests. Core Motion, from which the table is, has both the other way round, in g.
CHANNELS = {
    "user_acceleration": ("user_acc", -STANDARD_GRAVITY, "m/s²", 8 * STANDARD_GRAVITY),
    "gravity": ("gravity", -STANDARD_GRAVITY, "m/s²", STANDARD_GRAVITY),
    "gyroscope": ("gyro", 1.0, "rad/s", 34.9066),
}
"""For each exported name: the table's column, its factor, unit and public range."""


@dataclass(frozen=True)
class Ready:
    """A protector that ships: its name and its sensors."""

    name: str
    sensors: tuple[str, ...]

    def policy(self) -> Policy:
        channels = {
            f"{name}_{axis}": {"unit": unit, "range": [-limit, limit]}
            for name, (_, _, unit, limit) in CHANNELS.items()
            if name in self.sensors
            for axis in "xyz"
        }
        return Policy.from_tables(
            {
                "version": 1,
                "stream": {"rate_hz": 50.0, "window": 128, "channels": channels},
                "inferences": {"useful": ["activity"], "sensitive": ["gender"]},
                "privacy": {"epsilon": 5.0, "every": "10.24 s", "mechanism": "channel"},
                "training": {"people": "person", "orientation": "free"},
                "about": {
                    "owner": "learnt from MotionSense (MIT licence), Malekzadeh et al. 2019",
                    "purpose": "recordings of a phone in a front trouser pocket, for an app that needs the activity",
                    "out_of_scope": "phones in hands or bags, other activities, and falls",
                    "population": "14 men and 10 women with an iPhone 6s in a front trouser pocket, 15 trials each",
                },
            }
        )


READY = (
    Ready("activity", ("user_acceleration", "gyroscope")),
    Ready("activity-with-gravity", ("user_acceleration", "gravity", "gyroscope")),
)


def table_of(data: Dataset) -> pa.Table:
    """The recordings under the names of an export, in its units and with its signs."""
    table = data.table
    columns = {name: table[name] for name in ("recording", "time", *data.labels)}
    for name, (column, factor, _, _) in CHANNELS.items():
        columns |= {f"{name}_{axis}": pc.multiply(table[f"{column}_{axis}"], factor) for axis in "xyz"}
    return pa.table(columns)


def make(source: Path | None, out: Path, *, folds: int, only: Sequence[str] = (), say: Callable[[str], None]) -> None:
    """Train them into `out`; with `folds`, measured on new people before, else with the figures that are there."""
    out.mkdir(parents=True, exist_ok=True)
    table = table_of(load(DATASET, directory=source))
    for each in (each for each in READY if not only or each.name in only):
        known = ready.entries().get(each.name)
        found = _measured(each, table, folds) if folds else known.figures if known else {}
        say(f"{each.name}: {found}")
        bundle = Protector.train(each.policy(), table).bundle
        bundle.save(out / f"{each.name}.zip")
        _enter(out / ready.INDEX, each.name, bundle, found)


def _measured(each: Ready, table: pa.Table, folds: int) -> dict[str, float]:
    """Accuracy of an app trained on others' raw windows, and of retrained attackers, on people in no training table."""
    hidden = {"useful": ["activity"], "sensitive": ["gender", "person"]}
    policy = each.policy().vary(inferences=hidden)
    setup = Setup(attackers=ATTACKERS, retrained="extra_trees")
    plan = Plan([Setting.of(policy)], setup, SplitSpec("strangers", folds=folds))
    windows = read_windows(table, policy, group="person")
    with plan.prepared(windows, policy) as runner:
        (row,) = measure_rows(runner, plan).rows
    return dict(_figures(row))


def _figures(row: Row) -> Iterator[tuple[str, float]]:
    for name, useful in row.useful.items():
        yield f"{name}_raw", round(useful.clean, 3)
        yield name, round(useful.app, 3)
        yield f"{name}_guessing", round(useful.chance, 3)
    for name, hidden in row.sensitive.items():
        yield f"{name}_raw", round(hidden.raw, 3)
        yield name, round(hidden.adaptive, 3)
        yield f"{name}_guessing", round(hidden.floor, 3)


def _enter(index: Path, name: str, bundle: Bundle, figures: dict[str, float]) -> None:
    """Name, digest and figures, in the list beside the bundles; others stay as they are."""
    entries: dict[str, Any] = tomllib.loads(index.read_text(encoding="utf-8")) if index.exists() else {}
    facts: Sequence[tuple[str, Any]] = (("digest", bundle.digest), ("licence", "MIT"), ("figures", figures))
    index.write_text(tomli_w.dumps(entries | {name: dict(facts)}), encoding="utf-8")
