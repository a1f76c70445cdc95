"""What all sections of a policy have in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A frozen table of the policy; unknown keys, loose types, infinities and NaN are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
