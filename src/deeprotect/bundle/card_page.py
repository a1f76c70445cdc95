"""The model card as one page of HTML that needs no network, no script and no other file."""

from collections.abc import Iterator
from html import escape

from deeprotect.bundle.bundle import Bundle
from deeprotect.bundle.card import CardSection, card_of

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d9dee5; --paper: #fff; --ground: #f4f6f8;
  --good: #0b6b4f; --open: #9a4a00 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa5b3; --line: #333c48; --paper: #1a2029;
  --ground: #12161c; --good: #5fc9a4; --open: #f0a45d } }
* { box-sizing: border-box }
body { margin: 0; padding: 2rem 1rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif }
main { max-width: 46rem; margin: auto; padding: 2rem clamp(1rem, 5vw, 3rem); background: var(--paper);
  border: 1px solid var(--line); border-radius: .75rem; overflow-wrap: anywhere }
h1 { margin: 0 0 1rem; font-size: 1.6rem; line-height: 1.25 }
h2 { margin: 2rem 0 .25rem; font-size: 1.1rem }
.eyebrow, footer { color: var(--soft); font-size: .875rem }
.opening { margin: 1rem 0; padding: .25rem 1rem; border-left: .3rem solid var(--good); font-size: 1.1rem }
.opening + .opening { border-color: var(--open) }
ul { margin: .25rem 0; padding-left: 1.25rem }
li { margin: .3rem 0 }
footer { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line) }
code { font-size: .9em }
@media print { body { padding: 0; background: none } main { border: none; padding: 0; max-width: none } }
"""
ORIGIN = (
    "Made from manifest.json when this bundle was saved. Nothing reads this page: what counts is the manifest. From it "
    "<code>deeprotect describe</code> makes the card anew, and <code>deeprotect verify</code> works out the promise "
    "again and says whether this page still agrees."
)


def card_page(bundle: Bundle) -> str:
    """The same words as `describe` prints."""
    found = card_of(bundle)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(found.title)}</title><style>{STYLE}</style></head><body><main>",
            f'<p class="eyebrow">DEEProtect · card of a protector</p><h1>{escape(found.title)}</h1>',
            *(f'<p class="opening">{escape(sentence)}</p>' for sentence in found.opening),
            *(line for section in found.sections for line in _section(section)),
            f"<footer>{ORIGIN}</footer></main></body></html>\n",
        ]
    )


def card_fragment(bundle: Bundle) -> str:
    """The same for a notebook, in its own style: the opening, the rest folded away."""
    found = card_of(bundle)
    return "\n".join(
        [
            f"<div><h3>{escape(found.title)}</h3>",
            *(f"<p>{escape(sentence)}</p>" for sentence in found.opening),
            "<details><summary>The whole card</summary>",
            *(line for section in found.sections for line in _section(section)),
            "</details></div>",
        ]
    )


def _section(section: CardSection) -> Iterator[str]:
    yield f"<section><h2>{escape(section.title)}</h2><ul>"
    inner: list[str] = []
    for line in (*section.lines, ""):
        if line.startswith("  "):
            inner.append(line)
            continue
        if inner:
            yield f"<li><ul>{''.join(f'<li>{escape(each.strip())}</li>' for each in inner)}</ul></li>"
            inner = []
        if line:
            yield f"<li>{_term(line)}</li>"
    yield "</ul></section>"


def _term(line: str) -> str:
    """What stands before a colon at the beginning, if it is short, is what the line is about."""
    head, colon, rest = line.partition(": ")
    return f"<b>{escape(head)}:</b> {escape(rest)}" if colon and len(head) < 24 and "“" not in head else escape(line)
