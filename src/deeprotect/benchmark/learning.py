"""Training a protector against fitting the app's own model on the same windows."""

import time

from deeprotect.benchmark.made_up import Shape, policy, recording
from deeprotect.benchmark.ratio import Ratio

WINDOWS, MORE = 1000, 2


def learning(*, windows: int = WINDOWS, more: int = MORE) -> list[Ratio]:
    """All that `train` does, against the forest that apps are measured with; and against so many times the windows."""
    shape, few = Shape(), _seconds(windows)
    forest, many = _forest(windows), _seconds(more * windows)
    return [
        Ratio(f"train on {windows} windows of 50 × {shape.channels}", "fitting the app's forest", "time", few / forest),
        Ratio(f"train on {more * windows} windows", f"{windows} windows, window for window", "time", many / few / more),
    ]


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
