"""The picture of strangers: apps and attackers on people who were met before, and on people who were not."""

import matplotlib as mpl
import numpy as np

from deeprotect.evaluation.report.figures.curves import PERCENT
from deeprotect.evaluation.report.figures.drawing import GREY, STYLE, Drawing, canvas, legend, short
from deeprotect.evaluation.results import Row

_MET, _STRANGERS = "#56b4e9", "#0072b2"
_LONGEST = 18


@mpl.rc_context(STYLE)
def strangers(met: Row, unmet: Row, *, caption: str) -> Drawing:
    """Two bars for each inference; the line across is what raw windows, or the useful labels alone, would give."""
    figure, axes = canvas(5.4, 2.8)
    names = [f"{short(name, _LONGEST)}\n(app)" for name in met.useful]
    names += [f"{short(name, _LONGEST)}\n(attacker)" for name in met.sensitive]
    places = np.arange(len(names))
    for shift, row, colour, label in ((-0.2, met, _MET, "people met before"), (0.2, unmet, _STRANGERS, "strangers")):
        values = [each.app for each in row.useful.values()] + [each.adaptive for each in row.sensitive.values()]
        ends = [each.app_ci for each in row.useful.values()] + [each.adaptive_ci for each in row.sensitive.values()]
        errors = np.maximum(0.0, [[v - low, high - v] for v, (low, high) in zip(values, ends, strict=True)]).T
        axes.bar(places + shift, values, 0.36, yerr=errors, color=colour, ecolor=GREY, label=label)
        levels = [each.clean for each in row.useful.values()]
        levels += [max(each.chance, each.from_useful) for each in row.sensitive.values()]
        axes.hlines(levels, places + shift - 0.18, places + shift + 0.18, color=GREY, linestyle=":")
    axes.set_xticks(places, names)
    axes.set_ylim(0, 1)
    axes.set_ylabel("accuracy")
    axes.yaxis.set_major_formatter(PERCENT)
    legend(figure, 2)
    return Drawing("strangers", caption, figure)
