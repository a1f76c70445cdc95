"""The model card: what may be inferred, what is promised, to whom, and what is not; in plain words, and as a page.

It is always made from the manifest. The copy inside a bundle is for people with only a browser; no program reads it.
Classes of a useful label are named if several people showed each; otherwise they may be people, and are numbers.
Classes of a sensitive label are never named.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from itertools import chain
from string import Template
from typing import Any

from deeprotect.bundle import beyond
from deeprotect.bundle.bundle import Bundle
from deeprotect.bundle.kept import Kept
from deeprotect.bundle.manifest import ClassRead, Measured
from deeprotect.errors import quoted, quoted_all
from deeprotect.policy.draft import FEWEST_COUNTED, UNBALANCED
from deeprotect.policy.known_sensors import is_person
from deeprotect.policy.policy import Policy, is_quick
from deeprotect.policy.sections import LONGEST_NOTE, Number
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.events import shown
from deeprotect.privacy.guarantees import Opening, opening, promise, span

_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\(")  # HTML tags and Markdown links, which a card never has
_CHOSEN = {
    "chosen_for_expected_accuracy": "Chosen for the highest expected app accuracy",
    "chosen_for_expected_cost": "Chosen for the lowest expected cost of misreading",
}
_STRETCH = {
    "window": "a window is one of the stretches into which recordings are cut",
    "episode": "an episode is one of the stretches into which recordings are cut, of several windows each",
}
WORTH_IT = 0.05  # accuracy above chance below which a release is of little use
WORTH_A_NUMBER = 0.9  # error as a share of the median's above which a release is of little use
MOST_CLASSES = 12  # classes that are listed: those with the lowest recall
FEW = 30  # training windows of a class, below which it is hardly recognised
_SYNTHETIC = "the output is synthetic, and every window is drawn from a public list."
_NOISY = "the output is noisy and made from few numbers."
_READERS = {
    "clean": "app on raw windows",
    "app": "the same app on released windows",
    "app_cost": "cost of its misreadings",
    "chance": "guessing the most common class",
}
_ERRORS = {
    "error_clean": "app on raw windows",
    "error": "the same app on released windows",
    "error_coder": "the coder before any noise",
    "error_median": "guessing the median",
    "error_limit": "at best, by ε",
}


@dataclass(frozen=True)
class CardSection:
    """Lines under a heading; a line that starts with two spaces belongs to the line before it."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Card:
    """The content of a card, independent of its format."""

    title: str
    opening: Opening
    sections: tuple[CardSection, ...]
    reads: str = ""  # what an app still reads, in a sentence
    beyond: str = ""  # what anyone can read beyond the useful label, in a sentence

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """What an app reads, what anyone reads of anything else, what is promised, and last what is not covered."""
        return tuple(each for each in (self.reads, self.beyond, *self.opening) if each)


def card(bundle: Bundle) -> str:
    """The card as Markdown."""
    found = card_of(bundle)
    lines = [f"# {found.title}", *(line for paragraph in found.paragraphs for line in ("", paragraph))]
    for section in found.sections:
        lines += ["", f"## {section.title}", *(bullet(line) for line in section.lines)]
    return "\n".join(_MARKUP.sub(r"\\\g<0>", line) for line in lines) + "\n"


def card_of(bundle: Bundle) -> Card:
    sections = {
        "What can be read of a release": measured(bundle),
        "What is promised, to the letter": _promised(bundle),
        "What time adds up to": _adds_up(bundle),
        "What is not": _open(),
        "What it is for": _use(bundle),
        "How it works": _work(bundle),
        "Made from": _origin(bundle),
    }
    return Card(
        f"Protector for {quoted_all(bundle.policy.inferences.useful, ', ')}",
        opening(bundle.mechanism.event, seconds=bundle.policy.seconds_per_draw),
        tuple(CardSection(title, tuple(lines)) for title, lines in sections.items()),
        " ".join(_still_read(bundle)),
        beyond.sentence(bundle),
    )


def bullet(line: str) -> str:
    return f"  - {line.strip()}" if line.startswith("  ") else f"- {line}"


def _use(bundle: Bundle) -> Iterator[str]:
    inferences, about = bundle.policy.inferences, bundle.policy.about
    useful = quoted_all(inferences.useful, ", ")
    yield f"May be inferred: {useful}. Sensitive: {quoted_all(inferences.sensitive, ', ') or 'everything else'}."
    purpose = f"giving recordings to an app or a partner who needs {useful} and no more."
    yield f"Meant for: {_said(about.purpose) or purpose}"
    why = _SYNTHETIC if bundle.mechanism.name == "channel" else _NOISY
    yield f"Not meant for: counting steps or measuring angles, distances or pulses; {why}"
    if about.out_of_scope:
        yield f"Not meant for: {_said(about.out_of_scope)}"
    for head, note in {"People": about.population, "Owner": about.owner, "Contact": about.contact}.items():
        yield f"{head}: {_said(note) or 'not stated'}"


def _said(note: str | None) -> str:
    """Quotes a note as the bundle's own words: nothing can check whether it is true."""
    return f"the bundle says: {quoted(note, LONGEST_NOTE)}" if note else ""


def _promised(bundle: Bundle) -> Iterator[str]:
    """The promise in full."""
    event, certificate = bundle.mechanism.event, bundle.certificate
    small_print = promise(event.guarantee, sensitive=event.inferences, per=event.per)
    yield f"{event}. ε is the natural logarithm of the factor; {_STRETCH[event.per]}."
    yield f"Against: {small_print.against}"
    yield f"For: {small_print.covers}"
    yield f"Neighbours, which must not be told apart: {certificate['neighbours']}."
    yield from _evidence(certificate)
    budget = bundle.policy.privacy.budget
    if budget.limits:
        limits = ", ".join(f"{epsilon:g} {name.replace('_', ' ')}" for name, epsilon in budget.limits.items())
        then = "refused" if budget.when_spent == "refuse" else "drawn without looking at the data"
        yield f"With a ledger, at most ε = {limits} for one person; what goes beyond is {then}."


def _evidence(certificate: Mapping[str, Any]) -> Iterator[str]:
    """What the promise assumes, if it rests on more than arithmetic."""
    if certificate.get("codes_without_noise"):
        yield f"Noise: {certificate['noise']}."
    if certificate["guarantee"] != "ldp" and certificate["ldp_epsilon"] is None:
        yield "There is no LDP bound (one that holds for any inference) beside it."
    elif certificate["guarantee"] != "ldp":
        per, epsilon = certificate["per"], certificate["ldp_epsilon"]
        yield f"For any inference, one {per} is ε = {shown(epsilon)} LDP, whatever the assumptions."
    for assumption in certificate["assumes"]:
        yield f"It assumes: {assumption}."


def _adds_up(bundle: Bundle) -> Iterator[str]:
    """ε of several draws together, and what anyone reads of them beyond the useful label."""
    event, seconds = bundle.mechanism.event, bundle.policy.seconds_per_draw
    for name, length in (("an hour", 3600), ("a day", 86400)):
        draws = math.ceil(length / seconds)
        if draws > 1:
            yield f"{name[0].upper()}{name[1:]} of draws, {draws:,} of them: ε = {shown(draws * event.epsilon)}."
    yield from beyond.of_longer(bundle)


def _open() -> Iterator[str]:
    """What is released unchanged."""
    yield (
        "Recordings leave as 1, 2, … unless --keep-names is given. Time stamps pass through, or count from 0 with "
        "--relative-time. The number of rows, and that data was released, are not hidden."
    )


def _still_read(bundle: Bundle) -> Iterator[str]:
    """A sentence for each useful inference, about windows that training held out."""
    numeric = bundle.policy.inferences.numeric
    for name, found in (each for result in bundle.manifest.results for each in result.useful.items()):
        if name in numeric and {"error", "error_clean"} <= found.keys():
            low, high = numeric[name].range
            after, before = (f"{error * (high - low):.3g}" for error in (found["error"], found["error_clean"]))
            yield (
                f"What an unchanged app reads as {quoted(name)} is off by {after} {quoted(numeric[name].unit)} on "
                f"released windows, on average, and by {before} on raw ones."
            )
        elif name not in numeric and {"app", "clean"} <= found.keys():
            after, before = (f"{100 * share:.0f} %" for share in (found["app"], found["clean"]))
            yield (
                f"An unchanged app reads {quoted(name)} correctly in {after} of released windows and in {before} of "
                "raw ones."
            )


def measured(bundle: Bundle) -> Iterator[str]:
    """What an app still reads, and what anyone reads of anything else: by guessing, at most, and as measured."""
    if is_quick(bundle.policy):
        yield f"Quick training, at most {bundle.policy.training.max_epochs} epochs: train at length before use."
    if only := constant(bundle):
        yield only
    for result in bundle.manifest.results:
        yield from _useful(result, bundle)
    yield from beyond.readings(bundle)
    for result in bundle.manifest.results:
        yield from new_people(result, bundle.policy, kept=bundle.manifest.kept)
    if any(result.sensitive for result in bundle.manifest.results):
        yield "Apps and attackers are forests on features of windows; attackers learn from released ones, with labels."
        yield "`deeprotect evaluate --bundle` also runs stronger attackers."
    else:
        yield "No attacker was run in training; `deeprotect evaluate --bundle` runs several."


def new_people(result: Measured, policy: Policy, *, kept: Kept | None = None) -> Iterator[str]:
    """What the apps and attackers read of people who were kept aside from training, or why that was not measured."""
    unseen, inferences, people = result.unseen, policy.inferences, policy.training.people
    if unseen is None:
        known = (*inferences.useful, *inferences.sensitive)
        named = people or next((each for each in known if is_person(each)), None)
        if named is None:
            why = 'the policy does not say who people are; add [training] people = "COLUMN"'
        elif named in known:
            column = quoted(named)
            why = f"it has learnt from everybody; `deeprotect evaluate --strangers` with {column} trains without some"
        elif kept is not None and kept.of == "people":
            why = "it was made before training measured that; train again"
        else:
            why = "there were too few people to keep some of them aside"
        yield f"New people, whom the protector has never met: not measured, because {why}."
        return
    for name, numbers in unseen.useful.items():
        if "app" in numbers:
            yield (
                f"{quoted(name)} of {unseen.people} new people, whom the protector has never met: {_listed(numbers)}"
            )
    for name, read in unseen.sensitive.items():
        if {"adaptive", "recording", "chance"} <= read.keys():
            yield (
                f"{quoted(name)} of new people: attacker from one window {read['adaptive']:.3f}, from a whole "
                f"recording {read['recording']:.3f}, guessing the most common class {read['chance']:.3f}"
            )


def _useful(result: Measured, bundle: Bundle) -> Iterator[str]:
    for name, numbers in result.useful.items():
        if not {"app", "chance"} <= numbers.keys():
            continue
        if name in bundle.policy.inferences.numeric:
            yield from _number(name, numbers, bundle.policy.inferences.numeric[name])
            continue
        yield f"{quoted(name)} (useful), accuracy: {_listed(numbers)}"
        classes = result.classes.get(name, [])
        if "app_balanced" in numbers and "clean_balanced" in numbers:
            before, after = numbers["clean_balanced"], numbers["app_balanced"]
            yield f"{quoted(name)}, each class counting the same: raw windows {before:.3f}, released {after:.3f}"
        yield from map(_recall, _worst_read(classes))
        for each in classes:
            if each.code == "none":
                yield (
                    f"{quoted(each.name)} of {quoted(name)} has no code, and leaves as another class: of its windows "
                    f"{each.learnt} were left to learn from, and a code takes {FEWEST_COUNTED}. Record more of it."
                )
        if advice := _advice(name, numbers, classes, bundle.policy):
            yield advice


def _number(name: str, found: Mapping[Any, float], number: Number) -> Iterator[str]:
    """The mean absolute errors of an inference that is a number."""
    width = number.range[1] - number.range[0]
    errors = ", ".join(f"{said} {found[key] * width:.3g}" for key, said in _ERRORS.items() if key in found)
    yield f"{quoted(name)} (useful), mean absolute error in {quoted(number.unit)}: {errors}"
    median = found.get("error_median", 1.0)
    if found.get("error", 0.0) <= WORTH_A_NUMBER * median:
        return
    if found.get("error_clean", 0.0) > WORTH_A_NUMBER * median:
        fix = "so are raw windows, whatever epsilon is: try longer windows, more sensors, or check the numbers"
    else:
        fix = "raise epsilon, or use fewer levels"
    yield f"{quoted(name)} is hardly nearer than the median after release: {fix}"


def _worst_read(classes: Sequence[ClassRead]) -> list[ClassRead]:
    """All, where they are few."""
    tested = [each for each in classes if each.app is not None]
    kept = sorted(tested, key=lambda each: each.app or 0.0)[:MOST_CLASSES]
    return [each for each in tested if each in kept]


def _recall(each: ClassRead) -> str:
    return (
        f"  {quoted(each.name)}: right in {each.app or 0:.3f} of {each.tested} windows (raw {each.clean or 0:.3f}), "
        f"learnt from {each.learnt}"
    )


def _advice(name: str, numbers: Mapping[Any, float], classes: Sequence[ClassRead], policy: Policy) -> str:
    """Advice for a release that is of little use, depending on the cause."""
    tested = [each for each in classes if each.tested]
    if "app_balanced" in numbers and "clean_balanced" in numbers and tested:
        before, after, chance = numbers["clean_balanced"], numbers["app_balanced"], 1 / len(tested)
    else:
        before, after, chance = numbers.get("clean", 1.0), numbers["app"], numbers["chance"]
    if after >= chance + WORTH_IT:
        return ""
    few = [quoted(each.name) for each in classes if each.learnt < FEW]
    if before < chance + WORTH_IT:
        fix = "so do raw windows, whatever epsilon is: try longer windows, more sensors, or check the labels"
    elif _unbalanced(classes) and name not in policy.training.cost_matrix:
        fix = "its classes are unbalanced; give [training.cost_matrix] as `deeprotect init` writes it"
    elif few:
        fix = f"record more of {', '.join(few[:MOST_CLASSES])}; fewer than {FEW} windows to learn from are too few"
    else:
        fix = "raise epsilon, or name fewer useful inferences"
    return f"{quoted(name)} is hardly better than chance after release: {fix}"


def _unbalanced(classes: Sequence[ClassRead]) -> bool:
    counts = [each.learnt for each in classes]
    return max(counts, default=0) >= UNBALANCED * min(counts, default=0)


def constant(bundle: Bundle) -> str:
    """A warning for a protector whose output is always the same, printed wherever it is made or used; else empty."""
    mechanism = bundle.mechanism
    if not isinstance(mechanism, DiscreteChannel) or mechanism.only_output is None:
        return ""
    named = {each.name for result in bundle.manifest.results for each in chain(*result.classes.values())}
    shown = mechanism.outputs[mechanism.only_output] if mechanism.outputs else ""
    output = quoted(shown) if shown in named else "one and the same output"
    return f"Every window leaves as {output}: an app learns nothing from this release, and each draw is still charged."


def _listed(numbers: Mapping[Any, float]) -> str:
    return ", ".join(f"{_READERS[key]} {value:.3f}" for key, value in numbers.items() if key in _READERS)


def _work(bundle: Bundle) -> Iterator[str]:
    schema, certificate = bundle.schema, bundle.certificate
    length = span(schema.window / schema.rate_hz)
    yield f"Stream: {schema.rate_hz:g} Hz, windows of {schema.window} samples ({length})."
    for channel in schema.channels:
        yield f"  {quoted(channel.name)}: [{channel.low:g}, {channel.high:g}] {quoted(channel.unit)}"
    if bundle.hold.windows > 1:
        yield _drawn(bundle)
    yield f"Mechanism: {bundle.mechanism.name}; learnt: {bundle.manifest.feature_extractor.name}."
    classes = certificate.get("outputs", 0)
    if certificate.get("codes", 0) > classes:
        yield f"  The coder abstains on a window that fits none of {classes} classes well; it leaves as one of them."
    for key, reason in _CHOSEN.items():
        expected: dict[str, float] = getattr(bundle.manifest.feature_extractor, key)
        if expected:
            yield f"  {reason}: {', '.join(f'{name} {value:.3f}' for name, value in expected.items())}."
    for name, number in bundle.policy.inferences.numeric.items():
        low, high = number.range
        levels = f"{number.levels} levels over [{low:g}, {high:g}] {quoted(number.unit)}"
        yield f"  {quoted(name)} is a number, in {levels}; a misreading costs its distance."
    for name, rows in bundle.policy.training.cost_matrix.items():
        costs = sorted(cost for row in rows.values() for cost in row.values())
        stated = f"in {len(costs)} cases that the policy lists, 1 in all others"
        yield f"  Misreading {quoted(name)} costs {costs[0]:g} to {costs[-1]:g} {stated}."


def _drawn(bundle: Bundle) -> str:
    """What one draw covers, if it covers several windows."""
    episode = f"an episode of {bundle.hold.windows} windows ({span(bundle.policy.seconds_per_draw)})"
    scripts, slot = bundle.mechanism.scripts, bundle.policy.privacy.slots
    if scripts is None:
        return f"One draw is held for {episode}."
    return (
        f"One draw is a script of {episode}, in slots of {slot}: what was done, and in which slot it changed "
        f"({scripts}). It is kept or replaced as a whole: whoever knows most of an episode may learn the rest of it."
    )


def _origin(bundle: Bundle) -> Iterator[str]:
    manifest, training = bundle.manifest, bundle.manifest.training
    yield f"{training.rows} rows, {training.windows} windows, {training.recordings} recordings"
    yield f"Fingerprint of the training windows {training.fingerprint[:16]}…"
    if enrolled := manifest.feature_extractor.enrolled_windows:
        yield (
            f"Enrolled: then trained on {enrolled} windows of one person, who can be recognised from it. Keep it on "
            "their device; nothing was measured after that."
        )
    made_with = (f"{name} {number}" for name, number in manifest.made_with.items() if name != "card")
    yield f"{manifest.created}, with {', '.join(made_with)}"


_FRAGMENT = """<div><h3>$title</h3>
$opening
<details><summary>The whole card</summary>
$sections
</details></div>"""


def card_page(bundle: Bundle) -> str:
    """The card as a page, with the words that `describe` prints."""
    folder = resources.files("deeprotect.bundle")
    page, style = ((folder / name).read_text(encoding="utf-8") for name in ("card.html", "card.css"))
    return _filled(page, bundle, paragraph='<p class="opening">{}</p>', style=style)


def card_fragment(bundle: Bundle) -> str:
    """The card for a notebook, in the notebook's style: the opening, with the rest folded away."""
    return _filled(_FRAGMENT, bundle, paragraph="<p>{}</p>")


def _filled(template: str, bundle: Bundle, *, paragraph: str, **more: str) -> str:
    found = card_of(bundle)
    return Template(template).substitute(
        title=escape(found.title),
        opening="\n".join(paragraph.format(escape(sentence)) for sentence in found.paragraphs),
        sections="\n".join(line for section in found.sections for line in _section(section)),
        **more,
    )


def _section(section: CardSection) -> Iterator[str]:
    yield f"<section><h2>{escape(section.title)}</h2><ul>"
    items: list[tuple[str, list[str]]] = []
    for line in section.lines:
        if line.startswith("  ") and items:
            items[-1][1].append(line.strip())
        else:
            items.append((line.strip(), []))
    for line, inner in items:
        below = f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in inner)}</ul>" if inner else ""
        yield f"<li>{_term(line)}{below}</li>"
    yield "</ul></section>"


def _term(line: str) -> str:
    """Prints the short head of a line, up to its colon, in bold."""
    head, colon, rest = line.partition(": ")
    return f"<b>{escape(head)}:</b> {escape(rest)}" if colon and len(head) < 32 and "“" not in head else escape(line)
