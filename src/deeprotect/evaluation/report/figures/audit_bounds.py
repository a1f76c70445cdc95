"""The picture of an audit: what both private inputs look like to the distinguisher, and the event it bets on."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deeprotect.audit.finding import Finding
from deeprotect.evaluation.report.figures import GREY, LOOKS, STYLE, Drawing
from deeprotect.tables.atomic import whole_file

_BINS = 60
_SIDES = (LOOKS["laplace"].colour, LOOKS["baseline"].colour)


def write(path: Path, findings: Sequence[Finding]) -> None:
    """A PNG file, whole or not at all."""
    with whole_file(path) as stream:
        stream.write(draw(findings).png())


@mpl.rc_context(STYLE)
def draw(findings: Sequence[Finding]) -> Drawing:
    """One panel for each promise attacked."""
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
