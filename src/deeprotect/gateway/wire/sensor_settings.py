"""How a device's messages are read: its platform, and which of its sensors stand for which channels."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError

from deeprotect.errors import InputError
from deeprotect.policy.mistakes import one_line
from deeprotect.policy.name_types import Name
from deeprotect.policy.section import Section

WirePlace = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,60}\.[A-Za-z0-9_-]{1,60}$")]


class SensorSettings(Section):
    """`standardised`: the app's "Standardise Units & Frames" is on. `channels` names a sensor and a value, `light.lux`,
    for channels that are not recognised by their names."""

    platform: Literal["android", "ios"] = "android"
    standardised: bool = False
    acceleration: Literal["total", "linear", "uncalibrated"] | None = None  # None: by the channels' names
    channels: dict[Name, WirePlace] = Field(default_factory=dict)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """As they were registered; a mistake is told in one line."""
        try:
            return cls.model_validate(dict(settings))
        except ValidationError as error:
            raise InputError(f"sensors: {one_line(error, cls)}") from None

    @property
    def apple_frame(self) -> bool:
        """Whether acceleration has the opposite sign, and uncalibrated acceleration is in g."""
        return self.platform == "ios" and not self.standardised
