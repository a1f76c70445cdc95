"""The interface of every mechanism, and how a bundle's mechanism is loaded."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import BundleError, PolicyError, quoted
from deeprotect.privacy.box import Floats
from deeprotect.privacy.channel import discrete_channel, scripts
from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.events import Event, Step
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.mechanisms import laplace


class Mechanism(Protocol):
    """Turns private codes (n, k) into noisy ones; the only step of a release where randomness meets data.

    What others have to know of a mechanism it says itself: `derive` is its proof for `verify`, `public_outputs` how
    many indices it releases where it releases indices, `output_of` which output a released index is a variant of,
    `placeholders` what leaves where no data may be looked at, and `repeat` what the windows of a held draw are. Where
    codes are scripts of an episode, `scripts` says which.
    """

    def __hash__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def event(self) -> Event: ...
    @property
    def dim(self) -> int: ...
    @property
    def public_outputs(self) -> int | None: ...
    @property
    def scripts(self) -> scripts.Scripts | None: ...
    def output_of(self, noisy_code: Floats) -> NDArray[np.int64] | None: ...
    def derive(self) -> Iterator[Step]: ...
    def privatise(self, code: Floats, *, entropy: Entropy) -> Floats: ...
    def placeholders(self, count: int, *, entropy: Entropy) -> Floats: ...
    def repeat(self, noisy_code: Floats, counts: NDArray[np.int64], *, entropy: Entropy) -> Floats: ...
    def certificate(self) -> dict[str, Any]: ...
    def to_json(self) -> dict[str, Any]: ...


def load(fields: Mapping[str, Any]) -> Mechanism:
    """The mechanism a bundle describes, with its epsilon derived again; refused when it does not hold."""
    record = JsonReader(fields)
    kind = record.text("kind")
    try:
        event = _event(record)
        if kind == laplace.KIND:
            return laplace.GridLaplace.read(record, event)
        if kind == discrete_channel.KIND:
            return discrete_channel.DiscreteChannel.read(record, event)
        if kind == scripts.KIND:
            return scripts.ScriptResponse.read(record, event)
    except PolicyError as error:
        raise BundleError(f"mechanism: {error}") from error
    raise BundleError(f"mechanism: kind {quoted(kind)} is unknown; it may come from a newer version")


def _event(record: JsonReader) -> Event:
    inner = record.inner("event")
    if inner is None:
        raise BundleError("mechanism: 'event' is missing; restore the bundle or train again")
    return inner.build(Event)
