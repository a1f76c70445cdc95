"""protector.json: everything a device needs to release, with nothing left for it to verify.

The promise is verified once, before the file is written; hosts pin the file's SHA-256. The file maps channels to a
browser's motion streams: stream, axis, and the unit's size in the browser's unit.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.tensors import TENSORS
from deeprotect.bundle.verification.verify import steps
from deeprotect.errors import BundleError, PolicyError, printable
from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import axis_of, factor_of, recognise
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.mechanisms.laplace import GridLaplace
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.release.ledger.limits import UNBOUNDED, ldp_epsilon
from deeprotect.signals import Channel

Stream = Literal["accelerationIncludingGravity", "acceleration", "rotationRate"]
UNITS = {"accelerometer": "m/s²", "gyroscope": "°/s"}
"""The browser's units, by sensor."""
_WITHOUT_GRAVITY = re.compile(r"linear|user", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """One axis of a stream; a channel's unit is `factor` of the browser's units."""

    stream: Stream
    axis: int
    factor: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def places_of(channels: Iterable[Channel]) -> tuple[Place, ...]:
    """A place for each channel, by its name and unit, all different."""
    places = tuple(_place(channel) for channel in channels)
    if len({(place.stream, place.axis) for place in places}) < len(places):
        raise PolicyError("two channels are the same axis of one motion sensor; name them apart, or leave one out")
    return places


def _place(channel: Channel) -> Place:
    sensor, axis = recognise(channel.name), axis_of(channel.name)
    factor = factor_of(channel.unit, UNITS.get(sensor.kind if sensor else "", ""))
    if sensor is None or axis is None or factor is None or sensor.short == "gravity":
        raise PolicyError(
            f"channel '{printable(channel.name)}' in {printable(channel.unit)} is not a motion sensor of a browser; "
            "these are acc_x, acc_y, acc_z in m/s² or g, with gravity or linear_acc_x without, and "
            "gyro_x, gyro_y, gyro_z in °/s or rad/s"
        )
    if sensor.kind == "gyroscope":
        return Place("rotationRate", "xyz".index(axis), factor)
    linear = _WITHOUT_GRAVITY.search(channel.name)
    return Place("acceleration" if linear else "accelerationIncludingGravity", "xyz".index(axis), factor)


FORMAT, VERSION = "deeprotect-device", 1
PROTECTOR = "protector.json"


@dataclass(frozen=True)
class ProtectorFile:
    """The file's text, all ASCII, so that any engine can hash it; and its digest."""

    text: str

    @classmethod
    def of(cls, bundle: Bundle) -> "ProtectorFile":
        """Export a bundle; refuse one that `verify` does not prove."""
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
    budget, when_missing = policy.privacy.budget, policy.stream.when_missing
    return {
        "useful": list(policy.inferences.useful),
        "sensitive": list(policy.inferences.sensitive),
        "hold": {"windows": policy.hold.windows, "listen": policy.hold.listen},
        "budget": {"perHour": budget.per_hour, "perDay": budget.per_day, "inAll": budget.in_all},
        # None if no limit can be reached.
        "whenSpent": {"refuse": "nothing", "placeholder": "placeholder"}[budget.when_spent] if budget.limits else None,
        **({"whenMissing": when_missing} if when_missing else {}),
    }


def _promise(mechanism: Mechanism) -> dict[str, Any]:
    event, certificate, charge = mechanism.event, mechanism.certificate(), ldp_epsilon(mechanism)
    if charge == UNBOUNDED:
        raise BundleError("a draw of it has no LDP bound, so a device could not count it; export a protector with one")
    return {
        "guarantee": event.guarantee,
        "epsilon": event.epsilon,
        "charge": float(charge),
        "noiseless": certificate.get("codes_without_noise") == certificate.get("codes", -1),
    }


def _mechanism(mechanism: Mechanism) -> dict[str, Any]:
    """The integers that a device draws from."""
    if mechanism.scripts is not None:
        raise BundleError("devices cannot draw scripts; train without slots in the policy to export it")
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
    raise BundleError(f"devices cannot draw from mechanism {mechanism.name}; train with mechanism = 'channel'")
