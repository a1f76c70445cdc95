"""The picture of the field's benchmark: activity kept against what a retrained attacker infers about who it is."""

from collections.abc import Iterator, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from deeprotect.evaluation.report.drawing import GREY, INK, STYLE, Drawing, canvas
from deeprotect.evaluation.results import Row
from studies.peers.benchmark import NETWORK, name_of, whole_of

OURS, PEER = "#0072b2", "#d55e00"
APART, WIDE = 0.045, 0.2
"""Between two names, one above the other; and how far a name reaches."""
Point = tuple[str, str, float, float]
"""Name, colour, accuracy of the attacker and of the app."""


@mpl.rc_context(STYLE)
def draw(rows: Sequence[Row], useful: str) -> Drawing:
    """A point for raw windows and for each release; upper left is better."""
    figure, axes = canvas(7.2, 4.2)
    taken: list[tuple[float, float]] = []
    for name, colour, read, kept in sorted(_points(rows, useful), key=lambda point: point[-1]):
        axes.plot(read, kept, "o", color=colour, markersize=7)
        near = [place for where, place in taken if abs(where - read) < WIDE and abs(place - kept) < APART]
        place = max([kept, *(each + APART for each in near)])
        taken.append((read, place))
        axes.annotate(name, (read, kept), (read + 0.02, place), va="center", fontsize=9)
    _guessing(axes, rows[0], useful)
    axes.set_xlim(0, 1.25)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_ylim(0.1, 1.05)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("attacker names the person from all of their released windows")
    axes.set_ylabel(f"network trained on raw windows reads the {useful}")
    return Drawing("field", "Activity kept against identity read by a retrained attacker; peers and ours", figure)


def _points(rows: Sequence[Row], useful: str) -> Iterator[Point]:
    first = rows[0]
    yield "raw", GREY, whole_of(first.sensitive["person"]).raw, first.useful[useful].apps[NETWORK].clean
    for row in rows:
        colour = PEER if row.seconds_per_draw is None else OURS
        yield name_of(row), colour, whole_of(row.sensitive["person"]).released, row.useful[useful].apps[NETWORK].app


def _guessing(axes: Axes, row: Row, useful: str) -> None:
    whole = whole_of(row.sensitive["person"])
    axes.axvline(max(whole.chance, whole.from_useful), color=INK, linewidth=0.8, linestyle=":")
    axes.axhline(row.useful[useful].chance, color=INK, linewidth=0.8, linestyle=":")
