"""protector.json: all that a device needs to release, and nothing that it would have to check again.

What is promised is verified here, once, before the file is written; the file's SHA-256 is what a host pins.
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.tensors import TENSORS
from deeprotect.bundle.verification.verify import steps
from deeprotect.errors import BundleError
from deeprotect.exporting.motion_places import places_of
from deeprotect.policy import Policy
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.mechanisms.laplace import GridLaplace
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.release.ledger.price import Price

FORMAT, VERSION = "deeprotect-device", 1
PROTECTOR = "protector.json"


@dataclass(frozen=True)
class ProtectorFile:
    """The text, all ASCII, so that any engine can hash it; and its digest."""

    text: str

    @classmethod
    def of(cls, bundle: Bundle) -> "ProtectorFile":
        """Refuse what `verify` does not find proved."""
        for step in steps(bundle):
            if step.breaks:
                raise BundleError(f"the promise is not proved: {step.name}: {step.found}; see `deeprotect verify`")
        return cls(json.dumps(_body(bundle), separators=(",", ":"), allow_nan=False) + "\n")

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def _body(bundle: Bundle) -> dict[str, Any]:
    schema = bundle.schema
    channels = [
        {"name": c.name, "unit": c.unit, "low": c.low, "high": c.high, "resolution": c.resolution}
        for c in schema.channels
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "bundle": bundle.digest,
        "stream": {"rateHz": schema.rate_hz, "window": schema.window, "channels": channels},
        "places": [place.to_json() for place in places_of(schema.channels)],
        "policy": _policy(bundle.policy),
        "promise": _promise(bundle.mechanism),
        "mechanism": _mechanism(bundle.mechanism),
        "encoder": bundle.manifest.encoder,
        "decoder": bundle.manifest.decoder,
        "tensors": base64.b64encode(bundle.files[TENSORS]).decode(),
    }


def _policy(policy: Policy) -> dict[str, Any]:
    budget = policy.privacy.budget
    return {
        "useful": list(policy.inferences.useful),
        "sensitive": list(policy.inferences.sensitive),
        "hold": {"windows": policy.hold.windows, "listen": policy.hold.listen},
        "budget": {"perHour": budget.per_hour, "perDay": budget.per_day, "inAll": budget.in_all},
        "whenSpent": _when_spent(policy),
    }


def _when_spent(policy: Policy) -> str | None:
    """None where no limit can be reached."""
    budget = policy.privacy.budget
    return {"refuse": "nothing", "placeholder": "placeholder"}[budget.when_spent] if budget.limits else None


def _promise(mechanism: Mechanism) -> dict[str, Any]:
    event, certificate = mechanism.event, mechanism.certificate()
    return {
        "guarantee": event.guarantee,
        "epsilon": event.epsilon,
        "confidence": event.confidence,
        "ldpCeiling": certificate.get("ldp_ceiling"),
        "charge": float(Price.of(mechanism).epsilon),
        "noiseless": certificate.get("codes_without_noise") == certificate.get("codes", -1),
    }


def _mechanism(mechanism: Mechanism) -> dict[str, Any]:
    """What is drawn from."""
    if mechanism.scripts is not None:
        raise BundleError("scripts are not drawn on devices; train without slots in the policy to export it")
    match mechanism:
        case DiscreteChannel():
            return {
                "kind": "channel",
                "weights": [" ".join(map(str, row)) for row in mechanism.weights],
                "variants": mechanism.variants,
            }
        case GridLaplace(box=box):
            return {
                "kind": "grid-laplace",
                "low": list(box.low),
                "step": [float(step) for step in box.steps],
                "gridSteps": box.grid_steps,
                "scales": [f"{scale.numerator}/{scale.denominator}" for scale in mechanism.scales],
            }
    raise BundleError(f"mechanism {mechanism.name} is not drawn on devices; train with mechanism = 'channel'")
