"""The face of every mechanism, and the way from a bundle back to one."""

from collections.abc import Mapping
from typing import Any, Protocol

from deeprotect.errors import BundleError, PolicyError
from deeprotect.privacy import channel, laplace, subspace
from deeprotect.privacy.box import Floats
from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.events import Event
from deeprotect.privacy.record import Record


class Mechanism(Protocol):
    """Turns private codes (n, k) into noisy ones; the only step of a release where randomness meets data."""

    @property
    def name(self) -> str: ...

    @property
    def event(self) -> Event: ...

    @property
    def dim(self) -> int: ...

    def privatise(self, code: Floats, *, entropy: Entropy) -> Floats: ...

    def expected_error(self) -> float: ...

    def certificate(self) -> dict[str, Any]: ...

    def to_json(self) -> dict[str, Any]: ...


def load(fields: Mapping[str, Any]) -> Mechanism:
    """The mechanism a bundle describes, with its epsilon derived again; refused when it does not hold."""
    record = Record(fields)
    kind = record.text("kind")
    try:
        event = _event(record.inner("event"))
        if kind == laplace.KIND:
            return laplace.GridLaplace.read(record, event)
        if kind == subspace.KIND:
            return subspace.Subspace.read(record, event)
        if kind == channel.KIND:
            return channel.Channel.read(record, event)
    except PolicyError as error:
        raise BundleError(f"mechanism: {error}") from error
    raise BundleError(f"mechanism: kind '{kind}' is unknown; it may come from a newer version")


def _event(record: Record | None) -> Event:
    if record is None:
        raise BundleError("mechanism: 'event' is missing; restore the bundle or train again")
    guarantee: Any = record.text("guarantee")  # Event refuses what it does not know
    return Event(
        guarantee,
        record.number("epsilon"),
        per=record.text("per"),
        inferences=record.texts("inferences"),
        delta=record.number("delta"),
        confidence=record.number("confidence"),
    )
