"""`python -m studies next-recording`: named promises on recordings not yet made.

Some recordings of a table are known, the next ones are released. A protector is trained on the known ones; then what it
promised is held against how it codes the next ones. docs/results.md#the-next-recording
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deeprotect.policy import Policy
from deeprotect.privacy.channel.betting import UNIT
from deeprotect.privacy.channel.calibration import RecordedShares
from deeprotect.privacy.channel.design import design
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.promises import NamedPromise
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.calibration_recordings import CalibrationDraws, calibrating
from deeprotect.training.codebook.codebook import read_targets
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.fitting.trained import TrainedProtector
from deeprotect.training.labelled_windows import LabelledWindows, read_windows
from deeprotect.training.splits import Mask
from studies.reproduction.known_tables import select_studies
from studies.reproduction.study import Study

TRIALS = 200
NEVER = 1e-9  # an output that a solver leaves less than this is left out of a channel
PRIVACY: tuple[dict[str, Any], ...] = (
    {"guarantee": "named", "epsilon": 2.0, "ldp_ceiling": 5.0},
    {"guarantee": "named", "epsilon": 3.0, "given": "useful", "ldp_ceiling": 5.0},
)
TMD = Study("tmd-mode", "tmd", 20, "transport_mode", "person", people="person", rate_hz=10)
TABLES = ("watch-exercise", "hapt-mode", TMD.name, "fsdd-digit")
FEW = {"watch", "hapt"}  # two recordings of everybody: one is known, the other comes next; elsewhere a quarter does


@dataclass(frozen=True)
class NextRecording:
    """What a protector promised about one table, and what recordings showed that were made without it.

    `promised` of all `cells`, each with `recordings` or more of those `needed`. `outside`: promised cells in which the
    next recordings' mean shares lie outside the set. `shown`: the largest ln ratio of what is released of two classes.
    Calibration and next recordings were drawn again in so many `trials`: in `held` of them all sets had the mean of all
    recordings, and in `kept` the next ones showed no larger ratio, through a channel of those sets, than was promised.
    """

    table: str
    asked: str
    made: str
    promised: int
    cells: int
    recordings: int | None
    needed: int | None
    outside: int
    shown: float
    trials: int
    held: int
    kept: int


def find(name: str) -> Study:
    """A known study, or trips with who travels."""
    return TMD if name == TMD.name else select_studies([name])[0]


def measure(
    study: Study, directory: Path | None, *, seed: int = 0, epochs: int | None = None
) -> Iterator[NextRecording]:
    """Each promise on one table."""
    data = study.load(directory)
    policy = study.policy(data).vary(training={"max_epochs": epochs} if epochs else {})
    windows = read_windows(data.table, policy, group="side" if study.dataset == "watch" else None)
    windows = windows[np.logical_and.reduce([windows.labelled(name) for name in windows.labels])]
    later = _later(windows, policy, few=study.dataset in FEW, seed=seed)
    models = FittedModels(windows[~later])
    for privacy in PRIVACY:
        asked = policy.vary(privacy=privacy)
        yield _measured(study, asked, learn(models, asked), windows, later)


def _later(windows: LabelledWindows, policy: Policy, *, few: bool, seed: int) -> Mask:
    """The recordings that come next: the other arm, or the other experiment, or a quarter of those with like labels."""
    if windows.group is not None:
        return np.asarray(windows.group == windows.group.max())
    half = calibrating(windows, policy.inferences.useful, seed=seed + 1)
    if few:
        return half
    later = np.zeros(len(windows), dtype=bool)
    later[half] = calibrating(windows[half], policy.inferences.useful, seed=seed + 2)
    return later


def _measured(
    study: Study, policy: Policy, made: TrainedProtector, windows: LabelledWindows, later: Mask
) -> NextRecording:
    channel = made.mechanism
    assert isinstance(channel, DiscreteChannel)
    calibration = np.zeros(len(windows), dtype=bool)
    calibration[~later] = calibrating(windows[~later], policy.inferences.useful, seed=policy.training.seed)
    pool = windows[calibration | later]
    coded = made.encode(pool.flat)[:, 0].astype(np.int64)
    known = calibration[calibration | later]
    shares = _shares(pool, coded, policy, channel=channel, chosen=~known)
    drawn = list(_drawn_again(pool, coded, policy, known=known, channel=channel)) if channel.promises else []
    held, kept = (sum(each) for each in zip(*drawn, strict=True)) if drawn else (0, 0)
    return NextRecording(
        study.dataset,
        f"named ε = {policy.privacy.epsilon:g}" + (f" given {study.useful}" if policy.privacy.given else ""),
        str(channel.event),
        sum(len(each.classes) for each in channel.promises),
        len(shares.given) * len(shares.classes),
        min((each.recordings for each in channel.promises), default=None),
        max((each.needed for each in channel.unpromised), default=None),
        _outside(shares, channel.promises),
        _shown(shares, channel.promises, channel.probabilities),
        len(drawn),
        held,
        kept,
    )


def _shares(
    pool: LabelledWindows, coded: Any, policy: Policy, *, channel: DiscreteChannel, chosen: Mask
) -> RecordedShares:
    _, joint = read_targets(pool, policy)
    assert joint.names == channel.outputs, "the next recordings show other useful classes"
    draws = CalibrationDraws.of(pool[chosen], coded[chosen], hold=policy.hold, codes=len(channel.weights))
    (secret,) = policy.inferences.sensitive
    given: dict[str, Any] = {"useful": joint.codes[chosen], "names": joint.names} if policy.privacy.given else {}
    return draws.shares(secret, pool.classes(secret), epsilon=policy.privacy.epsilon, **given)


def _drawn_again(
    pool: LabelledWindows, coded: Any, policy: Policy, *, known: Mask, channel: DiscreteChannel
) -> Iterator[tuple[bool, bool]]:
    """Whether the sets had the mean of all recordings, and the next ones kept the promise, drawn again and again."""
    recordings, share = np.unique(pool.recording), known.mean()
    every = _shares(pool, coded, policy, channel=channel, chosen=np.ones(len(pool), dtype=bool))
    for trial in range(TRIALS):
        order = np.random.default_rng(trial).permutation(recordings)
        first = np.isin(pool.recording, order[: round(share * len(order))])
        sets, rest = (_shares(pool, coded, policy, channel=channel, chosen=side) for side in (first, ~first))
        promises, _ = sets.calibrated(confidence=policy.privacy.confidence)
        ceiling = policy.privacy.ldp_ceiling
        plan = design(channel.cost, channel.prior, promises=promises, ldp_epsilon=ceiling)
        shown = _shown(rest, promises, plan.probabilities)
        yield _outside(every, promises) == 0, shown <= policy.privacy.epsilon


def _outside(shares: RecordedShares, promises: Sequence[NamedPromise]) -> int:
    """Promised cells with next recordings whose mean leaves the set."""
    return sum(
        bool((mean * UNIT < each.low).any() or (mean * UNIT > each.high).any())
        for each in promises
        for mean in _means(shares, each.given, each.classes)
    )


def _shown(shares: RecordedShares, promises: Sequence[NamedPromise], probabilities: Floats) -> float:
    """The largest ln ratio of an output's probability between classes; of all of them, where none is promised."""
    cells = [(each.given, each.classes) for each in promises] or [(each, shares.classes) for each in shares.given]
    tables = [np.array(_means(shares, *cell)) @ probabilities for cell in cells if len(_means(shares, *cell)) > 1]
    return max((float(np.log(each.max(axis=0) / each.min(axis=0)).max()) for each in map(_used, tables)), default=0.0)


def _used(released: Floats) -> Floats:
    return released[:, released.max(axis=0) > NEVER]


def _means(shares: RecordedShares, given: str, classes: Sequence[str]) -> list[Floats]:
    cells = shares.shares[shares.given.index(given)]
    found = [cells[shares.classes.index(name)] for name in classes]
    return [cell.mean(axis=0) for cell in found if len(cell)]
