"""The sections of a policy file: stream, inferences, privacy, training, about; each checks itself.

Names and notes are printable, single-line and bounded, because people read them in verdicts.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import floor, log10
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from deeprotect.privacy.channel.scripts import MOST_CHANGES
from deeprotect.privacy.events import MOST_INFERENCES
from deeprotect.privacy.size_limits import LONGEST_IN_BUNDLE, is_name

_UNITS = {"ms": Fraction(1, 1000), "s": Fraction(1), "min": Fraction(60), "h": Fraction(3600), "d": Fraction(86400)}
_DURATION = re.compile(rf"([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?) ?({'|'.join(_UNITS)})")
LONGEST_NOTE = 300
RESERVED_COLUMNS = ("recording", "time")
# Bounds, so that a policy cannot exhaust the memory of the machine that loads it.
MOST_CHANNELS = 1024
MOST_VALUES = 1 << 20  # in a window
SLOWEST, FASTEST = 1e-6, 1e9  # samples a second
FINEST, LEAST_RESOLUTION = 2.0**-52, 1e-200  # relative and absolute: finer steps are lost to rounding


def seconds(text: str) -> Fraction:
    """Parse a duration such as "30 s", "1.5 min" or "1 h", exactly."""
    found = _DURATION.fullmatch(text.strip())
    if not found or not float(found[1]):
        raise ValueError('must be a number and a unit, such as "30 s", "5 min" or "1 h"')
    return Fraction(found[1]) * _UNITS[found[2]]


def duration(length: Fraction) -> str:
    """Write a duration in the largest unit that leaves no fraction, or in seconds; the inverse of `seconds`."""
    for unit, size in reversed(_UNITS.items()):
        if (length / size).denominator == 1:
            return f"{length / size} {unit}"
    return f"{float(length):g} s"


def _line(longest: int, fix: str) -> Callable[[str], str]:
    def checked(text: str) -> str:
        if not is_name(text, longest=longest):
            raise ValueError(f"must be one printable line of at most {longest} characters; {fix} it")
        return text

    return checked


Name = Annotated[str, Field(min_length=1), AfterValidator(_line(LONGEST_IN_BUNDLE, "rename"))]
Names = Annotated[tuple[Name, ...], Field(strict=False)]  # TOML and JSON have lists, not tuples
Note = Annotated[str, Field(min_length=1), AfterValidator(_line(LONGEST_NOTE, "shorten"))]


class Section(BaseModel):
    """A frozen table of the policy; unknown keys, loose types, infinities and NaN are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def ascending(limits: tuple[float, float], *, fix: str) -> tuple[float, float]:
    """Return the ends of a range after checking their order."""
    low, high = limits
    if low == high:
        raise ValueError(f"is empty; {fix}")
    if low > high:
        raise ValueError(f"is reversed; write [{high}, {low}]")
    return limits


class ChannelSpec(Section):
    """One channel: unit and public range; samples outside the range are clipped."""

    unit: Annotated[Name, Field(description="for example g", examples=['"g"'])]
    range: Annotated[
        tuple[float, float],
        Field(strict=False, description="public: the sensor's lowest and highest value", examples=["[-4.0, 4.0]"]),
    ]
    resolution: Annotated[float, Field(gt=0)] | None = None
    sensor: Name | None = None

    @field_validator("range")
    @classmethod
    def _ascends(cls, limits: tuple[float, float]) -> tuple[float, float]:
        return ascending(limits, fix="give the sensor's lowest and highest value")

    @model_validator(mode="after")
    def _resolution_fits(self) -> Self:
        low, high = self.range
        if self.resolution is not None and self.resolution > high - low:
            raise ValueError(f"has resolution {self.resolution}, wider than its range; make it smaller")
        if self.resolution is not None and self.resolution < max(FINEST * max(-low, high), LEAST_RESOLUTION):
            raise ValueError(f"has resolution {self.resolution}, finer than numbers in its range; leave it out")
        return self


class Stream(Section):
    """Rate, window length and channels; `columns` maps a channel, `time` or `recording` to a column of another name."""

    rate_hz: Annotated[float, Field(gt=0, description="samples per second", examples=["10"])]
    window: Annotated[int, Field(ge=1, description="samples in a window", examples=["20"])]
    channels: dict[Name, ChannelSpec]
    columns: dict[Name, Name] = Field(default_factory=dict)
    when_missing: Literal["nothing", "placeholder"] | None = Field(
        None, description="what a live stream releases when samples are missing; a placeholder is a public window"
    )

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
            raise ValueError(f"is not a plausible sampling rate; give samples per second, {SLOWEST:g} to {FASTEST:g}")
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


Guarantee = Literal["ldp", "rldp"]
Mechanism = Literal["auto", "channel", "laplace", "paper", "baseline"]
FeatureExtractor = Literal["default", "paper", "pca"]
Loss = Literal["ridge", "softmax", "hinge"]
WhenSpent = Literal["refuse", "placeholder"]
Row = Annotated[dict[Name, Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]
Rows = Annotated[dict[Name, Row], Field(min_length=1)]

# For rldp, directions are erased before a coder sees a window; `paper` adds the paper's noise instead.
GUARANTEES: dict[str, tuple[Guarantee, ...]] = {
    "auto": ("ldp", "rldp"),
    "channel": ("ldp", "rldp"),
    "laplace": ("ldp",),
    "paper": ("ldp", "rldp"),
    "baseline": ("ldp",),
}


MOST_LEVELS = 64
FURTHEST, FINEST_LEVEL = 1e12, 1e-9  # keeps names of levels short


class Number(Section):
    """A useful inference that is a number: ordered levels of equal width over a public range.

    A level is named after its middle. Numbers outside the range count as the nearest level.

    Examples:
        >>> cadence = Number(unit="steps/min", range=(60, 200), levels=7)
        >>> cadence.names
        ('70', '90', '110', '130', '150', '170', '190')
        >>> cadence.costs["70"]["110"]  # a misreading costs its distance, as a share of the longest
        0.3333333333333333
    """

    unit: Annotated[Name, Field(description="for example steps/min", examples=['"steps/min"'])]
    range: Annotated[
        tuple[float, float],
        Field(strict=False, description="public: lowest and highest number to tell apart", examples=["[60, 200]"]),
    ]
    levels: Annotated[int, Field(ge=2, le=MOST_LEVELS, description="how many numbers are told apart", examples=["18"])]

    @property
    def step(self) -> float:
        """The width of a level."""
        return (self.range[1] - self.range[0]) / self.levels

    @property
    def values(self) -> tuple[float, ...]:
        """The middle of each level, equal to its name."""
        return tuple(map(float, self.names))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the levels, from the lowest, to two digits of a step, so that no two levels share a name."""
        digits = max(0, 1 - floor(log10(self.step)))
        middles = [round(self.range[0] + (level + 0.5) * self.step, digits) + 0.0 for level in range(self.levels)]
        needed = max(len(f"{middle:.{digits}f}".rstrip("0").partition(".")[2]) for middle in middles)
        return tuple(f"{middle:.{needed}f}" for middle in middles)

    @property
    def costs(self) -> dict[str, dict[str, float]]:
        """Costs by true and predicted level, as in a cost matrix: their distance, as a share of the longest."""
        names, longest = self.names, self.levels - 1
        return {
            true: {read: abs(i - j) / longest for j, read in enumerate(names) if i != j} for i, true in enumerate(names)
        }

    @field_validator("range")
    @classmethod
    def _ascends(cls, limits: tuple[float, float]) -> tuple[float, float]:
        return ascending(limits, fix="give the lowest and highest number to tell apart")

    @model_validator(mode="after")
    def _levels_differ(self) -> Self:
        furthest = max(map(abs, self.range))
        if furthest > FURTHEST:
            raise ValueError(f"has a range beyond {FURTHEST:g}; use a larger unit")
        if self.step < max(FINEST * furthest * self.levels, FINEST_LEVEL):
            raise ValueError(f"has levels of {self.step:g}, too fine to tell apart; use fewer, or a smaller unit")
        return self


class Inferences(Section):
    """What an app may and may not infer; without `sensitive`, everything else is sensitive.

    `numeric` states which useful inferences are numbers, and their levels.
    """

    useful: Annotated[Names, Field(description="label columns the app may infer", examples=['["activity"]'])]
    sensitive: Annotated[Names, Field(description="what it must not infer; empty: everything else")] = ()
    numeric: dict[Name, Number] = Field(default_factory=dict)

    @field_validator("useful", "sensitive")
    @classmethod
    def _unique(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(names) > MOST_INFERENCES:
            raise ValueError(f"names {len(names)} inferences; name at most {MOST_INFERENCES}")
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"names '{twice[0]}' twice; name it once")
        reserved = [name for name in names if name in RESERVED_COLUMNS]
        if reserved:
            raise ValueError(f"names '{reserved[0]}', a reserved column; rename the label column")
        return names

    @field_validator("useful")
    @classmethod
    def _some(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names:
            raise ValueError("is empty; name at least one label column the app may infer")
        return names

    @model_validator(mode="after")
    def _disjoint(self) -> Self:
        both = [name for name in self.useful if name in self.sensitive]
        if both:
            raise ValueError(f"has '{both[0]}' in both useful and sensitive; remove it from one")
        others = [name for name in self.numeric if name not in self.useful]
        if others:
            raise ValueError(f".numeric.{others[0]} is not in inferences.useful, and only those may be numbers; add it")
        return self


class Budget(Section):
    """Limits that a ledger keeps for each person: ε in any hour, in any day, and in all; each may be left out."""

    per_hour: float | None = Field(None, gt=0, description="ε of one person in any hour; a ledger keeps it")
    per_day: float | None = Field(None, gt=0, description="ε of one person in any day")
    in_all: float | None = Field(None, gt=0, description="ε of one person, ever")
    when_spent: WhenSpent = Field(
        "refuse", description="what is released once a limit is reached; a placeholder does not depend on data"
    )

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set, from the shortest period to the longest."""
        named = {"per_hour": self.per_hour, "per_day": self.per_day, "in_all": self.in_all}
        return {name: epsilon for name, epsilon in named.items() if epsilon is not None}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.model_fields_set and not self.limits:
            raise ValueError("sets no limit; add per_hour, per_day or in_all")
        for (short, less), (long, more) in pairwise(self.limits.items()):
            if less > more:
                raise ValueError(f".{short} = {less:g} is more than {long} = {more:g}; lower it, or raise {long}")
        return self


class Privacy(Section):
    """The guarantee: ε for one draw, the duration of a draw, the kind of guarantee and the mechanism.

    `every` is the time that one draw stands for, by default a window; `listen` the number of its windows that are
    observed. With `slots` the draw is a script, which may change from slot to slot, at most `changes` times.
    """

    epsilon: Annotated[float, Field(gt=0, description="for one draw; smaller is more private", examples=["5.0"])]
    every: str | None = Field(
        None,
        description="one draw for this long instead of one per window: lowers ε per hour; shorter events are lost",
        examples=['"30 s"'],
    )
    listen: int | None = Field(None, ge=1, description="observed windows of an episode, spread evenly")
    slots: str | None = Field(
        None,
        description="the draw is a script: the labels of `every` in slots of this length, with few changes",
        examples=['"30 s"'],
    )
    changes: int | None = Field(
        None, ge=0, le=MOST_CHANGES, description="the most changes in a script; default: as many as ε pays for"
    )
    guarantee: Guarantee = "ldp"
    mechanism: Mechanism = "auto"
    budget: Budget = Field(default_factory=Budget)

    @field_validator("every", "slots")
    @classmethod
    def _is_duration(cls, length: str | None) -> str | None:
        return None if length is None else duration(seconds(length))

    @field_validator("epsilon", mode="before")
    @classmethod
    def _says_something(cls, epsilon: object) -> object:
        if epsilon == 0 and not isinstance(epsilon, bool):
            raise ValueError("would release nothing of the window, not even the useful part; use more than 0")
        return epsilon

    @model_validator(mode="after")
    def _mechanism_keeps_guarantee(self) -> Self:
        kept = GUARANTEES[self.mechanism]
        if self.guarantee not in kept:
            raise ValueError(
                f'.mechanism = "{self.mechanism}" gives {" or ".join(kept)}, not {self.guarantee}; '
                f'set guarantee = "{kept[-1]}" or mechanism = "auto"'
            )
        return self


class Training(Section):
    """How models are trained; nothing here affects the guarantee."""

    features: Annotated[int, Field(ge=1, description="numbers kept from a window")] = 7
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    feature_extractor: FeatureExtractor = "default"
    loss: Loss = "softmax"
    max_epochs: Annotated[int, Field(ge=1)] | None = None
    # free: how a device is worn is not informative; unknown: nor are the channels' means, such as gravity
    orientation: Literal["kept", "free", "unknown"] = Field(
        "kept", description="whether to ignore device orientation, to generalise to new people"
    )
    people: Name | None = Field(
        None, description="column that names the participant; without it, every recording counts as one"
    )
    cost_matrix: dict[Name, Rows] = Field(
        default_factory=dict
    )  # inference, true class, predicted class; 1 if not listed

    @field_validator("cost_matrix")
    @classmethod
    def _right_is_free(cls, costs: dict[str, Rows]) -> dict[str, Rows]:
        for inference, rows in costs.items():
            priced = [name for name, row in rows.items() if row.get(name)]
            if priced:
                raise ValueError(
                    f".{inference}.{priced[0]}.{priced[0]} is a correct classification and costs 0; remove it"
                )
        return costs


class About(Section):
    """The people responsible for a protector, and its purpose: words for the card; nothing is computed from them."""

    owner: Name | None = None
    contact: Name | None = None
    purpose: Note | None = None
    out_of_scope: Note | None = None
    population: Note | None = None
