"""Steps a minute: a useful inference that is a number, on MotionSense, read by an app and by a pedometer of others.

Truth is the strongest frequency of the vertical acceleration, which nobody labelled: a reference, not a count by hand.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from deeprotect.datasets.dataset import Dataset
from deeprotect.datasets.fetching import load
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Plan, measure_rows
from deeprotect.evaluation.methods import Setting
from deeprotect.evaluation.results import Useful
from deeprotect.evaluation.runner import EvaluationCell, FittedFold, Question
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import Indices, LabelledWindows, read_windows
from studies.reproduction.known_tables import LDP
from studies.reproduction.study import Study

RATE_HZ, WINDOW = 25.0, 128
MOVING = ("downstairs", "upstairs", "walking", "jogging")
VERTICAL, CADENCE, UNIT = "vertical", "cadence", "steps/min"
LOWEST, HIGHEST, LEVELS = 60.0, 200.0, 18
RANGE_G = 8.0
RESOLUTION = 4096
"""Points of a spectrum, zeros included: 0.4 steps a minute apart."""
EPSILON = 5.0
# A pedometer's usual settings: steps are slower than 4 Hz, at least 0.28 s apart, and stand out from the rest.
LOW_PASS_HZ, STEP_SAMPLES, LEAST_PEAK = 4, 7, 0.3
MEASURED = ("mae_clean", "mae_coder", "mae", "mae_ci", "mae_median", "mae_limit")
TESTED = {"trial": ("11", "12", "13", "14", "15", "16")}
STUDY = Study(
    "motionsense-cadence", "motionsense", WINDOW, CADENCE, "gender", people="person", rate_hz=RATE_HZ, tested=TESTED
)


@dataclass(frozen=True)
class Pedometer:
    """Mean absolute errors in steps a minute over whole recordings of raw and of released windows."""

    recordings: int
    raw: float
    released: float
    median: float


@dataclass(frozen=True)
class CadenceResult:
    """What the app and the pedometer are off by."""

    windows: int
    app: Useful
    pedometer: Pedometer
    seconds_per_draw: float = field(default=WINDOW / RATE_HZ)

    def to_json(self) -> dict[str, Any]:
        app = {name: getattr(self.app, name) for name in MEASURED}
        facts = {"epsilon": EPSILON, "seconds_per_draw": self.seconds_per_draw, "unit": UNIT, "windows": self.windows}
        return {**facts, "app": app, "pedometer": asdict(self.pedometer)}


def vertical(table: pa.Table) -> Floats:
    """User acceleration along gravity, in g; positive upwards."""
    acceleration, gravity = (
        np.stack([table[f"{sensor}_{axis}"].to_numpy() for axis in "xyz"], axis=1) for sensor in ("user_acc", "gravity")
    )
    return np.asarray(-(acceleration * gravity).sum(axis=1) / np.linalg.norm(gravity, axis=1))


def cadences(windows: Floats, *, rate_hz: float) -> Floats:
    """Steps a minute of windows (window, time): the strongest frequency in the range of steps."""
    still = (windows - windows.mean(axis=1, keepdims=True)) * np.hanning(windows.shape[1])
    per_minute = 60 * np.fft.rfftfreq(RESOLUTION, 1 / rate_hz)
    power = np.abs(np.fft.rfft(still, RESOLUTION, axis=1)) ** 2
    within = (per_minute >= LOWEST) & (per_minute <= HIGHEST)
    return np.asarray(per_minute[within][power[:, within].argmax(axis=1)])


def counted(samples: Floats, *, rate_hz: float) -> float:
    """Steps a minute of vertical acceleration (time,), as sensormotion counts them."""
    import sensormotion  # it draws figures, which other studies need not wait for

    time = np.arange(len(samples)) / rate_hz
    b, a = sensormotion.signal.build_filter(LOW_PASS_HZ, rate_hz, "low", filter_order=4)
    smooth = sensormotion.signal.filter_signal(b, a, samples)
    peaks, _ = sensormotion.peak.find_peaks(time, smooth, min_val=LEAST_PEAK, min_dist=STEP_SAMPLES, plot=False)
    return float(sensormotion.gait.cadence(time, peaks, time_units="s"))


def walks(data: Dataset) -> pa.Table:
    """Recordings of somebody who moves, with vertical acceleration and each window's steps a minute."""
    table = data.table.filter(pa.array(np.isin(data.table["activity"].to_numpy(), MOVING)))
    up, names = vertical(table), table["recording"].to_numpy()
    starts = np.flatnonzero(np.append(True, names[1:] != names[:-1]))
    truth = np.full(len(up), np.nan)
    for start, stop in zip(starts, [*starts[1:], len(up)], strict=True):
        whole = (stop - start) // WINDOW * WINDOW
        windows = up[start : start + whole].reshape(-1, WINDOW)
        truth[start : start + whole] = np.repeat(cadences(windows, rate_hz=data.rate_hz), WINDOW)
    return table.append_column(VERTICAL, pa.array(up)).append_column(CADENCE, pa.array(truth, from_pandas=True))


def policy_of(study: Study = STUDY) -> Policy:
    return Policy.from_tables(
        {
            "version": 1,
            "stream": {
                "rate_hz": RATE_HZ,
                "window": study.window,
                "channels": {VERTICAL: {"unit": "g", "range": [-RANGE_G, RANGE_G]}},
            },
            "inferences": {
                "useful": [CADENCE],
                "sensitive": ["gender"],
                "numeric": {CADENCE: {"unit": UNIT, "range": [LOWEST, HIGHEST], "levels": LEVELS}},
            },
            "privacy": {"epsilon": EPSILON, "mechanism": "channel"},
            "training": {"people": study.people},
        }
    )


def measure(directory: Path | None = None, *, seed: int = 0) -> CadenceResult:
    """Errors at ε = 5 for each draw of 5.12 s, on the field's split by trials."""
    data = load(STUDY.dataset, directory=directory, rate_hz=RATE_HZ)
    table = walks(data)
    policy = policy_of()
    windows = read_windows(table, policy, group=STUDY.people)
    windows = windows[windows.labelled(CADENCE)]
    split = STUDY.split_of(Dataset(data.name, table, data.channels, data.labels, data.rate_hz, data.entry))
    plan = Plan([Setting(LDP, EPSILON)], Setup(attackers=("ridge", "extra_trees"), pools=(), seed=seed), split)
    with plan.prepared(windows, policy) as runner:
        found = measure_rows(runner, plan)
        (pedometer,) = runner.measure(Question(plan.settings, _counted)).values.values()
    return CadenceResult(found.test, found.rows[0].useful[CADENCE], pedometer)


def _counted(fold: FittedFold, cell: EvaluationCell) -> Pedometer:
    """The pedometer on the tested recordings, raw and released."""
    test, released = fold.test, fold.release(cell.setting)(fold.test).windows
    raw, seen = (_series(each, fold.policy) for each in (test.flat, released))
    truth, guesses = _truth(test), [_per_recording(each, test.recording) for each in (raw, seen)]
    off, released_off = (float(np.abs(guess - truth).mean()) for guess in guesses)
    median = float(np.abs(truth - np.median(_truth(fold.train))).mean())
    return Pedometer(len(truth), off, released_off, median)


def _series(flat: Floats, policy: Policy) -> Floats:
    """In g, (window, time)."""
    return np.asarray(policy.schema().unscale(flat[:, :, None])[:, :, 0])


def _per_recording(windows: Floats, recording: Indices) -> Floats:
    return np.array([counted(windows[recording == each].ravel(), rate_hz=RATE_HZ) for each in np.unique(recording)])


def _truth(windows: LabelledWindows) -> Floats:
    """Of each recording, the mean over its windows."""
    levels = windows.labels[CADENCE].astype(np.float64)
    return np.array([levels[windows.recording == each].mean() for each in np.unique(windows.recording)])
