"""What was drawn for charges: private already, so that keeping it is post-processing; kept first, kept for good."""

import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, insert, select

from deeprotect.release.ledger import database_tables as schema
from deeprotect.release.ledger.spans import Span
from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats

if TYPE_CHECKING:
    from deeprotect.release.ledger.books import Booked, Charge

AT_ONCE = 500  # keys, charges or people in one question
_TYPES = ("<u1", "<u2", "<u4", "<f8")
"""The first that holds all values of a row's draws; one byte in front says which, and whether they are compressed."""
_COMPRESSED = 128


@dataclass(frozen=True)
class Kept:
    """Draws of one charge, (draw, value): what all windows of a draw show."""

    span: Span
    drawn: Floats


Asked = tuple[Sequence[Span], Counts, Floats]
"""Charged draws, how many windows each shows, and what was drawn for them, (window, value), draw after draw."""


def keep(connection: Connection, asked: Sequence[Asked], booked: "Booked") -> list[Floats]:
    """Write down what is not kept yet of charged draws, and give back what is kept."""
    spans = [span for some, _, _ in asked for span in some]
    kept = _kept_of(connection, [charge for span in spans for charge in booked[span.stream, span.key]])
    rows: list[dict[str, Any]] = []
    released = [drawn.copy() for _, _, drawn in asked]
    for (some, windows, _), rewritten in zip(asked, released, strict=True):
        start = 0
        for span, length in _alike(some, windows):
            end = start + len(span) * length
            own, start = rewritten[start:end].reshape(len(span), -1), end  # a view: what is kept goes there
            for charge in booked[span.stream, span.key]:
                rows += _kept_once(span, charge, own, kept[charge.number])
    if rows:
        connection.execute(insert(schema.draws), rows)
    return released


def _kept_once(span: Span, charge: "Charge", own: Floats, known: list[Kept]) -> Iterator[dict[str, Any]]:
    """Rows for what a charge has nothing of yet; draws of which it has something become what it has."""
    asked = span.shared(charge.span)
    for new in list(asked.without(each.span for each in known)):
        known.append(Kept(new, own[span.place_of(new)].copy()))
        yield _row(charge.number, known[-1])
    for each in known:
        if both := asked.shared(each.span):
            # An earlier version filled a short episode up to the length of the others.
            own[span.place_of(both)] = each.drawn[each.span.place_of(both), : own.shape[1]]


def _alike(spans: Sequence[Span], windows: Counts) -> Iterator[tuple[Span, int]]:
    """The spans cut where draws begin to have another number of windows, with that number: a row has one length."""
    start = 0
    for span in spans:
        lengths = windows[start : start + len(span)]
        start += len(span)
        borders = [0, *(np.flatnonzero(np.diff(lengths)) + 1).tolist(), len(span)]
        for low, high in pairwise(borders):
            yield span.part(span.first + low, span.first + high), int(lengths[low])


def _kept_of(connection: Connection, charges: Sequence["Charge"]) -> defaultdict[int, list[Kept]]:
    """By charge."""
    rows, kept = schema.draws.c, defaultdict[int, list[Kept]](list)
    by_number = {charge.number: charge.span for charge in charges}
    numbers = list(by_number)
    for start in range(0, len(numbers), AT_ONCE):
        asked = select(rows.charge, rows.first, rows.draws, rows.content)
        for number, first, draws, content in connection.execute(
            asked.where(rows.charge.in_(numbers[start : start + AT_ONCE]))
        ):
            span = by_number[number].part(first, first + draws)
            kept[number].append(Kept(span, from_bytes(bytes(content), draws)))
    return kept


def _row(charge: int, kept: Kept) -> dict[str, Any]:
    return {
        "charge": charge,
        "first": kept.span.first,
        "draws": len(kept.span),
        "content": to_bytes(kept.drawn),
    }


def to_bytes(drawn: Floats) -> bytes:
    """Rows (draw, value), bit for bit."""
    number = next(number for number, kind in enumerate(_TYPES) if _holds(kind, drawn))
    plain = drawn.astype(_TYPES[number]).tobytes()
    short = zlib.compress(plain, level=1)  # a held draw may show the same in many windows
    return bytes([number | _COMPRESSED]) + short if len(short) < len(plain) else bytes([number]) + plain


def _holds(kind: str, drawn: Floats) -> bool:
    with np.errstate(invalid="ignore"):
        return drawn.astype(kind).astype(np.float64).tobytes() == drawn.tobytes()


def from_bytes(content: bytes, draws: int) -> Floats:
    """Rows (draw, value) again."""
    plain = zlib.decompress(content[1:]) if content[0] & _COMPRESSED else content[1:]
    values = np.frombuffer(plain, dtype=_TYPES[content[0] & ~_COMPRESSED])
    return values.reshape(draws, -1).astype(np.float64)
