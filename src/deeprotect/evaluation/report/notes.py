"""What to know when reading the page: how numbers were got, and what nobody has tested."""

from collections.abc import Sequence

from deeprotect.evaluation.excerpt import Excerpt
from deeprotect.evaluation.results import NoiseRow, Results, Row

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


def findings(rows: Sequence[NoiseRow]) -> str:
    """The two comparisons with the paper, in words, where their rows are there."""
    found = {(row.mechanism, row.guarantee, row.minimiser): row for row in rows}
    paper, ours = found.get(("paper", "ldp", "paper")), found.get(("laplace", "ldp", "paper"))
    literal, along = found.get(("paper", "rldp", "paper")), found.get(("subspace", "rldp", "default"))
    sentences = []
    if paper and ours and ours.code_error:
        sentences.append(
            f"On the paper's own encoder, certified noise is {paper.code_error / ours.code_error:,.0f} times smaller "
            "than the paper's, for the same promise."
        )
    if literal and along and along.code_error and literal.code_spread:
        relative = (literal.code_error / literal.code_spread) * (along.code_spread / along.code_error)
        sentences.append(
            f"Noise along the sensitive directions is {relative:,.0f} times smaller than the paper's mode 2, each held "
            "against the spread of the code it covers."
        )
    return " ".join(sentences)


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
