"""Results as figures: accuracies against ε and each other, held draws and scripts, confusion, an audit's events."""

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from deeprotect.auditing.audit import Finding
from deeprotect.evaluation.methods import ERASED, Look, is_main
from deeprotect.evaluation.report.drawing import (
    GREY,
    INK,
    LOOKS,
    PERCENT,
    STYLE,
    Band,
    Drawing,
    Series,
    canvas,
    file_name,
    label_axes,
    legend,
    lines,
    looks,
    short,
)
from deeprotect.evaluation.results import Confusion, Row, Sensitive, Useful
from deeprotect.policy.sections import duration
from deeprotect.signals import Channel
from deeprotect.signals.schema import Floats
from deeprotect.tables.atomic import whole_file

Role = Literal["useful", "sensitive"]
_EPSILON = "ε per window (further right: less noise)"
_BAND = "at most"
_MET, _STRANGERS = "#56b4e9", "#0072b2"


def against_epsilon(rows: Sequence[Row], role: Role, inference: str, *, caption: str) -> Drawing:
    """Accuracy of the unchanged app (useful inference) or the retrained attacker (sensitive one) against ε."""

    def facts(row: Row) -> Useful | Sensitive:
        return (row.useful if role == "useful" else row.sensitive)[inference]

    series = [
        _series(line, [row.epsilon or 0.0 for row in group], [facts(row) for row in group])
        for line, group in _by_line(curves(rows)).items()
    ]
    levels = {"raw": facts(rows[0]).raw, "guessing": facts(rows[0]).chance}
    levels |= {row.line: facts(row).released[0] for row in rows if row.line == ERASED}  # mode 2 without noise
    bands = [] if role == "useful" else _bands(curves(rows), inference)
    more: Any = {"log_x": True, "bands": bands, "band_label": _BAND}
    return lines(file_name(role, inference), series, xlabel=_EPSILON, levels=levels, caption=caption, **more)


def errors(rows: Sequence[Row], inference: str, *, caption: str) -> Drawing:
    """For a number, the mean absolute error of the unchanged app, as a share of the error of guessing the median."""
    drawn = []
    for line, group in _by_line(curves(rows)).items():
        spared = [row.useful[inference].saved or (0.0, (0.0, 0.0)) for row in group]
        left = [(1 - share, 1 - high, 1 - low) for share, (low, high) in spared]
        drawn.append(Series(line, [row.epsilon or 0.0 for row in group], *zip(*left, strict=True)))
    first = rows[0].useful[inference]
    levels = {"raw": first.mae_clean, "coder": first.mae_coder}
    shares = {name: min(1.0, error / (first.mae_median or 1.0)) for name, error in levels.items() if error is not None}
    name, label = file_name("error", inference), "error, as a share of the median's"
    return lines(name, drawn, xlabel=_EPSILON, ylabel=label, levels=shares, caption=caption, log_x=True)


def _bands(rows: Sequence[Row], inference: str) -> list[Band]:
    """From guessing by useful labels to the bound on anyone's accuracy from one draw, if a coder has codes."""
    found = []
    for line, group in _by_line([row for row in rows if row.sensitive[inference].at_most]).items():
        facts = [row.sensitive[inference] for row in group]
        low, high = [each.floor for each in facts], [each.at_most[1] for each in facts]
        found.append(Band(line, [row.epsilon or 0.0 for row in group], low, high))
    return found


def _series(name: str, x: Sequence[float], facts: Sequence[Useful | Sensitive]) -> Series:
    """Accuracies on releases, with their intervals."""
    values, intervals = zip(*(each.released for each in facts), strict=True)
    return Series(name, x, values, *zip(*intervals, strict=True))


def pooled(rows: Sequence[Row], inference: str, *, caption: str) -> Drawing:
    """Gain of attackers from several windows of one recording; `rows` share one ε."""
    facts = [row.sensitive[inference] for row in rows]
    raw = next((each for each in facts if each.pooled_raw), None)
    series = [] if raw is None else [_pools("raw", {1: raw.raw, **raw.pooled_raw})]
    for row, each in zip(rows, facts, strict=True):
        if each.pooled:
            series.append(_pools(row.line, {1: each.adaptive, **each.pooled}))
    levels = {"guessing": facts[0].chance}
    name, xlabel = file_name("pooled", inference), "windows of one recording that the attacker pools"
    bands = [_pooled_band(row.line, each) for row, each in zip(rows, facts, strict=True) if each.at_most]
    more: Any = {"log_x": True, "bands": bands, "band_label": _BAND}
    return lines(name, series, xlabel=xlabel, levels=levels, caption=caption, **more)


def _pooled_band(name: str, facts: Sensitive) -> Band:
    """From guessing by the useful labels of several draws to the bound on anyone's accuracy from them."""
    sizes = sorted(facts.at_most)
    low = [max(facts.floor, facts.pooled_blind.get(size, 0.0)) for size in sizes]
    return Band(name, sizes, low, [facts.at_most[size] for size in sizes])


@mpl.rc_context(STYLE)
def signal(
    name: str, given: Floats, released: Floats, *, rate_hz: float, channel: Channel, caption: str, label: str = "raw"
) -> Drawing:
    """One channel over time in its public range, raw and released; `name` is its line's name."""
    figure, axes = canvas(3.7, 2.2)
    seconds = np.arange(len(given)) / rate_hz
    axes.plot(seconds, released, color=looks([name])[name].colour, linewidth=1.6, label="released")
    axes.plot(seconds, given, color=INK, linewidth=1.1, label=label)
    axes.set_xlabel("seconds")
    axes.set_ylabel(f"{short(channel.name, 16)} ({short(channel.unit, 8)})")
    axes.set_ylim(channel.low, channel.high)
    axes.margins(x=0)
    return Drawing(file_name("signal", name), caption, figure)


@mpl.rc_context(STYLE)
def useful_against_sensitive(rows: Sequence[Row], useful: str, sensitive: str, *, caption: str) -> Drawing:
    """One point per row: the app's accuracy upwards, the attacker's to the right; larger points for larger ε."""
    figure, axes = canvas(4.8, 3.4)
    groups = _by_line(rows)
    look = looks(list(groups))
    for name, group in groups.items():
        _points(axes, name, [(row, row.sensitive[sensitive].adaptive, row.useful[useful].app) for row in group], look)
    app, attack = rows[0].useful[useful], rows[0].sensitive[sensitive]
    _corner(axes, attack, app.clean)
    axes.scatter([attack.raw], [app.clean], marker="o", s=46, facecolors="none", edgecolors=INK, linewidths=1.2)
    axes.annotate("raw", (attack.raw, app.clean), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=9)
    _share_axes(axes, f"attacker on {short(sensitive, 28)}", f"app on {short(useful, 28)}")
    legend(figure, len(groups))
    return Drawing(file_name("against", useful, sensitive), caption, figure)


def _share_axes(axes: Axes, xlabel: str, ylabel: str) -> None:
    """Both axes from 0 to 100 %, with room above for labels of points at the top."""
    for axis, label in ((axes.xaxis, xlabel), (axes.yaxis, ylabel)):
        axis.set_major_formatter(PERCENT)
        axis.set_label_text(label)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.08)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])


@mpl.rc_context(STYLE)
def strangers(met: Row, unmet: Row, *, caption: str) -> Drawing:
    """Two bars for each inference; the line across shows raw windows, or the useful labels alone."""
    figure, axes = canvas(5.4, 2.8)
    names = [f"{short(name, 18)}\n(app)" for name in met.useful]
    names += [f"{short(name, 18)}\n(attacker)" for name in met.sensitive]
    places = np.arange(len(names))
    for shift, row, colour, label in ((-0.2, met, _MET, "known people"), (0.2, unmet, _STRANGERS, "strangers")):
        read = _series(label, places.tolist(), [each for _, each in row.inferences])
        axes.bar(places + shift, read.y, 0.36, yerr=read.errors, color=colour, ecolor=GREY, label=label)
        levels = [each.clean if isinstance(each, Useful) else each.floor for _, each in row.inferences]
        axes.hlines(levels, places + shift - 0.18, places + shift + 0.18, color=GREY, linestyle=":")
    axes.set_xticks(places, names)
    axes.set_ylim(0, 1)
    label_axes(figure, axes, names=2, xlabel="", ylabel="accuracy")
    return Drawing("strangers", caption, figure)


def curves(rows: Sequence[Row]) -> list[Row]:
    """The rows that curves show: main mechanisms if there are any, with an ε."""
    promised = [row for row in rows if row.epsilon is not None]
    return [row for row in promised if is_main(row.line)] or promised


def _points(axes: Axes, name: str, points: Sequence[tuple[Row, float, float]], look: dict[str, Look]) -> None:
    colour, marker = look[name]
    _, x, y = zip(*points, strict=True)
    if is_main(name):
        axes.plot(x, y, color=colour, linewidth=0.8, alpha=0.5)
    axes.scatter(x, y, s=[_size(row) for row, *_ in points], color=colour, marker=marker, linewidths=1.2, label=name)


def _size(row: Row) -> float:
    return 36.0 if row.epsilon is None else 16.0 + 20.0 * math.log1p(row.epsilon)


def _corner(axes: Axes, attack: Sensitive, clean: float) -> None:
    """The ideal corner: the app loses nothing and the attacker learns only what the useful label itself reveals."""
    x = attack.floor
    for draw, level in ((axes.axvline, x), (axes.axhline, clean)):
        draw(level, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0.5)
    axes.scatter([x], [clean], marker="o", s=260, color=GREY, alpha=0.3, linewidths=0, zorder=0.6)
    axes.annotate("ideal", (x, clean), xytext=(8, 8), textcoords="offset points", fontsize=9, color=GREY)


def _by_line(rows: Sequence[Row]) -> dict[str, list[Row]]:
    ordered = sorted(rows, key=lambda row: row.epsilon or 0.0)
    return {name: [row for row in ordered if row.line == name] for name in dict.fromkeys(row.line for row in rows)}


def _pools(name: str, accuracy: dict[int, float]) -> Series:
    sizes = sorted(accuracy)
    return Series(name, sizes, [accuracy[size] for size in sizes])


_SCRIPT = "#009e73"
_APP, _ATTACKER, _COST = "#0072b2", "#d55e00", "#868e96"
_KINDS = {
    "a draw each window": ("#56b4e9", "P"),
    "a held draw": (_APP, "o"),
    "script": (_SCRIPT, "D"),
    "laplace": ("#cc79a7", "^"),
}


@mpl.rc_context(STYLE)
def held(rows: Sequence[Row], useful: str, sensitive: str | None, *, caption: str) -> Drawing:
    """Rows with one promise and different holds; the cost has an axis at the right."""
    figure, axes = canvas(5.4, 3.0)
    seconds = [row.seconds_per_draw or 0.0 for row in rows]
    _app(axes, rows, seconds, useful)
    if sensitive is not None:
        _attackers(axes, rows, seconds, sensitive)
    axes.set_xscale("log")
    axes.set_xticks(seconds, [f"{each:g}" for each in seconds])
    axes.minorticks_off()
    axes.set_ylim(0, 1)
    _cost(axes, rows, seconds)
    label_axes(figure, axes, names=4, xlabel="seconds that a draw is held", ylabel="accuracy")
    return Drawing(file_name("held", useful), caption, figure)


@mpl.rc_context(STYLE)
def hourly(rows: Sequence[Row], useful: str, *, caption: str) -> Drawing:
    """Accuracy of an app against ε per hour: held draws and scripts, each labelled with its length."""
    figure, axes = canvas(5.4, 3.2)
    kinds = {"one label, held": (_APP, "o"), "a script": (_SCRIPT, "D")}
    for name, (colour, marker) in kinds.items():
        of_kind = [row for row in rows if (row.slots is not None) == (name == "a script")]
        if of_kind:
            _with_intervals(axes, of_kind, useful, fmt=marker, color=colour, markersize=5, elinewidth=0.8, label=name)
    for row in rows:
        length = duration(Fraction(row.seconds_per_draw or 0.0).limit_denominator(1000))
        place = (row.epsilon_per_hour or 0.0, row.useful[useful].app)
        axes.annotate(length, place, (5, -9), textcoords="offset points", color=GREY, fontsize=7)
    lowest = max(0.0, min(row.useful[useful].app_ci[0] for row in rows) - 0.02)
    if rows[0].useful[useful].clean > lowest:
        axes.axhline(rows[0].useful[useful].clean, color=GREY, linewidth=0.8, linestyle=":", label="raw windows")
    axes.set_ylim(lowest, 1)
    _hourly_axes(figure, axes, useful, names=3)
    return Drawing(file_name("hourly", useful), caption, figure)


def _with_intervals(axes: Axes, rows: Sequence[Row], useful: str, **look: Any) -> None:
    """What an app reads of each row, against what an hour of it costs."""
    read = _series("", [row.epsilon_per_hour or 0.0 for row in rows], [row.useful[useful] for row in rows])
    axes.errorbar(read.x, read.y, read.errors, **look)


def _hourly_axes(figure: Figure, axes: Axes, useful: str, *, names: int) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.minorticks_off()
    label_axes(figure, axes, names=names, xlabel="ε for an hour", ylabel=f"{useful}, accuracy of the app")


@mpl.rc_context(STYLE)
def tried(
    rows: Sequence[Row], confirmed: Row, useful: str, *, accuracy: float | None, cost: float | None, caption: str
) -> Drawing:
    """Every tried policy against ε per hour, the best for each cost, the goal and the choice."""
    figure, axes = canvas(6.4, 3.8)
    for name, (colour, marker) in _KINDS.items():
        of_kind = [row for row in rows if _kind(row) == name]
        costs, read = [row.epsilon_per_hour or 0.0 for row in of_kind], [row.useful[useful].app for row in of_kind]
        if of_kind:
            axes.scatter(costs, read, s=14, color=colour, marker=marker, alpha=0.55, label=name)
    best = _best(rows, useful)
    axes.step(*zip(*best, strict=True), where="post", color=INK, linewidth=0.9, label="best for its cost")
    ring = {"markersize": 11, "markerfacecolor": "none", "markeredgewidth": 1.8, "elinewidth": 1.2}
    label = "proposed, on test recordings"
    _with_intervals(axes, [confirmed], useful, fmt="o", color=_ATTACKER, label=label, **ring)
    for level, draw in ((accuracy, axes.axhline), (cost, axes.axvline)):
        if level is not None:
            draw(level, color=GREY, linewidth=1, linestyle=(0, (4, 3)), label="asked for", zorder=0.5)
    axes.axhline(confirmed.useful[useful].clean, color=GREY, linewidth=0.8, linestyle=":", label="raw windows")
    _hourly_axes(figure, axes, useful, names=len(axes.get_legend_handles_labels()[0]))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,)))
    return Drawing(file_name("tried", useful), caption, figure)


def _kind(row: Row) -> str:
    if row.slots is not None:
        return "script"
    if row.mechanism != "channel":
        return row.mechanism
    return "a draw each window" if row.seconds_per_draw == row.window_seconds else "a held draw"


def _best(rows: Sequence[Row], useful: str) -> list[tuple[float, float]]:
    """Points that no cheaper one reaches, by ascending cost."""
    found: list[tuple[float, float]] = []
    for cost, app in sorted((row.epsilon_per_hour or 0.0, row.useful[useful].app) for row in rows):
        if not found or app > found[-1][1]:
            found.append((cost, app))
    return found


def _app(axes: Axes, rows: Sequence[Row], seconds: Sequence[float], useful: str) -> None:
    found = [row.useful[useful] for row in rows]
    low, high = zip(*(each.app_ci for each in found), strict=True)
    axes.fill_between(seconds, low, high, color=_APP, alpha=0.15, linewidth=0)
    axes.plot(seconds, [each.app for each in found], "o-", color=_APP, label=f"{useful}, accuracy of the app")
    axes.axhline(found[0].clean, color=GREY, linewidth=0.8, linestyle=":")
    axes.annotate("raw", (seconds[-1], found[0].clean), color=GREY, fontsize=7, va="top", ha="right")


def _attackers(axes: Axes, rows: Sequence[Row], seconds: Sequence[float], sensitive: str) -> None:
    found = [row.sensitive[sensitive] for row in rows]
    axes.plot(seconds, [each.adaptive for each in found], "s-", color=_ATTACKER, label=f"{sensitive}, one draw")
    most = max(found[0].pooled, default=0)
    if most:
        pooled = [each.pooled[most] for each in found]
        axes.plot(seconds, pooled, "s--", color=_ATTACKER, alpha=0.6, label=f"{sensitive}, {most} draws")
    axes.axhline(found[0].floor, color=GREY, linewidth=0.8, linestyle=":")
    axes.annotate(
        "from the useful label only", (seconds[-1], found[0].floor), color=GREY, fontsize=7, va="bottom", ha="right"
    )


def _cost(axes: Axes, rows: Sequence[Row], seconds: Sequence[float]) -> None:
    costs = [row.epsilon_per_hour for row in rows]
    if any(cost is None for cost in costs):
        return
    right = axes.twinx()
    right.plot(seconds, [cost or 0.0 for cost in costs], "-", color=_COST, linewidth=1, label="ε per hour")
    right.set_yscale("log")
    right.set_yticks([cost or 0.0 for cost in costs], [f"{cost:,.0f}" for cost in costs])
    right.minorticks_off()
    right.set_ylabel("ε per hour", color=INK)
    right.spines["right"].set_visible(True)


NUMBERED = 12
"""Largest number of classes for printing numbers in cells; with more they would not be readable."""
_NAMED = 32
_SHADES = {"app": "#0072b2", "attacker": "#d55e00"}


@mpl.rc_context(STYLE)
def confusion(kind: str, inference: str, confusion: Confusion, *, caption: str) -> Drawing:
    """Shares of each true class (row); `kind` is the predictor: the app or an attacker."""
    counts = np.array(confusion.counts, dtype=float)
    shares = counts / np.maximum(1.0, counts.sum(axis=1, keepdims=True))
    figure, axes = canvas(4.8, min(4.4, 2.4 + 0.2 * len(counts)))
    # One colour with varying opacity works on light and dark backgrounds. It grows with the root of the share, so that
    # predictions spread over many classes remain visible.
    shade = np.broadcast_to(to_rgb(_SHADES[kind]), (*shares.shape, 3))
    axes.imshow(np.dstack([shade, 0.7 * np.sqrt(shares)]), interpolation="none", aspect="equal")
    if len(counts) <= NUMBERED:
        _numbers(axes, shares)
    _names(axes, confusion)
    axes.set_xlabel("read as")
    axes.set_ylabel("truly")
    return Drawing(file_name(kind, inference), caption, figure)


def _numbers(axes: Axes, shares: Floats) -> None:
    for (row, column), share in np.ndenumerate(shares):
        axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=8.5)


def _names(axes: Axes, confusion: Confusion) -> None:
    size = len(confusion.classes)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if size > _NAMED:
        axes.set_xticks([])
        axes.set_yticks([])
        return
    names = [short(name, 14) for name in confusion.classes]
    font = min(8.5, 190 / size)  # points, of about 250 that the axes measure
    axes.set_xticks(range(size), names, rotation=90 if max(map(len, names)) > 2 else 0, fontsize=font)
    axes.set_yticks(range(size), names, fontsize=font)


_BINS = 60
_SIDES = (LOOKS["laplace"].colour, LOOKS["baseline"].colour)


def write_audit(path: Path, findings: Sequence[Finding]) -> None:
    """Write a PNG file atomically."""
    with whole_file(path) as stream:
        stream.write(audit(findings).png())


@mpl.rc_context(STYLE)
def audit(findings: Sequence[Finding]) -> Drawing:
    """One panel for each attacked promise."""
    figure = Figure(figsize=(6.4, 3.4 * len(findings)), layout="constrained")
    for axes, finding in zip(figure.subplots(len(findings), squeeze=False)[:, 0], findings, strict=True):
        _panel(axes, finding)
    return Drawing("audit", "; ".join(map(str, findings)), figure)


def _panel(axes: Axes, finding: Finding) -> None:
    both = np.concatenate(finding.scores)
    low, high = both.min(), both.max()
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    for name, scores, colour in zip(("first input", "second input"), finding.scores, _SIDES, strict=True):
        shares = np.histogram(scores, edges)[0] / len(scores)
        axes.stairs(shares, edges, color=colour, fill=True, alpha=0.25)
        axes.stairs(shares, edges, color=colour, linewidth=1.4, label=name)
    rule = finding.rule
    axes.axvspan(*((low, rule.threshold) if rule.swapped else (rule.threshold, edges[-1])), color=GREY, alpha=0.2)
    axes.axvline(rule.threshold, color=GREY, linestyle=(0, (4, 3)), label="event")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(f"score of the distinguisher ({rule.kind})")
    axes.set_ylabel("share of releases")
    axes.set_title(
        f"{finding.guarantee}: claimed ε = {finding.claim:g}, shown ε ≥ {finding.epsilon:.3f}\n{finding.observed}",
        fontsize=10,
        loc="left",
    )
    axes.legend(frameon=False, fontsize=8.5)
