"""Rows as pictures: what apps and attackers read against ε, against each other, and from pooled windows."""

import math
from collections.abc import Callable, Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes

from deeprotect.attack.intervals import Interval
from deeprotect.evaluation.methods import Look, is_main
from deeprotect.evaluation.report.figures.curves import PERCENT, Series, lines
from deeprotect.evaluation.report.figures.drawing import GREY, INK, STYLE, Drawing, canvas, file_name, legend, short
from deeprotect.evaluation.report.figures.palette import looks
from deeprotect.evaluation.results import Row, Sensitive

_EPSILON = "ε per window (further right: less noise)"
_LONGEST = 28


def useful_against_epsilon(rows: Sequence[Row], inference: str, *, caption: str) -> Drawing:
    """What the unchanged app still reads."""
    facts = rows[0].useful[inference]
    levels = {"raw": facts.clean, "guessing": facts.chance}

    def app(row: Row) -> tuple[float, Interval]:
        return row.useful[inference].app, row.useful[inference].app_ci

    return _against_epsilon(file_name("useful", inference), rows, app, levels=levels, caption=caption)


def sensitive_against_epsilon(rows: Sequence[Row], inference: str, *, caption: str) -> Drawing:
    """What the retrained attacker still reads."""
    facts = rows[0].sensitive[inference]
    levels = {"raw": facts.raw, "guessing": facts.chance}

    def attacker(row: Row) -> tuple[float, Interval]:
        return row.sensitive[inference].adaptive, row.sensitive[inference].adaptive_ci

    return _against_epsilon(file_name("sensitive", inference), rows, attacker, levels=levels, caption=caption)


def _against_epsilon(
    name: str,
    rows: Sequence[Row],
    reads: Callable[[Row], tuple[float, Interval]],
    *,
    levels: Mapping[str, float],
    caption: str,
) -> Drawing:
    """One curve for each line; `reads` gives a row's accuracy and its interval."""
    series = []
    for line, group in _by_line(curves(rows)).items():
        values, intervals = zip(*map(reads, group), strict=True)
        low, high = zip(*intervals, strict=True)
        series.append(Series(line, _epsilons(group), values, low, high))
    return lines(name, series, xlabel=_EPSILON, levels=levels, caption=caption, log_x=True)


def pooled(rows: Sequence[Row], inference: str, *, caption: str) -> Drawing:
    """What attackers gain from several windows of one recording; `rows` are those of one ε."""
    facts = [row.sensitive[inference] for row in rows]
    raw = next((each for each in facts if each.pooled_raw), None)
    series = [] if raw is None else [_pools("raw", {1: raw.raw, **raw.pooled_raw})]
    for row, each in zip(rows, facts, strict=True):
        if each.pooled:
            series.append(_pools(row.line, {1: each.adaptive, **each.pooled}))
    levels = {"guessing": facts[0].chance}
    name, xlabel = file_name("pooled", inference), "windows of one recording that the attacker puts together"
    return lines(name, series, xlabel=xlabel, levels=levels, caption=caption, log_x=True)


@mpl.rc_context(STYLE)
def useful_against_sensitive(rows: Sequence[Row], useful: str, sensitive: str, *, caption: str) -> Drawing:
    """One point for each row: the app's accuracy upwards, the attacker's to the right; larger points, larger ε."""
    figure, axes = canvas(4.8, 3.4)
    groups = _by_line(rows)
    look = looks(list(groups))
    for name, group in groups.items():
        _points(axes, name, [(row, row.sensitive[sensitive].adaptive, row.useful[useful].app) for row in group], look)
    app, attack = rows[0].useful[useful], rows[0].sensitive[sensitive]
    _corner(axes, attack, app.clean)
    axes.scatter([attack.raw], [app.clean], marker="o", s=46, facecolors="none", edgecolors=INK, linewidths=1.2)
    axes.annotate("raw", (attack.raw, app.clean), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=9)
    _share_axes(axes, f"attacker on {short(sensitive, _LONGEST)}", f"app on {short(useful, _LONGEST)}")
    legend(figure, len(groups))
    return Drawing(file_name("against", useful, sensitive), caption, figure)


def _share_axes(axes: Axes, xlabel: str, ylabel: str) -> None:
    """Both from 0 to 100 %, with room above for what is written over a point at the top."""
    for axis, label in ((axes.xaxis, xlabel), (axes.yaxis, ylabel)):
        axis.set_major_formatter(PERCENT)
        axis.set_label_text(label)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.08)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])


def curves(rows: Sequence[Row]) -> list[Row]:
    """The rows that curves show: main mechanisms where there are any, and ε to draw them at."""
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
    """Where the app loses nothing and the attacker learns nothing beyond what the useful label itself tells."""
    x = max(attack.chance, attack.from_useful)
    for draw, level in ((axes.axvline, x), (axes.axhline, clean)):
        draw(level, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0.5)
    axes.scatter([x], [clean], marker="o", s=260, color=GREY, alpha=0.3, linewidths=0, zorder=0.6)
    axes.annotate("ideal", (x, clean), xytext=(8, 8), textcoords="offset points", fontsize=9, color=GREY)


def _by_line(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {name: [row for row in rows if row.line == name] for name in dict.fromkeys(row.line for row in rows)}


def _epsilons(rows: Sequence[Row]) -> list[float]:
    return [row.epsilon for row in rows if row.epsilon is not None]


def _pools(name: str, accuracy: dict[int, float]) -> Series:
    sizes = sorted(accuracy)
    return Series(name, sizes, [accuracy[size] for size in sizes])
