"""Training a protector: against fitting the app's own model on the same windows, and how it grows with windows."""

import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from studies.benchmark.made_up import Shape, policy, recording
from studies.benchmark.own_process import TimedRun, run
from studies.benchmark.ratio import Ratio
from studies.benchmark.throughput import write

WINDOWS = 1000
SMALL = Shape(channels=3, samples=10, codes=5)
"""Windows on which growth is measured: the paper's size, so that 200,000 of them take minutes."""
SIZES = (2_000, 20_000, 200_000)

TRAIN = """
from studies.benchmark.learning import SMALL
from studies.benchmark.made_up import policy
from deeprotect.training.fitting.fit import fit
def work(): fit(policy(SMALL), source)
"""


EVALUATED, PERSON_WINDOWS = 18_000, 1_800
_RULES = """
from studies.benchmark.made_up import Shape, policy
rules = policy(Shape()).vary(inferences={"sensitive": ["person"]}, privacy={"guarantee": "ldp"})
"""
EVALUATE = f"""{_RULES}
from deeprotect.evaluation.runs.own_table import EvaluateRequest, evaluate
def work(): evaluate(rules, source, sink, request=EvaluateRequest(jobs=2))
"""
TRAIN_ONCE = f"""{_RULES}
from deeprotect.training.fitting.fit import fit
def work(): fit(rules, source)
"""


def evaluating(*, windows: int = EVALUATED) -> list[Ratio]:
    """All that `evaluate` does for one policy of ten people, by the clock and on two processes, against training it."""
    shape = Shape()
    table = recording(windows * shape.samples, shape, labelled=True)
    number = np.arange(table.num_rows) // (PERSON_WINDOWS * shape.samples)
    for name in ("person", "recording"):
        table = table.append_column(name, [np.char.add(name[0], number.astype(str))])
    with tempfile.TemporaryDirectory() as folder:
        write(table, source := Path(folder) / "in.parquet")
        evaluated, trained = (run(program, source).clock_seconds for program in (EVALUATE, TRAIN_ONCE))
    what = f"evaluate one policy on {windows:,} windows of {shape.samples} × {shape.channels}, by the clock"
    return [Ratio(what, "train it once", "time", evaluated / trained)]


def learning(*, windows: int = WINDOWS, sizes: tuple[int, ...] = SIZES) -> list[Ratio]:
    """All that `train` does, against the forest that apps are measured with; and on more and more windows."""
    shape = Shape()
    what, times = f"train on {windows} windows of {shape.samples} × {shape.channels}", _seconds(windows)
    return [Ratio(what, "fitting the app's forest", "time", times / _forest(windows)), *growth(sizes)]


def growth(sizes: tuple[int, ...]) -> list[Ratio]:
    """Time and memory, each size in a process of its own, and their exponents over all sizes."""
    runs = {size: _run(size) for size in sizes}
    size = f"{SMALL.samples} × {SMALL.channels}"
    ratios = [
        Ratio(
            f"train on {large:,} windows of {size}",
            f"{small:,} windows, window for window",
            "time",
            runs[large].seconds / runs[small].seconds * small / large,
        )
        for small, large in pairwise(sizes)
    ]
    megabytes = [runs[size].peak_bytes / 1e6 for size in sizes]
    return [
        *ratios,
        Ratio("train, exponent of time in windows", "linear", "time", _slope(sizes, [runs[n].seconds for n in sizes])),
        Ratio("train, exponent of memory in windows", "linear", "memory", _slope(sizes, megabytes)),
        Ratio(f"train on {sizes[-1]:,} windows of {size}", "1 GB", "memory", megabytes[-1] / 1e3),
    ]


def _slope(sizes: tuple[int, ...], found: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(found), 1)[0])


def _run(windows: int) -> TimedRun:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.parquet"
        write(recording(windows * SMALL.samples, SMALL, labelled=True), source)
        return run(TRAIN, source)


def _seconds(windows: int) -> float:
    from deeprotect.training.fitting.fit import fit

    shape = Shape()
    table, start = recording(windows * shape.samples, shape, labelled=True), time.process_time()
    fit(policy(shape), table)
    return time.process_time() - start


def _forest(windows: int) -> float:
    from deeprotect.attack.models import train
    from deeprotect.training.labelled_windows import read_windows

    shape = Shape()
    read = read_windows(recording(windows * shape.samples, shape, labelled=True), policy(shape))
    start = time.process_time()
    train("random_forest", read.flat, read.labels["activity"], seed=0, channels=shape.channels)
    return time.process_time() - start
