"""Draws of many accounts in one transaction: charged, made and kept together; they leave once it is committed."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from deeprotect.errors import BudgetError
from deeprotect.privacy.entropy import SystemEntropy, require_system
from deeprotect.release.ledger.charges import Charge
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.ledger import Paid
from deeprotect.release.ledger.single_draws import Booked, charge_all, record_all
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.release.pipe import Pipeline, privatise
from deeprotect.signals import Run
from deeprotect.signals.schema import Floats


@dataclass(frozen=True, eq=False)
class DrawRequest:
    """One draw: the code (1, k) of an episode, whose ledger pays for it, and its number in the recording."""

    pipeline: Pipeline
    ledger: StoredLedger
    run: Run
    code: Floats


@dataclass(frozen=True, eq=False)
class Drawn:
    """What all windows of the episode show, (window, value); a placeholder looked at no data."""

    held: Floats
    placeholder: bool


def draw_together(
    requests: Sequence[DrawRequest], *, database: Database, entropy: SystemEntropy
) -> list[Drawn | BudgetError]:
    """One answer for each request, in order; whoever has no budget left is refused alone.

    All charges are written before anything is drawn, and nothing is given back before all of it is on disk: when
    that fails, nobody gets anything, and the same request finds what was kept for it, if anything was.
    """
    system = require_system(entropy)
    if not requests:
        return []
    with database.writing(*(request.ledger.lock for request in requests)) as connection:
        booked = charge_all(connection, [(request.ledger, request.run) for request in requests])
        charged = {place: each.charge for place, each in enumerate(booked) if each.charge is not None}
        paid = {place: np.array([charge.paid]) for place, charge in charged.items()}
        held = _privatised(requests, paid, entropy=system)
        kept = _kept(connection, charged, held)
    return [
        Drawn(kept[place], placeholder=not each.charge.paid) if each.charge is not None else _refused(each)
        for place, each in enumerate(booked)
    ]


def _refused(booked: Booked) -> BudgetError:
    return booked.refusal or BudgetError("no charge was made; nothing was released")


def _privatised(requests: Sequence[DrawRequest], paid: dict[int, Paid], *, entropy: SystemEntropy) -> dict[int, Floats]:
    """What each request's windows show, by its place; one call for all that share a mechanism."""
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for place in paid:
        alike[id(requests[place].pipeline)].append(place)
    held: dict[int, Floats] = {}
    for places in alike.values():
        pipeline = requests[places[0]].pipeline
        codes, marks = (
            np.concatenate(each) for each in zip(*((requests[p].code, paid[p]) for p in places), strict=True)
        )
        noisy_code = privatise(codes, pipeline.mechanism, paid=marks, entropy=entropy)
        counts = np.full(len(places), pipeline.hold.windows)
        repeated = pipeline.mechanism.repeat(noisy_code, counts, entropy=entropy)
        held |= dict(zip(places, np.split(repeated, len(places)), strict=True))
    return held


def _kept(connection: Connection, charged: dict[int, Charge], held: dict[int, Floats]) -> dict[int, Floats]:
    """What leaves, by place: what was kept first for its charge. Rows of one length are written together."""
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for place in charged:
        alike[held[place].size].append(place)
    kept: dict[int, Floats] = {}
    for places in alike.values():
        flat = np.stack([held[place].ravel() for place in places])
        rows = record_all(connection, [charged[place] for place in places], flat)
        kept |= {place: row.reshape(held[place].shape) for place, row in zip(places, rows, strict=True)}
    return kept
