"""Random rotations of what a coder learns from: how a device is worn differs from person to person, what is done less.

Without them a coder reads people it has met a little better, and strangers worse: docs/results.md#strangers
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from deeprotect.policy import Policy
from deeprotect.signals import Channel

ANGLE = 0.3
"""Standard deviation of the angle, in radians, around an axis of any direction."""
NOISE = 4
"""Standard normal numbers that one rotation takes."""
_AXES = "xyz"


@dataclass(frozen=True)
class Rotation:
    """Turns the three axes of each sensor together; samples are scaled to [0, 1], and turned in their units.

    `unknown`: a device may lie in any way, so that what its channels rest at says nothing.
    """

    triads: tuple[tuple[int, int, int], ...]
    low: Tensor
    width: Tensor
    unknown: bool = False

    @classmethod
    def of(cls, policy: Policy) -> Self | None:
        """None where the policy keeps orientations, or no sensor that it frees has three axes."""
        channels, unknown = policy.schema().channels, policy.training.orientation == "unknown"
        triads = triads_of(channels)
        if policy.training.orientation == "kept" or not (triads or unknown):
            return None
        low = torch.tensor([channel.low for channel in channels], dtype=torch.float32)
        width = torch.tensor([each.high - each.low for each in channels], dtype=torch.float32)
        return cls(triads, low, width, unknown)

    def __call__(self, windows: Tensor, noise: Tensor) -> Tensor:
        """Flat windows (row, value), each turned by a rotation of its own from noise (row, 4)."""
        turns = matrices(noise[:, :3], ANGLE * noise[:, 3])
        series = torch.unflatten(windows, -1, (-1, len(self.low))) * self.width + self.low
        for triad in self.triads:
            series[..., triad] = torch.einsum("rij,rtj->rti", turns, series[..., triad])
        return ((series - self.low) / self.width).flatten(-2)


def matrices(axes: Tensor, angles: Tensor) -> Tensor:
    """Rotations (row, 3, 3) around axes (row, 3) of any length (Rodrigues)."""
    x, y, z = (axes / axes.norm(dim=1, keepdim=True).clamp(min=1e-6)).unbind(dim=1)
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=1).reshape(-1, 3, 3)
    sine, versed = torch.sin(angles)[:, None, None], (1 - torch.cos(angles))[:, None, None]
    turns: Tensor = torch.eye(3) + sine * cross + versed * (cross @ cross)
    return turns


def triads_of(channels: Sequence[Channel]) -> tuple[tuple[int, int, int], ...]:
    """Numbers of channels that are x, y and z of one sensor: names that differ in that letter alone, in one unit."""
    found: dict[tuple[str, str, str], dict[str, int]] = {}
    for number, channel in enumerate(channels):
        for place, letter in enumerate(channel.name.lower()):
            if letter in _AXES:
                stem = channel.name[:place], channel.name[place + 1 :], channel.unit
                found.setdefault(stem, {})[letter] = number
    whole = (axes for axes in found.values() if len(axes) == len(_AXES))
    taken: set[int] = set()
    triads = []
    for axes in whole:
        triad = axes["x"], axes["y"], axes["z"]
        if not taken & set(triad):
            taken |= set(triad)
            triads.append(triad)
    return tuple(triads)
