"""The tables beside the page, as CSV: tidy, one fact a line, numbers as in results.json."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from deeprotect.evaluation.results import DIGITS, Confusion, Results, Row, Sensitive, Useful

Line = dict[str, Any]


def tables(results: Results) -> dict[str, str]:
    """The text of each table by its file's name; a table without lines is the empty text."""
    rows = results.rows
    contents = {
        "results": [line for row in rows for line in _accuracies(row)],
        "attackers": [line for row in rows for line in _attackers(row)],
        "pooled": [line for row in rows for line in _pooled(row)],
        "confusion": [line for row in rows for line in _confusions(row)],
        "signal": [_head(row) | {"channel": name, "mae": error} for row in rows for name, error in row.signal.items()],
        "form": [asdict(check) for check in results.form],
        "noise": [asdict(row) for row in results.noise],
        "features": [_spread_interval(asdict(row), "accuracy") for row in results.minimisers],
    }
    return {f"{name}.csv": _text(lines) for name, lines in contents.items()}


def _head(row: Row) -> Line:
    return {
        "line": row.line,
        "mechanism": row.mechanism,
        "guarantee": row.guarantee,
        "epsilon": row.epsilon,
        "minimiser": row.minimiser,
    }


def _accuracies(row: Row) -> Iterator[Line]:
    for name, useful in row.useful.items():
        yield _head(row) | {"role": "useful", "inference": name} | _useful(useful)
    for name, sensitive in row.sensitive.items():
        yield _head(row) | {"role": "sensitive", "inference": name} | _sensitive(sensitive)


def _useful(facts: Useful) -> Line:
    low, high = facts.app_ci
    return {
        "clean": facts.clean,
        "app": facts.app,
        "app_low": low,
        "app_high": high,
        "retrained": facts.retrained,
        "limit": facts.limit,
        "chance": facts.chance,
    }


def _sensitive(facts: Sensitive) -> Line:
    low, high = facts.adaptive_ci
    return {
        "raw": facts.raw,
        "static": facts.static,
        "adaptive": facts.adaptive,
        "adaptive_low": low,
        "adaptive_high": high,
        "best_attacker": facts.best_attacker,
        "from_useful": facts.from_useful,
        "limit": facts.limit,
        "chance": facts.chance,
    }


def _attackers(row: Row) -> Iterator[Line]:
    for name, facts in row.sensitive.items():
        for attacker, accuracy in facts.attackers.items():
            yield _head(row) | {"inference": name, "attacker": attacker, "accuracy": accuracy}


def _pooled(row: Row) -> Iterator[Line]:
    for name, facts in row.sensitive.items():
        for size in sorted({*facts.pooled, *facts.pooled_raw}):
            both = {"accuracy": facts.pooled.get(size), "raw": facts.pooled_raw.get(size)}
            yield _head(row) | {"inference": name, "windows": size} | both


def _confusions(row: Row) -> Iterator[Line]:
    for role, group in (("useful", row.useful), ("sensitive", row.sensitive)):
        for name, facts in group.items():
            for cell in _cells(facts.confusion):
                yield _head(row) | {"role": role, "inference": name} | cell


def _cells(confusion: Confusion | None) -> Iterator[Line]:
    """Cells that hold a window; with many classes most hold none."""
    if confusion is None:
        return
    for truth, counts in zip(confusion.classes, confusion.counts, strict=True):
        for guess, count in zip(confusion.classes, counts, strict=True):
            if count:
                yield {"truth": truth, "read_as": guess, "windows": count}


def _spread_interval(line: Line, name: str) -> Line:
    low, high = line.pop(f"{name}_ci")
    return line | {f"{name}_low": low, f"{name}_high": high}


def _text(lines: Sequence[Line]) -> str:
    """Columns in the order in which they first appear; what a line lacks is empty."""
    if not lines:
        return ""
    buffer = io.StringIO()
    columns = list(dict.fromkeys(name for line in lines for name in line))
    writer = csv.DictWriter(buffer, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain(value) for name, value in line.items()} for line in lines)
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value
