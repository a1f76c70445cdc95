"""The picture of a run: every ratio on one logarithmic scale, better to the right."""

import matplotlib as mpl
from matplotlib.figure import Figure

from deeprotect.evaluation.report.drawing import GREY, INK, STYLE, Drawing
from studies.benchmark.benchmark import BenchResults

COLOURS = {"throughput": "#0072b2", "time": "#d55e00", "memory": "#009e73"}
ROW_INCHES = 0.21


@mpl.rc_context(STYLE)
def draw(results: BenchResults) -> Drawing:
    """A time that is half the peer's and a throughput that is twice the peer's stand at the same place."""
    ratios = results.ratios
    figure = Figure(figsize=(8.6, 1.0 + ROW_INCHES * len(ratios)), layout="constrained")
    axes = figure.subplots()
    for place, each in enumerate(ratios):
        better = each.times_worse(1.0) ** -1
        axes.plot([1.0, better], [place, place], color=GREY, linewidth=0.8)
        axes.plot(better, place, "o", color=COLOURS[each.quantity], markersize=5)
    axes.axvline(1.0, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(ratios)), [f"{each.what} – {each.peer}" for each in ratios], fontsize=7.5)
    axes.set_ylim(len(ratios) - 0.4, -0.6)
    axes.set_xlabel("times better than the peer")
    for quantity, colour in COLOURS.items():
        axes.plot([], [], "o", color=colour, label=quantity)
    axes.legend(frameon=False, fontsize=8.5)
    return Drawing("bench", "Every ratio of one run of python -m studies bench against its peer", figure)
