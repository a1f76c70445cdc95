"""The layout of a results page: which row leads, and which figures are included."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import cast, get_args

from deeprotect.errors import InputError
from deeprotect.evaluation.excerpt import Excerpt
from deeprotect.evaluation.methods import BY_LINE, is_ldp, is_main
from deeprotect.evaluation.report import figures
from deeprotect.evaluation.report.drawing import Drawing
from deeprotect.evaluation.report.page import Group, Page
from deeprotect.evaluation.results import Results, Row
from deeprotect.policy import Policy
from deeprotect.policy.sections import Privacy
from deeprotect.privacy.events import Event, Guarantee
from deeprotect.privacy.guarantees import STRONGEST_FIRST, opening

_MOST_PAIRS = 6


def lay_out(
    results: Results, policy: Policy, *, title: str, lead: str, excerpt: Excerpt | None, epsilon: float
) -> Page:
    """A page on every inference of the results; figures for a single ε use `epsilon`.

    It leads with the policy's own row.
    """
    if not results.rows:
        raise InputError(f"nothing was measured, so there is nothing to report: {'; '.join(results.left_out)}")
    best = leading(results.rows, epsilon, policy.privacy)
    groups = (
        _curves(results.rows),
        _against(results.rows),
        _pooled(results.rows, epsilon),
        _holds(results.holds),
        _strangers(results.strangers),
        _signals(excerpt),
        _confusions(best),
    )
    return Page(
        title=title,
        lead=lead,
        best=best,
        opening=opening_of(best, policy),
        epsilon=epsilon,
        groups=[group for group in groups if group.drawings],
        excerpt=excerpt,
    )


def leading(rows: Sequence[Row], epsilon: float, wanted: Privacy) -> Row:
    """The policy's own row; without it the most useful row with its guarantee, at `epsilon` if that was measured."""
    own = [row for row in rows if row.own]
    if own:
        return own[0]
    main = [row for row in rows if is_main(row.line)] or list(rows)
    mine = [row for row in main if wanted.mechanism in ("auto", row.mechanism)]
    asked = [row for row in mine if row.guarantee == wanted.guarantee] or mine or _strongest(main)
    return max(at(asked, epsilon) or asked, key=_worth)


def _strongest(rows: Sequence[Row]) -> list[Row]:
    guarantee = min((row.guarantee for row in rows), key=STRONGEST_FIRST.index)
    return [row for row in rows if row.guarantee == guarantee]


def opening_of(row: Row, policy: Policy) -> tuple[str, ...]:
    """The leading row's promise, as a card would open with it; empty without a promise."""
    if row.guarantee not in get_args(Guarantee) or row.epsilon is None:
        return ()
    hidden = () if row.guarantee == "ldp" else policy.inferences.sensitive
    event = Event(cast(Guarantee, row.guarantee), row.epsilon, inferences=hidden)
    if is_ldp(row.mechanism, row.guarantee):
        event = Event("ldp", row.epsilon, erased=hidden)
    return opening(event, seconds=row.seconds_per_draw or policy.seconds_per_draw)


def at(rows: Sequence[Row], epsilon: float) -> list[Row]:
    return [row for row in rows if row.epsilon is not None and math.isclose(row.epsilon, epsilon)]


def _worth(row: Row) -> float:
    """Mean accuracy of the apps (for numbers, the share of the median's error that is avoided), minus the largest gain
    of an attacker over guessing from the useful labels."""
    apps = [each.app if each.saved is None else each.saved[0] for each in row.useful.values()]
    gains = [each.adaptive - each.floor for each in row.sensitive.values()]
    return sum(apps) / max(1, len(apps)) - max(0.0, *gains, 0.0)


def _curves(rows: Sequence[Row]) -> Group:
    if all(row.epsilon is None for row in rows):
        return Group("curves", ())
    useful = {name: f"Useful, {name}: accuracy of the unchanged app" for name in rows[0].useful}
    sensitive = {name: f"Sensitive, {name}: accuracy of the best retrained attacker" for name in rows[0].sensitive}
    return Group(
        "curves",
        [
            *(figures.against_epsilon(rows, "useful", name, caption=caption) for name, caption in useful.items()),
            *(
                figures.errors(
                    rows, name, caption=f"Useful, {name}: mean absolute error of the unchanged app, {each.unit}"
                )
                for name, each in rows[0].useful.items()
                if each.saved is not None
            ),
            *(figures.against_epsilon(rows, "sensitive", name, caption=caption) for name, caption in sensitive.items()),
        ],
    )


def _against(rows: Sequence[Row]) -> Group:
    pairs = list(product(rows[0].useful, rows[0].sensitive))[:_MOST_PAIRS]
    caption = "accuracy of the app on {} (up) and of the attacker on {} (right)"
    return Group(
        "trade", [figures.useful_against_sensitive(rows, *pair, caption=caption.format(*pair)) for pair in pairs]
    )


def _pooled(rows: Sequence[Row], epsilon: float) -> Group:
    shown = [row for row in at(rows, epsilon) if is_main(row.line)] or at(rows, epsilon)
    drawings = [
        figures.pooled(shown, name, caption=f"{name}: accuracy of attackers who pool windows")
        for name in rows[0].sensitive
        if any(row.sensitive[name].pooled for row in shown)
    ]
    return Group("pooled", drawings)


def _holds(rows: Sequence[Row]) -> Group:
    held = [row for row in rows if row.slots is None]
    drawings = [
        figures.held(
            held,
            useful,
            next(iter(held[0].sensitive), None),
            caption=f"{useful}, and ε per hour, against the length of a hold",
        )
        for useful in (held[0].useful if held else ())
    ]
    if len(held) < len(rows):
        caption = "Held draws and scripts: {} against ε per hour; the bars are 95 % intervals"
        drawings += [figures.hourly(rows, useful, caption=caption.format(useful)) for useful in rows[0].useful]
    return Group("holds", drawings)


def _strangers(found: Mapping[str, Row]) -> Group:
    caption = "Known and new people: accuracy of apps and attackers; dotted: raw windows, useful labels alone"
    return Group("strangers", [figures.strangers(found["met"], found["strangers"], caption=caption)] if found else ())


def _signals(excerpt: Excerpt | None) -> Group:
    return Group("signals", () if excerpt is None else [_signal(excerpt, name) for name in excerpt.released])


def _signal(excerpt: Excerpt, line: str) -> Drawing:
    return figures.signal(
        line,
        excerpt.line(excerpt.windows),
        excerpt.line(excerpt.released[line]),
        rate_hz=excerpt.schema.rate_hz,
        channel=excerpt.channel,
        caption=f"{line}: {BY_LINE[line].words if line in BY_LINE else 'released'}",
        label="average" if excerpt.shows == "average" else "raw",
    )


def _confusions(row: Row) -> Group:
    apps = [
        figures.confusion("app", name, each.confusion, caption=f"Useful, {name}: predictions of the unchanged app")
        for name, each in row.useful.items()
        if each.confusion is not None
    ]
    attackers = [
        figures.confusion(
            "attacker", name, each.confusion, caption=f"Sensitive, {name}: predictions of the best attacker"
        )
        for name, each in row.sensitive.items()
        if each.confusion is not None
    ]
    return Group("confusion", [*apps, *attackers])
