"""The pictures of patience: what apps and attackers read against how long a draw is held, and against ε an hour."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes

from deeprotect.evaluation.report.figures.curves import PERCENT
from deeprotect.evaluation.report.figures.drawing import GREY, INK, STYLE, Drawing, canvas, file_name, legend
from deeprotect.evaluation.results import Row

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
    """What an app reads against ε for an hour: draws that are held, and scripts."""
    figure, axes = canvas(5.4, 3.0)
    lowest = min(row.useful[useful].app_ci[0] for row in rows)
    for scripts, colour, marker, name in ((False, _APP, "o", "one label, held"), (True, _SCRIPT, "D", "a script")):
        some = sorted((row for row in rows if bool(row.slots) == scripts), key=lambda row: row.epsilon_per_hour or 0.0)
        found = [row.useful[useful] for row in some]
        cost = [row.epsilon_per_hour or 0.0 for row in some]
        off = [[max(0.0, each.app - each.app_ci[0]) for each in found], [each.app_ci[1] - each.app for each in found]]
        style: Any = {"fmt": marker, "color": colour, "markersize": 5, "elinewidth": 0.8, "alpha": 0.9, "label": name}
        axes.errorbar(cost, [each.app for each in found], yerr=off, **style)
    axes.axhline(rows[0].useful[useful].clean, color=GREY, linewidth=0.8, linestyle=":", label="raw windows")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(max(0.0, lowest - 0.02), 1)
    axes.set_xlabel("ε for an hour")
    axes.set_ylabel(f"{useful}, accuracy of the app")
    axes.yaxis.set_major_formatter(PERCENT)
    legend(figure, 3)
    return Drawing(file_name("hourly", useful), caption, figure)


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
