"""The model card: what may be inferred, what is promised, to whom, and what is not; in plain words.

It is always made from the manifest. The copy inside a bundle is for people who have only a browser: nothing reads it.
"""

import re
from dataclasses import dataclass

from deeprotect.bundle import card_sections
from deeprotect.bundle.bundle import Bundle
from deeprotect.bundle.card_opening import Combinations, Opening, opening
from deeprotect.errors import quoted_all

_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\(")  # tags and links, none of which is ours


@dataclass(frozen=True)
class CardSection:
    """Lines under a heading; a line that starts with two blanks belongs to the one before."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Card:
    """What a card says, for whatever it is printed on."""

    title: str
    opening: Opening
    sections: tuple[CardSection, ...]


def card(bundle: Bundle) -> str:
    """Markdown that a privacy officer can read."""
    found = card_of(bundle)
    lines = [f"# {found.title}", "", found.opening.promised, "", found.opening.not_covered]
    for section in found.sections:
        lines += ["", f"## {section.title}", *(_bullet(line) for line in section.lines)]
    return "\n".join(_MARKUP.sub(r"\\\g<0>", line) for line in lines) + "\n"


def card_of(bundle: Bundle) -> Card:
    event, certificate = bundle.mechanism.event, bundle.certificate
    seen = bundle.manifest.training.classes
    classes = {name: len(seen[name]) for name in event.inferences if name in seen}
    seconds = bundle.policy.seconds_per_draw
    first = opening(
        event,
        seconds=seconds,
        classes=classes,
        ldp_epsilon=certificate["ldp_epsilon"],
        combinations=_combinations(bundle),
    )
    sections = {
        "What it is for": card_sections.use_lines(bundle),
        "What is promised, to the letter": card_sections.promise_lines(bundle),
        "What is not": card_sections.open_lines(bundle),
        "What was measured, on held-out windows": card_sections.measured(bundle),
        "How it works": card_sections.work_lines(bundle),
        "Made from": card_sections.origin_lines(bundle),
    }
    return Card(
        f"Protector for {quoted_all(bundle.policy.inferences.useful, ', ')}",
        first,
        tuple(CardSection(title, tuple(lines)) for title, lines in sections.items()),
    )


def _combinations(bundle: Bundle) -> Combinations:
    """Of all named inferences together."""
    secrets = bundle.certificate.get("secrets", ())
    return Combinations(*(sum(secret[key] for secret in secrets) for key in ("promised", "unpromised")))


def _bullet(line: str) -> str:
    return f"  - {line.strip()}" if line.startswith("  ") else f"- {line}"
