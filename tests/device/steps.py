"""Records what Python's episodes and ledgers do step by step; devices must do the same."""

import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
from tests.release.ledger.bookings import charge
from tests.release.ledger.prices import price
from tests.release.traced import WINDOW, Traced

from deeprotect.errors import BudgetError
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Released
from deeprotect.release.episodes import Episodes, Observing
from deeprotect.release.ledger import MemoryLedger
from deeprotect.release.ledger.ledger import not_drawn
from deeprotect.signals import Hold

START = datetime(2026, 11, 16, tzinfo=UTC)
HOUR, DAY = 60, 1440  # minutes
LIMITS = (
    (0.1, {"in_all": 0.7}),
    (0.1, {"per_hour": 0.3, "in_all": 2.0}),
    (2.5, {"per_hour": 10.0, "per_day": 25.0}),
    (5.0, {"per_day": 30.0, "in_all": 70.0}),
)


def episodes():
    return [_played(seed) for seed in range(60)]


def _played(seed):
    """A random stream with gaps, clocks set back, incomplete windows and draws that have to wait."""
    rng = np.random.default_rng(seed)
    hold = int(rng.integers(1, 7))
    listen = int(rng.integers(1, hold + 1))
    observe = "beginning" if hold == 1 else str(rng.choice(["whole", "beginning", "before"], p=[0.2, 0.2, 0.6]))
    observing = Observing(observe, hold if observe == "whole" else listen)
    bundle, fill = Traced(Hold(hold, listen)), bool(rng.random() < 0.3)
    machine, draws, steps = Episodes(bundle, None, observing, fill_gaps=fill), 0, []
    part, number = 0, int(rng.integers(100, 110))
    for index in range(45):
        whole, available = bool(rng.random() < 0.93), bool(rng.random() < 0.9)
        machine.take(number, np.full((WINDOW, 1), float(index)) if whole else None, part=part, number=number)
        if index == 44:
            machine.end()
        step = {"part": part, "number": number, "whole": whole, "available": available, "observed": [], "left": []}
        for episode, request in machine.due():
            if request.only_kept:  # a device keeps nothing that could be shown again
                episode.settle(not_drawn())
                continue
            step["observed"].append(request.observed[:, 0, 0].astype(int).tolist())
            if available:
                draws += 1
                episode.settle(_released(hold, draws))
        step["left"] = [[each.ticket, int(each.window[0, 0])] for each in machine.leaving(SystemEntropy())]
        machine.expire()
        steps.append(step)
        jump = rng.random()
        if jump < 0.03:
            part, number = part + 1, number - int(rng.integers(0, 9))
        else:
            number += 1 if jump < 0.9 else int(rng.integers(2, 9))
    return {
        "hold": hold,
        "listen": listen,
        "observe": observe,
        "windows": observing.windows,
        "fill": fill,
        "steps": steps,
    }


def _released(hold, draw):
    return Released(np.full((hold, WINDOW, 1), float(draw)), np.zeros((hold, 1)), np.zeros(1, dtype=bool))


def ledgers():
    return [_charged(seed, *LIMITS[seed % len(LIMITS)]) for seed in range(12)]


def _charged(seed, epsilon, limits):
    """Charges at whole minutes, except those in which a charge leaves a rolling limit: a device frees it only when the
    whole minute has left."""
    rng, minute, charged, steps = np.random.default_rng(seed), 0, [], []
    ledger = MemoryLedger(price(epsilon, **limits), clock=lambda: START + timedelta(minutes=minute))
    for _ in range(60):
        minute += int(rng.choice([0, 1, 7, 31, 200, -25], p=[0.3, 0.2, 0.2, 0.2, 0.07, 0.03]))
        while any(minute - at in (HOUR, DAY) for at in charged):
            minute += 1
        try:
            paid = bool(charge(ledger, (), count=1).all())
            charged.append(minute)
        except BudgetError:
            paid = False
        spent = [sum(at > minute - span for at in charged) * Fraction(str(epsilon)) for span in (HOUR, DAY, math.inf)]
        steps.append({"minute": minute, "paid": paid, "spent": [float(each) for each in spent]})
    assert ledger.tally.charged == len(charged)
    return {"epsilon": epsilon, "limits": limits, "steps": steps}
