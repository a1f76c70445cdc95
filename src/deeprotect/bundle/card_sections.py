"""The sections of the model card: what it is for, what is promised, what is not, what was measured, how it works.

Terms of the field are explained where they stand, or left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from deeprotect.bundle.bundle import Bundle
from deeprotect.bundle.card_opening import span
from deeprotect.bundle.manifest import Measured
from deeprotect.errors import quoted, quoted_all
from deeprotect.policy.name_types import LONGEST_NOTE
from deeprotect.policy.quick import is_quick
from deeprotect.privacy.channel import horizon
from deeprotect.privacy.guarantees import promise, terms

CHOSEN = {
    "chosen_for_expected_accuracy": "the best useful accuracy to be expected after release, or possible at most",
    "chosen_for_expected_cost": "the least cost of misreading to be expected after release",
}
MOST_COSTS = 8  # listed by name
_STRETCH = {
    "window": "a window is one of the stretches into which recordings are cut.",
    "episode": "an episode is one of the stretches into which recordings are cut, of several windows each.",
}
WORTH_IT = 0.05  # accuracy above chance below which a release is of little use
FICTION = {
    "channel": "The output is synthetic: every window is drawn from a public list, and step counts, angles, distances "
    "and pulses read from it are fiction.",
    "other": "The output is noisy and made from few numbers: step counts, angles, distances and pulses read from it "
    "are not measurements.",
}
READ_BY = "random forests, the attackers' own trained on released windows with their labels"
_READERS = {
    "clean": "app on raw windows",
    "app": "the same app on released ones",
    "app_cost": "cost of its misreadings",
    "raw": "attacker on raw windows",
    "adaptive": "attacker retrained on released ones",
    "chance": "guessing the most common answer",
}


def use_lines(bundle: Bundle) -> Iterator[str]:
    inferences, about = bundle.policy.inferences, bundle.policy.about
    useful = quoted_all(inferences.useful, ", ")
    yield f"May be inferred: {useful}. Sensitive: {quoted_all(inferences.sensitive, ', ') or 'everything else'}."
    purpose = f"giving recordings to an app or a partner who needs {useful} and no more."
    yield f"Meant for: {_said(about.purpose) or purpose}"
    yield f"Not meant for: {FICTION.get(bundle.mechanism.name, FICTION['other'])}"
    if about.out_of_scope:
        yield f"Not meant for: {_said(about.out_of_scope)}"
    nobody = "nobody has stated who was recorded ([about] population in the policy)."
    yield f"People: {_said(about.population) or nobody}"
    yield f"Owner: {_said(about.owner) or 'not stated'}"
    yield f"Contact: {_said(about.contact) or 'not stated'}"


def _drawn(bundle: Bundle) -> str:
    """What one draw is for, where it is for several windows."""
    episode = f"an episode of {bundle.hold.windows} windows ({span(bundle.policy.seconds_per_draw)})"
    scripts, slot = bundle.mechanism.scripts, bundle.policy.privacy.slots
    if scripts is None:
        return f"One draw is held for {episode}."
    return (
        f"One draw is a script of {episode}, in slots of {slot}: what was done, and in which slot it changed "
        f"({scripts}). It is kept or replaced as a whole: whoever knows most of an episode may learn the rest of it."
    )


def _said(note: str | None) -> str:
    """Whose words it is in, for nothing is known of whether they are true."""
    return f"the bundle says: {quoted(note, LONGEST_NOTE)}" if note else ""


def promise_lines(bundle: Bundle) -> Iterator[str]:
    """The same as in the opening, to the letter."""
    event, certificate = bundle.mechanism.event, bundle.certificate
    about: Any = {"sensitive": event.inferences, "given": event.given, "per": event.per}
    small_print = terms(event.guarantee, **about)
    yield f"{event}. {promise(event.guarantee, event.epsilon, **about)}"
    yield f"ε is the natural logarithm of the factor; {_STRETCH[event.per]}"
    yield f"Against: {small_print.against}"
    yield f"For: {small_print.covers}"
    yield f"Compared are {certificate['neighbours']}: these must not be told apart."
    yield from _evidence_lines(bundle)
    yield from _budget_lines(bundle)


def _budget_lines(bundle: Bundle) -> Iterator[str]:
    """Limits that the policy sets, where it sets some."""
    budget = bundle.policy.privacy.budget
    if budget.limits:
        limits = ", ".join(f"{epsilon:g} {name.replace('_', ' ')}" for name, epsilon in budget.limits.items())
        then = "refused" if budget.when_spent == "refuse" else "drawn without looking at the data"
        yield f"With a ledger, at most ε = {limits} for one person; what goes beyond is {then}."


def open_lines(bundle: Bundle) -> Iterator[str]:
    event = bundle.mechanism.event
    yield terms(event.guarantee, sensitive=event.inferences, given=event.given, per=event.per).not_covered
    yield from _gap_lines(bundle)
    yield from _horizon_lines(bundle)
    yield (
        "Recordings leave as 1, 2, … unless --keep-names is given; time stamps pass through, or count from 0 with "
        "--relative-time; the number of rows, and that data was released, are not hidden."
    )


def _gap_lines(bundle: Bundle) -> Iterator[str]:
    """Classes that are promised nothing by name, and how many recordings would change that."""
    for line in bundle.certificate.get("unpromised", ()):
        yield f"{line[0].upper()}{line[1:]}."


def _horizon_lines(bundle: Bundle) -> Iterator[str]:
    """When a secret that is promised for one draw would be out, as far as calibration recordings tell."""
    found, seconds = bundle.manifest.minimiser.horizon, bundle.policy.seconds_per_draw
    for line in horizon.described(found, seconds_per_draw=seconds):
        yield f"Several draws in a row, an estimate (as if they were independent, and shares exact): {line}."


def _evidence_lines(bundle: Bundle) -> Iterator[str]:
    """What a promise rests on, where it rests on more than arithmetic."""
    certificate = bundle.certificate
    for secret in certificate.get("secrets", ()):
        cells = f"combinations with {len(secret['given'])} useful classes" if secret["given"] else "classes"
        yield (
            f"Of {quoted(secret['inference'])}: {secret['promised']} {cells}, each calibrated on "
            f"{secret['recordings']} recordings or more that the coder did not learn from."
        )
    if certificate.get("codes_without_noise"):
        yield f"Noise: {certificate['noise']}."
    if certificate["guarantee"] != "ldp" and certificate["ldp_epsilon"] is None:
        yield "There is no LDP bound (one that holds for any inference) beside it."
    elif certificate["guarantee"] != "ldp":
        per, epsilon = certificate["per"], certificate["ldp_epsilon"]
        yield f"Whatever is assumed, one {per} is also protected by ε = {epsilon:.3g} LDP, which is for any inference."
    for assumption in certificate["assumes"]:
        yield f"It assumes: {assumption}."


def work_lines(bundle: Bundle) -> Iterator[str]:
    schema, certificate = bundle.schema, bundle.certificate
    length = span(schema.window / schema.rate_hz)
    yield f"Stream: {schema.rate_hz:g} Hz, windows of {schema.window} samples ({length})."
    for channel in schema.channels:
        yield f"  {quoted(channel.name)}: [{channel.low:g}, {channel.high:g}] {quoted(channel.unit)}"
    if bundle.hold.windows > 1:
        yield _drawn(bundle)
    yield f"Mechanism: {bundle.mechanism.name}; learnt: {bundle.manifest.minimiser.name}."
    classes = certificate.get("outputs", 0)
    if certificate.get("codes", 0) > classes:
        abstains = "its reader, the coder, abstains"
        yield f"  A window that fits none of {classes} classes well leaves as one of them: {abstains}."
    yield from _choice_lines(bundle)
    yield from _cost_lines(bundle)


def _choice_lines(bundle: Bundle) -> Iterator[str]:
    """Why this mechanism, where the policy left the choice."""
    for key, reason in CHOSEN.items():
        expected: dict[str, float] = getattr(bundle.manifest.minimiser, key)
        if expected:
            listed = ", ".join(f"{name} {value:.3f}" for name, value in expected.items())
            yield f"  Chosen for {reason}: {listed}."


def _cost_lines(bundle: Bundle) -> Iterator[str]:
    """The user's own costs, where the policy gives some."""
    for name, rows in bundle.policy.training.cost_matrix.items():
        costs = [(true, read, cost) for true, row in rows.items() for read, cost in row.items()]
        named = [f"{quoted(true)} as {quoted(read)} {cost:g}" for true, read, cost in costs[:MOST_COSTS]]
        more = f" and {len(costs) - MOST_COSTS} more" if len(costs) > MOST_COSTS else ""
        yield f"Cost of misreading {quoted(name)}: {', '.join(named)}{more}; every other 1."


def measured(bundle: Bundle) -> Iterator[str]:
    """What an app and an attacker read of held-out windows, and a warning where next to nothing is left to read."""
    if is_quick(bundle.policy):
        yield f"A quick training, of at most {bundle.policy.training.max_epochs} epochs: train at length before use."
    for result in bundle.manifest.results:
        yield from _useful_lines(result)
        for name, numbers in result.sensitive.items():
            yield f"{quoted(name)} (sensitive), share read rightly: {_listed(numbers)}"
    if not any(result.sensitive for result in bundle.manifest.results):
        yield "No attacker was run in training; `deeprotect evaluate --bundle` runs several."
    else:
        yield f"Apps and attackers here are {READ_BY}; `deeprotect evaluate --bundle` runs stronger attackers, too."


def _useful_lines(result: Measured) -> Iterator[str]:
    for name, numbers in result.useful.items():
        if not {"app", "chance"} <= numbers.keys():
            continue
        yield f"{quoted(name)} (useful), share read rightly: {_listed(numbers)}"
        if numbers["app"] < numbers["chance"] + WORTH_IT:
            yield (
                f"{quoted(name)} is hardly better than chance after release: raise epsilon, record more windows of "
                "each sensitive class, or name fewer inferences"
            )


def _listed(numbers: Mapping[Any, float]) -> str:
    return ", ".join(f"{_READERS[key]} {value:.3f}" for key, value in numbers.items())


def origin_lines(bundle: Bundle) -> Iterator[str]:
    manifest, training = bundle.manifest, bundle.manifest.training
    yield f"{training.rows} rows, {training.windows} windows, {training.recordings} recordings"
    yield f"Fingerprint of the training windows {training.fingerprint[:16]}…"
    if enrolled := manifest.minimiser.enrolled_windows:
        yield (
            f"Enrolled: then {enrolled} windows of one person, who can be recognised by it. Keep it on their device; "
            "nothing was measured with it."
        )
    yield f"{manifest.created}, with {', '.join(f'{name} {number}' for name, number in manifest.made_with.items())}"
