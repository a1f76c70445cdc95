"""The sections of a policy file but for its stream: inferences, privacy, training; each checks itself."""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from deeprotect.policy.durations import duration, seconds
from deeprotect.policy.name_types import Name, Names, Note
from deeprotect.policy.section import Section
from deeprotect.policy.stream_section import RESERVED_COLUMNS
from deeprotect.privacy.channel.scripts import MOST_CHANGES
from deeprotect.privacy.events import MOST_INFERENCES

Guarantee = Literal["ldp", "named", "rldp"]
Mechanism = Literal["auto", "channel", "laplace", "subspace", "paper", "baseline"]
Minimiser = Literal["default", "paper", "pca", "dft", "dct", "haar", "bcs"]
Given = Literal["useful", "nothing"]
Loss = Literal["ridge", "softmax", "hinge"]
WhenSpent = Literal["refuse", "placeholder"]
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


class Budget(Section):
    """Limits that a ledger keeps for each person: ε in any hour, in any day, and in all; each may be left out."""

    per_hour: Annotated[float, Field(gt=0)] | None = None
    per_day: Annotated[float, Field(gt=0)] | None = None
    in_all: Annotated[float, Field(gt=0)] | None = None
    when_spent: WhenSpent = "refuse"

    @property
    def limits(self) -> dict[str, float]:
        """Those that are set, from the shortest time to the longest."""
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
    """The promise: ε for one draw, how long a draw is held, of which kind, kept by which mechanism.

    `every`: one draw for so long, instead of one for each window; `listen`: so many of its windows are looked at.
    `slots`: what is drawn is a script of that time, which may change from slot to slot, at most `changes` times.
    """

    epsilon: Annotated[float, Field(gt=0)]
    every: str | None = None
    listen: Annotated[int, Field(ge=1)] | None = None
    slots: str | None = None
    changes: Annotated[int, Field(ge=0, le=MOST_CHANGES)] | None = None  # without it, as many as ε pays for
    guarantee: Guarantee = "ldp"
    confidence: Annotated[float, Field(ge=0.5, lt=1)] = 0.95
    given: Given | None = None  # named only: what windows that are compared have in common; without it, "nothing"
    ldp_ceiling: Annotated[float, Field(gt=0)] | None = None
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
    # free: how a device is worn carries nothing useful; unknown: nor does what channels rest at, gravity for instance
    orientation: Literal["kept", "free", "unknown"] = "kept"
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
