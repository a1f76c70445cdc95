"""Stretches of numbered draws under one key, and what they share."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Span:
    """Draws `first` up to, not including, `end` of what `key` stands for in a stream."""

    stream: int
    key: bytes
    first: int
    end: int

    def __len__(self) -> int:
        return self.end - self.first

    def shared(self, other: "Span") -> "Span":
        """What both cover, of the same key; possibly nothing."""
        first = max(self.first, other.first)
        return self.part(first, max(first, min(self.end, other.end)))

    def part(self, first: int, end: int) -> "Span":
        return Span(self.stream, self.key, first, end)

    def without(self, taken: Iterable["Span"]) -> Iterator["Span"]:
        """The parts that none of the others, of the same key, covers."""
        first = self.first
        for other in sorted(each for each in taken if len(self.shared(each))):
            if other.first > first:
                yield self.part(first, other.first)
            first = max(first, other.end)
        if first < self.end:
            yield self.part(first, self.end)

    def place_of(self, part: "Span") -> slice:
        """Where a part of this span lies in an array that has a row for each of its draws."""
        return slice(part.first - self.first, part.end - self.first)
