"""Curves and bars of shares, with their intervals: accuracy, informativeness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from deeprotect.evaluation.methods import Look
from deeprotect.evaluation.report.figures.drawing import GREY, STYLE, Drawing, canvas, legend
from deeprotect.evaluation.report.figures.palette import looks
from deeprotect.signals.schema import Floats

PERCENT = PercentFormatter(1.0, decimals=0, symbol=" %")
_MOST_TICKS = 12
_LABEL_GAP = 0.065  # of the height of the axes: two labels nearer than that would touch
_LEGIBLE = 0.02  # lines of one drawing are set this far apart, so that their intervals can be seen


@dataclass(frozen=True)
class Series:
    """One named line (or kind of bar) of shares, and the interval around each where there is one."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    @property
    def errors(self) -> Floats | None:
        """(2, point): down and up; never negative, as rounding could make them."""
        if self.low is None or self.high is None:
            return None
        values = np.array(self.y)
        return np.maximum(0.0, [values - self.low, np.array(self.high) - values])


@mpl.rc_context(STYLE)
def lines(
    name: str,
    series: Sequence[Series],
    *,
    xlabel: str,
    ylabel: str = "accuracy",
    levels: Mapping[str, float],
    caption: str,
    log_x: bool = False,
) -> Drawing:
    """Shares against a number; `levels` are drawn across, with their names at the right."""
    figure, axes = canvas(4.8, 3.0)
    look = looks([each.name for each in series])
    for place, each in enumerate(series):
        shift = _LEGIBLE * (place - (len(series) - 1) / 2) if log_x else 0.0
        _line(axes, each, look[each.name], np.array(each.x, dtype=float) * (1 + shift))
    _levels(axes, levels)
    ticks = sorted({float(x) for each in series for x in each.x})
    if log_x:
        axes.set_xscale("log")
    if len(ticks) <= _MOST_TICKS:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    axes.set_ylim(0, 1)
    _label(figure, axes, series=series, xlabel=xlabel, ylabel=ylabel)
    return Drawing(name, caption, figure)


@mpl.rc_context(STYLE)
def bars(name: str, series: Sequence[Series], *, xlabel: str, ylabel: str, caption: str) -> Drawing:
    """Shares side by side for each x that any series has; a series without that x leaves its place empty."""
    figure, axes = canvas(6.4, 2.8)
    places = {x: place for place, x in enumerate(sorted({float(x) for each in series for x in each.x}))}
    look, width = looks([each.name for each in series]), 0.84 / max(1, len(series))
    for number, each in enumerate(series):
        shift = width * (number - (len(series) - 1) / 2)
        axes.bar(
            [places[float(x)] + shift for x in each.x],
            each.y,
            width=width * 0.92,
            yerr=each.errors,
            color=look[each.name].colour,
            error_kw={"ecolor": GREY, "elinewidth": 1},
            label=each.name,
        )
    axes.set_xticks(list(places.values()), [f"{x:g}" for x in places])
    axes.set_ylim(bottom=0)
    _label(figure, axes, series=series, xlabel=xlabel, ylabel=ylabel)
    return Drawing(name, caption, figure)


def _label(figure: Figure, axes: Axes, *, series: Sequence[Series], xlabel: str, ylabel: str) -> None:
    """Shares in percent, and who is who, where there is anyone."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.yaxis.set_major_formatter(PERCENT)
    if series:
        legend(figure, len(series))


def _line(axes: Axes, series: Series, look: Look, x: Floats) -> None:
    axes.errorbar(
        x,
        series.y,
        yerr=series.errors,
        color=look.colour,
        marker=look.marker,
        markersize=5.5,
        capsize=2,
        elinewidth=1,
        linewidth=1.6,
        label=series.name,
    )


def _levels(axes: Axes, levels: Mapping[str, float]) -> None:
    ordered = sorted(levels.items(), key=lambda item: item[1])
    for (label, level), height in zip(ordered, apart([level for _, level in ordered]), strict=True):
        axes.axhline(level, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0.5)
        axes.annotate(
            f"{label} {100 * level:.0f} %",
            (1, height),
            xycoords="axes fraction",
            ha="left",
            va="center",
            xytext=(3, 0),
            textcoords="offset points",
            fontsize=8.5,
            color=GREY,
        )


def apart(levels: Sequence[float]) -> list[float]:
    """Where to write the labels of rising levels: at their height, unless that would cover the label below."""
    heights: list[float] = []
    for level in levels:
        heights.append(max(level, heights[-1] + _LABEL_GAP) if heights else level)
    return heights
