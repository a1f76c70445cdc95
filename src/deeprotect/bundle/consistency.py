"""Whether the parts of a bundle belong together: policy, mechanism, certificate, networks."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from deeprotect.bundle.layers.rounding import Argmax
from deeprotect.bundle.manifest import Manifest
from deeprotect.bundle.network import Network, OutputTable
from deeprotect.errors import BundleError, quoted, quoted_all
from deeprotect.policy import Policy
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.mechanisms.mechanism import Mechanism

Decoder = Network | OutputTable
_FACTS = re.compile(r"[0-9]+|“[^”]*”")


def check_promise(policy: Policy, mechanism: Mechanism) -> None:
    """Refuse a mechanism that promises less than the policy; ε-LDP includes every other promise at the same ε."""
    stated, event = policy.privacy, mechanism.event
    if event.epsilon > stated.epsilon:
        raise BundleError(f"the mechanism spends ε = {event.epsilon:g}, more than the policy's {stated.epsilon:g}")
    if event.per != policy.hold.per:
        raise BundleError(f"the mechanism's ε is per {event.per}, the policy's per {policy.hold.per}")
    _check_scripts(policy, mechanism)
    if stated.mechanism not in ("auto", mechanism.name):
        raise BundleError(f"the policy asks for mechanism {stated.mechanism}, not {mechanism.name}")
    if event.guarantee != "ldp":
        _check_weaker(policy, mechanism)
    ceiling = event.epsilon if event.guarantee == "ldp" else getattr(mechanism, "ldp_ceiling", None)
    if stated.ldp_ceiling is not None and (ceiling is None or ceiling > stated.ldp_ceiling):
        raise BundleError(f"the mechanism does not keep the policy's ldp_ceiling {stated.ldp_ceiling:g}")


def _check_scripts(policy: Policy, mechanism: Mechanism) -> None:
    """Refuse scripts that are not the policy's: one draw would then be for less than it says."""
    slot, scripts = policy.slot_windows, mechanism.scripts
    if (slot is None) != (scripts is None):
        raise BundleError(f"the policy asks for {'no ' if slot is None else ''}scripts, and the mechanism does not")
    if scripts is None:
        return
    stated = policy.hold.windows, slot, policy.privacy.changes
    if stated not in [(scripts.slots * scripts.windows, scripts.windows, each) for each in (scripts.changes, None)]:
        raise BundleError("the mechanism's slots and changes are not the policy's; train again")


def _check_weaker(policy: Policy, mechanism: Mechanism) -> None:
    stated, event = policy.privacy, mechanism.event
    if event.guarantee != stated.guarantee:
        raise BundleError(f"the mechanism gives {event.guarantee}, the policy promises {stated.guarantee}")
    forgotten = sorted(set(policy.inferences.sensitive) - set(event.inferences))
    if forgotten:
        raise BundleError(f"the mechanism does not hide {quoted(forgotten[0])}, which the policy names sensitive")
    given = policy.inferences.useful if stated.given == "useful" else ()
    if event.given != given:
        raise BundleError(f"the mechanism's promise is given {_listed(event.given)}, the policy's {_listed(given)}")
    if event.guarantee == "named" and event.confidence < stated.confidence:
        raise BundleError(
            f"the mechanism's confidence {event.confidence:g} is below the policy's {stated.confidence:g}"
        )


def check_counted(mechanism: Mechanism, classes: Mapping[str, Sequence[str]]) -> None:
    """Refuse promises that leave out a class that training saw: those that have none are listed, too."""
    if not isinstance(mechanism, DiscreteChannel):
        return
    counted = {(each.inference, name) for each in mechanism.promises for name in each.classes}
    counted |= {(each.inference, name) for each in mechanism.unpromised for name in each.classes}
    for inference in mechanism.event.inferences:
        missing = [name for name in classes.get(inference, ()) if (inference, name) not in counted]
        if missing:
            raise BundleError(f"the promises leave out {quoted(missing[0])} of {quoted(inference)}, which training saw")


def _listed(given: Sequence[str]) -> str:
    return quoted_all(given) or "nothing"


def check_names_known(policy: Policy, mechanism: Mechanism, *, manifest: Manifest) -> None:
    """Refuse promises and records about inferences that the policy does not name."""
    useful, sensitive = set(policy.inferences.useful), set(policy.inferences.sensitive)
    strange = {name for result in manifest.results for name in {*result.useful} - useful}
    strange |= {name for result in manifest.results for name in {*result.sensitive} - sensitive}
    strange |= {*manifest.training.classes} - useful - sensitive | {*mechanism.event.inferences} - sensitive
    if strange:
        raise BundleError(f"the policy names no {quoted(min(strange))}, which other parts of the bundle are about")


def check_certificate(derived: dict[str, Any], stored: dict[str, Any]) -> None:
    """Refuse a certificate that does not follow from the mechanism's own numbers."""
    both = ((name, *(_facts(name, each.get(name)) for each in (derived, stored))) for name in {*derived, *stored})
    wrong = sorted(name for name, *values in both if not _same(*values))
    if wrong:
        raise BundleError(f"the certificate does not follow from the mechanism's own numbers: {quoted(wrong[0])}")


def _facts(name: str, value: Any) -> Any:
    """Classes without a promise are counted in sentences, which another version may have put in other words."""
    sentences = name == "unpromised" and isinstance(value, list) and all(isinstance(line, str) for line in value)
    return [_FACTS.findall(line) for line in value] if sentences else value


def _same(derived: Any, stored: Any) -> bool:
    """Equal, floats within 1e-9: the solver and the libraries behind a sum differ between machines."""
    if isinstance(derived, float) and isinstance(stored, int | float):
        return math.isclose(derived, stored, rel_tol=1e-9)
    if isinstance(derived, list) and isinstance(stored, list):
        return len(derived) == len(stored) and all(map(_same, derived, stored))
    if isinstance(derived, dict) and isinstance(stored, dict):
        return derived.keys() == stored.keys() and all(_same(derived[name], stored[name]) for name in derived)
    return bool(derived == stored)


def check_shapes(mechanism: Mechanism, encoder: Network, decoder: Decoder, *, dim: int) -> str:
    """Refuse networks that do not fit the windows or the mechanism; what was found."""
    code = mechanism.dim
    shapes = (encoder.inputs, encoder.outputs, decoder.inputs, decoder.outputs)
    if shapes != (dim, code, code, dim):
        raise BundleError(f"the networks' shapes {shapes} do not fit windows of {dim} values and codes of {code}")
    last = encoder.layers[-1] if encoder.layers else None
    if mechanism.scripts is not None and not (isinstance(last, Argmax) and last.labels == mechanism.scripts.labels):
        raise BundleError("scripts need an encoder that decides between just their labels; train again")
    if mechanism.takes_windows and encoder.layers:
        raise BundleError("this noise is for the window itself; an encoder before it voids the promise")
    rows = len(decoder.steps) if isinstance(decoder, OutputTable) else None
    if rows != mechanism.public_outputs:
        wanted = f"a table of {mechanism.public_outputs} public windows" if mechanism.public_outputs else "a decoder"
        raise BundleError(f"mechanism {mechanism.name} needs {wanted}; train again")
    return f"windows of {dim} values, " + (f"codes of {code}" if rows is None else f"{rows} public ones, all in [0, 1]")
