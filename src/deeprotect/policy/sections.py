"""The sections of a policy file: stream, inferences, privacy, training; each checks itself."""

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from deeprotect.policy.durations import duration, seconds
from deeprotect.policy.name_types import Name, Names, Note
from deeprotect.privacy.events import MOST_INFERENCES

Guarantee = Literal["ldp", "named", "rldp"]
Mechanism = Literal["auto", "channel", "laplace", "subspace", "paper", "baseline"]
Minimiser = Literal["default", "paper", "pca", "dft", "dct", "haar", "bcs"]
Given = Literal["useful", "nothing"]
Loss = Literal["ridge", "softmax", "hinge"]
Row = Annotated[dict[Name, Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]
Rows = Annotated[dict[Name, Row], Field(min_length=1)]

# An ε-LDP release meets every weaker promise at the same ε, so laplace, baseline and channel serve all three.
GUARANTEES: dict[str, tuple[Guarantee, ...]] = {
    "auto": ("ldp", "named", "rldp"),
    "channel": ("ldp", "named", "rldp"),
    "laplace": ("ldp", "named", "rldp"),
    "subspace": ("rldp",),
    "paper": ("ldp", "rldp"),
    "baseline": ("ldp", "named", "rldp"),
}
RESERVED_COLUMNS = ("recording", "time")
# So that nobody's policy makes another's machine run out of memory.
MOST_CHANNELS = 1024
MOST_VALUES = 1 << 20  # in a window


class Section(BaseModel):
    """A frozen table of the policy; unknown keys, loose types, infinities and NaN are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


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
        return self


class Stream(Section):
    """Rate, window length and channels; `columns` maps a channel, `time` or `recording` to a column named otherwise."""

    rate_hz: Annotated[float, Field(gt=0)]
    window: Annotated[int, Field(ge=1)]
    channels: dict[Name, ChannelSpec]
    columns: dict[Name, Name] = Field(default_factory=dict)

    def column(self, channel: str) -> str:
        return self.columns.get(channel, channel)

    @property
    def dim(self) -> int:
        return self.window * len(self.channels)

    @property
    def window_seconds(self) -> Fraction:
        return self.window / Fraction(repr(self.rate_hz))

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


class Inferences(Section):
    """What an app may infer, and what nobody should; without `sensitive`, everything else is sensitive."""

    useful: Names
    sensitive: Names = ()

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
        return self


class Privacy(Section):
    """The promise: ε for one draw, how long a draw is held, of which kind, kept by which mechanism.

    `every`: one draw for so long, instead of one for each window; `listen`: so many of its windows are looked at.
    """

    epsilon: Annotated[float, Field(gt=0)]
    every: str | None = None
    listen: Annotated[int, Field(ge=1)] | None = None
    guarantee: Guarantee = "ldp"
    confidence: Annotated[float, Field(ge=0.5, lt=1)] = 0.95
    given: Given | None = None  # named only: what windows that are compared have in common; without it, "nothing"
    ldp_ceiling: Annotated[float, Field(gt=0)] | None = None
    mechanism: Mechanism = "auto"

    @field_validator("every")
    @classmethod
    def _is_duration(cls, every: str | None) -> str | None:
        return None if every is None else duration(seconds(every))

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

    @model_validator(mode="after")
    def _named_only(self) -> Self:
        for key in ("ldp_ceiling", "given"):
            if getattr(self, key) is not None and self.guarantee != "named":
                raise ValueError(
                    f'.{key} needs guarantee = "named", not "{self.guarantee}"; remove it or change the guarantee'
                )
        return self


class Training(Section):
    """How the minimiser is learnt; nothing here touches the promise."""

    features: Annotated[int, Field(ge=1)] = 7
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    minimiser: Minimiser = "default"
    loss: Loss = "softmax"
    max_epochs: Annotated[int, Field(ge=1)] | None = None
    orientation: Literal["kept", "free"] = "kept"  # free: how a device is worn carries nothing that is useful
    people: Name | None = None  # column that names the participant; without it, every recording counts as one
    cost_matrix: dict[Name, Rows] = Field(default_factory=dict)  # inference, true class, class read; 1 if not named

    @field_validator("cost_matrix")
    @classmethod
    def _right_is_free(cls, costs: dict[str, Rows]) -> dict[str, Rows]:
        for inference, rows in costs.items():
            priced = [name for name, row in rows.items() if row.get(name)]
            if priced:
                raise ValueError(f".{inference}.{priced[0]}.{priced[0]} is the right reading and costs 0; remove it")
        return costs


class About(Section):
    """Who answers for a protector, and what it is for: words for the card, none of which anything is computed from."""

    owner: Name | None = None
    contact: Name | None = None
    purpose: Note | None = None
    out_of_scope: Note | None = None
    population: Note | None = None
