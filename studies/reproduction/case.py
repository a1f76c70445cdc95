"""A case study: where its data come from, the experiments it is made of, and what is compared in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.datasets.dataset import Dataset
from deeprotect.datasets.fetching import load
from deeprotect.datasets.registry import entry
from deeprotect.errors import InputError
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Plan
from deeprotect.evaluation.methods import MAIN_METHODS, Method, Setting, grid
from deeprotect.evaluation.workers import Jobs
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows
from studies.reproduction.size import Size

SHOWN_EPSILON = 5.0
"""The ε whose numbers the paper states."""
CHANNEL = tuple(method for method in MAIN_METHODS if method.mechanism == "channel")
TRADE = tuple(method for method in MAIN_METHODS if method.line in ("paper rldp", "channel ldp", "channel rldp"))
"""The settings of the paper's trade-off curves; all mechanisms are compared on one experiment only, as in the paper."""


@dataclass(frozen=True)
class CaseExperiment:
    """One experiment of a case study; `facts` tell what a reader must know about its windows.

    `curves`: on how many of its folds the number of features is varied, too. `files`: where each recording is one to
    listen to. `every`: how long draws are held, where that is compared with a draw for each window, at one ε. `person`:
    the label of people, each of whom is the owner in turn, where the policy asks for the owner.
    """

    name: str
    title: str
    windows: LabelledWindows
    policy: Policy
    split: SplitSpec
    methods: Sequence[Method] = TRADE
    facts: Sequence[str] = ()
    curves: int = 0
    files: Sequence[Path] = ()
    every: str | None = None
    person: str | None = None

    def plan(self, size: Size, *, jobs: Jobs, seed: int) -> Plan:
        setup = Setup(app=size.app, attackers=size.attackers, pools=(), seed=seed)
        return Plan(self.settings(size.epsilons), setup, self.split, jobs)

    def settings(self, epsilons: Sequence[float]) -> list[Setting]:
        """The channel in every promise at the ε that is shown, whatever else is drawn."""
        shown = grid(CHANNEL, [SHOWN_EPSILON])
        if self.every is None:
            return list(dict.fromkeys([*grid(self.methods, epsilons), *shown]))
        return [*shown, *(replace(setting, every=self.every) for setting in shown)]

    @property
    def useful(self) -> str:
        return self.policy.inferences.useful[0]

    @property
    def sensitive(self) -> str:
        return self.policy.inferences.sensitive[0]


@dataclass(frozen=True)
class Case:
    """`read` gives the experiments, or raises a DatasetError that says how to get what is missing."""

    number: int
    title: str
    purpose: str
    datasets: tuple[str, ...]
    read: Callable[[Path | None, Size, int], list[CaseExperiment]]

    @property
    def citations(self) -> list[str]:
        return [f"{name}: {entry(name).citation} {entry(name).licence}." for name in self.datasets]


def where(name: str, directory: Path | None) -> Path | None:
    """The named folder where it holds this data set; None stands for the cache."""
    if directory is not None and not directory.is_dir():
        raise InputError(f"{directory} is not a folder; give the one that holds {name}.tar.xz")
    here = directory is not None and entry(name).package is None and any(directory.glob(f"{name}*"))
    return directory if here else None


def open_data(name: str, directory: Path | None, *, rate_hz: float | None = None) -> Dataset:
    return load(name, directory=where(name, directory), rate_hz=rate_hz)


def trained(policy: Policy, size: Size, seed: int) -> Policy:
    """The policy with the caps of this reproduction."""
    return policy.vary(training={"max_epochs": size.epochs, "seed": seed})
