"""The section `[stream]`: rate, window, channels, and the columns that they are read from."""

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from deeprotect.policy.name_types import Name
from deeprotect.policy.section import Section

RESERVED_COLUMNS = ("recording", "time")
# So that nobody's policy makes another's machine run out of memory.
MOST_CHANNELS = 1024
MOST_VALUES = 1 << 20  # in a window
SLOWEST, FASTEST = 1e-6, 1e9  # samples a second
FINEST, LEAST_RESOLUTION = 2.0**-52, 1e-200  # of the range, and of all: steps below are lost, or no numbers at all


class ChannelSpec(Section):
    """One channel: unit and public range; samples outside the range are clipped."""

    unit: Name
    range: Annotated[tuple[float, float], Field(strict=False)]
    resolution: Annotated[float, Field(gt=0)] | None = None
    sensor: Name | None = None

    @field_validator("range")
    @classmethod
    def _ascends(cls, limits: tuple[float, float]) -> tuple[float, float]:
        low, high = limits
        if low == high:
            raise ValueError("is empty; give the sensor's lowest and highest value")
        if low > high:
            raise ValueError(f"is reversed; write [{high}, {low}]")
        return limits

    @model_validator(mode="after")
    def _resolution_fits(self) -> Self:
        low, high = self.range
        if self.resolution is not None and self.resolution > high - low:
            raise ValueError(f"has resolution {self.resolution}, wider than its range; make it smaller")
        if self.resolution is not None and self.resolution < max(FINEST * max(-low, high), LEAST_RESOLUTION):
            raise ValueError(f"has resolution {self.resolution}, finer than numbers in its range; leave it out")
        return self


class Stream(Section):
    """Rate, window length and channels; `columns` maps a channel, `time` or `recording` to a column named otherwise."""

    rate_hz: Annotated[float, Field(gt=0)]
    window: Annotated[int, Field(ge=1)]
    channels: dict[Name, ChannelSpec]
    columns: dict[Name, Name] = Field(default_factory=dict)
    when_missing: Literal["nothing", "placeholder"] | None = None  # live, where samples are lost; default: nothing

    def column(self, channel: str) -> str:
        return self.columns.get(channel, channel)

    @property
    def dim(self) -> int:
        return self.window * len(self.channels)

    @property
    def window_seconds(self) -> Fraction:
        return self.window / Fraction(repr(self.rate_hz))

    @field_validator("rate_hz")
    @classmethod
    def _is_rate(cls, rate: float) -> float:
        if not SLOWEST <= rate <= FASTEST:
            raise ValueError(f"is no rate of a sensor; give samples per second, {SLOWEST:g} to {FASTEST:g}")
        return rate

    @field_validator("channels")
    @classmethod
    def _some(cls, channels: dict[str, ChannelSpec]) -> dict[str, ChannelSpec]:
        if not channels:
            raise ValueError("is empty; add [stream.channels.NAME] with unit and range")
        if len(channels) > MOST_CHANNELS:
            raise ValueError(f"has {len(channels)} channels; describe at most {MOST_CHANNELS} in one policy")
        return channels

    @field_validator("window")
    @classmethod
    def _bounded(cls, window: int) -> int:
        if window > MOST_VALUES:
            raise ValueError(f"is too long; use at most {MOST_VALUES} samples, divided by the number of channels")
        return window

    @model_validator(mode="after")
    def _fits_memory(self) -> Self:
        if self.dim > MOST_VALUES:
            raise ValueError(
                f".window = {self.window} with {len(self.channels)} channels is {self.dim} values in a window; "
                f"use at most {MOST_VALUES // len(self.channels)} samples"
            )
        return self

    @model_validator(mode="after")
    def _columns_are_distinct(self) -> Self:
        strangers = [name for name in self.columns if name not in (*self.channels, *RESERVED_COLUMNS)]
        if strangers:
            raise ValueError(f"maps column for '{strangers[0]}', not a channel; add [stream.channels.{strangers[0]}]")
        seen: dict[str, str] = {}
        for channel in (*self.channels, *(name for name in RESERVED_COLUMNS if name in self.columns)):
            column = self.column(channel)
            if column in RESERVED_COLUMNS and (channel in self.channels or column != channel):
                raise ValueError(f"reads channel '{channel}' from column '{column}', a reserved name; rename it")
            if column in seen:
                raise ValueError(f"reads '{seen[column]}' and '{channel}' from one column '{column}'")
            seen[column] = channel
        return self
