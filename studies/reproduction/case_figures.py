"""The figures of the paper's evaluation, redrawn from measured rows."""

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deeprotect.evaluation.methods import is_main
from deeprotect.evaluation.report.drawing import (
    GREY,
    LEGEND_ROW,
    PERCENT,
    STYLE,
    Drawing,
    Series,
    apart,
    canvas,
    file_name,
    label_axes,
    lines,
    looks,
)
from deeprotect.evaluation.results import Row
from studies.features.extractor_comparison import RAW
from studies.reproduction.feature_curves import SHOWN, CurvePoint

EPSILON = "ε per window (further right: less noise)"
APP, ATTACKER = "#0072b2", "#d55e00"


class Stroke(NamedTuple):
    """How a mechanism's two lines are drawn: ours in full, the others lighter."""

    dashes: str
    alpha: float


TRADE = {"channel ldp": Stroke("-", 1.0), "channel rldp": Stroke("--", 0.6), "paper rldp": Stroke(":", 0.6)}


def accuracy_of_features(part: str, points: Sequence[CurvePoint], useful: str) -> Drawing:
    """Ridge accuracy against the number of features, a line for each kind."""
    few = [point for point in points if point.feature_extractor != RAW]
    series = []
    for name in dict.fromkeys(point.feature_extractor for point in few):
        own = [point for point in few if point.feature_extractor == name]
        low, high = zip(*(point.accuracy_ci for point in own), strict=True)
        series.append(Series(name, [point.features for point in own], [point.accuracy for point in own], low, high))
    levels = {f"all {point.features} values": point.accuracy for point in points if point.feature_extractor == RAW}
    levels |= {"guessing": points[0].chance}
    return lines(
        file_name("features", part),
        series,
        xlabel="features",
        levels=levels,
        caption=f"{part}: {useful} as a ridge classifier reads it from few features, without noise",
    )


def informativeness_of_features(part: str, points: Sequence[CurvePoint], useful: str) -> Drawing:
    """Informativeness of each of the seven features, highest first."""
    shown = [point for point in points if point.informativeness]
    series = [
        Series(point.feature_extractor, range(1, len(point.informativeness) + 1), point.informativeness)
        for point in shown
    ]
    return bars(
        file_name("informativeness", part),
        series,
        xlabel=f"feature, of {SHOWN}, the most telling first",
        ylabel="I(f; y) / H(y)",
        caption=f"{part}: the share of {useful} that each feature tells by itself, on tested windows",
    )


def useful_of_mechanisms(part: str, rows: Sequence[Row], useful: str) -> Drawing:
    """Accuracy of the unchanged app against ε, for every mechanism."""
    series = []
    for name in filter(is_main, dict.fromkeys(row.line for row in rows)):
        own = [row for row in rows if row.line == name]
        low, high = zip(*(row.useful[useful].app_ci for row in own), strict=True)
        series.append(Series(name, _epsilons(own), [row.useful[useful].app for row in own], low, high))
    levels = {"raw": rows[0].useful[useful].clean, "guessing": rows[0].useful[useful].chance}
    caption = f"{part}: {useful} as the unchanged app reads it from released windows"
    return lines(file_name("mechanisms", part), series, xlabel=EPSILON, levels=levels, caption=caption, log_x=True)


@mpl.rc_context(STYLE)
def trade_off(part: str, rows: Sequence[Row], useful: str, *, sensitive: str) -> Drawing:
    """The app and the best retrained attacker against ε, in one picture as in the paper."""
    figure, axes = canvas(4.8, 3.2)
    shown = [name for name in TRADE if any(row.line == name for row in rows)]
    for name in shown:
        own = [row for row in rows if row.line == name]
        apps = [(row.useful[useful].app, row.useful[useful].app_ci) for row in own]
        attackers = [(row.sensitive[sensitive].adaptive, row.sensitive[sensitive].adaptive_ci) for row in own]
        _line(axes, f"{name}: app", _epsilons(own), apps, colour=APP, stroke=TRADE[name])
        _line(axes, f"{name}: attacker", _epsilons(own), attackers, colour=ATTACKER, stroke=TRADE[name])
    levels = (
        ("app, raw", rows[0].useful[useful].clean, APP),
        ("attacker, raw", rows[0].sensitive[sensitive].raw, ATTACKER),
        ("guessing", rows[0].sensitive[sensitive].chance, GREY),
    )
    _levels(axes, sorted(levels, key=lambda each: each[1]))
    _frame(axes, sorted({epsilon for row in rows for epsilon in _epsilons([row])}))
    _legend(figure, len(shown))
    caption = f"{part}: {useful} (app) against {sensitive} (best retrained attacker)"
    return Drawing(file_name("trade", part), caption, figure)


def _legend(figure: Figure, mechanisms: int) -> None:
    """Below, apps at the left and attackers at the right; two columns, for names are long."""
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + LEGEND_ROW * mechanisms)
    handles, names = figure.axes[0].get_legend_handles_labels()
    order = [*range(0, len(names), 2), *range(1, len(names), 2)]
    ordered = [handles[place] for place in order], [names[place] for place in order]
    figure.legend(*ordered, loc="outside lower center", ncols=2, frameon=False, fontsize=9)


def _levels(axes: Axes, levels: Sequence[tuple[str, float, str]]) -> None:
    """Rising levels across, each with its name at the right, none over another."""
    heights = apart([level for _, level, _ in levels])
    for (label, level, colour), height in zip(levels, heights, strict=True):
        axes.axhline(level, color=colour, linewidth=0.9, linestyle=(0, (1, 3)), zorder=0.5)
        axes.annotate(
            label,
            (1, height),
            xycoords="axes fraction",
            xytext=(3, 0),
            textcoords="offset points",
            fontsize=8.5,
            va="center",
            color=colour,
        )


def _line(
    axes: Axes,
    label: str,
    epsilons: Sequence[float],
    found: Sequence[tuple[float, tuple[float, float]]],
    *,
    colour: str,
    stroke: Stroke,
) -> None:
    values = [value for value, _ in found]
    down = [max(0.0, value - low) for value, (low, _) in found]
    up = [max(0.0, high - value) for value, (_, high) in found]
    axes.errorbar(
        epsilons,
        values,
        yerr=[down, up],
        color=colour,
        linestyle=stroke.dashes,
        alpha=stroke.alpha,
        marker="o",
        markersize=4,
        capsize=2,
        elinewidth=1,
        linewidth=1.7,
        label=label,
    )


def _frame(axes: Axes, ticks: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1)
    axes.set_xlabel(EPSILON)
    axes.set_ylabel("accuracy")
    axes.yaxis.set_major_formatter(PERCENT)


def _epsilons(rows: Sequence[Row]) -> list[float]:
    return [row.epsilon for row in rows if row.epsilon is not None]


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
    label_axes(figure, axes, names=len(series), xlabel=xlabel, ylabel=ylabel)
    return Drawing(name, caption, figure)
