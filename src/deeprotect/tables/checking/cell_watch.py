"""Cells of channels: missing, infinite, text, never changing, outside the public range."""

from dataclasses import dataclass, field

import numpy as np

from deeprotect.signals import Channel
from deeprotect.signals.checks import OUTSIDE_SHARE
from deeprotect.signals.schema import Floats
from deeprotect.tables.checking.report import Problem, ProblemCount, some
from deeprotect.tables.reader import Seen

CLIPPED_SHARE = 0.01  # beyond it, clipping is no accident of a saturated sensor
STUCK_ROWS = 100
_DROPS = "`deeprotect prepare` drops such rows"


@dataclass
class CellWatch:
    """Counts per channel; `public` are the policy's channels by column, where there is a policy."""

    channels: tuple[str, ...]
    public: dict[str, Channel]
    rows: int = 0
    missing: ProblemCount = field(default_factory=ProblemCount)
    infinite: ProblemCount = field(default_factory=ProblemCount)
    text: ProblemCount = field(default_factory=ProblemCount)
    grouped: ProblemCount = field(default_factory=ProblemCount)
    _outside: dict[str, ProblemCount] = field(default_factory=dict)
    _low: Floats = field(init=False)
    _high: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._low, self._high = np.full(len(self.channels), np.inf), np.full(len(self.channels), -np.inf)

    def see(self, seen: Seen) -> None:
        self.rows += len(seen.samples)
        for index, name in enumerate(self.channels):
            values, text = seen.samples[:, index], seen.text[:, index]
            self.text.add(text, seen.first_row, name)
            self.grouped.add(seen.grouped[:, index], seen.first_row, name)
            self.missing.add(np.isnan(values) & ~text, seen.first_row, name)
            self.infinite.add(np.isinf(values), seen.first_row, name)
            finite = values[np.isfinite(values)]
            self._low[index] = min(self._low[index], finite.min(initial=np.inf))
            self._high[index] = max(self._high[index], finite.max(initial=-np.inf))
            if name in self.public:
                channel = self.public[name]
                beyond = (values < channel.low) | (values > channel.high)
                self._outside.setdefault(name, ProblemCount()).add(beyond & np.isfinite(values), seen.first_row)

    def problems(self) -> list[Problem]:
        stuck = tuple(name for index, name in enumerate(self.channels) if self._low[index] == self._high[index])
        stuck = stuck if self.rows >= STUCK_ROWS else ()
        return [
            *self.missing.problem("missing", "missing cells", _DROPS),
            *self.infinite.problem("infinite", "infinite cells", _DROPS),
            *self.text.problem("text", "cells of text where a number is needed", f"correct them; {_DROPS}"),
            *self.grouped.problem(
                "thousands", "numbers with thousands separators", "`deeprotect prepare` removes them"
            ),
            *some("stuck", "channels that never change", stuck, "leave them out of the policy"),
            *(each for name in self._outside for each in self._clipped(name) if self._share(name) > CLIPPED_SHARE),
        ]

    def notes(self) -> list[Problem]:
        return [each for name in self._outside for each in self._clipped(name) if self._share(name) <= CLIPPED_SHARE]

    def _share(self, name: str) -> float:
        return self._outside[name].count / max(1, self.rows)

    def _clipped(self, name: str) -> list[Problem]:
        channel, tally = self.public[name], self._outside[name]
        what = f"samples outside the public range [{channel.low:g}, {channel.high:g}] {channel.unit}"
        many = self._share(name) > OUTSIDE_SHARE
        fix = "is it in another unit? Convert it with `deeprotect prepare --unit`" if many else "they will be clipped"
        tally.columns[name] = None
        return tally.problem("outside", what, fix)
