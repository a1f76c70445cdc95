"""Cells of channels: missing, infinite, text, never changing, outside the public range."""

from dataclasses import dataclass, field

import numpy as np

from deeprotect.signals import Channel
from deeprotect.signals.checks import OUTSIDE_SHARE
from deeprotect.signals.schema import Floats
from deeprotect.tables.checking.report import Problem, Tally, some
from deeprotect.tables.numbers import Mask
from deeprotect.tables.reader import Seen

CLIPPED_SHARE = 0.01  # beyond it, clipping is no accident of a saturated sensor
STUCK_ROWS = 100


@dataclass
class CellWatch:
    """Counts per channel; `public` are the policy's channels by column, where there is a policy."""

    channels: tuple[str, ...]
    public: dict[str, Channel]
    tally: Tally
    rows: int = 0
    _low: Floats = field(init=False)
    _high: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._low, self._high = np.full(len(self.channels), np.inf), np.full(len(self.channels), -np.inf)

    def see(self, seen: Seen) -> None:
        self.rows += len(seen.samples)
        for index, name in enumerate(self.channels):
            values, text = seen.samples[:, index], seen.text[:, index]
            self._add("text", text, seen, name)
            self._add("thousands", seen.grouped[:, index], seen, name)
            self._add("missing", np.isnan(values) & ~text, seen, name)
            self._add("infinite", np.isinf(values), seen, name)
            finite = values[np.isfinite(values)]
            self._low[index] = min(self._low[index], finite.min(initial=np.inf))
            self._high[index] = max(self._high[index], finite.max(initial=-np.inf))
            if name in self.public:
                channel = self.public[name]
                beyond = (values < channel.low) | (values > channel.high)
                self._add(f"outside {name}", beyond & np.isfinite(values), seen, name)

    def _add(self, key: str, hits: Mask, seen: Seen, name: str) -> None:
        self.tally[key].add(hits, seen.first_row, name)

    @property
    def readable(self) -> tuple[str, ...]:
        """Channels in which at least one number was found."""
        return tuple(name for name, low in zip(self.channels, self._low, strict=True) if np.isfinite(low))

    def problems(self) -> list[Problem]:
        stuck = [name for index, name in enumerate(self.channels) if self._low[index] == self._high[index]]
        return [
            *self.tally.problems("missing", "infinite", "text", "thousands"),
            *some("stuck", stuck if self.rows >= STUCK_ROWS else ()),
            *(each for name in self.public if self._share(name) > CLIPPED_SHARE for each in self._clipped(name)),
        ]

    def notes(self) -> list[Problem]:
        return [each for name in self.public if self._share(name) <= CLIPPED_SHARE for each in self._clipped(name)]

    def _share(self, name: str) -> float:
        return self.tally[f"outside {name}"].count / max(1, self.rows)

    def _clipped(self, name: str) -> list[Problem]:
        channel, said = self.public[name], "far-outside" if self._share(name) > OUTSIDE_SHARE else "outside"
        words = {"low": channel.low, "high": channel.high, "unit": channel.unit}
        return self.tally.problems(f"outside {name}", said=said, **words)
