"""The layout of a page about results: which row leads, which drawings, what to know when reading, what is untested."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import cast, get_args

from deeprotect.errors import InputError
from deeprotect.evaluation.excerpt import Excerpt
from deeprotect.evaluation.methods import BY_LINE, is_main
from deeprotect.evaluation.report import figures
from deeprotect.evaluation.report.drawing import Drawing
from deeprotect.evaluation.report.page import Group, Page
from deeprotect.evaluation.results import Results, Row
from deeprotect.policy import Policy
from deeprotect.policy.sections import Privacy
from deeprotect.privacy.events import Event, Guarantee
from deeprotect.privacy.guarantees import STRONGEST_FIRST, opening

_SPLITS = {
    "time": "People, devices and places outside the table: training and test windows are different parts of the same "
    "recordings.",
    "recording": "People, devices and places outside the table: tested recordings are kept apart from training, but "
    "the same person may stand on both sides.",
}

_DRAWN = {
    "average": "No raw sample: the signals drawn are {} and what became of it. --show-raw draws one recording instead.",
    "public": "Raw samples of {}, which anyone may have.",
    "raw": "Raw samples of {}, some seconds of one channel, because --show-raw asked for them. Treat this page, its "
    "figures and its folder as you treat the table.",
}
_NOT_DRAWN = (
    "No raw sample, and no signal is drawn: there are too few people in the table for a mean that is nobody's own. "
    "--show-raw draws one recording."
)


def reading(results: Results) -> list[str]:
    """How each number was got, in the order in which a reader meets them."""
    lines = [
        "raw windows: apps and attackers trained and tested on what the sensors gave. The unchanged app learnt from "
        "raw windows and reads released ones; it does not know that anything happened.",
    ]
    if results.rows[0].sensitive:
        lines += _about_attackers(results.rows)
    lines += [
        "limit: what ε itself allows anyone to guess from one window. Where it is high and the measured attacker is "
        "low, it is the little that is released that protects, and that is measured, not proven.",
        "ε is per window. A stream of T windows costs T·ε against someone who pools them all.",
    ]
    if any(row.guarantee in ("rldp", "none") for row in results.rows):
        lines.append("Rows of rldp and rows without a promise have no limit: no ε bounds every observer of them.")
    return [*lines, "Intervals are 95 % and hold for new windows of the same kind, not for another choice of people."]


def untested(results: Results) -> list[str]:
    """What this evaluation cannot speak about."""
    first = results.rows[0]
    lines = [_attackers_left(results.rows), _split_left(str(results.run.get("split", ""))), _pools_left(first)]
    lines += [
        f"Inferences without labels in this table: only {_listed([*first.useful, *first.sensitive])} were measured.",
        "What stands beside the samples: row counts, gaps, and time stamps and names of recordings where they are kept "
        "may tell who was recorded, when, and for how long.",
        "Attackers with more data than the training windows counted below, or with other sensors, maps or logs to "
        "hold the released stream against.",
        "Data that drift: another way of wearing the sensor, another rate, new kinds of behaviour.",
        "The running program: its timing, its memory, the device it runs on. For a bundle, deeprotect verify works out "
        "the promise again and deeprotect audit attacks it.",
    ]
    epsilons = sorted({row.epsilon for row in results.rows if row.epsilon is not None})
    if epsilons:
        lines.append(f"Other ε than {', '.join(f'{epsilon:g}' for epsilon in epsilons)}.")
    return [line for line in lines if line]


def contains(results: Results, excerpt: Excerpt | None) -> list[str]:
    """What of the table stands on the page and in the files beside it."""
    first = results.rows[0]
    lines = [_DRAWN[excerpt.shows].format(excerpt.origin) if excerpt else _NOT_DRAWN]
    lines.append(
        f"Names of classes as the table has them ({_listed([*first.useful, *first.sensitive])}), and columns' names."
    )
    lines.append("Everything else is a share, a count or a mean over many windows.")
    return lines


def _about_attackers(rows: Sequence[Row]) -> list[str]:
    useful, sensitive = _listed(list(rows[0].useful)), _listed(list(rows[0].sensitive))
    models = _models(rows)
    best_of = f" It is the best of: {', '.join(models)}." if models else ""
    return [
        "The attacker that counts is the retrained one: it has seen released windows of the same recordings with "
        f"their labels.{best_of} On two classes an attacker who is wrong more often than right is turned round.",
        "Several windows: the attacker adds up its evidence over that many neighbouring windows of one recording "
        "(fewer where the tested part is shorter).",
        f"told only {useful}: guessing {sensitive} from the true {useful} alone. No protection that keeps {useful} "
        "can push an attacker below that.",
    ]


def _attackers_left(rows: Sequence[Row]) -> str:
    if not rows[0].sensitive:
        return (
            "Any attacker: the policy names no sensitive inference, so nothing but the promise itself stands against "
            "one. Name an inference as sensitive to have it attacked."
        )
    models = _models(rows)
    tried = f" than {', '.join(models)}" if models else ""
    return f"Other attackers{tried}, trained longer, tuned by hand, or made for this release. A stronger one may exist."


def _split_left(split: str) -> str:
    kind = split.split(" ")[0].lower()
    if split and kind not in _SPLITS:
        return f"Devices and places outside the table; training and test side were split by {split}."
    return _SPLITS.get(kind, "People, devices and places outside the table.")


def _pools_left(row: Row) -> str:
    sizes = [size for each in row.sensitive.values() for size in each.pooled]
    if not sizes:
        return "Several windows put together: every accuracy here is of one window." if row.sensitive else ""
    return f"More than {max(sizes)} windows of one recording put together, or windows joined across recordings."


def _models(rows: Sequence[Row]) -> list[str]:
    """Of all rows, in the order in which they were tried: some attackers fit some releases only."""
    attacks = [each for row in rows for each in row.sensitive.values()]
    return list(dict.fromkeys(name.replace("_", " ") for each in attacks for name in each.attackers))


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


_MOST_PAIRS = 6


def lay_out(
    results: Results, policy: Policy, *, title: str, lead: str, excerpt: Excerpt | None, epsilon: float
) -> Page:
    """A page on every inference of the results; what can be shown at one ε only is shown at `epsilon`.

    It leads with what the policy asks for.
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
        reading=reading(results),
        untested=untested(results),
        contains=contains(results, excerpt),
        confidence=policy.privacy.confidence,
        units={} if excerpt is None else {each.name: each.unit for each in excerpt.schema.channels},
    )


def leading(rows: Sequence[Row], epsilon: float, wanted: Privacy) -> Row:
    """The policy's own row; without it the most useful of what it asks for, at `epsilon` where that was measured."""
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
    """The leading row's promise as a card would open with it; nothing where nothing is promised."""
    if row.guarantee not in get_args(Guarantee) or row.epsilon is None:
        return ()
    named = row.guarantee == "named"
    event = Event(
        cast(Guarantee, row.guarantee),
        row.epsilon,
        inferences=() if row.guarantee == "ldp" else policy.inferences.sensitive,
        confidence=policy.privacy.confidence if named else 1.0,
        given=tuple(row.given),
    )
    return opening(event, seconds=row.seconds_per_draw or policy.seconds_per_draw, ldp_epsilon=row.ldp_ceiling)


def at(rows: Sequence[Row], epsilon: float) -> list[Row]:
    return [row for row in rows if row.epsilon is not None and math.isclose(row.epsilon, epsilon)]


def _worth(row: Row) -> float:
    """Mean accuracy of the apps less the most that an attacker gains beyond what the useful labels tell."""
    apps = [each.app for each in row.useful.values()]
    gains = [each.adaptive - each.floor for each in row.sensitive.values()]
    return sum(apps) / max(1, len(apps)) - max(0.0, *gains, 0.0)


def _curves(rows: Sequence[Row]) -> Group:
    if all(row.epsilon is None for row in rows):
        return Group("curves", "Accuracy against ε", "", ())
    useful = {name: f"Useful, {name}: how often the unchanged app is right" for name in rows[0].useful}
    sensitive = {
        name: f"Sensitive, {name}: how often the best retrained attacker is right" for name in rows[0].sensitive
    }
    text = "For useful inferences high is good; for sensitive ones low is. " if sensitive else "High is good. "
    return Group(
        "curves",
        "What each ε buys",
        f"{text}Bars are 95 % intervals; lines are set slightly apart so that they can be seen. "
        "References are left to the table.",
        [
            *(figures.against_epsilon(rows, "useful", name, caption=caption) for name, caption in useful.items()),
            *(figures.against_epsilon(rows, "sensitive", name, caption=caption) for name, caption in sensitive.items()),
        ],
    )


def _against(rows: Sequence[Row]) -> Group:
    pairs = list(product(rows[0].useful, rows[0].sensitive))[:_MOST_PAIRS]
    drawings = [
        figures.useful_against_sensitive(
            rows, useful, sensitive, caption=f"{useful} kept (up) against {sensitive} given away (right)"
        )
        for useful, sensitive in pairs
    ]
    return Group(
        "trade",
        "Kept against given away",
        "One point for each row of the table, larger for a larger ε. The ideal is the grey disc at the upper left: "
        "the app reads as well as from raw windows, the attacker no better than someone who is told the useful labels.",
        drawings,
    )


def _pooled(rows: Sequence[Row], epsilon: float) -> Group:
    shown = [row for row in at(rows, epsilon) if is_main(row.line)] or at(rows, epsilon)
    drawings = [
        figures.pooled(shown, name, caption=f"{name}: how often attackers are right who put windows together")
        for name in rows[0].sensitive
        if any(row.sensitive[name].pooled for row in shown)
    ]
    return Group(
        "pooled",
        "Many windows together",
        f"ε = {epsilon:g} is a promise about one window. Here the attacker collects evidence from several neighbouring "
        "windows of one recording, raw or released: a line that climbs shows what a stream tells over time.",
        drawings,
    )


_SHOWN = {
    "average": "averaged as a thin line; it is no person's recording, and smoother than any",
    "public": "raw as a thin line",
    "raw": "raw as a thin line",
}


def _holds(rows: Sequence[Row]) -> Group:
    held = [row for row in rows if row.slots is None]
    drawings = [
        figures.held(
            held,
            useful,
            next(iter(held[0].sensitive), None),
            caption=f"{useful}, and what an hour costs, against how long a draw is held",
        )
        for useful in (held[0].useful if held else ())
    ]
    if len(held) < len(rows):
        caption = "Draws that are held and scripts: {} against what an hour costs; the bars are 95 % intervals"
        drawings += [figures.hourly(rows, useful, caption=caption.format(useful)) for useful in rows[0].useful]
    return Group(
        "holds",
        "What patience buys",
        "One draw may stand for longer than a window: the coder then looks at all of an episode, and an hour costs "
        "fewer draws. What is shorter than an episode is lost; a script keeps when it changed, for a larger ε a draw. "
        "Tested on whole pieces of recordings, changes inside episodes included; attackers count draws.",
        drawings,
    )


def _strangers(found: Mapping[str, Row]) -> Group:
    caption = "People met before and strangers, read by apps and attackers; dotted: raw windows, useful labels alone"
    drawings = [figures.strangers(found["met"], found["strangers"], caption=caption)] if found else []
    return Group(
        "strangers",
        "People whom the protector has never met",
        "Coder, code book, channel and apps learnt from other people; attackers were enrolled on the strangers' own "
        "earlier released windows, and tested on later ones.",
        drawings,
    )


def _signals(excerpt: Excerpt | None) -> Group:
    if excerpt is None:
        return Group("signals", "What leaves the device", "", ())
    return Group(
        "signals",
        "What leaves the device",
        f"Channel {excerpt.channel.name} of neighbouring windows ({excerpt.origin}), in a part that no model was "
        f"trained on, ε = {excerpt.epsilon:g}: {_SHOWN[excerpt.shows]}; released in colour. The app receives the "
        "coloured line, in the raw one's form.",
        [_signal(excerpt, name) for name in excerpt.released],
    )


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
        figures.confusion("app", name, each.confusion, caption=f"Useful, {name}: as the unchanged app reads it")
        for name, each in row.useful.items()
        if each.confusion is not None
    ]
    attackers = [
        figures.confusion("attacker", name, each.confusion, caption=f"Sensitive, {name}: as the best attacker reads it")
        for name, each in row.sensitive.items()
        if each.confusion is not None
    ]
    good = "A strong diagonal is good for the app and bad for privacy." if attackers else "A strong diagonal is good."
    where = row.line if row.epsilon is None else f"{row.line} at ε = {row.epsilon:g}"
    return Group(
        "confusion",
        "Which classes are mistaken for which",
        f"Released windows of {where}, in per cent of each true class (one line sums to 100). {good}",
        [*apps, *attackers],
    )
