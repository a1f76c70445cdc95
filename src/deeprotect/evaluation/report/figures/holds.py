"""The pictures of patience: what apps and attackers read against how long a draw is held, and against ε an hour."""

from collections.abc import Sequence
from fractions import Fraction

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from deeprotect.evaluation.report.figures.curves import PERCENT
from deeprotect.evaluation.report.figures.drawing import GREY, INK, STYLE, Drawing, canvas, file_name, legend
from deeprotect.evaluation.results import Row
from deeprotect.policy.durations import duration

_SCRIPT = "#009e73"
_APP, _ATTACKER, _COST = "#0072b2", "#d55e00", "#868e96"


@mpl.rc_context(STYLE)
def held(rows: Sequence[Row], useful: str, sensitive: str | None, *, caption: str) -> Drawing:
    """Rows of one promise, each with a hold of its own; the cost has its axis at the right."""
    figure, axes = canvas(5.4, 3.0)
    seconds = [row.seconds_per_draw or 0.0 for row in rows]
    _app(axes, rows, seconds, useful)
    if sensitive is not None:
        _attackers(axes, rows, seconds, sensitive)
    axes.set_xscale("log")
    axes.set_xticks(seconds, [f"{each:g}" for each in seconds])
    axes.minorticks_off()
    axes.set_ylim(0, 1)
    axes.set_xlabel("seconds that a draw is held")
    axes.set_ylabel("accuracy")
    axes.yaxis.set_major_formatter(PERCENT)
    _cost(axes, rows, seconds)
    legend(figure, 4)
    return Drawing(file_name("held", useful), caption, figure)


@mpl.rc_context(STYLE)
def hourly(rows: Sequence[Row], useful: str, *, caption: str) -> Drawing:
    """What an app reads against ε for an hour: draws that are held, and scripts, each with its length."""
    figure, axes = canvas(5.4, 3.2)
    _points(axes, [row for row in rows if row.slots is None], useful, colour=_APP, marker="o", name="one label, held")
    _points(axes, [row for row in rows if row.slots], useful, colour=_SCRIPT, marker="D", name="a script")
    lowest = max(0.0, min(row.useful[useful].app_ci[0] for row in rows) - 0.02)
    if rows[0].useful[useful].clean > lowest:
        axes.axhline(rows[0].useful[useful].clean, color=GREY, linewidth=0.8, linestyle=":", label="raw windows")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.minorticks_off()
    axes.set_ylim(lowest, 1)
    axes.set_xlabel("ε for an hour")
    axes.set_ylabel(f"{useful}, accuracy of the app")
    axes.yaxis.set_major_formatter(PERCENT)
    legend(figure, 3)
    return Drawing(file_name("hourly", useful), caption, figure)


def _points(axes: Axes, rows: Sequence[Row], useful: str, *, colour: str, marker: str, name: str) -> None:
    for number, row in enumerate(rows):
        cost, found = row.epsilon_per_hour or 0.0, row.useful[useful]
        ends = [[max(0.0, found.app - found.app_ci[0])], [max(0.0, found.app_ci[1] - found.app)]]
        label = name if number == 0 else None
        axes.errorbar([cost], [found.app], ends, fmt=marker, color=colour, markersize=5, elinewidth=0.8, label=label)
        length = duration(Fraction(row.seconds_per_draw or 0.0).limit_denominator(1000))
        axes.annotate(length, (cost, found.app), (5, -9), textcoords="offset points", color=GREY, fontsize=7)


def _app(axes: Axes, rows: Sequence[Row], seconds: Sequence[float], useful: str) -> None:
    found = [row.useful[useful] for row in rows]
    low, high = zip(*(each.app_ci for each in found), strict=True)
    axes.fill_between(seconds, low, high, color=_APP, alpha=0.15, linewidth=0)
    axes.plot(seconds, [each.app for each in found], "o-", color=_APP, label=f"{useful}, read by the app")
    axes.axhline(found[0].clean, color=GREY, linewidth=0.8, linestyle=":")
    axes.annotate("raw", (seconds[-1], found[0].clean), color=GREY, fontsize=7, va="top", ha="right")


def _attackers(axes: Axes, rows: Sequence[Row], seconds: Sequence[float], sensitive: str) -> None:
    found = [row.sensitive[sensitive] for row in rows]
    axes.plot(seconds, [each.adaptive for each in found], "s-", color=_ATTACKER, label=f"{sensitive}, one draw")
    most = max(found[0].pooled, default=0)
    if most:
        pooled = [each.pooled[most] for each in found]
        axes.plot(seconds, pooled, "s--", color=_ATTACKER, alpha=0.6, label=f"{sensitive}, {most} draws")
    blind = max(found[0].chance, found[0].from_useful)
    axes.axhline(blind, color=GREY, linewidth=0.8, linestyle=":")
    axes.annotate("told the useful label only", (seconds[-1], blind), color=GREY, fontsize=7, va="bottom", ha="right")


def _cost(axes: Axes, rows: Sequence[Row], seconds: Sequence[float]) -> None:
    costs = [row.epsilon_per_hour for row in rows]
    if any(cost is None for cost in costs):
        return
    right = axes.twinx()
    right.plot(seconds, [cost or 0.0 for cost in costs], "-", color=_COST, linewidth=1, label="ε for an hour")
    right.set_yscale("log")
    right.set_yticks([cost or 0.0 for cost in costs], [f"{cost:,.0f}" for cost in costs])
    right.minorticks_off()
    right.set_ylabel("ε for an hour", color=INK)
    right.spines["right"].set_visible(True)
