"""One channel in time, as it is and as it is released."""

import matplotlib as mpl
import numpy as np

from deeprotect.evaluation.report.figures.drawing import INK, STYLE, Drawing, canvas, file_name, short
from deeprotect.evaluation.report.figures.palette import looks
from deeprotect.signals import Channel
from deeprotect.signals.schema import Floats


@mpl.rc_context(STYLE)
def signal(
    name: str, given: Floats, released: Floats, *, rate_hz: float, channel: Channel, caption: str, label: str = "raw"
) -> Drawing:
    """One channel in time over its public range, as given and released; `name` is its line's name."""
    figure, axes = canvas(3.7, 2.2)
    seconds = np.arange(len(given)) / rate_hz
    axes.plot(seconds, released, color=looks([name])[name].colour, linewidth=1.6, label="released")
    axes.plot(seconds, given, color=INK, linewidth=1.1, label=label)
    axes.set_xlabel("seconds")
    axes.set_ylabel(f"{short(channel.name, 16)} ({short(channel.unit, 8)})")
    axes.set_ylim(channel.low, channel.high)
    axes.margins(x=0)
    return Drawing(file_name("signal", name), caption, figure)
