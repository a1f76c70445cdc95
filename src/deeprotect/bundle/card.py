"""The model card: what may be inferred, what is promised, to whom, and what is not; in plain words."""

from collections.abc import Iterator

from deeprotect.bundle.bundle import Bundle
from deeprotect.privacy.guarantees import promise, terms

CHOSEN = {
    "chosen_for_expected_accuracy": "the best useful accuracy",
    "chosen_for_expected_cost": "the least cost of misreading",
}
MOST_COSTS = 8  # listed by name
WORTH_IT = 0.05  # accuracy above chance below which a release is of little use
ALWAYS = "Recording names, time stamps and the number of rows pass through; that data was released is not hidden."


def card(bundle: Bundle) -> str:
    """Markdown that a privacy officer can read."""
    return "\n".join(_lines(bundle)) + "\n"


def _lines(bundle: Bundle) -> Iterator[str]:
    policy, event = bundle.policy, bundle.mechanism.event
    yield f"# Protector for {', '.join(policy.inferences.useful)}"
    yield ""
    yield f"- may be inferred: {', '.join(policy.inferences.useful)}"
    sensitive = ", ".join(policy.inferences.sensitive) or "everything else"
    yield f"- sensitive: {sensitive}"
    yield from _stream_lines(bundle)
    yield f"- mechanism: {bundle.mechanism.name}; learnt: {bundle.manifest.minimiser.name}"
    yield from _reject_lines(bundle)
    yield from _choice_lines(bundle)
    yield from _cost_lines(bundle)
    yield ""
    yield "## What is promised"
    small_print = terms(event.guarantee, sensitive=event.inferences)
    yield f"{event}. {promise(event.guarantee, event.epsilon, sensitive=event.inferences)}"
    yield f"- Against: {small_print.against}"
    yield f"- For: {small_print.covers}"
    yield f"- Neighbours: {bundle.manifest.certificate['neighbours']}."
    yield from _evidence_lines(bundle)
    yield from _budget_lines(bundle)
    yield ""
    yield "## What is not"
    yield f"- {small_print.not_covered}"
    yield f"- {ALWAYS}"
    yield ""
    yield "## Measured on held-out windows"
    yield from measured(bundle)
    yield ""
    yield "## Made from"
    yield from _origin_lines(bundle)


def _reject_lines(bundle: Bundle) -> Iterator[str]:
    """What becomes of rejected windows, where the channel knows such."""
    certificate = bundle.manifest.certificate
    classes = certificate.get("outputs", 0)
    if certificate.get("codes", 0) > classes:
        yield f"  - of a window that fits none of {classes} classes well the coder abstains; it leaves as one of them"


def _choice_lines(bundle: Bundle) -> Iterator[str]:
    """Why this mechanism, where the policy left the choice."""
    for key, reason in CHOSEN.items():
        expected: dict[str, float] = getattr(bundle.manifest.minimiser, key)
        if expected:
            listed = ", ".join(f"{name} {value:.3f}" for name, value in expected.items())
            yield f"  - chosen for {reason} to be expected after release: {listed}"


def _cost_lines(bundle: Bundle) -> Iterator[str]:
    """The user's own costs, where the policy gives some."""
    for name, rows in bundle.policy.training.cost_matrix.items():
        named = [f"{true} as {read} {cost:g}" for true, row in rows.items() for read, cost in row.items()]
        more = f" and {len(named) - MOST_COSTS} more" if len(named) > MOST_COSTS else ""
        yield f"- cost of misreading {name}: {', '.join(named[:MOST_COSTS])}{more}; every other 1"


def _evidence_lines(bundle: Bundle) -> Iterator[str]:
    """What a promise rests on, where it rests on more than arithmetic."""
    certificate = bundle.manifest.certificate
    for secret in certificate.get("secrets", ()):
        fewest, most = secret["windows_per_class"]
        yield (
            f"- {secret['inference']}: holds for all {secret['classes']} classes together with probability "
            f"{secret['confidence']:.4g} over the calibration windows ({fewest} to {most} per class)."
        )
    if certificate.get("codes_without_noise"):
        yield f"- Noise: {certificate['noise']}."
    if certificate["guarantee"] != "ldp" and certificate["ldp_epsilon"] is None:
        yield "- There is no LDP bound beside it."
    elif certificate["guarantee"] != "ldp":
        yield f"- Whatever is assumed, one window is also protected by ε = {certificate['ldp_epsilon']:.3g} LDP."
    for assumption in certificate["assumes"]:
        yield f"- It assumes: {assumption}."


def _budget_lines(bundle: Bundle) -> Iterator[str]:
    """Limits that the policy sets, where it sets some."""
    budget = bundle.policy.privacy.budget
    if budget.limits:
        listed = ", ".join(f"{epsilon:g} {name.replace('_', ' ')}" for name, epsilon in budget.limits.items())
        then = "refused" if budget.when_spent == "refuse" else "drawn without looking at the data"
        yield f"- With a ledger, at most ε = {listed} for one person; what goes beyond is {then}."


def _stream_lines(bundle: Bundle) -> Iterator[str]:
    schema = bundle.schema
    seconds = schema.window / schema.rate_hz
    yield f"- stream: {schema.rate_hz:g} Hz, windows of {schema.window} samples ({seconds:g} s)"
    for channel in schema.channels:
        yield f"  - {channel.name}: [{channel.low:g}, {channel.high:g}] {channel.unit}"


def measured(bundle: Bundle) -> Iterator[str]:
    """What an unchanged app reads of held-out windows, and a warning where next to nothing is left to read."""
    for result in bundle.manifest.results:
        for name, numbers in result.useful.items():
            if not {"app", "chance"} <= numbers.keys():
                continue
            parts = ", ".join(f"{key} {value:.3f}" for key, value in numbers.items())
            yield f"- {name} (useful): {parts}"
            if numbers["app"] < numbers["chance"] + WORTH_IT:
                yield (
                    f"- {name} is hardly better than chance after release: raise epsilon, record more windows of each "
                    "sensitive class, or name fewer inferences"
                )


def _origin_lines(bundle: Bundle) -> Iterator[str]:
    manifest, training = bundle.manifest, bundle.manifest.training
    yield f"- {training.rows} rows, {training.windows} windows, {training.recordings} recordings"
    yield f"- data fingerprint {training.fingerprint[:16]}…"
    yield f"- {manifest.created}, with {', '.join(f'{name} {number}' for name, number in manifest.made_with.items())}"
